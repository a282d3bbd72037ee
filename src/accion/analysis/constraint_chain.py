"""What the constraint algorithm finds, and how it is said."""

from dataclasses import dataclass
from typing import Any

from accion.systems import HigherOrderSystem, System


@dataclass(frozen=True)
class Level:
    """One submanifold W_k: its dimension, the equations that cut it out of the one before and,
    where SymPy can, what they are.
    """

    dimension: int
    count: int
    equations: Any  # a tuple of sympy.Eq, or None


@dataclass(frozen=True)
class ConstraintAlgorithm:
    """The chain W0 > W1 > ... of a system with Lagrangian L + lam.Phi on T*Q + TQ (variables q, p,
    v and the multipliers lam); of one of order r on T*(T^(r-1)Q) + T^(r)Q (q, ..., q^(r), the
    momenta p_0, ..., p_{r-1}, and lam).

    `stabilises_at` is the k with W_{k+1} = W_k, None where no point is left. `symplectic` says
    whether dq ^ dp restricted to that final submanifold is nondegenerate, so that the motion is
    unique; `determinant` is the determinant of the bordered Hessian [[L_vv + lam.Phi_vv, Phi_v^T],
    [Phi_v, 0]], which is not zero where W1 is symplectic (the test 4.11), or None where SymPy could
    not follow the functions; `why_not_symbolic` then says why.
    """

    system: System | HigherOrderSystem
    levels: tuple[Level, ...]
    stabilises_at: int | None
    symplectic: bool
    regular_at: float
    determinant: Any
    why_not_symbolic: str | None

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Those of W0, W1, ..."""
        return tuple(level.dimension for level in self.levels)

    def text(self) -> str:
        """The result in words."""
        n, m = self.system.space.dim, self.system.multipliers
        what = f"{m} vakonomic constraint{'s' if m != 1 else ''}" if m else "no constraints"
        lines = [f"{self.system.name}: {n} coordinate{'s' if n != 1 else ''}, {what}."]
        for k, level in enumerate(self.levels):
            lines.append(
                f"W{k} has dimension {level.dimension}"
                + (f", {level.count} less" if k else "")
                + (":" if level.equations else ".")
            )
            lines += [f"    {equation.lhs} = {equation.rhs}" for equation in level.equations or ()]
        if self.determinant is not None:
            lines.append(f"The determinant of the test 4.11 is {self.determinant}.")
        lines.append(self.verdict())
        if self.why_not_symbolic:
            lines.append(f"The equations are not printed: {self.why_not_symbolic}")
        return "\n".join(lines)

    def verdict(self) -> str:
        """What it means for motions, in words."""
        k = self.stabilises_at
        if k is None:
            return "No point is left: the equations contradict each other, and there is no motion."
        where = f"The algorithm stabilises at W{k}"
        if self.symplectic and k <= 1:
            return (
                where + f", which is symplectic: through each of its points, given by {self.state},"
                " passes one motion, and the multipliers follow from it."
            )
        if self.symplectic:
            return (
                f"{where}, which is symplectic: motions are unique, but only initial data in W{k}"
                f" have one. In W1 {self.free} and multipliers are not determined by {self.state},"
                " so the marching step is singular; start on the final submanifold, or leave out"
                " what has no inertia."
            )
        return (
            where
            + ", where dq ^ dp is degenerate: a motion exists through each of its points but is not"
            f" unique; some of {self.free} or multipliers are free."
        )

    @property
    def state(self) -> str:
        """What a point of W1 is given by, where that is symplectic."""
        r = self.system.order
        if r == 1:
            return "(q, p)"
        return "(q, q', p_0, p_1)" if r == 2 else f"(q, ..., q^({r - 1}), p_0, ..., p_{r - 1})"

    @property
    def free(self) -> str:
        """What is determined last."""
        r = self.system.order
        return "the velocities" if r == 1 else f"the derivatives q^({r})"

    def __str__(self) -> str:
        return self.text()

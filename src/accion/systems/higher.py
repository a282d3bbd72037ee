"""Systems whose Lagrangian depends on accelerations and higher derivatives: L(t, q, q', ...,
q^(r)).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from accion.arguments import as_array, shown
from accion.engines.auto import by_program
from accion.memory import rows
from accion.numerics import newton
from accion.spaces import Space
from accion.systems.base import Mechanical
from accion.systems.constraints import Constraint, Vakonomic
from accion.systems.functions import check_returns, returned
from accion.systems.rank import relative_rank
from accion.systems.start import (
    Start,
    check_configurations,
    check_multipliers_given,
    check_no_entropy,
    check_one_start,
    check_rows,
)
from accion.types import Array, Configuration, Covector, Function, Params, Scalar, Vector

check_order = rows(1000)  # bytes at least for what a system has for each derivative


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, repr=False)
class HigherOrderSystem(Mechanical):
    """A system of order r: its Lagrangian is a function of t, q and the derivatives q', ..., q^(r)
    (Vakonomic thesis, chapter 5). Its motion satisfies

        sum_l (-1)^l d^l/dt^l dL/dq^(l) + F = 0,        of order 2r in q

    `lagrangian(t, q, v, a, ..., params)` returns a scalar and takes `order` derivatives, each of
    shape (space.dim,). On a group v is the velocity of the body, and a, ... are its derivatives.
    `force(t, q, v, a, ..., params)` returns a covector of shape (space.dim,), whose virtual work is
    F.dq (Lagrange and d'Alembert); it takes the same `order` derivatives as the Lagrangian, all
    that a window of r + 1 configurations knows.
    `vakonomic(t, q, v, a, ..., params)` returns m equations Phi = 0 on the same derivatives: the
    motion is then the free one of L + lam.Phi (Vakonomic thesis, section 5.2). `params`,
    `coordinates` and `name` are as those of a `System`.

    In its methods the derivatives are the rows of one array, `jets` = (q', q'', ...), and so are
    multipliers and theirs, `lams` = (lam, lam', ...).
    """

    lagrangian: Function
    space: Space
    params: Params = None
    _: KW_ONLY
    order: int = 2
    force: Function | None = None
    vakonomic: Function | None = None
    coordinates: Any = None
    name: str | None = None

    kind: ClassVar[str] = "systems of higher order"
    required: ClassVar[tuple[str, ...]] = ("lagrangian",)
    static: ClassVar[tuple[str, ...]] = ("space", "order", "coordinates", "name")
    default_name: ClassVar[str] = "system"
    mechanical = None
    conformal = None
    holds_velocities = False

    def __post_init__(self) -> None:
        found = check_order(self.order, "order, that of the highest derivative in the Lagrangian,")
        object.__setattr__(self, "order", found)
        self.check_fields()
        self.freeze()

    @property
    def signatures(self) -> dict[str, str]:
        words = ["t", "q", "v", "a", *(f"q^({k})" for k in range(3, self.order + 1))]
        arguments = ", ".join([*words[: self.order + 2], "params"])
        return dict.fromkeys(("lagrangian", "force", "vakonomic"), arguments)

    @property
    def forced(self) -> bool:
        return self.force is not None

    @property
    def constraint(self) -> Constraint | None:
        return None if self.vakonomic is None else Vakonomic(self.vakonomic)

    @property
    def multipliers(self) -> int:
        if self.vakonomic is None:
            return 0
        out = returned(self.vakonomic)
        return check_returns("vakonomic", out, None, "m equations, shape (m,)").shape[0]

    def check_functions(self) -> None:
        words = f"a scalar; its arguments are ({self.signatures['lagrangian']})"
        check_returns("lagrangian", returned(self.lagrangian), (), words)
        if self.force is not None:
            n = self.space.dim
            check_returns("force", returned(self.force), (n,), f"a covector of shape ({n},)")
        if self.multipliers > self.space.dim:
            raise ValueError(
                f"{self.name} has more constraints than coordinates: {self.multipliers} and"
                f" {self.space.dim}."
            )

    def check_given(self, start: Start) -> None:
        check_no_entropy(start)
        if self.order == 1 or start.p0 is None:
            check_one_start(start)
        elif start.q0 is None or start.q1 is not None:
            raise ValueError("give q0 with v0 and p0, and without q1, to start from momenta.")
        check_multipliers_given(start, self.enters_action)
        if self.order > 1 and start.q1 is None:
            self.check_levels(start)

    def check_levels(self, start: Start) -> None:
        """Raise ValueError unless v0 has the rows that a start needs: q', ..., q^(r-1) with p0,
        else q', ..., q^(2r-1).
        """
        r, n, array = self.order, self.space.dim, as_array(start.v0)
        rows = None if array is None or array.ndim == 0 else (1, *array.shape)[-2]
        low = "q'" if r == 2 else f"q', ..., q^({r - 1})"
        if start.p0 is not None and rows != r - 1:
            raise ValueError(
                f"momenta p0 = (p_0, ..., p_{r - 1}) of a system of order {r} need v0 = ({low})"
                f" beside them, shape ({r - 1}, {n}); got v0 = {shown(start.v0)}."
            )
        if start.p0 is None and rows == r - 1:
            raise ValueError(
                f"v0 must have shape ({2 * r - 1}, {n}), a row for each of q', ..., q^({2 * r - 1})"
                f" of a system of order {r}; {low} alone goes with momenta p0, shape ({r}, {n})."
            )

    def is_low(self, value: Any) -> bool:
        """Whether it has the rows q', ..., q^(r-1), one without its axis."""
        array = as_array(value)
        n, r = self.space.dim, self.order
        return array is not None and (array.shape == (r - 1, n) or (r == 2 and array.shape == (n,)))

    def check_part(self, part: str, value: Any, name: str) -> Any:
        r, n = self.order, self.space.dim
        if part == "q0":
            return self.space.check(value, name)
        if part == "q1":
            return check_configurations(self.space, value, 2 * r - 1, name)
        if part == "v0" and r > 1 and self.is_low(value):
            words = f"q', ..., q^(r-1), with p0, of a system of order r = {r}"
            return check_rows(value, r - 1, n, name, words)
        rows, length, words = {
            "v0": (2 * r - 1, n, "q', ..., q^(2r-1)"),
            "p0": (r, n, "p_0, ..., p_{r-1}"),
            "lam0": (r, self.multipliers, "lam, ..., lam^(r-1)"),
        }[part]
        return check_rows(value, rows, length, name, f"{words} of a system of order r = {r}")

    # ------------------------------------------------------------ the functions, at a point

    def derivatives(self, v: Array) -> tuple[Vector, ...]:
        """The derivatives of q that its functions take, from rows (q', q'', ...)."""
        return tuple(v[i] for i in range(self.order))

    def L(self, t: Scalar, q: Configuration, jets: Array, lam: Any = None) -> Scalar:
        """The Lagrangian; with `lam`, L + lam.Phi."""
        value = self.lagrangian(t, q, *self.derivatives(jets), self.params)
        if lam is None or self.vakonomic is None:
            return value
        return value + jnp.sum(lam * self.Phi(t, q, jets))

    def F(self, t: Scalar, q: Configuration, jets: Array) -> Covector:
        """The force, shape (dim,); zero where there is none."""
        f = self.force
        if f is None:
            return jnp.zeros(self.space.dim)
        return f(t, q, *self.derivatives(jets), self.params)

    def Phi(self, t: Scalar, q: Configuration, jets: Array) -> Array:
        """The constraint, shape (m,)."""
        f = self.vakonomic
        return jnp.zeros(0) if f is None else f(t, q, *self.derivatives(jets), self.params)

    def slopes(self, t: Scalar, q: Configuration, jets: Array, lams: Any) -> Array:
        """The derivatives of L + lam.Phi by q (on a group by displacements of the body), q', q'',
        ..., one row for each.
        """

        def L(e: Any, jets: Array) -> Scalar:
            return self.L(t, self.space.displace(q, e), jets, lams[0])

        by_q, by_jets = jax.grad(L, (0, 1))(jnp.zeros(self.space.dim), jets)
        return jnp.concatenate([by_q[None], by_jets])

    def rate(self, f: Function) -> Function:
        """d/dt of `f(t, q, jets, lams)` along a motion, a function of the same; each row of jets
        and lams changes by the next one, the last not.
        """

        def along(t: Scalar, q: Configuration, jets: Array, lams: Any) -> Any:
            def moved(t: Scalar, e: Any, jets: Array, lams: Any) -> Any:
                return f(t, self.space.displace(q, e), jets, lams)

            point = (jnp.asarray(t, float), jnp.zeros(self.space.dim), jets, lams)
            return jax.jvp(moved, point, (jnp.ones(()), jets[0], shifted(jets), shifted(lams)))[1]

        return along

    @by_program
    def hessian(self, t: Scalar, q: Configuration, jets: Array, lam: Any = None) -> Array:
        """d2L/dq^(r)dq^(r), with `lam` of L + lam.Phi, shape (dim, dim)."""
        below = jets[: self.order - 1]
        return jax.hessian(lambda top: self.L(t, q, jnp.concatenate([below, top[None]]), lam))(
            jets[self.order - 1]
        )

    @by_program
    def regularity(self, t: Scalar, q: Configuration, jets: Array, lam: Any = None) -> Array:
        """The matrix that must not be singular: d2L/dq^(r)dq^(r) or, with a constraint, the
        bordered

            [[d2(L + lam.Phi)/dq^(r)2, dPhi/dq^(r)^T], [dPhi/dq^(r), 0]]

        (Section 5.1 of the Vakonomic thesis prints the derivatives by q^(l-1) in place of q^(r).)
        """
        H = self.hessian(t, q, jets, lam)
        if self.vakonomic is None:
            return H
        C = jax.jacfwd(lambda jets: self.Phi(t, q, jets))(jets)[:, self.order - 1]
        return jnp.block([[H, C.T], [C, jnp.zeros((len(C), len(C)))]])

    @by_program
    def momenta(self, t: Scalar, q: Configuration, jets: Array, lams: Any = None) -> Array:
        """The Jacobi-Ostrogradsky momenta p_0, ..., p_{r-1}, shape (r, dim), from `jets` = (q',
        ..., q^(2r-1)), shape (2r - 1, dim).

            p_s = sum_k (-1)^k d^k/dt^k dL/dq^(s+1+k),    that is
            p_{r-1} = dL/dq^(r),    p_s = dL/dq^(s+1) - d/dt p_{s+1}

        With a constraint they are those of L + lam.Phi, and `lams` = (lam, ..., lam^(r-1)), shape
        (r, m).
        """
        r = self.order
        lams = jnp.zeros((r, self.multipliers)) if lams is None else lams
        f, p = self.slopes, jnp.zeros((r, self.space.dim))
        for k in range(r):
            p = p.at[: r - k].add((-1) ** k * f(t, q, jets, lams)[1 + k : r + 1])
            f = self.rate(f)
        return p

    @by_program
    def energy(self, t: Scalar, q: Configuration, jets: Array, lams: Any = None) -> Scalar:
        """E = sum_s p_s.q^(s+1) - L, conserved where L does not depend on time; `jets` and `lams`
        as for `momenta`.
        """
        return self.energy_of(t, q, jets, self.momenta(t, q, jets, lams))

    def energy_of(self, t: Scalar, q: Configuration, jets: Array, p: Covector) -> Scalar:
        """The same from momenta and (q', ..., q^(r))."""
        return jnp.sum(p * jets[: self.order]) - self.L(t, q, jets)

    def momentum_map(self, X: Function, q: Configuration, jets: Array, p: Covector) -> Scalar:
        """sum_s p_s.X_s for a field X(q), with X_s as in `prolongation`."""
        return jnp.sum(p * self.prolongation(X, q, jets)[: self.order])

    def momentum_map_rate(
        self, X: Function, t: Scalar, q: Configuration, jets: Array, lam: Any
    ) -> Scalar:
        """Its rate along a motion, sum_s d(L + lam.Phi)/dq^(s).X_s + F.X: zero where X is a
        symmetry that does not feel the force, whatever the derivatives are.
        """
        rate = jnp.sum(self.slopes(t, q, jets, lam[None]) * self.prolongation(X, q, jets))
        return rate if self.force is None else rate + self.F(t, q, jets) @ X(q)

    def prolongation(self, X: Function, q: Configuration, jets: Array) -> Array:
        """(X_0, ..., X_r), how a field X(q) changes (q, q', ..., q^(r)), shape (r + 1, dim).

        X_0 = X, X_1 = dX/dt + [v, X] is how it changes v, and X_{s+1} = dX_s/dt for the others.
        """

        def field(t: Scalar, q: Configuration, jets: Array, lams: Any) -> Any:
            return X(q)

        found = [X(q)]
        for s in range(1, self.order + 1):
            before = self.rate(field)

            def turned(
                t: Scalar, q: Configuration, jets: Array, lams: Any, f: Function = before
            ) -> Any:
                return f(t, q, jets, lams) + self.space.ad(jets[0], X(q))

            field = turned if s == 1 else before
            found.append(field(0.0, q, jets, jnp.zeros((1, 0))))
        return jnp.stack(found)

    @by_program
    def momentum_rates(
        self, t: Scalar, q: Configuration, jets: Array, p: Covector, lam: Any
    ) -> Array:
        """dp_s/dt along a motion, shape (r, dim): dL/dq + ad*_v p_0 + F for p_0, dL/dq^(s) -
        p_{s-1} for the others.
        """
        slopes = self.slopes(t, q, jets, lam[None])[: self.order]
        if self.force is not None:
            slopes = slopes.at[0].add(self.F(t, q, jets))
        return slopes + jnp.concatenate([self.space.coad(jets[0], p[0])[None], -p[:-1]])

    @by_program
    def highest(
        self, t: Scalar, q: Configuration, jets: Array, lams: Any = None
    ) -> tuple[Array, Array]:
        """(q^(2r), lam^(r)) of the motion through (q, q', ..., q^(2r-1)) with multipliers (lam,
        ..., lam^(r-1)).

        From d/dt p_0 = dL/dq + ad*_v p_0 + F, linear in both, and d^r/dt^r Phi = 0.
        """
        r, n, m = self.order, self.space.dim, self.multipliers
        lam = jnp.zeros((r, m)) if lams is None else lams
        p0 = self.momenta(t, q, jets, lam)[0]
        # With q^(2r) = 0 and lam^(r) = 0 at first: what is left of the equations, which are linear
        # in them.
        jets, lam = (
            jnp.concatenate([jets, jnp.zeros((1, n))]),
            jnp.concatenate([lam, jnp.zeros((1, m))]),
        )
        rest = -self.slopes(t, q, jets, lam)[0] - self.space.coad(jets[0], p0)
        if self.force is not None:
            rest = rest - self.F(t, q, jets)
        f = self.slopes
        for k in range(r):
            f = self.rate(f)
            rest = rest + (-1) ** k * f(t, q, jets, lam)[1 + k]
        K = self.regularity(t, q, jets, lam[0])
        right = (-1) ** r * rest
        if m:
            right = jnp.concatenate([right, -self.constraint_rates(t, q, jets, r)[-1]])
        found = newton.solve(K, right)
        return found[:n], found[n:]

    def constraint_rates(self, t: Scalar, q: Configuration, jets: Array, count: int) -> Array:
        """Phi and its first `count` derivatives along a motion, shape (count + 1, m); `jets` has
        `order + count` rows or more.
        """

        def f(t: Scalar, q: Configuration, jets: Array, lams: Any) -> Any:
            return self.Phi(t, q, jets)

        rows = []
        for _ in range(count + 1):
            rows.append(f(t, q, jets, jnp.zeros((1, 0))))
            f = self.rate(f)
        return jnp.stack(rows)

    def check_regular(self, K: Any) -> None:
        """Raise ValueError where the matrix of `regularity` is not finite, or singular."""
        words = f"d2L/dq^({self.order})2" + (
            "" if self.vakonomic is None else f", bordered by dPhi/dq^({self.order}),"
        )
        if not np.all(np.isfinite(K)):
            raise ValueError(
                f"the Lagrangian of {self.name} is not finite at the initial data: {words} ="
                f" {np.asarray(K).tolist()}."
            )
        rank, _ = relative_rank(K, self.space.dim)
        if rank < len(K):
            raise ValueError(
                f"the Lagrangian of {self.name} is singular: {words} has rank {rank} of {len(K)} at"
                " the initial data, so no motion follows from it. Let L depend on every component"
                f" of q^({self.order}), or lower `order`."
            )


def shifted(rows: Any) -> Any:
    """What the rows change by: each by the next, the last by nothing."""
    return jnp.concatenate([rows[1:], jnp.zeros_like(rows[:1])])

"""The symmetries of a system, found by themselves."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from accion.analysis import invariance, total_rates, up_to_rates
from accion.analysis.affine import AffineSymmetry
from accion.analysis.invariance import FieldSymmetry
from accion.arguments import door, seed
from accion.checks import check_kind, check_method, is_vector_space, refuse
from accion.methods import Method
from accion.systems import AbstractSystem, ContactSystem, System
from accion.told import Told


@dataclass(frozen=True, repr=False)
class Symmetries(Told):
    """The symmetries of a system; iterate over them."""

    system: AbstractSystem
    method: Any
    found: tuple[AffineSymmetry | FieldSymmetry, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, i: int) -> Any:
        return self.found[i]

    @property
    def searched(self) -> str:
        """What was looked for, in words."""
        L = "Ld" if self.system.discrete_time else "L"
        vectors = is_vector_space(self.system.space)
        if has_total_derivatives(self.system) and not vectors:
            families = "motions of space and of the body, and affine fields"
            return f"{families}, with X^C(L) = df/dt with any f(t, q)"
        if has_total_derivatives(self.system):
            closed = "f = e^(k t) (e + c.q + q.S q/2) or e t + c.q + q.S q/2"
            f = closed if self.system.holds_velocities else "any f(t, q)"
            return f"X = A q + b with constant A and b, X^C(L) = df/dt with {f}"
        if vectors:
            return f"X = A q + b with constant A and b that leaves {L} as it is"
        return f"motions of space and of the body, and affine fields, that leave {L} as it is"

    def text(self) -> str:
        """What was found, in words."""
        kind = "affine symmetries" if is_vector_space(self.system.space) else "symmetries"
        if not self.found:
            return f"{self.system.name}: no {kind} were found, {self.searched}."
        kept = "p.X - f" if has_total_derivatives(self.system) else "p.X"
        return f"{self.system.name}: {kind} with {kept} conserved, {self.searched}\n" + "\n".join(
            f"  {s.text()}" for s in self.found
        )

    def __str__(self) -> str:
        return self.text()


@singledispatch
def search_of(system: AbstractSystem) -> Any:
    """What looks for the symmetries of a system."""
    return invariance


@search_of.register
def _(system: System) -> Any:
    if system.enters_action:
        return invariance
    if is_vector_space(system.space):
        return up_to_rates
    return total_rates if system.constraint is None else invariance


@search_of.register
def _(system: ContactSystem) -> Any:
    refuse(
        "symmetries", system.kind, "of a symmetry X, p.X is not kept but grows at the rate dL/dz"
    )


def has_total_derivatives(system: AbstractSystem) -> bool:
    """Whether fields are looked for that change L by a total derivative, not only those that leave
    it as it is.
    """
    return search_of(system) is not invariance


@door(seed=seed)
def symmetries(
    system: AbstractSystem, method: Method | None = None, *, seed: int = 0
) -> Symmetries:
    """The symmetries of a system among the fields that are linear in a few numbers: what is
    conserved without looking for it.

    Of a `System` on Euclidean or Torus they are all affine fields X(q) = A q + b, A and b constant,
    with X^C(L) = df/dt for some f(t, q), and p.X - f is conserved. f may be any function; it is
    given in closed form where it is e^(k t) times a polynomial of second degree in q, and by
    integration otherwise. With forces F.X = 0 is asked for, too, and under constraints that X be a
    virtual displacement, on the constraint; under nonholonomic constraints f is looked for in
    closed form only, with k the rate of growth of L.

    On groups they are motions of space, g -> exp(s zeta) g, and of the body, g -> g exp(s b), on
    products those and affine fields of the vectors: first all with X^C(L) + F.X = 0, then all with
    X^C(L) + F.X = df/dt for some f(t, q). That f is given where it is e^(k t) times a polynomial in
    vectors and entries of matrices, or depends on time alone; where it is not known, the words say
    so.

    Of all others (entropies, multipliers in the action, higher order, given in discrete time;
    constraints on groups) they are the fields that leave the Lagrangian as it is, X^C(L) = 0 with
    no work of forces, and p.X is conserved. Fields that depend on time are not looked for.

    Arguments:
        system: of any kind.
        method: where given and where it has a discrete Lagrangian of configurations, each symmetry
            says whether the discretised system has it, for its own
            f_k.
        seed: of the random points at which equations for the fields are taken.

    Reference: Colombo-Gamonal, sections 2 and 3, Thm 3.3 with the sign of f put right.
    """
    check_kind(system)
    if method is not None or system.discrete_time:
        check_method(system, method)
    system.check()
    if method is not None and system.order > 1 and method.on_levels:
        method = None  # which has no discrete Lagrangian of windows to be looked at
    found = search_of(system).search(system, method, seed)
    return Symmetries(system, method, tuple(found))

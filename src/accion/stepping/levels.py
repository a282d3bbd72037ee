"""Steps of a system of order r on T^(r-1)Q, from (q, ..., q^(r-1)) to the next, by methods that see
the points inside of a step: those of the `System` of first order that has the same motions.

No window of several steps is needed there, so steps may have any lengths, and the momenta are those
of Jacobi and Ostrogradsky at the ends of the step themselves.
"""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from accion.instant.higher import check_start, known_at
from accion.instant.ostrogradsky import HighestDerivative, from_momenta
from accion.methods import Composition, Galerkin, Method
from accion.methods.adaptive import ReversibleSteps, TransformedTime
from accion.numerics import newton
from accion.stepping.base import Readout, Scheme, State, Unsolved, scheme_of, steps
from accion.systems import HigherOrderSystem, Start
from accion.systems.first_order import Levels, as_first_order
from accion.types import Array, Configuration, Covector, Scalar


@steps(HigherOrderSystem, Galerkin)
@steps(HigherOrderSystem, Composition)
@steps(HigherOrderSystem, TransformedTime)
@steps(HigherOrderSystem, ReversibleSteps)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OnLevels(Scheme):
    """The step of a system of order r as that of `first_order(system)`."""

    system: HigherOrderSystem
    method: Method = field(metadata={"static": True})

    @property
    def inner(self) -> Any:
        """The scheme of the system of first order."""
        method: Any = self.method
        if method.own_lengths:
            method = method.of_levels(self.levels)
        return scheme_of(as_first_order(self.system), method)

    @property
    def with_given_length(self) -> "OnLevels":
        """The scheme of which a single step may have any length."""
        method: Any = self.method
        return OnLevels(self.system, method.method) if method.own_lengths else self

    @property
    def levels(self) -> Levels:
        return Levels(self.system.space, self.system.order)

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        system, r, n = self.system, self.system.order, self.system.space.dim
        if start.q1 is not None:
            raise ValueError(
                f"{type(self.method).__name__} starts a system of higher order from v0 or p0, not"
                " from q1: it makes no windows of configurations."
            )
        if start.p0 is None:
            jets = start.v0
            lams = jnp.zeros((r, 0)) if start.lam0 is None else start.lam0
            p = system.momenta(t, start.q0, jets, lams)
        else:
            low = jnp.zeros((0, n)) if r == 1 else jnp.reshape(start.v0, (r - 1, n))
            p = jnp.reshape(start.p0, (r, n))
            jets, lams = from_momenta(system, t, start.q0, low, p)
        known = known_at(system, t, start.q0, jets, lams)
        return self.opened(t, h, start.q0, jets, p, lams[0]), known

    def opened(
        self, t: Scalar, h: Scalar, q: Configuration, jets: Array, p: Covector, lam: Array
    ) -> State:
        """The state where q has the derivatives `jets`, r of them or more, and the momenta p."""
        r = self.system.order
        z, x = self.levels.join(q, jets[: r - 1]), h * jnp.ravel(jets[:r])
        # The multipliers of z_s' = z_{s+1} are the momenta.
        return self.inner.start(t, h, z, jnp.ravel(p), x, jnp.concatenate([*p[:-1], lam]))

    def check_start(self, known: Any, start: Start) -> None:
        check_start(self.system, known, start)

    def step(self, state: State, t: Scalar, h: Scalar) -> tuple[State, Array]:
        return self.inner.step(state, t, h)

    def resized(self, state: State, r: Scalar, gap: Scalar) -> State:
        return self.inner.resized(state, r, gap)

    def saved(self, state: State) -> Any:
        return self.inner.saved(state)

    def fields(self, rows: Any, saved: Any, last: State, h: Any) -> dict[str, Any]:
        r, p = self.system.order, rows["p"]
        P = p.reshape(*p.shape[:-1], r, self.system.space.dim)
        own = {"q": self.levels.parts(rows["q"])[0], "p": P, "guess": None}
        return self.inner.fields(rows, saved, last, h) | own

    def readout(self, rows: Any, saved: Any, h: Any) -> Readout:
        """Derivatives and multipliers at each row."""
        rates = self.inner.fields(rows, saved, None, h)["guess"]
        arrays = (rows["q"], rows["p"], rates)
        return Readout(shown, arrays, ("jets", "lam" if self.system.multipliers else ""))

    def prepare(self, state: State, save_every: int) -> State:
        return self.inner.prepare(state, save_every) if self.method.own_lengths else state

    def watched(self, before: State, after: State) -> State:
        return after

    def warn(self, trajectory: Any, known: Any, first: State, last: State, every: int) -> None:
        """Nothing is watched."""

    def unsolved(self, first: State, state: State, t: Scalar, h: Scalar) -> Unsolved:
        return self.inner.unsolved(first, state, t, h)


def shown(system: Any, t: Scalar, z: Configuration, p: Covector, w: Array) -> Any:
    """((q', ..., q^(r)), lam) at z with the momenta p, from a guess w of z'."""
    r, n = system.order, system.space.dim
    q, low = Levels(system.space, r).parts(z)
    guess = jnp.concatenate([w[-n:], jnp.zeros(system.multipliers)])
    args = (system, t, q, jnp.reshape(p, (r, n)), low, 0.0)
    found, _, converged = newton.root(HighestDerivative(system.multipliers), guess, args)
    found = jnp.where(converged, found, jnp.nan)
    return jnp.concatenate([low, found[None, :n]]), found[n:]

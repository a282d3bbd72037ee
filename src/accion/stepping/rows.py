"""From what a trajectory shows at a saved time to the state of its scheme there, and back.

A run that saved every k-th step is made again between two saved times from what it shows there: its
steps are the same to rounding, because (q, p) is all that a motion has.
"""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from accion.instant import constrained
from accion.instant.thermal import held_node
from accion.stepping.adaptive import AdaptiveScheme
from accion.stepping.base import Scheme, State, scheme_of
from accion.stepping.composition import Composed
from accion.stepping.contact import Contact
from accion.stepping.higher import HigherOrder
from accion.stepping.laws import opened
from accion.stepping.levels import OnLevels, shown
from accion.stepping.nodal import at_node
from accion.stepping.thermal import ContinuousThermal
from accion.stepping.variational import MechanicalScheme
from accion.types import Scalar


class Row(NamedTuple):
    """What is shown at one time; None is what its system has not."""

    z: Any  # what a step moves: the configuration, of a thermal system (q, S)
    v: Any
    p: Any
    lam: Any = None
    jets: Any = None  # (q', ..., q^(r)) of a system of order r
    P: Any = None  # the momenta of its nodes, see `Nodal`
    d: Any = None
    supplied: Any = None  # energy from outside since the start, of a thermal system


@singledispatch
def state_at(scheme: Scheme, t: Scalar, h: Scalar, row: Row) -> State:
    """The state of a run that shows `row` at the time t; each family of schemes registers its
    own.
    """
    name = type(scheme.method).__name__
    raise ValueError(
        f"{name} does not start again from what a trajectory shows at a saved time; save every"
        " step: save_every=1."
    )


@singledispatch
def row_at(scheme: Scheme, t: Scalar, h: Scalar, state: State) -> Row:
    """What a trajectory shows of a state at the time t: the inverse of `state_at`."""
    raise ValueError(f"{type(scheme).__name__} does not say what a state shows.")


@singledispatch
def shorter_scheme(scheme: Scheme) -> Scheme | None:
    """The scheme of which a single step, of any length, leads from a row; None where there is none.

    A method that has something better between its steps registers its scheme here.
    """
    return None


@shorter_scheme.register
def _(scheme: MechanicalScheme) -> Scheme:
    return scheme


@shorter_scheme.register
def _(scheme: ContinuousThermal) -> Scheme:
    return scheme


@shorter_scheme.register
def _(scheme: Contact) -> Scheme:
    return scheme


@shorter_scheme.register
def _(scheme: AdaptiveScheme) -> Scheme:
    return scheme.plain


@shorter_scheme.register
def _(scheme: OnLevels) -> Scheme:
    return scheme.with_given_length


@shorter_scheme.register
def _(scheme: Composed) -> Scheme:
    return scheme


@state_at.register
def _(scheme: Composed, t: Scalar, h: Scalar, row: Row) -> State:
    return scheme.opened(t, state_at(scheme.inner, t, h, row))


@row_at.register
def _(scheme: Composed, t: Scalar, h: Scalar, state: State) -> Row:
    return row_at(scheme.inner, t, h, state)


@state_at.register
def _(scheme: MechanicalScheme, t: Scalar, h: Scalar, row: Row) -> State:
    lam = jnp.zeros(scheme.system.multipliers) if row.lam is None else row.lam
    return scheme.start(t, h, row.z, row.p, h * row.v, lam)


@row_at.register
def _(scheme: MechanicalScheme, t: Scalar, h: Scalar, state: State) -> Row:
    system, guess = scheme.system, state.x[: scheme.system.space.dim] / h
    if system.constraint is None:
        return Row(state.q, system.velocity(t, state.q, state.p, guess), state.p)
    v, p, lam = constrained.node(system, t, state.q, state.p, guess)
    return Row(state.q, v, p, lam)


@state_at.register
def _(scheme: ContinuousThermal, t: Scalar, h: Scalar, row: Row) -> State:
    system = scheme.system
    x = h * jnp.concatenate([row.v, system.entropy_rates(t, row.z, row.v)])
    laws = opened(scheme.form.energy(t, row.z, row.v))
    guess = scheme.first_guess(t, h, row.z, x, row.v)
    # The energy that is to be kept is that of the start, with all that was supplied since.
    laws = laws._replace(energy=laws.energy - row.supplied, supplied=row.supplied)
    state = State(row.z, row.p, jnp.zeros_like(x), x, guess, jnp.array(0), laws)
    return scheme.paced(state, t, h) if scheme.compared else state


@row_at.register
def _(scheme: ContinuousThermal, t: Scalar, h: Scalar, state: State) -> Row:
    guess = state.x[: scheme.system.space.dim] / h
    system, supplied = scheme.system, state.memory.supplied
    if system.constraint is None:
        return Row(state.q, system.velocity(t, state.q, state.p, guess), state.p, supplied=supplied)
    v, p, lam = held_node(system, t, state.q, state.p, guess)
    return Row(state.q, v, p, lam, supplied=supplied)


@state_at.register
def _(scheme: Contact, t: Scalar, h: Scalar, row: Row) -> State:
    return scheme.first_state(t, h, row.z, row.p, scheme.along(t, h, row.z, row.v))


@row_at.register
def _(scheme: Contact, t: Scalar, h: Scalar, state: State) -> Row:
    guess = state.x[: scheme.system.space.dim] / h
    return Row(state.q, scheme.system.velocity(t, state.q, state.p, guess), state.p)


@state_at.register
def _(scheme: HigherOrder, t: Scalar, h: Scalar, row: Row) -> State:
    r, lam = scheme.system.order, row.lam
    lam = jnp.zeros(scheme.system.multipliers) if lam is None else lam
    top = h**r * row.jets[r - 1]
    return scheme.first_state(row.z, row.P, jnp.concatenate([row.d, top[None]]), lam)


@row_at.register
def _(scheme: HigherOrder, t: Scalar, h: Scalar, state: State) -> Row:
    d, top, _ = state.memory
    p, jets, lam = at_node(scheme.system, t, state.q, state.p, d, top, h, 0.0)
    own = lam if scheme.system.multipliers else None
    return Row(state.q, jets[0], p, own, jets, state.p, d)


@state_at.register
def _(scheme: OnLevels, t: Scalar, h: Scalar, row: Row) -> State:
    lam = jnp.zeros(scheme.system.multipliers) if row.lam is None else row.lam
    return scheme.opened(t, h, row.z, row.jets, row.p, lam)


@row_at.register
def _(scheme: OnLevels, t: Scalar, h: Scalar, state: State) -> Row:
    system, q = scheme.system, scheme.levels.parts(state.q)[0]
    jets, lam = shown(system, t, state.q, state.p, state.x / h)
    p = jnp.reshape(state.p, (system.order, system.space.dim))
    return Row(q, jets[0], p, lam if system.multipliers else None, jets)


# ---------------------------------------------------------------- functions of one time


@dataclass(frozen=True)
class Opened:
    """`state_at`, of a system under a method."""

    method: Any

    def __call__(self, system: Any, t: Scalar, h: Scalar, row: Row) -> State:
        return state_at(scheme_of(system, self.method), t, h, row)


@dataclass(frozen=True)
class Advanced:
    """The state after `count` steps from the time t."""

    method: Any

    def __call__(self, system: Any, t: Scalar, h: Scalar, state: State, count: Any) -> State:
        scheme = scheme_of(system, self.method)

        def one(i: Any, state: State) -> State:
            return scheme.step(state, t + i * h, h)[0]

        return jax.lax.fori_loop(0, count, one, state)


@dataclass(frozen=True)
class Shown:
    """`row_at`, of a system under a method."""

    method: Any

    def __call__(self, system: Any, t: Scalar, h: Scalar, state: State) -> Row:
        return row_at(scheme_of(system, self.method), t, h, state)


@dataclass(frozen=True)
class Shorter:
    """What is shown after one step of the length tau from a row at the time t."""

    method: Any

    def __call__(self, system: Any, t: Scalar, tau: Scalar, row: Row) -> Row:
        scheme: Any = shorter_scheme(scheme_of(system, self.method))
        after, _ = scheme.step(state_at(scheme, t, tau, row), t, tau)
        return row_at(scheme, t + tau, tau, after)

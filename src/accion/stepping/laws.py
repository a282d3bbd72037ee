"""What is written down of every step of a thermal system, for the two laws, and warned of."""

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.errors import SecondLawViolated
from accion.stepping.base import remembered
from accion.types import Scalar

AMONG = 1e-3  # of the heat that flows, below which what comes from outside counts as little


class Laws(NamedTuple):
    """What is written down of every step, for the two laws; steps are counted from 0."""

    energy: Any  # at the start
    supplied: Any  # energy from outside, so far
    # change of the total entropy, without what net cooling can take, in a step with (nearly) no
    # heat from outside
    least: Any
    least_step: Any
    push: Any  # the largest energy that friction gave in a step; friction takes it
    push_step: Any
    friction: Any  # the largest h |F_fr| |v|


def opened(energy: Any) -> Any:
    """Before the first step."""
    return Laws(
        energy,
        jnp.zeros(()),
        jnp.array(jnp.inf),
        jnp.array(-1),
        jnp.array(-jnp.inf),
        jnp.array(-1),
        jnp.zeros(()),
    )


def written(laws: Any, exchange: Any, h: Scalar, change: Any, step: Any) -> Any:
    """The laws with one more step, in which the entropies changed by `change`, shape (m,)."""
    net = jnp.sum(exchange.heat)
    # Where much heat comes from outside, from where is not known, and nothing can be said about the
    # entropy of these bodies alone.
    alone = jnp.abs(net) <= AMONG * jnp.sum(jnp.abs(exchange.heat))
    total = jnp.where(
        alone, jnp.sum(change) + jnp.maximum(-net, 0.0) / jnp.min(exchange.T / h), jnp.inf
    )
    push = jnp.max(-exchange.dissipation)
    less, more = total < laws.least, push > laws.push
    return laws._replace(
        supplied=laws.supplied + exchange.supply,
        least=jnp.where(less, total, laws.least),
        least_step=jnp.where(less, step, laws.least_step),
        push=jnp.where(more, push, laws.push),
        push_step=jnp.where(more, step, laws.push_step),
        friction=jnp.maximum(laws.friction, jnp.max(exchange.friction)),
    )


@remembered.register
def _(memory: Laws, before: Any, ok: Any) -> Laws:
    """A step that was not solved breaks no law."""
    known = jax.tree.map(lambda a, b: jnp.where(ok, a, b), memory, before)
    return known._replace(supplied=jnp.where(ok, memory.supplied, jnp.nan))


def worst(trajectory: Any) -> Any:
    """Of each law the run that keeps it least: ((least change of entropy, step, member), (largest
    push, step, member)).
    """
    laws = trajectory.laws
    least, push = np.atleast_1d(laws.least), np.atleast_1d(laws.push)
    i, j = int(np.argmin(least)), int(np.argmax(push))
    return (float(least[i]), int(np.atleast_1d(laws.least_step)[i]), i), (
        float(push[j]),
        int(np.atleast_1d(laws.push_step)[j]),
        j,
    )


def warn_of_second_law(trajectory: Any) -> Any:
    """Warn where friction gave energy, or the total entropy became less in a step without cooling,
    by more than rounding.
    """
    (least, k, i), (push, l, j) = worst(trajectory)
    t0, h = float(trajectory.t[0]), np.asarray(trajectory.h)

    def where(step: Any, member: Any) -> Any:
        t = t0 + float(np.sum(h[:step]) if h.ndim else step * h)
        return (
            f"member {member}, " if trajectory.is_ensemble else ""
        ) + f"step {step} (t = {t:.6g})"

    if push > 1e-9 * np.atleast_1d(trajectory.laws.friction)[j]:
        message = (
            f"friction gives energy instead of taking it: F_fr.v h = {push:.3g} > 0 in"
            f" {where(l, j)}. {backwards(trajectory.method)}Friction must oppose the velocity; a"
            " force that drives belongs to `external`."
        )
    elif least < 0 and np.any(np.atleast_1d(trajectory.laws.least) < -1e-13 * rounding(trajectory)):
        message = (
            f"the total entropy became less by {-least:.3g} in {where(k, i)}, though the bodies"
            f" exchange heat only among themselves. {backwards(trajectory.method)}EnergyConsistent"
            " does so where friction is weaker than its error, EnergyEntropyConsistent never;"
            " otherwise look at the signs of `heat`."
        )
    else:
        return
    warnings.warn(message, SecondLawViolated, stacklevel=5)


def backwards(method: Any) -> str:
    """What is said of a method with inner steps that go back in time; nothing of others."""
    if method is None or method.composed is None:
        return ""
    return (
        f"{type(method).__name__} does so where friction has less to take than its error, because"
        f" inner steps go back in time: a shorter h lessens it, {method.method} has none. "
    )


def rounding(trajectory: Any) -> Any:
    """For each run the entropy whose last digit a step cannot see: the largest energy over the
    least temperature.
    """
    runs = len(np.atleast_1d(trajectory.success))
    E, T = (
        np.asarray(a).reshape(runs, -1) for a in (trajectory.energy(), trajectory.temperature())
    )
    return np.nanmax(np.abs(E), axis=1) / np.nanmin(T, axis=1)

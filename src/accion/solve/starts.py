"""Members of an ensemble or a campaign that cannot start: found all at once, and then put into
words one by one.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion import checks
from accion.instant.starts import Known
from accion.spaces import Space
from accion.stepping import Scheme, State
from accion.systems import Start
from accion.systems.rank import equilibrated
from accion.systems.weights import FAR


def start_data(scheme: Scheme, start: Start, state: State, known: Known) -> dict[str, Any]:
    """What tells whether a member can start, as arrays; `known` by the scheme, before its first
    step.
    """
    system = scheme.system
    leaves = [
        leaf
        for leaf in jax.tree.leaves((system, start))
        if jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
    ]
    finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(leaf)) for leaf in leaves]))
    mass = None
    mechanical = system.mechanical
    if mechanical is not None and callable(mechanical.mass):
        mass = mechanical.inertia(system.params).mass
    off = jnp.zeros(())
    if not system.space.flat:
        pairs = zip(
            jax.tree.leaves(start.q0), jax.tree.leaves(system.space.project(start.q0)), strict=True
        )
        off = jnp.max(jnp.array([jnp.max(jnp.abs(a - b)) for a, b in pairs]))
    return {
        "finite": finite,
        "off": off,
        "x": state.x[: system.space.dim],
        "mass": mass,
        "known": known,
    }


def suspects(space: Space, data: dict[str, Any]) -> np.ndarray:
    """The numbers of the members that may not be able to start: too many rather than too few."""
    bad = ~np.asarray(data["finite"])
    if not space.flat:
        bad = bad | ~(data["off"] < 1e-12) | ~(np.max(np.abs(data["x"]), axis=1) < 0.5)
    if data["mass"] is not None:
        mass = data["mass"]
        bad = bad | (
            weak(mass)
            if mass.ndim == 3
            else ~np.all(np.abs(mass.reshape(len(mass), -1)) > 0, axis=1)
        )
    known = data["known"]
    thermal = known.thermal
    if known.bordered is not None:
        bad = bad | weak(equilibrated(known.bordered, space.dim)[0])
    pairs: list[tuple[Any, Any]] = []
    if known.allowed is not None:
        pairs += [(known.excess, known.allowed.excess), (known.value, known.allowed.value)]
        pairs.append((known.on_velocities, known.allowed.on_velocities))
    if known.first_step is not None:
        pairs.append(known.first_step[::2])
    for part, allowed in pairs:
        if part is not None:
            near = (np.abs(part) < 0.1 * allowed) | (part == 0)
            bad = bad | ~np.all(near.reshape(len(part), -1), axis=1)
    if known.weight is not None:
        bad = bad | ~(np.abs(known.weight[1]) < FAR)
    if known.stiff is not None:
        bad = bad | ~(known.stiff <= 1)
    if thermal is not None:
        T, minus, plus = thermal
        bad = bad | ~np.all(T > 0, axis=1) | np.any((minus == 0) & (plus == 0), axis=1)
    return np.flatnonzero(bad)


def check_members(scheme: Scheme, start: Start, state: State, known: Known) -> None:
    """Raise ValueError where a member of an ensemble cannot start, by its number."""
    data = jax.tree.map(np.asarray, jax.vmap(start_data)(scheme, start, state, known))

    def build(own: tuple[Scheme, Start]) -> tuple[Scheme, Start]:
        return own[0], checks.check_start(own[0].system, own[1])

    for i in suspects(scheme.system.space, data):
        own, part = jax.tree.map(lambda a, i=i: a[i], ((scheme, start), data))
        words = obstacle(build, own, part)
        if words is not None:
            raise ValueError(f"member {i}: {words}")


def weak(matrices: np.ndarray) -> np.ndarray:
    """Whether each matrix is not finite or near to one of lower rank."""
    finite = np.all(np.isfinite(matrices), axis=(1, 2))
    if matrices.shape[1:] == (1, 1):
        return ~finite | (matrices[:, 0, 0] == 0)
    s = np.linalg.svd(np.where(finite[:, None, None], matrices, 0.0), compute_uv=False)
    return ~finite | ~(s[:, -1] > 1e-9 * s[:, 0])


def obstacle(
    build: Callable[[Any], tuple[Scheme, Start]],
    row: Any,
    data: dict[str, Any],
) -> str | None:
    """Why a member cannot start, in words; None if it can.

    `build(row)` makes its scheme and start of what is known of it, `data` is its part of
    `start_data`.
    """
    try:
        scheme, start = build(row)
        scheme.check_start(data["known"], start)
        scheme.system.space.check_increment(data["x"])
    except ValueError as error:
        return str(error)
    return None

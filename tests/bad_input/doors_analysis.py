"""Analysis."""

from typing import Any

import jax.numpy as jnp
import numpy as np

import accion as ac
from tests.bad_input import systems as own
from tests.bad_input.doors import Door
from tests.bad_input.doors_runs import WORDS

START = {"q0": own.Q, "v0": own.V, "S0": 0.1}  # of a thermal system

A = ac.analysis
OFTEN = 0.3  # their good calls take long


def X(q):
    return jnp.array([0.0, 1.0])


def f(t, q):
    return 0.0 * t


def curve(t):
    return jnp.stack([jnp.cos(t), jnp.sin(t)])


def still(t):
    return jnp.asarray(own.Q) + 0.0 * t


def bump(t):
    return t * (1 - t) * jnp.ones(2)


def loop(s):
    angle = 2 * jnp.pi * s
    q = jnp.array([0.3 + 0.1 * jnp.cos(angle), 0.4])
    return q, jnp.array([0.1 * jnp.sin(angle), 0.2])


def surface(t, q, v, params):
    return q[0] - own.Q[0] - 1.5 * own.H * own.V[0]


def lifted(lift: Any) -> Any:
    def call(X: Any) -> Any:
        return lift(X)(jnp.asarray(own.Q), jnp.asarray(own.V))

    return call


def exact(system: Any, t: Any, h: Any, q0: Any, q1: Any) -> Any:
    return A.exact_discrete_lagrangian(system)(t, h, q0, q1)


def curved(system: Any, dependent: Any, t: Any, q: Any) -> Any:
    return A.connection(system, dependent).B(t, q)


def field(system: Any, dependent: Any, t: Any, q: Any, p: Any) -> Any:
    return A.presymplectic(system, dependent).field(t, q, p)


def along(system: Any, method: Any, order: Any, trajectory: Any) -> Any:
    return A.modified_hamiltonian(system, method, order).along(trajectory)


# ends between which there is no motion; one of several orders
WORDS = WORDS | {"orders": ("order",), "q0": (*WORDS["q0"], "motion"), "q1": ("motion", "v0")}
WORDS |= {"motion": ("first argument",)}


def doors() -> list[Door]:
    both = {"system": own.system("free"), "method": own.MIDPOINT}
    start = {"q0": own.Q, "v0": own.V}
    run = {**both, **start, "p0": None, "q1": None}
    steps = np.array([0.2, 0.1, 0.05])

    def door(name: str, f: Any, good: dict[str, Any], often: float = OFTEN) -> Door:
        return Door(f"analysis.{name}", f, good, WORDS, often)

    alone = {"system": own.system("free")}
    return [
        door(
            "order",
            A.order,
            {
                **run,
                "S0": None,
                "lam0": None,
                "t0": 0.0,
                "duration": 0.4,
                "h": steps,
                "exact": None,
            },
        ),
        door(
            "compare",
            A.compare,
            {
                "system": own.system("free"),
                "methods": [own.MIDPOINT],
                **start,
                "S0": None,
                "lam0": None,
                "t0": 0.0,
                "duration": 0.4,
                "h": steps,
                "repeats": 1,
            },
        ),
        door("symplecticity", A.symplecticity, {**run, "lam0": None, "t0": 0.0, "h": own.H}, 0.2),
        door("cosymplecticity", A.cosymplecticity, {**run, "t0": 0.0, "h": own.H}, 0.1),
        door("symplecticity_along", A.symplecticity_along, {"trajectory": own.trajectory()}),
        door("symmetries", A.symmetries, {**both, "seed": 0}),
        door("modified_hamiltonian", along, {**both, "order": 2, "trajectory": own.trajectory()}),
        door(
            "regularity",
            A.regularity,
            {
                **run,
                "S0": None,
                "lam0": None,
                "t0": 0.0,
                "h": own.H,
                "steps": 4,
                "samples": 5,
                "seed": 0,
            },
        ),
        door(
            "hyperregular",
            A.hyperregular,
            {**both, "h": own.H, "t": 0.0, "box": (-1.0, 1.0)},
            0.2,
        ),
        door("rk4", A.rk4, {**alone, **start, "t0": 0.0, "h": own.H, "steps": 4, "save_every": 1}),
        door(
            "step_bound",
            A.step_bound,
            {**alone, **start, "p0": None, "t0": 0.0, "R": 1.0, "c": 1.0, "samples": 2, "seed": 0},
            0.02,
        ),
        door("law", A.law, {"trajectory": own.trajectory(), "of": X}),
        door("action", A.action, {**alone, "motion": curve, "t0": 0.0, "t1": 1.0, "z0": 0.0}),
        door(
            "abnormal",
            A.abnormal,
            {
                "system": own.system("vakonomic"),
                "motion": still,
                "t0": 0.0,
                "t1": 1.0,
                "tolerance": 1e-7,
                "parts": 4,
            },
            0.2,
        ),
        door(
            "first_variation",
            A.first_variation,
            {**alone, "motion": curve, "along": bump, "t0": 0.0, "t1": 1.0, "z0": 0.0},
        ),
        door("cosymplectic", A.cosymplectic, {**both, "h": own.H, "order": 2}),
        door("extended_flow", A.extended_flow, both),
        door("decay", A.decay, {"trajectory": own.trajectory(), "X": X}),
        door("decay_rate", A.decay_rate, {**alone, "samples": 5, "seed": 0}),
        door("spatial_momentum", A.spatial_momentum, {"trajectory": own.trajectory("top")}),
        door("Symmetry", A.Symmetry, {"X": X, "f": f}),
        door("complete_lift", lifted(A.complete_lift), {"X": X}),
        door("vertical_lift", lifted(A.vertical_lift), {"X": X}),
        door(
            "poincare_invariant",
            A.poincare_invariant,
            {**both, "loop": loop, "t0": 0.0, "h": own.H, "steps": 2, "points": 8},
        ),
        door(
            "ladder",
            A.ladder,
            {**both, **start, "duration": 1.6, "h": steps, "orders": (2, 4)},
            0.1,
        ),
        door(
            "variational_order", A.variational_order, {**both, **start, "t0": 0.0, "h": steps}, 0.1
        ),
        door(
            "exact_discrete_lagrangian",
            exact,
            {**alone, "t": 0.0, "h": own.H, "q0": own.Q, "q1": own.Q + 0.01},
        ),
        door(
            "exact_thermal_step",
            A.exact_thermal_step,
            {"system": own.system("thermal"), **START, "h": 0.1, "t0": 0.0},
            0.3,
        ),
        door(
            "thermal_variational_order",
            A.thermal_variational_order,
            {
                "system": own.system("thermal"),
                "method": own.MIDPOINT,
                **START,
                "h": np.array([0.1, 0.05]),
                "t0": 0.0,
            },
            0.2,
        ),
        door("thermal_forms", A.thermal_forms, {"trajectory": own.trajectory("thermal")}),
        door(
            "noether_balance",
            A.noether_balance,
            {"trajectory": own.trajectory("thermal"), "X": lambda q: jnp.ones(len(q))},
        ),
        door("thermal_regularity", A.thermal_regularity, {"trajectory": own.trajectory("thermal")}),
        door(
            "constraint_algorithm",
            A.constraint_algorithm,
            {"system": own.system("vakonomic"), "samples": 3, "seed": 0, "seconds": 0.2},
            0.1,
        ),
        door(
            "connection",
            curved,
            {"system": own.system("vakonomic"), "dependent": [1], "t": 0.0, "q": own.Q},
            0.1,
        ),
        door(
            "integrability",
            A.integrability,
            {"system": own.system("vakonomic"), "samples": 3, "seed": 0, "tolerance": 1e-9},
            0.02,
        ),
        door(
            "presymplectic",
            field,
            {
                "system": own.system("vakonomic"),
                "dependent": [1],
                "t": 0.0,
                "q": own.Q,
                "p": own.V,
            },
            0.1,
        ),
        door(
            "lyapunov",
            A.lyapunov,
            {
                **run,
                "lam0": None,
                "t0": 0.0,
                "h": own.H,
                "steps": 4,
                "every": 2,
                "transient": 2,
                "count": 2,
                "params": None,
                "engine": "auto",
            },
            0.1,
        ),
        door(
            "poincare_section",
            A.poincare_section,
            {
                "motion": own.system("free"),
                "method": own.MIDPOINT,
                "section": surface,
                "direction": 0,
                **start,
                "p0": None,
                "S0": None,
                "lam0": None,
                "t0": 0.0,
                "h": own.H,
                "steps": 4,
                "crossings": 1,
                "params": None,
                "throw": True,
                "engine": "auto",
            },
            0.1,
        ),
        door(
            "poincare_section, of a trajectory",
            A.poincare_section,
            {"motion": own.trajectory(), "section": surface, "direction": 0, "crossings": None},
            0.1,
        ),
        door(
            "audit",
            A.audit,
            {**run, "S0": None, "lam0": None, "t0": 0.0, "h": own.H, "steps": 8},
            0.05,
        ),
    ]

"""Control."""

from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import accion as ac
from tests.bad_input import systems as own
from tests.bad_input.doors import Door
from tests.bad_input.doors_results import folder


def cost(t, q, v, u, params):
    return 0.5 * u @ u


def terminal(t, q, v, params):
    return 0.1 * v @ v


def B(t, q, params):
    return jnp.eye(2)


def g(t, q, v, u, params):
    return u[0] - 100.0


def thrust(t, q, v, u, params):
    return u[0] * jnp.stack([jnp.cos(u[1]), jnp.sin(u[1])])


def rates(t, x, u, params):
    return jnp.stack([x[1], u[0] - x[0]])


def state_cost(t, x, u, params):
    return 0.5 * u @ u


def state_condition(t, x, params):
    return x[1]


def state_limit(t, x, u, params):
    return u[0] - 100.0


def condition(t, q, v, params):
    return v[0]


def rate_cost(t, w, params):
    return 0.1 * w @ w


# of `optimize` that `optimum` has too
ASKED = ("problem", "method", "steps", "guess", "solver", "tolerance", "max_iterations", "options")
ENDS = {"start": (own.Q, own.V), "end": (own.Q + 0.1, None), "duration": 0.4}


@cache
def problem() -> Any:
    return ac.ControlProblem(own.system("free"), cost, actuated=[0, 1], **ENDS)


@cache
def whole_problem() -> Any:
    ends = ENDS | {"end": (own.Q + 0.1, own.V)}
    return ac.ControlProblem(own.system("free"), cost, actuated=[0, 1], **ends)


@cache
def solution() -> Any:
    return ac.optimize(problem(), own.MIDPOINT, 4)


@cache
def dynamics() -> Any:
    return ac.Dynamics(rates, 2, 1, name="own")


@cache
def followed() -> Any:
    return ac.control.track(followed_solution(), 1.0, 1.0, 1.0)


@cache
def held() -> Any:
    return ac.control.lqr(whole_problem(), 1.0, 1.0, at=(own.Q, None), h=0.1)


@cache
def face() -> Any:
    return problem().hamiltonian()


@cache
def discrete_run() -> Any:
    given = face().to_discrete(own.MIDPOINT, 0.1, 0.0, own.Q, own.V, COSTATES)
    return ac.simulate(problem().discrete(own.MIDPOINT), **given, h=0.1, steps=4)


COSTATES = np.array([[0.1, 0.2], [0.3, -0.1]])


def push(t, q, v, params):
    return 0.1 * v


@cache
def followed_solution() -> Any:
    return ac.optimize(whole_problem(), own.MIDPOINT, 4)


@cache
def planned() -> Any:
    return ac.control.receding_horizon(whole_problem(), own.MIDPOINT, 4, 2)


def drawn(result: Any, axes: Any) -> Any:
    import matplotlib.pyplot as plt

    try:
        return result.plot(axes)
    finally:
        plt.close("all")


def plotted(axes: Any) -> Any:
    return drawn(solution(), axes)


def feedback_plotted(axes: Any) -> Any:
    return drawn(followed(), axes)


def run_plotted(axes: Any) -> Any:
    return drawn(planned().run, axes)


def receding_plotted(axes: Any) -> Any:
    return drawn(planned(), axes)


def doors() -> list[Door]:
    whole = {
        "system": own.system("free"),
        "cost": cost,
        "actuated": None,
        "actuation": B,
        **ENDS,
        "terminal": terminal,
        "control_bounds": (-50.0, 50.0),
        "state_bounds": {"q1": (-5.0, 5.0)},
        "velocity_bounds": None,
        "path": {"limit": g},
        "rate_bounds": (-900.0, 900.0),
        "rate_cost": rate_cost,
        "integrals": {"used": (g, (None, 1.0))},
        "at_end": condition,
        "via": {0.2: own.Q + 0.05},
        "t0": 0.0,
        "boundary": "velocities",
        "controls": ("a", "b"),
        "name": "own",
    }
    forced = {
        "system": own.system("free"),
        "cost": cost,
        "control_force": thrust,
        "controls": ("size", "angle"),
        **ENDS,
    }
    stated = {
        "system": dynamics(),
        "cost": state_cost,
        "start": np.array([0.0, 0.1]),
        "end": (0.1, None),
        "duration": 0.4,
        "control_bounds": (-50.0, 50.0),
        "path": {"limit": state_limit},
        "at_end": state_condition,
    }
    none = {"start": ("list with None",)}
    given = {
        "f": rates,
        "states": ("a", "b"),
        "controls": ("u",),
        "params": {"k": 1.0},
        "name": "own",
    }
    words = {
        "system": ("first argument",),
        "actuated": ("actuation",),
        "actuation": ("actuated",),
        "state_bounds": ("bounds",),
        "controls": ("actuation", "control_force"),
    }
    sizes = {"f": ("rate",), "states": ("f has", "one rate"), "controls": ("f has", "one rate")}
    settings = {
        "problem": problem(),
        "method": own.MIDPOINT,
        "steps": 4,
        "guess": None,
        "formulation": "direct",
        "solver": None,
        "starts": 1,
        "spread": 1.0,
        "seed": 0,
        "tolerance": 1e-9,
        "max_iterations": 20,
        "progress": False,
        "throw": True,
        "options": None,
    }
    own_params = {"params": problem().system.params}
    asked = {name: settings[name] for name in settings if name in ASKED} | own_params
    path = Path(folder().name) / "control.zarr"
    adapted = {"solution": solution(), "tolerance": 0.1, "max_steps": 40, "progress": False}
    point = {"t": 0.0, "q": own.Q, "v": own.V, "costates": COSTATES, "u": np.zeros(2)}
    march = {
        "costates": COSTATES,
        "q0": own.Q,
        "v0": own.V,
        "steps": 4,
        "duration": 0.2,
        "t0": 0.0,
        "u0": np.zeros(2),
    }
    state = {"q0": own.Q, "v0": own.V, "disturbance": push, "system": own.system("free")}
    rest = {"at": (own.Q, None), "u": None, "t": 0.0, "h": 0.1}
    horizon = {
        "problem": whole_problem(),
        "method": own.MIDPOINT,
        "steps": 4,
        "moves": 2,
        "every": 1,
        **state,
        "guess": None,
        "solver": None,
        "tolerance": 1e-6,
        "options": None,
    }
    nodes = [own.Q, own.Q + 0.01, own.Q + 0.02, own.Q + 0.03]
    four = {"method": own.MIDPOINT, "h": 0.1, "q": np.array(nodes), "lam": None, "t0": 0.0}
    jets = {"t": 0.0, "q": own.Q, "jets": np.ones((3, 2)), "lams": None}
    return [
        Door("ControlProblem.discrete", problem().discrete, {"method": own.MIDPOINT}, often=0.3),
        Door("ControlProblem.conditions", whole_problem().conditions, {"motion": None}, often=0.3),
        Door("CanonicalSystem.march", face().march, march, often=0.3),
        Door("CanonicalSystem.control", face().control, point, often=0.3),
        Door("CanonicalSystem.H", face().H, point, often=0.3),
        Door("CanonicalSystem.to_vakonomic", face().to_vakonomic, point, often=0.3),
        Door("CanonicalSystem.from_vakonomic", face().from_vakonomic, jets, often=0.3),
        Door(
            "CanonicalSystem.to_discrete",
            face().to_discrete,
            {"method": own.MIDPOINT, "h": 0.1} | point,
            often=0.3,
        ),
        Door("CanonicalSystem.from_discrete", face().from_discrete, four, often=0.3),
        Door("CanonicalSystem.read", face().read, {"motion": discrete_run()}, often=0.1),
        Door("ControlProblem", ac.ControlProblem, whole, words, often=2.0),
        Door("ControlProblem, force", ac.ControlProblem, forced, words, often=0.5),
        Door("ControlProblem, states", ac.ControlProblem, stated, words, 0.5, none),
        Door("Dynamics", ac.Dynamics, given, sizes, often=0.5),
        Door("control.adapt", ac.control.adapt, adapted, often=0.3),
        Door("control.certify", ac.control.certify, {"solution": solution()}, often=0.3),
        Door("control.step_errors", ac.control.step_errors, {"solution": solution()}, often=0.3),
        Door("Solution.at", solution().at, {"t": np.array([0.1, 0.2])}),
        Door("optimize", ac.optimize, settings, {"method": ("method",)}, often=0.7),
        Door("control.optimum", ac.control.optimum, asked, {"method": ("method",)}, often=0.3),
        Door("Solution.control", solution().control, {"t": np.array([0.1, 0.2])}),
        Door("Solution.resample", solution().resample, {"steps": 4}),
        Door("Solution.save", solution().save, {"path": path, "overwrite": True}, often=0.3),
        Door("Solution.plot", plotted, {"axes": None}, often=0.1),
        Door("Solution.extremal", solution().extremal, {"intervals": 4}, often=0.1),
        Door("control.linearise", ac.control.linearise, {"about": whole_problem(), **rest}),
        Door(
            "control.lqr", ac.control.lqr, {"problem": whole_problem(), "Q": 1.0, "R": 1.0, **rest}
        ),
        Door(
            "control.track",
            ac.control.track,
            {"solution": followed_solution(), "Q": np.ones(4), "R": np.eye(2), "Qf": 1.0},
            often=0.3,
        ),
        Door("Feedback", followed(), {"t": 0.1, "q": own.Q, "v": own.V}),
        Door("Feedback.replay", held().replay, {"duration": 0.2, "h": 0.1, **state}),
        Door(
            "Feedback.closed_loop",
            held().closed_loop,
            {"system": own.system("free")},
            often=0.3,
        ),
        Door("Feedback.plot", feedback_plotted, {"axes": None}, often=0.1),
        Door(
            "control.reach",
            ac.control.reach,
            {"problem": whole_problem(), "at": (own.Q, own.V), "t": 0.0, "depth": 2},
            often=0.3,
        ),
        Door("control.receding_horizon", ac.control.receding_horizon, horizon, often=0.5),
        Door("Run.plot", run_plotted, {"axes": None}, often=0.1),
        Door("Receding.plot", receding_plotted, {"axes": None}, often=0.1),
        Door("control.load", ac.control.load, {"path": path, "problem": problem()}, often=0.3),
    ]

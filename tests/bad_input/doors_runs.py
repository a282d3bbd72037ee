"""Runs: simulate, ensemble, connect, and a system at one instant."""

from typing import Any

import numpy as np

import accion as ac
from tests.bad_input import systems as own
from tests.bad_input.doors import Door

SETTINGS = {
    "t0": 0.0,
    "h": own.H,
    "steps": own.STEPS,
    "save_every": 1,
    "throw": True,
    "progress": False,
    "params": None,
    "engine": "auto",
}
WORDS = {
    # what a start lacks is named by what would mend it
    "q0": ("initial data", "q1", "start"),
    "v0": ("p0", "q1", "initial data", "h"),
    # as many as the functions of a system are written for
    "S0": ("lagrangian", "friction"),
    "p0": ("v0",),
    "q1": ("v0",),
    "system": ("first argument",),
    "method": ("second argument",),
    "h": ("step",),
    "params": ("params",),
}


def of(system: Any, **arguments: Any) -> Any:
    """`simulate` of one of the shared systems: nobody else's is compiled."""
    return ac.simulate(system, None if system.discrete_time else own.MIDPOINT, **arguments)


def wrong_function(field: str) -> Any:
    """A run of a system whose function `field` is wrong."""

    def call(**functions: Any) -> Any:
        built = ac.System(**({"lagrangian": own.L} | functions), space=own.PLANE, params=own.PARAMS)
        lam0 = np.zeros(1) if "vakonomic" in functions else None
        return ac.simulate(built, own.MIDPOINT, q0=own.Q, v0=own.V, lam0=lam0, h=own.H, steps=2)

    call.__name__ = field
    return call


def starts() -> dict[str, dict[str, Any]]:
    none = dict.fromkeys(("v0", "p0", "q1", "S0", "lam0", "z0"))
    jets = np.array([own.V, [0.2, 0.1], [0.1, 0.3]])
    return {
        "free": none | {"q0": own.Q, "v0": own.V},
        "held": none | {"q0": own.Q, "v0": own.V},
        "vakonomic": none | {"q0": own.Q, "v0": own.V, "lam0": np.array([0.3])},
        "thermal": none | {"q0": own.Q, "v0": own.V, "S0": 0.1},
        "contact": none | {"q0": own.Q, "v0": own.V, "z0": 0.1},
        "higher": none | {"q0": own.Q, "v0": jets},
        "discrete": none | {"q0": own.Q, "p0": own.V},
        "top": none | {"q0": np.eye(3), "v0": np.array([0.1, 0.2, 0.3])},
        "product": none | {"q0": (np.array([0.3]), np.array([0.4])), "v0": own.V},
    }


def simulations() -> list[Door]:
    found = []
    for kind, start in starts().items():
        system = own.system(kind)

        def call(system: Any = system, **arguments: Any) -> Any:
            return of(system, **arguments)

        often = 3.0 if kind == "free" else 1.0
        found.append(Door(f"simulate, {kind}", call, start | SETTINGS, WORDS, often))
    whole = {"system": own.system("free"), "method": own.MIDPOINT, "q0": own.Q, "v0": own.V}
    found.append(Door("simulate", ac.simulate, whole | {"h": own.H, "steps": 2}, WORDS))
    ended = whole | {"h": own.H, "until": 2.5 * own.H}
    found.append(Door("simulate, until", ac.simulate, ended, WORDS, 0.3))
    wanted = whole | {"duration": 0.5, "tolerance": 1e-3, "t0": 0.0}
    found.append(Door("suggest_step", ac.suggest_step, wanted, WORDS, 0.2))
    many = {
        "q0": np.stack([own.Q, 2 * own.Q]),
        "v0": own.V,
        "p0": None,
        "q1": None,
        "S0": None,
        "lam0": None,
        "z0": None,
    }
    members = {"system": own.system("free"), "method": own.MIDPOINT, **many, **SETTINGS}
    found.append(
        Door("ensemble", ac.ensemble, members | {"params": {"k": np.array([0.6, 0.7])}}, WORDS, 2.0)
    )
    return found


def functions() -> list[Door]:
    fields = {
        "lagrangian": own.L,
        "force": own.force,
        "holonomic": own.phi,
        "nonholonomic": own.kappa,
        "vakonomic": own.kappa,
    }
    words = ("Lagrangian", "constraint", "lam0", "singular", "rank")
    return [
        Door(f"a run, {name}", wrong_function(name), {name: f}, {name: words}, often=0.3)
        for name, f in fields.items()
    ]


def accelerations(system: Any, t: Any, q: Any, v: Any) -> Any:
    return ac.accelerations(system)(t, q, v)


def instants() -> list[Door]:
    free, held = own.system("free"), own.system("held")
    point = {"t": 0.0, "q": own.Q, "v": own.V}
    start = {"q0": own.Q, "v0": own.V, "S0": None, "lam0": None, "z0": None}
    accuracy = {"rtol": 1e-8, "atol": 1e-8, "max_steps": 1000, "with_error": False}
    ends = {
        "qa": own.Q,
        "qb": own.Q + 0.1,
        "va": None,
        "vb": None,
        "S0": None,
        "Sb": None,
        "duration": 0.2,
        "steps": 4,
        "t0": 0.0,
        "guess": None,
        "params": None,
    }
    return [
        Door("project", ac.project, {"system": held, **point}, WORDS),
        Door("accelerations", accelerations, {"system": free, **point}, WORDS),
        Door(
            "reference",
            ac.reference,
            {"system": free, **start, "ts": np.array([0.0, 0.1]), **accuracy},
            WORDS,
        ),
        Door(
            "connect",
            ac.connect,
            {"system": free, "method": own.MIDPOINT, **ends},
            WORDS | {"qa": ("guess", "qb"), "qb": ("guess",), "va": ("vb",), "vb": ("va",)},
        ),
        Door(
            "connect, thermal",
            ac.connect,
            {"system": own.system("thermal"), "method": own.MIDPOINT, **ends, "S0": 0.1},
            WORDS | {"qa": ("guess", "qb"), "qb": ("guess",), "S0": ("entropy",)},
            often=0.3,
        ),
    ]


def discrete() -> list[Door]:
    found = []
    for kind in ("free", "discrete"):
        method = None if kind == "discrete" else own.MIDPOINT
        d = ac.discrete(own.system(kind), method)
        step = {"t": 0.0, "h": own.H, "q0": own.Q, "q1": own.Q + 0.01}
        for name in ("Ld", "D1", "D2", "D12", "energy", "legendre_minus", "legendre_plus", "flow"):
            door = Door(
                f"discrete.{name}, {kind}", getattr(d, name), step | {"lam": None}, often=0.2
            )
            found.append(door)
        for name in ("force_minus", "force_plus"):
            found.append(Door(f"discrete.{name}, {kind}", getattr(d, name), step, often=0.2))
        three = step | {"q2": own.Q + 0.02}
        found.append(Door(f"discrete.euler_lagrange, {kind}", d.euler_lagrange, three, often=0.2))
        at = {"t": 0.0, "h": own.H, "q": own.Q, "p": own.V, "guess": None}
        found.append(Door(f"discrete.hamiltonian_flow, {kind}", d.hamiltonian_flow, at, often=0.2))
    warm = {"S0": 0.1, "S1": 0.11}
    d = ac.discrete(own.system("thermal"), own.MIDPOINT)
    step = {"t": 0.0, "h": own.H, "q0": own.Q, "q1": own.Q + 0.01} | warm
    for name in ("Ld", "D12", "friction", "external", "legendre_plus", "flow"):
        found.append(Door(f"discrete.{name}, thermal", getattr(d, name), step, often=0.1))
    ends = {"t": 0.0, "h": own.H, "q1": own.Q, "q2": own.Q + 0.01, "S1": 0.1, "S2": 0.11}
    found.append(Door("discrete.inverse_flow, thermal", d.inverse_flow, ends, often=0.1))
    at = {"t": 0.0, "h": own.H, "q": own.Q, "p": own.V, "S": 0.1}
    for name in ("hamiltonian_flow", "inverse_hamiltonian_flow"):
        found.append(Door(f"discrete.{name}, thermal", getattr(d, name), at, often=0.1))
    both = {"system": own.system("free"), "method": own.MIDPOINT}
    return [*found, Door("discrete", ac.discrete, both, WORDS)]


def doors() -> list[Door]:
    return [*simulations(), *functions(), *instants(), *discrete()]

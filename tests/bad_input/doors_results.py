"""What is done with a run: saved, loaded, shown, printed."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import accion as ac
from tests.bad_input import systems as own
from tests.bad_input.doors import Door
from tests.bad_input.doors_runs import WORDS


@cache
def folder() -> Any:
    """Where everything is written; it goes with the process."""
    return TemporaryDirectory(prefix="accion-bad-input-")


def stored() -> Path:
    path = Path(folder().name) / "run.zarr"
    if not path.exists():
        own.trajectory().save(path)
    return path


def X(q):
    return jnp.array([1.0, 0.0])


def plotted(axes: Any, kind: Any) -> Any:
    try:
        return own.trajectory().plot(axes, kind=kind)
    finally:
        plt.close("all")


def animated(positions: Any, path: Any, fps: Any, seconds: Any) -> Any:
    try:
        return own.trajectory().animate(positions, path, fps=fps, seconds=seconds)
    finally:
        plt.close("all")


def paged(path: Any, positions: Any, compare: Any) -> Any:
    return own.trajectory().to_html(path, positions=positions, compare=compare)


def points(q):
    return jnp.stack([jnp.zeros(2), q])


def outside(t, q, v, S, params):
    return 0.0 * S


def doors() -> list[Door]:
    path = Path(folder().name) / "another.zarr"
    free, thermal = own.trajectory(), own.trajectory("thermal")
    gas = ac.thermo.IdealGas(1.0, 1.0)
    return [
        Door("Trajectory.save", free.save, {"path": path, "overwrite": True}, often=0.5),
        Door("load", ac.load, {"path": stored(), "system": own.system("free")}, often=0.5),
        Door("Trajectory.momentum", free.momentum, {"X": X}),
        Door("Trajectory.at", free.at, {"t": 0.07}),
        Door("Trajectory.extend", free.extend, {"steps": 2, "throw": True, "progress": False}),
        Door("Trajectory.value", free.value, {"name": "energy"}),
        Door("Trajectory.item", free.__getitem__, {"key": "energy"}),
        Door("Trajectory.plot", plotted, {"axes": None, "kind": "time"}, often=0.2),
        Door(
            "Trajectory.animate",
            animated,
            {"positions": points, "path": None, "fps": 10, "seconds": 0.2},
            often=0.3,
        ),
        Door(
            "Trajectory.to_html",
            paged,
            {"path": None, "positions": points, "compare": None},
            often=0.2,
        ),
        Door(
            "Trajectory.show3d",
            free.show3d,
            {"path": None, "positions": points, "trail": 0.3},
            often=0.3,
        ),
        Door("Trajectory.entropy_production", thermal.entropy_production, {"outside": outside}),
        Door("symbolic", ac.symbolic, {"system": own.system("free"), "seconds": 0.2}, WORDS, 0.3),
        Door("thermo.IdealGas", ac.thermo.IdealGas, dict.fromkeys(GAS, 1.0)),
        Door("thermo.IdealGas.moles", ac.thermo.IdealGas.moles, dict.fromkeys(MOLES, 1.0)),
        Door(
            "thermo.IdealGas.polytropic",
            ac.thermo.IdealGas.polytropic,
            {"gamma": 1.4, "NR": 1.0, "T_ref": 300.0, "V_ref": 1.0, "S_ref": 0.0},
        ),
        Door(
            "thermo.VanDerWaals",
            ac.thermo.VanDerWaals,
            dict.fromkeys(("NR", "T_ref", "c"), 1.0) | {"a": 0.1, "b": 0.1, "V_ref": 1.0},
        ),
        Door("thermo.Radiation", ac.thermo.Radiation, {"a": 1.0}),
        Door(
            "thermo.from_temperature",
            ac.thermo.from_temperature,
            {"U": energy_of_T, "S": jnp.log, "params": None, "T_ref": 300.0},
        ),
        Door(
            "thermo.from_potential",
            ac.thermo.from_potential,
            {"f": potential, "of": "TV", "params": None, "T_ref": 300.0, "P_ref": 1e5},
        ),
        Door(
            "thermo.network",
            ac.thermo.network,
            {"T": np.array([300.0, 310.0]), "edges": [(0, 1)], "G": 1.0},
            {"T": ("temperatures", "network"), "G": ("conductances", "network")},
        ),
        Door("thermo.dry_friction", ac.thermo.dry_friction, {"v": 1.0, "most": 1.0, "creep": 0.1}),
        Door("thermo.Solid", ac.thermo.Solid, {"C": 1.0, "T_ref": 300.0, "S_ref": 0.0}),
        Door("thermo.bath", ac.thermo.bath, {"T": 300.0, "T_bath": 310.0, "G": 1.0}),
        Door(
            "thermo.conduction",
            ac.thermo.conduction,
            {"T": np.array([300.0, 310.0]), "G": 1.0},
            {"T": ("temperatures", "conduction"), "G": ("conductances", "conduction")},
        ),
        Door("thermo.laws", ac.thermo.laws, {"trajectory": thermal}),
        Door(
            "thermo.states",
            ac.thermo.states,
            {"trajectory": thermal, "body": gas, "volume": volume, "which": 0},
        ),
    ]


GAS = ("NR", "U_ref", "V_ref", "S_ref", "c")
MOLES = ("N", "T_ref", "V_ref", "S_ref", "c")


def energy_of_T(T):
    return 1.0 * T


def potential(T, V):
    return -T * (jnp.log(T) + jnp.log(V))


def volume(q):
    return 1.0 + q[0] ** 2

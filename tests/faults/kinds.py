"""Every kind of store, small: how it is written, and what loads from it."""

import tarfile
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import accion as ac
from accion import campaign, control, formation

RUN = {"h": 0.1, "steps": 6}
BEAD = ac.System(
    lambda t, q, v, m: 0.5 * m * v @ v - 9.81 * q[1],
    ac.Euclidean(2),
    2.0,
    coordinates=("x [m]", "y [m]"),
    name="bead",
)
WARM = ac.ThermalSystem(
    lambda t, q, v, S, c: 0.5 * v[0] ** 2 - jnp.exp(S / c),
    ac.Euclidean(1),
    2.0,
    friction=lambda t, q, v, S, c: -v,
    name="warm",
)
BLOCK = ac.System(lambda t, q, v, m: 0.5 * m * v @ v, ac.Euclidean(1), 1.0, name="block")
CREATED = ("created", "versions", "checksums")  # attributes that say nothing of the numbers


class Kind(NamedTuple):
    """A kind of store.

    Arguments:
        write: (path, which) writes one of two different stores, 0 or 1, in the place of any.
        load: from a path, everything that is there as text and bytes, by name.
        go_on: (path, which) writes what is missing, None where a store is written at once.
    """

    write: Callable[[Path, int], Any]
    load: Callable[[Path], dict[str, Any]]
    go_on: Callable[[Path, int], Any] | None = None


def picture(dataset: Any) -> dict[str, Any]:
    """A Dataset as bytes and text, to be compared."""
    found = {f"attribute {k}": str(v) for k, v in dataset.attrs.items() if k not in CREATED}
    for name, variable in dataset.variables.items():
        values = np.asarray(variable.values)
        plain = values.tolist() if values.dtype.kind in "OUT" else (values.dtype, values.tobytes())
        found[str(name)] = (variable.dims, values.shape, plain, str(variable.attrs))
    return found


@cache
def runs() -> list[Any]:
    return [
        ac.simulate(BEAD, ac.Midpoint(), q0=[0.6, -0.8], v0=[v, 0.0], **RUN) for v in (0.0, 1.0)
    ]


@cache
def ensembles() -> list[Any]:
    return [
        ac.ensemble(BEAD, ac.Midpoint(), q0=[0.6, -0.8], v0=[x, 0.0], params=masses, **RUN)
        for x, masses in ((0.0, jnp.array([1.0, 2.0])), (1.0, jnp.array([3.0, 4.0])))
    ]


@cache
def warm() -> list[Any]:
    return [ac.simulate(WARM, ac.Midpoint(), q0=[0.0], v0=[v], S0=0.1, **RUN) for v in (1.0, 2.0)]


@cache
def problem() -> Any:
    return ac.ControlProblem(
        BLOCK,
        lambda t, q, v, u, params: u @ u,
        actuated=[0],
        start=([0.0], [0.0]),
        end=([1.0], [0.0]),
        duration=1.0,
    )


@cache
def solutions() -> list[Any]:
    return [ac.optimize(problem(), ac.Midpoint(), n) for n in (4, 5)]


@cache
def maps() -> list[Any]:
    """Of a region of attraction: one that an earlier accion made, and its mirror image."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tarfile.open(Path(__file__).parents[1] / "data" / "stores.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        there = formation.load_attraction(Path(folder) / "attraction.zarr").load()
    return [there, there.assign(outcome=(there["outcome"].dims, there["outcome"].values[::-1]))]


def of_solution(path: Path) -> dict[str, Any]:
    found = control.load(path, problem())
    arrays = {"q": found.q, "u": found.u, "t_u": found.t_u, "costates": found.costates}
    numbers = {
        name: str(getattr(found, name)) for name in ("cost", "success", "method", "iterations")
    }
    return {name: np.asarray(a).tobytes() for name, a in arrays.items()} | numbers


PLAN = campaign.grid({"q0[0]": np.linspace(-1.0, 1.0, 5)}, v0=[0.0])
WELL = ac.System(lambda t, q, v, k: 0.5 * v @ v - k * (q @ q - 1.0) ** 2, ac.Euclidean(1), 1.0)


def run_campaign(path: Path, which: int, overwrite: bool = False) -> Any:
    return campaign.run(
        WELL,
        ac.Midpoint(),
        PLAN,
        h=(0.1, 0.2)[which],
        steps=20,
        chunk=2,
        store=path,
        progress=False,
        overwrite=overwrite,
    )


KINDS = {
    "a trajectory": Kind(
        lambda path, i: runs()[i].save(path, overwrite=True),
        lambda path: picture(ac.load(path, BEAD).to_xarray()),
    ),
    "an ensemble": Kind(
        lambda path, i: ensembles()[i].save(path, overwrite=True),
        lambda path: picture(ac.load(path, BEAD).to_xarray()),
    ),
    "a thermal trajectory": Kind(
        lambda path, i: warm()[i].save(path, overwrite=True),
        lambda path: picture(ac.load(path, WARM).to_xarray()),
    ),
    "an optimal control": Kind(
        lambda path, i: solutions()[i].save(path, overwrite=True), of_solution
    ),
    "a region of attraction": Kind(
        lambda path, i: formation.save_attraction(maps()[i], path, overwrite=True),
        lambda path: picture(formation.load_attraction(path)),
    ),
    "a campaign": Kind(
        lambda path, i: run_campaign(path, i, overwrite=True),
        lambda path: picture(campaign.load(path)),
        run_campaign,
    ),
}

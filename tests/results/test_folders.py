"""Folders that take the place of others: cut off anywhere, the old one or the new one is there
whole.
"""

import os
import shutil
import subprocess
import sys
import threading

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion import campaign
from accion.results.folders import recover, replacing

SYSTEM = ac.System(lambda t, q, v, k: 0.5 * v @ v - 0.5 * k * q @ q, ac.Euclidean(1), 2.0)
PLAN = campaign.grid({"q0[0]": [0.1, 0.2]}, v0=[0.0])
RUN = {"h": 0.1, "steps": 5}


def write(path, text):
    """A folder of two files that say `text`, in the place of what is there."""
    with replacing(path) as new:
        new.mkdir()
        for name in ("a", "b"):
            (new / name).write_text(text)


def read(path):
    recover(path)
    assert sorted(p.name for p in path.iterdir()) == ["a", "b"]
    one, other = ((path / name).read_text() for name in ("a", "b"))
    assert one == other
    return one


class Cut:
    """os.rename or shutil.rmtree that is interrupted before or after its work, in the calls of the
    given numbers.

    Only calls of the main thread count: Zarr has one of its own, which an interrupt would end.
    """

    def __init__(self, work, calls, after):
        self.work, self.calls, self.after, self.count = work, calls, after, 0

    def __call__(self, *args, **more):
        main = threading.current_thread() is threading.main_thread()
        self.count += main
        if not main or self.count not in self.calls:
            return self.work(*args, **more)
        if self.after:
            self.work(*args, **more)
        raise KeyboardInterrupt


POINTS = [
    pytest.param(
        name,
        calls,
        after,
        id=f"{name} {'+'.join(map(str, calls))} {'after' if after else 'before'}",
    )
    for name, calls in (("rename", (1,)), ("rename", (2,)), ("rename", (2, 3)), ("rmtree", (1,)))
    for after in (False, True)
]


def cut(monkeypatch, name, calls, after):
    module = os if name == "rename" else shutil
    monkeypatch.setattr(module, name, Cut(getattr(module, name), calls, after))


@pytest.mark.parametrize(("name", "calls", "after"), POINTS)
def test_an_interrupt_anywhere_loses_nothing(name, calls, after, tmp_path, monkeypatch):
    path = tmp_path / "store"
    write(path, "old")
    with monkeypatch.context() as patch:
        cut(patch, name, calls, after)
        with pytest.raises(KeyboardInterrupt):
            write(path, "new")
    assert read(path) in ("old", "new")
    if name == "rename" and calls == (1,):
        assert [p.name for p in tmp_path.iterdir()] == ["store"]
    write(path, "newer")
    assert read(path) == "newer"


KILLED = """
import os, signal, shutil, sys
from pathlib import Path
from accion.results.folders import replacing
path, at = Path(sys.argv[1]), int(sys.argv[2])
steps = 0
def counted(work):
    def wrapped(*args, **more):
        global steps
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1
        return work(*args, **more)
    return wrapped
os.rename, shutil.rmtree = counted(os.rename), counted(shutil.rmtree)
with replacing(path) as new:
    new.mkdir()
    for name in ("a", "b"):
        (new / name).write_text("new")
"""


def test_a_process_that_is_killed_loses_nothing(tmp_path):
    """Before the old folder is moved aside, between the two moves, and before what is aside is
    removed.
    """
    found = []
    for at in range(3):
        path = tmp_path / f"store{at}"
        write(path, "old")
        assert (
            subprocess.run(
                [sys.executable, "-c", KILLED, str(path), str(at)], check=False
            ).returncode
            == -9
        )
        assert path.exists() == (at != 1)
        found.append(read(path))
    assert found == ["old", "new", "new"]


def test_what_a_user_removed_does_not_come_back(tmp_path):
    path = tmp_path / "store"
    write(path, "old")
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, "rmtree", (1,), False)
        with pytest.raises(KeyboardInterrupt):
            write(path, "new")
    shutil.rmtree(path)
    recover(path)
    assert not path.exists()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    write(tmp_path / "disk" / "store", "old")
    (tmp_path / "store").symlink_to(tmp_path / "disk" / "store")
    write(tmp_path / "store", "new")
    assert (tmp_path / "store").is_symlink()
    assert read(tmp_path / "disk" / "store") == "new"


@pytest.fixture(scope="module")
def runs():
    return [ac.simulate(SYSTEM, ac.Midpoint(), q0=[q], v0=[0.0], **RUN) for q in (1.0, 2.0)]


@pytest.mark.parametrize(("name", "calls", "after"), POINTS)
def test_a_trajectory_that_is_being_replaced_is_never_lost(
    name, calls, after, runs, tmp_path, monkeypatch
):
    old, new = runs
    path = tmp_path / "run.zarr"
    old.save(path)
    with monkeypatch.context() as patch:
        cut(patch, name, calls, after)
        with pytest.raises(KeyboardInterrupt):
            new.save(path, overwrite=True)
    assert np.asarray(ac.load(path, SYSTEM).q).tolist() in (
        np.asarray(old.q).tolist(),
        np.asarray(new.q).tolist(),
    )


@pytest.mark.parametrize(("name", "calls", "after"), POINTS)
def test_a_campaign_that_is_being_replaced_is_never_lost(name, calls, after, tmp_path, monkeypatch):
    """What loads is the old campaign, whole, or the new one, begun."""
    path = tmp_path / "runs"
    campaign.run(SYSTEM, ac.Midpoint(), PLAN, **RUN, store=path, progress=False)
    again = RUN | {"h": 0.2}
    with monkeypatch.context() as patch:
        cut(patch, name, calls, after)
        with pytest.raises(KeyboardInterrupt):
            campaign.run(
                SYSTEM, ac.Midpoint(), PLAN, **again, store=path, progress=False, overwrite=True
            )
    assert campaign.load(path).sizes["member"] == 2
    found = campaign.run(
        SYSTEM, ac.Midpoint(), PLAN, **again, store=path, progress=False, overwrite=True
    )
    assert found["success"].values.all()


def test_a_campaign_that_cannot_be_begun_leaves_the_old_one(tmp_path):
    path = tmp_path / "runs"
    campaign.run(SYSTEM, ac.Midpoint(), PLAN, **RUN, store=path, progress=False)
    wrong = campaign.Reduction(
        lambda now: (), lambda carry, now: (), lambda carry, last: jnp.zeros(()), "success"
    )
    with pytest.raises(ValueError, match="must not be called 'success'"):
        campaign.run(
            SYSTEM,
            ac.Midpoint(),
            PLAN,
            **RUN,
            store=path,
            progress=False,
            overwrite=True,
            reductions=[wrong],
        )
    assert campaign.load(path)["success"].values.all()


@pytest.mark.parametrize("ending", [".csv", ".nc", ".H5"])
def test_a_store_is_not_called_like_a_file(ending, runs, tmp_path):
    path = tmp_path / f"run{ending}"
    if ending == ".H5":  # a run is written to the others as a table
        with pytest.raises(ValueError, match=r"a run is written as \.zarr .*\.csv, \.nc; got"):
            runs[0].save(path)
    with pytest.raises(ValueError, match="Zarr store, a folder"):
        campaign.run(SYSTEM, ac.Midpoint(), PLAN, **RUN, store=path, progress=False)
    assert list(tmp_path.iterdir()) == []
    runs[0].save(tmp_path / "h0.05")  # no ending but a number
    assert len(ac.load(tmp_path / "h0.05")) == 6

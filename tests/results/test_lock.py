"""One writer of a folder at a time."""

import errno
import json
import os
import subprocess
import sys
import threading
import time

import pytest

import accion as ac
from accion import campaign
from accion.results import lock
from accion.results.folders import recover, replacing
from accion.results.lock import locked

SYSTEM = ac.System(lambda t, q, v, k: 0.5 * v @ v - 0.5 * k * q @ q, ac.Euclidean(1), 2.0)
PLAN = campaign.grid({"q0[0]": [0.1, 0.2]}, v0=[0.0])
RUN = {"h": 0.1, "steps": 5, "progress": False}


def test_another_campaign_is_refused_and_named(tmp_path):
    path = tmp_path / "runs"
    words = rf"runs is being written: a campaign \(first\) by process {os.getpid()} on "
    with locked(path, "a campaign", "first"):
        with pytest.raises(OSError, match=words), locked(path, "a campaign", "second"):
            pass
        with pytest.raises(OSError, match=words), locked(path, "a campaign", "first", alone=True):
            pass
        with pytest.raises(OSError, match=words):
            campaign.run(SYSTEM, ac.Midpoint(), PLAN, **RUN, store=path, overwrite=True)
        with pytest.raises(OSError, match=words):
            ac.simulate(SYSTEM, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=2).save(path)
    assert list(tmp_path.iterdir()) == []
    campaign.run(SYSTEM, ac.Midpoint(), PLAN, **RUN, store=path)
    assert [each.name for each in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize("identity", ["", "same"])
def test_who_is_soon_done_or_does_the_same_is_waited_for(identity, tmp_path):
    seen = []

    def second():
        with locked(tmp_path / "runs", "a campaign", "same"):
            seen.append("second")

    thread = threading.Thread(target=second)
    with locked(tmp_path / "runs", "something", identity):
        thread.start()
        time.sleep(0.2)
        seen.append("first")
    thread.join(10)
    assert seen == ["first", "second"]
    assert list(tmp_path.iterdir()) == []


def test_who_waits_long_is_told_why(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "SOON", 0.0)
    lasting = threading.Timer(0.3, lambda: None)

    def first():
        with locked(tmp_path / "runs", "a campaign", "same"):
            lasting.start()
            lasting.join()

    thread = threading.Thread(target=first)
    thread.start()
    lasting.finished.wait(0.1)
    with (
        pytest.warns(ac.StoreBusy, match=r"being written: a campaign \(same\).*Waiting for it"),
        locked(tmp_path / "runs", "a campaign", "same"),
    ):
        pass
    thread.join(10)


def test_two_that_begin_together_both_succeed(tmp_path):
    found, path = [], tmp_path / "runs"

    def run():
        found.append(campaign.run(SYSTEM, ac.Midpoint(), PLAN, **RUN, store=path, chunk=1))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [each["success"].values.all() for each in found] == [True, True]
    assert found[0].identical(found[1])


def test_the_lock_goes_with_its_process(tmp_path):
    script = (
        "import os, signal, sys\n"
        "from accion.results.lock import locked\n"
        "with locked(sys.argv[1], 'a campaign', 'killed'):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run = subprocess.run([sys.executable, "-c", script, tmp_path / "runs"], check=False)
    assert run.returncode == -9
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())[2:] == ["a campaign", "killed"]
    with locked(tmp_path / "runs", "a campaign", "next"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch):
    def none(lock, shared=False):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(lock, "try_lock", none)
    with (
        pytest.warns(ac.NotLocked, match=r"file system of .*runs has no locks.*only one process"),
        locked(tmp_path / "runs", "a campaign", "one"),
    ):
        pass
    run = ac.simulate(SYSTEM, ac.Midpoint(), q0=[1.0], v0=[0.0], h=0.1, steps=2)
    for _ in range(2):
        with pytest.warns(ac.NotLocked):
            run.save(tmp_path / "run", overwrite=True)
        assert len(ac.load(tmp_path / "run")) == 3


# ---------------------------------------------------------------- names


def test_a_long_name_and_one_with_signs(tmp_path):
    for name in ("n" * 250, "a[1]*?.zarr", "mañana"):
        path = tmp_path / name
        for text in ("old", "new"):
            with locked(path, "a folder"), replacing(path) as new:
                new.mkdir()
                (new / "a").write_text(text)
        assert (path / "a").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 3


def test_links_that_somebody_put_there_are_not_followed(tmp_path):
    path, victim = tmp_path / "store", tmp_path / "victim"
    victim.mkdir()
    (victim / "old").mkdir()
    (victim / "new").mkdir()
    (tmp_path / f"{lock.aside(path)}-planted").symlink_to(victim)
    recover(path)
    assert not path.exists()
    assert sorted(each.name for each in victim.iterdir()) == ["new", "old"]
    (victim / "file").write_text("mine")
    (tmp_path / f"{lock.aside(path)}.lock").symlink_to(victim / "file")
    with pytest.raises(OSError, match="cannot write to"), locked(path, "a folder"):
        pass
    assert (victim / "file").read_text() == "mine"


def test_what_a_killed_writer_left_aside_is_removed_by_the_next(tmp_path):
    path = tmp_path / "store"
    left = tmp_path / f"{lock.aside(path)}-left"
    (left / "new").mkdir(parents=True)
    (left / "new" / "half").write_text("half")
    recover(path)
    assert list(tmp_path.iterdir()) == []

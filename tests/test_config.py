"""What `import accion` asks of JAX: compiled programs are kept, safely, and only where the user
wants it.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest

from accion import _config

# Prints the bits of a short run, and how many of its programs were loaded and not compiled.
PROGRAM = """
import sys
import jax
loaded = []
def listen(event, **_):
    if event == "/jax/compilation_cache/cache_hits":
        loaded.append(event)
jax.monitoring.register_event_listener(listen)
import jax.numpy as jnp
import accion as ac
def L(t, q, v, params):
    return v[0] ** 2 / 2 + params["g"] * jnp.cos(q[0])
pendulum = ac.System(L, ac.Torus(1), {"g": 1.0})
traj = ac.simulate(pendulum, ac.Midpoint(), q0=[2.0], v0=[0.0], h=0.1, steps=20, engine="xla")
print(traj.q.tobytes().hex(), traj.v.tobytes().hex(), len(loaded))
"""


def program(home, *, before="", **more):
    """The program in a process whose home is `home`, without a word about caches in its
    environment, and with warnings as errors.
    """
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("JAX_", "ACCION_", "XDG_", "LOCALAPPDATA"))
    }
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", before + PROGRAM],
        env=clean | {"HOME": str(home), "USERPROFILE": str(home)} | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    q, v, loaded = out.split()
    return q, v, int(loaded)


def test_a_second_program_loads_what_the_first_compiled_to_the_same_bits(tmp_path):
    """Two at once with nothing kept, then one more; then one that cannot write a byte, and one that
    has no place at all.
    """
    first, beside = map(finished, [program(tmp_path), program(tmp_path)])
    (folder,) = (tmp_path / ".cache" / "accion" / "compiled").iterdir()
    assert folder.stat().st_mode & 0o077 == 0  # what is loaded is run: nobody else may write it
    kept = sorted(folder.glob("*-cache"))
    assert len(kept) > 4
    for path in kept[:3]:
        path.write_bytes(path.read_bytes()[:100])  # cut off by a full disk
    kept[3].write_bytes(b"")
    no_space = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    no_folder = str(kept[0])  # a file
    second, full, homeless = map(
        finished,
        [
            program(tmp_path),
            program(tmp_path, before=no_space),
            program(tmp_path, HOME=no_folder),
        ],
    )
    assert first[:2] == beside[:2] == second[:2] == full[:2] == homeless[:2]
    assert second[2] >= len(kept) - 4
    assert homeless[2] == 0


def test_the_users_choice_stands(tmp_path, monkeypatch):
    options = {"jax_compilation_cache_dir": None, "jax_enable_compilation_cache": True}

    def root(**changed):
        monkeypatch.setattr(
            _config,
            "jax",
            type("jax", (), {"config": type("config", (), {"values": options | changed})}),
        )
        return _config.cache_root()

    monkeypatch.setattr(_config, "version", lambda name: "0.10.2")  # whatever is installed
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("ACCION_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert root() == Path("/home/ada/.cache/accion/compiled")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert root() == tmp_path / "accion" / "compiled"
    with monkeypatch.context() as older:
        older.setattr(_config, "version", lambda name: "0.10.1")
        assert root() is None
    assert root(jax_compilation_cache_dir="/mine") is None
    assert root(jax_enable_compilation_cache=False) is None
    for word in _config.OFF:
        monkeypatch.setenv("ACCION_CACHE", word)
        assert root() is None
    monkeypatch.setenv("ACCION_CACHE", str(tmp_path / "there"))
    assert root() == tmp_path / "there"
    monkeypatch.delenv("ACCION_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert root() == Path("/home/ada/Library/Caches/accion/compiled")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # nobody's home is known
    assert root() is None


def test_what_is_kept_is_looked_at_once_an_hour(tmp_path):
    stamp = tmp_path / "looked"
    assert [_config.is_time(stamp), _config.is_time(stamp)] == [True, False]
    now = time.time()
    for when in (now - 3700, now + 1000):
        os.utime(stamp, (when, when))
        assert [_config.is_time(stamp), _config.is_time(stamp)] == [True, False]


def test_what_is_kept_is_bounded(tmp_path):
    """What was used longest ago goes first, of older versions too; files of others stay."""
    old, new = tmp_path / "jaxlib-1", tmp_path / "jaxlib-2"
    now = time.time()
    for folder, age in ((old, 30), (new, 10)):
        folder.mkdir()
        for i in range(5):
            path = folder / f"{i}-cache"
            path.write_bytes(b"x" * 100)
            os.utime(path, (now - age - i, now - age - i))
    (new / "empty-cache").write_bytes(b"")
    (old / "mine.txt").write_bytes(b"y" * 1000)
    _config.remove_oldest(tmp_path, 10_000)
    assert len(list(tmp_path.glob("*/*-cache"))) == 10
    _config.remove_oldest(tmp_path, 350)
    assert sorted(path.name for path in tmp_path.glob("*/*")) == [
        "0-cache",
        "1-cache",
        "2-cache",
        "mine.txt",
    ]
    assert not list(old.glob("*-cache"))


def test_the_folder_knows_the_machine(monkeypatch):
    assert _config.machine() == _config.machine()
    assert len(_config.machine()) == 12
    here = _config.machine()
    monkeypatch.setattr(_config.platform, "machine", lambda: "another")
    assert _config.machine() != here


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners are of POSIX")
def test_a_folder_of_another_user_is_left_alone(tmp_path, monkeypatch):
    before = jax.config.values["jax_compilation_cache_dir"]
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    _config.keep_compiled(tmp_path / "theirs")
    assert jax.config.values["jax_compilation_cache_dir"] == before

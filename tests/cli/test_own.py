"""Systems of one's own at the command line: `accion new`, and files in place of names."""

import runpy

import numpy as np
import pytest

import accion as ac
from accion.gallery import NAMES, find_or_read
from tests.cli.test_commands import invoke


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_to_begin_with_runs_as_it_is(here):
    code, output = invoke("new", "swing")
    assert code == 0, output
    assert "written: swing.py. Now: accion run swing.py" in output
    code, output = invoke("new", "swing")
    assert (code, output) == (1, "error: swing.py exists; choose another name.\n")
    entry = find_or_read("swing.py")
    assert (entry.name, entry.h, entry.steps) == ("swing", 0.01, 1000)
    words = ("--steps", "10", "--h", "0.02", "--q0", "0.5", "--v0=-1", "--set", "c=0")
    code, output = invoke("run", "swing.py", *words, "--out", "out", "--animate", "0.1")
    assert code == 0, output
    assert "written: out/trajectory.zarr, out/trajectory.png, out/motion.gif" in output
    traj = ac.load(here / "out" / "trajectory.zarr")
    start = {"q0": [0.5], "v0": [-1.0], "h": 0.02, "steps": 10}
    direct = ac.simulate(
        entry.system, ac.Midpoint(), **start, params=entry.system.params | {"c": 0.0}
    )
    np.testing.assert_array_equal(traj.q, direct.q)
    code, output = invoke("equations", "swing.py")
    assert code == 0
    assert "equations of motion" in output
    code, output = invoke("list", "swing.py")
    assert "start   q0 = (2), v0 = (0)" in output
    found = runpy.run_path("swing.py", run_name="__main__")
    assert found["traj"].success
    assert (here / "swing.png").stat().st_size > 5000


def test_a_campaign_to_begin_with_runs_as_it_is(here):
    invoke("new", "own_swing")
    assert invoke("new", "own_swing", "--campaign")[0] == 0
    text = (here / "own_swing.toml").read_text()
    assert 'system = "own_swing:system"' in text
    (here / "own_swing.toml").write_text(text.replace("count = 60", "count = 2"))
    code, output = invoke("campaign", "own_swing.toml")
    assert code == 0, output
    assert "4 of 4 went well" in output
    invoke("new", "other", "--campaign")
    assert 'system = "pendulum"' in (here / "other.toml").read_text()


FILES = {
    "broken.py": "import accion\n1 / 0\n",
    "empty.py": "x = 1\n",
    "bare.py": "import accion as ac\nsystem = ac.mechanical(1.0, None, 1)\n",
    "started.py": "import accion as ac\nsystem = ac.mechanical(1.0, None, 1)\nstart = [1.0]\n",
    "stepless.py": "import accion as ac\nsystem = ac.mechanical(1.0, None, 1)\n"
    'start = {"q0": [0.0], "v0": [1.0]}\n',
}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "broken.py"), "broken.py cannot be run (line 2 of "),
        (("run", "broken.py"), "ZeroDivisionError: division by zero"),
        (("run", "empty.py"), "empty.py has no system: write system = accion.System(...)"),
        (("run", "bare.py", "--h", "0.1"), "q0"),
        (("run", "started.py"), "start must be a dictionary"),
        (("run", "stepless.py"), "stepless has no step: write h = 0.01 in its file, or pass --h."),
        (("run", "none.py"), "there is no file none.py; `accion new none` writes one."),
        (("run", "kepelr"), "there is no gallery system 'kepelr'. Did you mean kepler?"),
        (("list", "kepelr"), "Did you mean kepler?"),
        (("run", "kepler", "--q0", "1,x"), "expected a number, got 'x'"),
        (("run", "kepler", "--q0", "1"), "q0 must have shape (2,)"),
        (("run", "free_top", "--q0", "1,0,0"), "--q0 is for vectors and angles"),
        (("run", "block_move", "--v0", "1"), "is to be controlled from a start of its own"),
        (("run", "double_pendulum", "--h", "10"), "Try --h 2.5."),
        (("new", "two words"), "a name is made of letters, digits and _"),
    ],
)
def test_a_mistake_is_one_line(here, words, says):
    for name, text in FILES.items():
        (here / name).write_text(text)
    code, output = invoke(*words)
    assert code == 1
    assert output.startswith("error: ")
    assert output.count("\n") == 1
    assert says in output
    assert "throw=" not in output


def test_the_list_has_a_line_for_each_system():
    code, output = invoke("list")
    lines = output.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines] == list(NAMES)
    code, output = invoke("list", "kepler")
    for words in ("Hairer", "method  Trapezoid", "params  GM = 1, m = 1", "q0 = (0.4, 0)"):
        assert words in output

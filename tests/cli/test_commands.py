"""The command line: one line for every mistake, and nothing left behind."""

import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import accion as ac
from accion.cli import app
from accion.cli.base import new_folder, whole_number

FILE = """
system = "models:system"
method = "Midpoint"
h = 0.1
steps = 5
store = "runs.zarr"
[start]
v0 = [0.0]
[plan]
kind = "grid"
[plan.axes]
"q0[0]" = [0.1, 0.2]
"params.m" = [1.0]
"""
MODELS = """
import accion as ac
system = ac.System(
    lambda t, q, v, p: 0.5 * p["m"] * v @ v, ac.Euclidean(1), {"m": 1.0}, name="[/red] [bold]"
)
"""


def invoke(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models.py").write_text(MODELS)
    file = tmp_path / "campaign.toml"
    file.write_text(FILE)
    return file


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "pendulum", "--steps", "1e12"), "error:"),
        (("run", "pendulum", "--steps", "0"), "steps"),
        (("run", "pendulum", "--h", "inf"), "h must be a finite number"),
        (("run", "pendulum", "--out", "new/deep", "--h", "-1"), "h, the step, must be positive"),
        (("run", "pendulum", "--out", "new/deep", "--method", "Nothing"), "there is no method"),
        (("run", "pendulum", "--set", "[/bold]=1"), "sets no parameter"),
        (("run", "pendulum", "--out", "new/gif", "--animate", "inf"), "at most 600"),
        (("run", "pendulum", "--out", "new/gif", "--animate", "nan"), "at most 600"),
        (("run", "[red]"), "there is no gallery system '[red]'"),
        (("run", "[/red]"), "there is no file [/red]."),
        (("run", "pendulum", "--out", "campaign.toml/under"), "campaign.toml"),
        (
            ("attraction", "square", "--out", "new/map", "--size", "100000"),
            "size must be at least 2",
        ),
        (("attraction", "square", "--out", "new/map", "--width", "inf"), "width and scale"),
        (("attraction", "square", "--out", "new/map", "--finer", "99"), "finer must be between"),
        (("attraction", "square", "--out", "new/map", "--steps", "0"), "steps"),
        (("attraction", "square", "--out", "campaign.toml/under"), "campaign.toml"),
        (("attraction", "square", "--out", "campaign.toml"), "exists; choose a new folder"),
        (("campaign", "none.toml"), "none.toml"),
        (("campaign", "."), "is not a file"),
        (("campaign", "/dev/zero"), "/dev/zero is not a file"),
        (("campaign", "latin.toml"), "latin.toml is not a text in UTF-8"),
        (("equations", "[x]"), "there is no gallery system"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_folder(file, words, says):
    (file.parent / "latin.toml").write_bytes('system = "grö"'.encode("latin-1"))
    before = sorted(file.parent.iterdir())
    code, output = invoke(*words)
    assert code == 1
    assert output.startswith("error: ")
    assert output.count("\n") == 1
    assert says in output
    assert sorted(file.parent.iterdir()) == before


@pytest.mark.parametrize("text", ["1e999", "nan", "1.5", "x", ""])
def test_what_is_no_whole_number(text):
    code, output = invoke("run", "pendulum", "--steps", text)
    assert code == 2
    assert "is not a whole number" in output
    assert whole_number("1e6") == 10**6


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (FILE[FILE.index("[start]") :], "plan = 1\n", "key plan: expected a table; got 1"),
        (FILE[FILE.index("[plan]") :], "[[plan]]\nkind = 1\n", "key plan: expected a table; got ["),
        ("[0.0]", "[" * 5000 + "]" * 5000, "too many brackets inside each other"),
        ("[1.0]", "[" * 200 + "]" * 200, 'key plan.axes."params.m": params.m must be '),
        ("models:system", "os:getcwd", "there is no os.py beside the campaign file"),
        ("models:system", "string:digits", "string:digits"),
        ("models:system", "wrong:x", "ZeroDivisionError: division by zero, line 2 of"),
    ],
)
def test_mistakes_in_a_campaign_file(file, old, new, says):
    (file.parent / "wrong.py").write_text("import accion\n1 / 0\n")
    (file.parent / "string.py").write_text("digits = 1\n")
    assert old in FILE
    file.write_text(FILE.replace(old, new))
    code, output = invoke("campaign", file)
    assert code == 1
    assert output.count("\n") == 1
    assert says in output


def test_modules_are_those_beside_the_file(file, tmp_path):
    """Two folders with files of the same name, one after the other; and neighbours of theirs."""
    from accion.campaign.file import read

    found = []
    for i in (1, 2):
        folder = tmp_path / str(i)
        folder.mkdir()
        (folder / "neighbour.py").write_text(f"m = {float(i)}\n")
        (folder / "models.py").write_text(f"from neighbour import m\n{MODELS}".replace("1.0", "m"))
        (folder / "campaign.toml").write_text(FILE)
        found.append(read(folder / "campaign.toml", None)["system"].params["m"])
        assert str(folder) not in sys.path
    assert found == [1.0, 2.0]


def test_a_campaign_with_failed_members_exits_with_1_and_their_number(file):
    code, output = invoke("campaign", file)
    assert code == 0
    assert "2 of 2 went well" in output
    assert "[/red] [bold]" in output
    file.write_text(FILE.replace("[1.0]", "[1.0, 0.0]").replace("runs", "[bold]"))
    code, output = invoke("campaign", file)
    assert code == 1
    assert "2 of 4 went well" in output
    assert "error: 2 of 4 members did not go well." in output
    assert ac.campaign.load(file.parent / "[bold].zarr")["success"].values.sum() == 2


def test_brackets_in_paths_are_no_markup(file):
    out = file.parent / "[/red]" / "a[bold]"
    code, output = invoke("run", "pendulum", "--steps", "5", "--out", out)
    assert code == 0
    assert f"written: {out}/trajectory.zarr" in output
    assert sorted(path.name for path in out.iterdir()) == ["trajectory.png", "trajectory.zarr"]
    assert sorted(path.name for path in out.parent.iterdir()) == [out.name]


def test_attraction_keeps_what_it_has_when_refining_fails(tmp_path, monkeypatch):
    out = tmp_path / "[map]"
    small = ("--size", "4", "--steps", "20", "--finer", "1")

    def failing(*args, **named):
        raise ValueError("no luck")

    monkeypatch.setattr(ac.formation, "refine", failing)
    code, output = invoke("attraction", "square", "--out", out, *small)
    assert code == 1
    assert "error: no luck" in output
    assert ac.formation.load_attraction(out / "attraction.zarr")["outcome"].shape == (4, 4)
    monkeypatch.undo()
    monkeypatch.setattr(ac.formation, "attraction", failing)
    code, output = invoke("attraction", "square", "--out", tmp_path / "new" / "map", *small)
    assert code == 1
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_is_told_before_the_work(tmp_path, monkeypatch):
    def never(*args, **named):
        raise AssertionError

    monkeypatch.setattr(ac.formation, "attraction", never)
    (tmp_path / "file").write_text("")
    code, output = invoke("attraction", "square", "--out", tmp_path / "file" / "map")
    assert code == 1
    assert "file" in output


def test_an_interrupt_leaves_nothing_behind(tmp_path):
    def interrupted():
        with new_folder(tmp_path / "a" / "b" / "c") as new:
            (new / "half").write_text("")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_is_said_and_has_an_exit_code_of_its_own(file, monkeypatch):
    from accion.campaign import file as files

    def stopped(*args, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "run", stopped)
    code, output = invoke("campaign", file)
    assert (code, output) == (
        130,
        "interrupted; finished chunks are in the store; run it again to go on\n",
    )
    monkeypatch.setattr(ac.formation, "refine", stopped)
    small = ("--size", "4", "--steps", "20", "--finer", "2")
    code, output = invoke("attraction", "square", "--out", "map", *small)
    assert code == 130
    assert "interrupted; the map after 0 of 2 refinements is in map" in output
    assert ac.formation.load_attraction("map/attraction.zarr")["outcome"].shape == (4, 4)


def test_terminals_that_know_ascii_only(file):
    """Names with other letters are printed otherwise, not with a traceback."""
    (file.parent / "models.py").write_text(MODELS.replace("[/red]", "größe"), encoding="utf-8")
    env = os.environ | {"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0", "LC_ALL": "C"}
    for words in (("campaign", str(file)), ("list",), ("equations", "pendulum")):
        ended = subprocess.run(
            [sys.executable, "-m", "accion", *words],
            env=env,
            capture_output=True,
            cwd=file.parent,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr.decode("latin-1")
    assert np.all(ac.campaign.load(file.parent / "runs.zarr")["success"])

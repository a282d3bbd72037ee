"""Campaigns as TOML files."""

import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import accion as ac
from accion import methods
from accion.campaign.file import read
from accion.campaign.lines import line_of
from accion.cli import app
from tests.campaign.runs import QUIET, same

campaign = ac.campaign
ROOT = Path(__file__).parents[2]

FILE = """
system = "models:hanging"
method = "Midpoint"
h = 0.05
steps = 60
store = "runs.zarr"

[start]
v0 = [0.0]

[plan]
kind = "grid"

[plan.axes]
"q0[0]" = { from = -1.0, to = 1.0, count = 5 }
"params.l" = [0.5, 0.9]

[[reductions]]
kind = "final"

[[reductions]]
kind = "event"
of = "q[0]"
name = "down"
level = 0.1

[[reductions]]
kind = "models:longest"
"""
MODELS = """
import accion as ac
from tests.helpers import PENDULUM as hanging
own = ac.Alpha(0.7)
longest = ac.campaign.extrema("q[0]", "theta")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.delitem(sys.modules, "models", raising=False)
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "starts.csv").write_text('"q0[0]",params.l\n0.1,0.5\n0.2,0.9\n')
    yield tmp_path
    sys.modules.pop("models", None)


def invoke(folder, text):
    file = folder / "campaign.toml"
    file.write_text(text)
    result = CliRunner().invoke(app, ["campaign", str(file)])
    return result.exit_code, " ".join(result.output.split())


def test_a_campaign_file(folder, pendulum):
    code, output = invoke(folder, FILE)
    assert code == 0
    assert "10 of 10 went well" in output
    found = campaign.load(folder / "runs.zarr")
    asked = [
        campaign.final(),
        campaign.event("q[0]", "down", level=0.1),
        campaign.extrema("q[0]", "theta"),
    ]
    plan = campaign.grid({"q0[0]": np.linspace(-1, 1, 5), "params.l": [0.5, 0.9]}, v0=[0.0])
    same(found, campaign.run(pendulum, ac.Midpoint(), plan, reductions=asked, **QUIET))
    head = FILE.split("[plan]")[0].replace("runs", "more")
    code, output = invoke(folder, head + '[plan]\nkind = "table"\nfile = "starts.csv"\n')
    assert code == 0
    assert campaign.load(folder / "more.zarr")["params.l"].values.tolist() == [0.5, 0.9]
    sampled = (
        '[plan]\nkind = "sample"\nsize = 4\nhow = "sobol"\nseed = 1\n[plan.ranges]\n"q0[0]" = [-1,'
        " 1]\n"
    )
    code, output = invoke(
        folder, head.replace("more", "third").replace("models:hanging", "pendulum") + sampled
    )
    assert code == 0
    assert "4 of 4 went well" in output


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('"models:hanging"', '"swing"', 2, "key system: there is no gallery system 'swing'"),
        (
            '"models:hanging"',
            '"models:nothing"',
            2,
            "key system: 'models:nothing' cannot be imported",
        ),
        ('"Midpoint"', '"Middle"', 3, "key method: there is no method 'Middle'"),
        ("h = 0.05", "h = 0.0", 4, "key h: h, the step, must be positive"),
        ("h = 0.05\n", "", 1, "key h: it is missing"),
        ("steps = 60", "steps = 6.5", 5, "key steps: expected a whole number; got 6.5"),
        (
            'store = "runs.zarr"',
            'stored = "runs.zarr"',
            6,
            "key stored: there is no such key here. Try one of: system",
        ),
        ("v0 = [0.0]", "w0 = [0.0]", 9, "key start.w0: there is no such key"),
        ("v0 = [0.0]", "", 8, "key start: give one of v0"),
        (
            'kind = "grid"',
            'kind = "net"',
            12,
            "key plan.kind: there is no plan 'net'. Try one of: grid, sample, table",
        ),
        ("to = 1.0", 'to = "1"', 15, 'key plan.axes."q0[0]".to: expected a number'),
        ("count = 5", "count = 0", 15, 'key plan.axes."q0[0]": a grid needs'),
        (
            "params.l",
            "params.length",
            16,
            "key plan.axes.\"params.length\": 'params.length' sets nothing of this system",
        ),
        ("[0.5, 0.9]", "0.5", 16, 'key plan.axes."params.l": expected a list'),
        (
            'kind = "event"',
            'kind = "evnt"',
            22,
            "key reductions[1].kind: there is no reduction 'evnt'",
        ),
        ('of = "q[0]"', 'of = "x[0]"', 23, "there is no quantity 'x[0]'"),
        (
            "level = 0.1",
            "levels = 0.1",
            25,
            (
                "key reductions[1].levels: there is no such key here. Try one of: kind, of, name,"
                " level"
            ),
        ),
        ("[plan]", "[plan", 11, "is not TOML"),
    ],
)
def test_errors_of_a_file_name_the_line_and_the_key(folder, old, new, line, words):
    assert old in FILE
    code, output = invoke(folder, FILE.replace(old, new, 1))
    assert code == 1
    assert f"line {line}" in output
    assert words in output


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("Alpha:0.3", ac.Alpha(0.3)),
        ("GeneralizedAlpha", methods.GeneralizedAlpha()),
        ("Adjoint:LeftRectangle", methods.Adjoint(ac.LeftRectangle())),
        ("models:own", ac.Alpha(0.7)),
    ],
)
def test_methods_of_a_file(folder, text, method):
    """By name, as the registry knows them, or of a module of one's own."""
    (folder / "campaign.toml").write_text(FILE.replace("Midpoint", text))
    assert read(folder / "campaign.toml", None)["method"] == method


def test_lines_of_keys():
    text = 'a = 1\n[b.c]\n"x y" = 2\nd.e = 3\n[[f]]\ng = """\nh = 1\n"""\n[[f]]\ng = 4\n'
    places = {
        ("a",): 1,
        ("b", "c"): 2,
        ("b", "c", "x y"): 3,
        ("b", "c", "d", "e"): 4,
        ("f", 0, "g"): 6,
        ("f", 1, "g"): 10,
        ("z",): 1,
    }
    assert {path: line_of(text, path) for path in places} == places

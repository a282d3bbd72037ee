"""Commands that make pages for a browser."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accion.cli import app

OWN = """
import accion as ac

def lagrangian(t, q, v, params):
    return params["m"] * v @ v / 2 - q @ q / 2


system = ac.System(lagrangian, ac.Euclidean(2), {"m": 2.0})
start, h = {"q0": [1.0, 0.0], "v0": [0.0, 1.0]}, 0.1
"""


def told(*words):
    """(exit code, what was said) of a command."""
    done = CliRunner().invoke(app, list(map(str, words)))
    return done.exit_code, done.output


def test_a_system_is_exported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("spring.py").write_text(OWN)
    code, said = told("export", "spring.py", "--html", "--compare", "Trapezoid")
    assert code == 0, said
    assert re.search(r"written: spring\.html, \d+ kB", said)
    page = Path("spring.html").read_text()
    # The Python that does the same finds the file; both methods are there.
    assert r"find_or_read('spring.py')" in page
    assert '"method":"Midpoint"' in page
    assert '"method":"Trapezoid"' in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert told("export", "spring.py")[0] == 1  # which is there already


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("cart_pole", "--copies", "2"), "is to be controlled"),
        (("kepler", "--out", "kepler.pdf"), "a page is written as .html"),
        (("kepler", "--copies", "0"), "copies must be a number from 1 to 5000"),
        (("kepler", "--method", "Nothing"), "there is no method 'Nothing'"),
        (("keplr",), "Did you mean kepler?"),
    ],
)
def test_what_cannot_be_exported_is_said(tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    code, said = told("export", *words)
    assert code == 1
    assert reason in " ".join(said.split())
    assert not list(tmp_path.iterdir())


def test_a_laboratory_of_a_file_that_is_wrong_does_not_open(tmp_path):
    (tmp_path / "bad.py").write_text("1 / 0")
    code, said = told("lab", tmp_path / "bad.py", "--no-browser")
    assert code == 1
    assert "ZeroDivisionError" in said


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of POSIX")
def test_the_laboratory_opens_and_ctrl_c_closes_it(tmp_path):
    code = (
        # Tests that run in the background ignore Ctrl-C, and what they start would too.
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from accion.cli import app\napp(['lab', '--no-browser'])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", line)
        assert found is not None, line
        with urllib.request.urlopen(found[0]) as answer:
            assert "accion lab" in answer.read().decode()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "the laboratory is closed" in err
    finally:
        process.kill()

"""The gallery against its references, and the command line that shows it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import accion as ac
from accion.cli import app
from accion.gallery import ENTRIES, NAMES, block_move, caldirola_particle, damped_spring, find
from accion.gallery.base import Check, compare

run = CliRunner().invoke


@pytest.fixture(scope="module")
def rows():
    return {}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda entry: entry.name)
def test_every_reference_number(entry):
    failed = [check for check in entry.checks() if not check.passed]
    assert failed == []


def test_a_check_can_fail():
    assert not Check("x", 1.0, 1.1, 0.01).passed
    assert not Check("x", float("nan"), 1.0, 0.01).passed
    with pytest.raises(ValueError, match="differ"):
        compare("x", [1.0, 2.0], [1.0], 1.0)


@pytest.mark.parametrize(
    ("difference", "tolerance", "shown"),
    [
        (0.0111, 0.015, ("1.1e-02", "1.5e-02")),
        (0.015049, 0.015, ("1.505e-02", "1.5e-02")),
        (0.01496, 0.015, ("1.5e-02", "1.5e-02")),
        (1.04e-9, 1e-9, ("1.04e-09", "1e-09")),
        (0.97e-9, 1e-9, ("9.7e-10", "1e-09")),
        (9.99e-10, 1e-9, ("1.0e-09", "1e-09")),
        (float(np.nextafter(1e-9, 1)), 1e-9, ("1.0000000000000003e-09", "1e-09")),
        (float("nan"), 0.5, ("nan", "5e-01")),
    ],
)
def test_printed_numbers_and_verdict_agree(difference, tolerance, shown):
    check = Check("x", difference, 0.0, tolerance)
    assert check.shown == shown
    assert (float(shown[0]) <= float(shown[1])) == check.passed
    assert (check.used <= 1) == check.passed


def test_printed_formulas_of_the_damped_spring_fail():
    """Bonich, Ex 2.16, Ex 2.22 and (2.6) as printed do not give the trajectory; corrected they do
    (in the checks).
    """
    p = damped_spring.system.params
    m, eta, lam, h = p["m"], p["eta"], p["lam"], damped_spring.H
    x = damped_spring.recurrence(200)
    k = np.arange(201)
    theta = np.arccos((1 - h / (2 * m) * (h * eta + lam)) / np.sqrt(1 + h * lam / m))
    r = np.sqrt(1 + h * lam / m)
    printed = x[1] * r ** (1.0 - k) * np.sin(k * theta) / np.sin(theta) - x[0] * r ** (
        -1.0 * k
    ) * np.sin((k - 1) * theta) / np.sin(theta)
    assert np.max(np.abs(printed - x)) == pytest.approx(0.476, abs=0.001)
    assert x[2] != pytest.approx(
        (2 - h**2 * eta**2 / m + h * lam / m) * x[1] / (1 + h * lam / m) - x[0] / (1 + h * lam / m),
        abs=1e-6,
    )


def test_printed_momenta_of_the_caldirola_particle_fail():
    """Colombo-Gamonal, after (21): the printed p carries a factor 2; and p x q_{k+1} is not
    conserved, q_k x p_k is.
    """
    traj = caldirola_particle.printed_run()
    q, p = np.asarray(traj.q), np.asarray(traj.p)
    kappa, h = caldirola_particle.system.params["kappa"], caldirola_particle.H
    dq = np.diff(q, axis=0)[0] / h
    np.testing.assert_allclose(p[0], (1 + np.exp(-kappa * h)) / 2 * dq, rtol=1e-14)
    assert np.max(np.abs((1 + np.exp(-kappa * h)) * dq - p[0])) > 1


def test_find_offers_what_there_is():
    with pytest.raises(ValueError, match=r"no gallery system 'pendulums'. Did you mean pendulum"):
        find("pendulums")


def test_every_file_of_the_gallery_is_in_its_list():
    files = {
        path.stem
        for path in Path(block_move.__file__).parent.glob("*.py")
        if "\nentry = " in path.read_text()
    }
    assert files == set(ENTRIES)
    assert len(ENTRIES) == len(NAMES)
    assert all(entry.name == name for name, entry in ENTRIES.items())


# ---------------------------------------------------------------- command line


def test_list():
    done = run(app, ["list"])
    assert done.exit_code == 0
    assert all(name in done.output for name in ENTRIES)


def test_version_and_help():
    assert ac.__version__ in run(app, ["--version"]).output
    assert "reproduce" in run(app, ["--help"]).output
    module = [sys.executable, "-m", "accion", "--version"]
    assert (
        subprocess.run(module, capture_output=True, text=True, check=True).stdout
        == f"accion {ac.__version__}\n"
    )


def test_run_writes_what_it_computed(tmp_path):
    out = tmp_path / "out"
    arguments = [
        "run",
        "damped_spring",
        "--method",
        "Midpoint",
        "--h",
        "0.05",
        "--steps",
        "40",
        "--set",
        "m=3",
        "--set",
        "lam=0",
        "--out",
        str(out),
    ]
    arguments += ["--animate", "0.2"]
    done = run(app, arguments)
    assert done.exit_code == 0
    assert "40 steps of 0.05 s" in done.output
    traj = ac.load(out / "trajectory.zarr")
    direct = ac.simulate(
        damped_spring.system,
        ac.Midpoint(),
        q0=[0.3],
        v0=[0.0],
        h=0.05,
        steps=40,
        params={"m": 3.0, "eta": 2.0, "lam": 0.0},
    )
    np.testing.assert_array_equal(traj.q, direct.q)
    assert (out / "trajectory.png").stat().st_size > 5000
    assert (out / "motion.gif").stat().st_size > 1000
    again = run(app, arguments)
    assert again.exit_code == 1
    assert "exists" in again.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nothing"], "`accion list` names them"),
        (["run", "damped_spring", "--method", "Euler"], "no method"),
        (["run", "damped_spring", "--method", "Alpha"], "Alpha:0.3"),
        (["run", "damped_spring", "--method", "Alpha:x"], "expected a number"),
        (["run", "damped_spring", "--set", "mass=1"], "Try one of: eta, lam, m"),
        (["run", "damped_spring", "--set", "m"], "expected a number"),
        (["run", "damped_spring", "--set", "m=nan"], "finite"),
        (["run", "damped_spring", "--h", "-1"], "positive"),
        (["run", "damped_spring", "--steps", "0"], "steps must be"),
        (["run", "damped_spring", "--animate", "2"], "needs --out"),
        (["reproduce", "nothing"], "`accion list` names them"),
        (["reproduce", "--jobs", "0"], "at least 1; got 0"),
        (["reproduce", "kepler", "--quick"], "not both"),
    ],
)
def test_bad_commands_are_named(arguments, words):
    done = run(app, arguments)
    assert done.exit_code == 1
    assert words in " ".join(done.output.split())


def test_run_a_thermal_system():
    """Its table has S and T."""
    done = run(
        app, ["run", "friction_cart", "--method", "EnergyConsistent:Midpoint", "--steps", "10"]
    )
    assert done.exit_code == 0, done.output
    assert "S [J/K]" in done.output
    assert "T [K]" in done.output


def test_run_a_control_problem(tmp_path):
    """It is optimised and not simulated, with other parameters too, and saved as a solution."""
    out = tmp_path / "out"
    done = run(app, ["run", "block_move", "--steps", "20", "--set", "m=2", "--out", str(out)])
    assert done.exit_code == 0, done.output
    problem = replace(block_move.problem, system=block_move.system.with_params({"m": 2.0}))
    found = ac.control.load(out / "control.zarr", problem)
    direct = ac.optimize(problem, ac.Midpoint(), 20)
    np.testing.assert_array_equal(found.u, direct.u)
    assert found.cost == pytest.approx(24.0, rel=0.01)  # m^2 times 6
    assert f"cost {direct.cost:.9g} on 20 steps" in done.output
    assert (out / "control.png").stat().st_size > 5000
    wrong = run(app, ["run", "block_move", "--h", "0.1"])
    assert wrong.exit_code == 1
    assert "choose the number of steps" in " ".join(wrong.output.split())


def test_run_with_alpha():
    assert (
        "Alpha(a=0.3)"
        in run(app, ["run", "damped_spring", "--method", "Alpha:0.3", "--steps", "10"]).output
    )

"""A sample of bad calls: none hangs, and each ends in a result or in an error of accion's own."""

import datetime
import re

import matplotlib
import numpy as np
import pytest

import accion as ac
from accion.analysis.symmetries import search_of
from accion.memory import check_room, in_words
from tests.bad_input import systems as own
from tests.bad_input.count import counted, tried
from tests.bad_input.doors import all_doors, changes
from tests.bad_input.judge import OWN, RAW, RESULT, TAKEN, judged
from tests.bad_input.page import NOT_TRIED, PAGE, public_names

SAMPLE = 400


@pytest.fixture(autouse=True)
def no_window():
    matplotlib.use("Agg")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Animation was deleted")
def test_a_sample_of_bad_calls_ends_well():
    found = counted(SAMPLE, seed=20261117)
    assert [
        (name, [(c.argument, c.words) for c in wrong], verdict.kind, verdict.place, verdict.words)
        for name, wrong, verdict in found.bad
    ] == []
    total = sum(found.doors.values(), type(next(iter(found.doors.values())))())
    assert total[OWN] > SAMPLE / 2
    assert total[RESULT] > 0


# What long runs found, which a sample hardly meets.
FOUND = [
    ("Alpha", "a", "10^400"),
    ("analysis.ladder", "h", "float16"),
    ("analysis.order", "duration", "3e9"),
    ("analysis.rk4", "steps", "int8"),
    ("a run, nonholonomic", "nonholonomic", "its result, NaN"),
    ("campaign.run", "h", "1e300"),
    ("campaign.run", "store", "other folder"),
    ("formation.attraction", "grid", "list of itself"),
    ("formation.attraction", "steps", "3e9"),
    ("optimize", "guess", "list of itself"),
    ("rigid_body", "pose", "raises StopIteration"),
]


@pytest.mark.parametrize(("name", "argument", "words"), FOUND)
def test_a_call_that_ended_badly_once_ends_well(name, argument, words):
    (change,) = (c for c in changes(name) if (c.argument, c.words) == (argument, words))
    found = tried(all_doors()[name], [change])
    assert found.kind == (RESULT if words == "int8" else OWN), found


def test_every_public_name_is_tried():
    # "simulate, free" is simulate, "Trajectory.save" a part of Trajectory
    tried = {part for name in all_doors() for part in (name.split(",")[0], name.split(".")[0])}
    missing = [name for name in public_names() if name not in tried and name not in NOT_TRIED]
    assert missing == []


def test_the_page_says_how_they_ended():
    text = PAGE.read_text()
    assert "<!-- bad input -->" in text
    assert re.search(r"python -m tests.bad_input --calls \d{5,}", text)


def test_the_judge_sees_what_is_wrong():
    """Otherwise the counts would be worth nothing."""

    def unnamed():
        raise ValueError("something is wrong with q0")

    assert judged(unnamed, ["q0"], False).kind == RAW  # not raised by accion
    assert judged(lambda: ac.Euclidean("a"), ["q0"], False).kind == RAW  # another argument is named
    assert judged(lambda: ac.Euclidean("a"), ["n"], False).kind == OWN
    assert judged(lambda: 1, ["n"], True).kind == TAKEN
    assert judged(lambda: 1, ["n"], False).kind == RESULT
    # an error that happens in accion's code, and is not raised by it
    assert judged(lambda: search_of("system", 3), ["system"], False).kind == RAW


# ---------------------------------------------------------------- real numbers at every door

NOT_REAL = [
    np.ma.masked_array([0.3, 0.4], mask=[True, False]),
    np.ma.masked_array([0.3, 0.4]),
    [np.ma.masked_array([0.3]), 0.4],
    np.array([0.3, 0.4]) + 0j,
    [0.3 + 0j, 0.4],
    ["0.3", "0.4"],
    np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"),
    [datetime.date(2026, 1, 1)] * 2,
    np.array([0.3, 0.4], dtype=object),
    np.array([True, False]),
    np.array([2**60, 1]),
    [10**30, 1],
]


@pytest.mark.parametrize("value", NOT_REAL, ids=repr)
def test_what_is_no_real_number_is_refused_at_every_door(value):
    free, start = own.system("free"), {"q0": own.Q, "v0": own.V}
    run = {"h": own.H, "steps": 2}
    doors = {
        "q0": lambda: ac.simulate(free, own.MIDPOINT, **start | {"q0": value}, **run),
        "v0": lambda: ac.ensemble(free, own.MIDPOINT, q0=np.stack([own.Q, own.Q]), v0=value, **run),
        "qa": lambda: ac.connect(free, own.MIDPOINT, qa=value, qb=own.Q, duration=0.1, steps=2),
        "ts": lambda: ac.reference(free, **start, ts=value),
        "v": lambda: ac.project(free, own.Q, value),
        "eta": lambda: own.PLANE.retract(own.Q, value),
        "mass": lambda: ac.mechanical(value, None, 2),
        "basis": lambda: ac.MatrixGroup(value),
        "q1": lambda: ac.discrete(free, own.MIDPOINT).Ld(0.0, 0.1, own.Q, value),
    }
    if isinstance(value, np.ndarray):  # a list in params is a tree, in which texts may stand
        doors["the params"] = lambda: ac.System(own.L, own.PLANE, {"k": value})
    for name, call in doors.items():
        with pytest.raises(ValueError, match=re.escape(name)):
            call()


def test_arrays_of_the_caller_are_copied():
    """By chance of where they lie in memory, JAX would use them as they are."""
    for size in range(1, 21):
        space, memory = ac.Euclidean(size), np.full(size, 2.0)
        q = space.check(memory)
        memory[:] = 7.0
        assert np.all(np.asarray(q) == 2.0)


# ---------------------------------------------------------------- memory


def test_memory_is_asked_for_before_it_is_taken():
    free = own.system("free")
    start = {"q0": own.Q, "v0": own.V, "h": own.H}
    words = r"steps = 3000000000 with save_every = 1.*would need \d+ GB of memory.*save_every=10"
    with pytest.raises(ValueError, match=words):
        ac.simulate(free, own.MIDPOINT, **start, steps=3_000_000_000)
    many = start | {"q0": np.tile(own.Q, (50_000, 1))}
    with pytest.raises(ValueError, match=r"rows of 50000 members, would need"):
        ac.ensemble(free, own.MIDPOINT, **many, steps=10**7)
    with pytest.raises(ValueError, match=r"Write 3000000000, without a point"):
        ac.simulate(free, own.MIDPOINT, **start, steps=3e9)
    with pytest.raises(ValueError, match=r"Euclidean\(n\) of n = 10+ would need"):
        ac.Euclidean(10**30)
    with pytest.raises(ValueError, match=r"entropies = 10+ would need"):
        ac.ThermalSystem(own.thermal_L, own.PLANE, own.PARAMS, entropies=10**30)
    plan = ac.campaign.sample(10**30, {"q0[0]": (0, 1)}, seed=1, q0=own.Q, v0=own.V)
    with pytest.raises(ValueError, match=r"a plan of 10+ members would need"):
        ac.campaign.run(free, own.MIDPOINT, plan, h=own.H, steps=2, progress=False)


def test_a_run_of_many_steps_with_few_rows_needs_little_memory():
    from accion.checks import check_rows_fit

    check_rows_fit(own.system("free"), 3_000_000_000, 1_000_000)
    check_room(10, "this", "Nothing.")
    assert in_words(576e9) == "576 GB"


# ---------------------------------------------------------------- functions of the user


def test_an_error_of_the_users_own_says_which_function_it_was():
    class Own(Exception):
        pass

    def broken(xi):
        raise Own("mine")

    with pytest.raises(Own) as caught:
        ac.SO2(retraction=ac.Retraction(broken, lambda g: g[0]))
    assert "tau of a Retraction" in " ".join(caught.value.__notes__)
    with pytest.raises(ValueError, match=r"mine This came from forces, a function that was given"):
        ac.particles(lambda t, q, p: q[None], 1.0, None, 2, forces=lambda t, r, u, p: broken(r))
    with pytest.raises(ValueError, match=r"potential in the lagrangian could not be evaluated"):
        ac.mechanical(1.0, lambda t, q, p: broken(q), 2)
    with pytest.raises(ValueError, match="potential must return a scalar"):
        ac.mechanical(1.0, lambda t, q, p: q, 2)

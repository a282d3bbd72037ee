"""The report: every system has its row whatever happens to others, and nothing of anybody's is
lost.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accion import gallery, report
from accion.cli import app
from accion.gallery.base import Check
from accion.plot import new_figure
from accion.report import Result, build, folder, workers

RIGHT, WRONG = Check("x", 1.0, 1.0, 1e-9), Check("x", 1.0, 2.0, 1e-9)


def stop_at_once():
    os.kill(os.getpid(), signal.SIGKILL)


def stay():
    time.sleep(300)


def doctored(name):
    """Entries that take little time: `kepler` raises, `atwood` has a wrong number, `rods` crashes,
    `skate` hangs, others pass.
    """

    def checks():
        if name == "kepler":
            raise ArithmeticError("the planet fell into the sun\nand more")
        {"rods": stop_at_once, "skate": stay}.get(name, lambda: None)()
        return [WRONG if name == "atwood" else RIGHT]

    return replace(
        gallery.ENTRIES["damped_spring"],
        name=name,
        title=f"the {name}",
        checks=checks,
        figure=lambda: new_figure()[0],
    )


def whole(page):
    """The text of the page, once all its pictures are seen to be there."""
    html = page.read_text()
    pictures = re.findall(r'src="([^"]+)"', html)
    assert pictures
    for name in pictures:
        assert (page.parent / name).stat().st_size > 500
    return html


def test_report_page(tmp_path):
    out = tmp_path / "report"
    (result,) = report.reproduce(["caldirola_particle"], out)
    assert result.passed
    (run,) = out.glob("run-*")
    for page in (out / "index.html", run / "index.html"):
        html = whole(page)
        assert "43 of 43" in html
        assert html.count('class="PASS"') == 43 + 2
        assert "FAIL" not in re.sub(r"<style>.*?</style>", "", html, flags=re.S)
        assert 'class="state"' not in html
        # The document by author and title, formulas as text that can be copied, no picture of them.
        assert "Variational integrators for non-autonomous systems" in html
        assert '<annotation encoding="application/x-tex">' in html
        assert ".svg" not in html
        assert "prefers-color-scheme: dark" in html


def test_report_shows_the_card_of_an_entry(tmp_path):
    """What `audit` finds, as a table and a picture under the figure; only where the entry asks for
    it.
    """
    quick = {"checks": lambda: [RIGHT], "figure": lambda: new_figure()[0], "steps": 60}
    shown = replace(gallery.find("pendulum"), **quick, card=True)
    entries = {"pendulum": shown, "another": replace(shown, name="another", card=False)}
    results = report.reproduce(list(entries), tmp_path / "report", find=entries.get)
    assert results[1].card is None
    card = results[0].card
    assert card is not None
    assert card.steps == 60
    first, second = whole(tmp_path / "report" / "index.html").split('<h2 id="another">')
    assert "over 60 steps of 0.1 s" in first
    assert (
        first.index("pendulum/figure.png")
        < first.index(card.html)
        < first.index("pendulum/card.png")
    )
    assert "audit" not in second
    assert "card.png" not in second


# ---------------------------------------------------------------- systems that fail


def test_one_that_fails_is_a_row_and_the_others_go_on(tmp_path, monkeypatch):
    """An error, a wrong number and a crash, side by side with one that passes; the exit status says
    so at the end.
    """
    monkeypatch.setattr(gallery, "find", doctored)
    names = ["kepler", "rods", "atwood", "andrews", "pendulum"]
    done = CliRunner().invoke(
        app, ["reproduce", *names, "--jobs", "2", "--out", str(tmp_path / "report")]
    )
    assert done.exit_code == 1, done.output
    lines = {line.split()[0]: line for line in done.output.splitlines()}
    assert re.fullmatch(
        r"kepler +FAIL +[\d.]+ s  ArithmeticError: the planet fell into the sun", lines["kepler"]
    )
    assert "FAIL" in lines["rods"]
    assert "its process was ended by SIGKILL" in lines["rods"]
    assert (
        "1 of 1 numbers differ: x is 1 and not 2, off by 1.0e+00 where 1e-09 is allowed"
        in lines["atwood"]
    )
    for name in ("andrews", "pendulum"):
        assert re.fullmatch(rf"{name} +PASS +[\d.]+ s  1 of 1 numbers agree", lines[name])
    assert "2 of 5 systems PASS" in lines["2"]
    html = whole(tmp_path / "report" / "index.html")
    assert re.findall(r'<h2 id="(\w+)"', html) == names
    # with their reasons
    assert re.findall(r'<td class="(\w+)">\w+</td><td>[^<]', html) == ["FAIL"] * 3
    assert "the kepler" in html  # its title
    assert "and more" in html  # the whole message
    told = re.search(r"processes of at most (\d+) MiB", done.output)
    assert told is not None
    assert 100 < int(told[1]) < 1000
    assert "in checks" in html  # and where it was


class Idle:
    """A process that does nothing and has no end."""

    exitcode = None
    kill = join = close = lambda self: None


@pytest.mark.parametrize(("memory", "processes"), [(1.04e9, 2), (1.06e9, 5)])
def test_processes_are_few_and_replaced_when_they_have_grown(
    tmp_path, monkeypatch, memory, processes
):
    """As many as jobs run all systems, until the next one could take them all above 3 GB: then
    others go on.
    """
    started, told = [], []

    def serve(connection, find):
        with suppress(EOFError):
            while True:
                name = connection.recv()
                connection.send(Result(name, find(name), memory=memory))

    def start(find, folder):
        ours, theirs = Pipe()
        threading.Thread(target=serve, args=(theirs, find), daemon=True).start()
        started.append(theirs)
        return workers.Worker(Idle(), ours)

    monkeypatch.setattr(workers, "start_worker", start)
    names = ["andrews", "pendulum", "kepler", "rods", "skate"]
    results = list(workers.side_by_side(names, str.upper, tmp_path, 2, told.append))
    assert sorted((result.name, result.title) for result in results) == sorted(
        (name, name.upper()) for name in names
    )
    assert told == names
    assert len(started) == processes


def test_the_longest_start_first(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(build, "side_by_side", lambda names, *_: order.extend(names) or iter(()))
    assert set(build.LONGEST) <= set(gallery.NAMES)
    assert set(gallery.QUICK) <= set(gallery.NAMES)
    assert len(gallery.QUICK) == 3
    list(build.in_turn(gallery.NAMES, gallery.find, tmp_path, 2, None))
    assert order[: len(build.LONGEST)] == list(build.LONGEST)
    assert sorted(order) == sorted(gallery.NAMES)
    assert 1 <= report.default_jobs() <= workers.MOST


# ---------------------------------------------------------------- what lies in the folder


def test_report_leaves_other_folders_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(FileExistsError, match="holds other files"):
        report.reproduce([], tmp_path)
    with pytest.raises(FileExistsError, match="is a file"):
        report.reproduce([], tmp_path / "mine.txt")
    with pytest.raises(FileNotFoundError, match="create it first"):
        report.reproduce([], tmp_path / "a" / "b")
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_a_new_report_replaces_the_old_one_and_nothing_of_the_users(tmp_path):
    """The page stands after each system; interrupted, the report before is still there; finished,
    only it is gone.
    """
    out = tmp_path / "report"
    report.reproduce(["andrews"], out, find=doctored)
    (first,) = out.glob("run-*")
    mine = [
        out / "notes.txt",
        out / "pendulum.png",
        out / "data" / "a.csv",
        first / "notes.txt",
        first / "andrews" / "notes.png",
    ]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    pages = []

    def tell(name, result=None):
        if result is not None:
            pages.append(whole(out / "index.html"))
            if name == "pendulum":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        report.reproduce(["atwood", "pendulum", "andrews"], out, find=doctored, tell=tell)
    assert "1 of 3 systems so far" in pages[0]
    assert "2 of 3 systems so far" in pages[1]
    html = whole(out / "index.html")
    assert "interrupted: 2 of 3 systems had ended" in html
    assert f'href="{first.name}/index.html"' in html
    assert "the andrews" in whole(first / "index.html")
    assert [result.passed for result in report.reproduce(["pendulum"], out, find=doctored)] == [
        True
    ]
    assert "interrupted" not in whole(out / "index.html")
    assert all(path.read_text() == "mine" for path in mine)
    (now,) = [path for path in out.glob("run-*") if path != first]
    own = {path for path in out.rglob("*") if path.is_file()} - set(mine) - set(now.rglob("*"))
    assert own == {out / "accion-report", out / "index.html"}


@pytest.mark.parametrize("moment", ["page", "move", "clean"])
def test_a_report_stands_at_any_moment(tmp_path, monkeypatch, moment):
    """Ended while the page is written, moved in, or while the old one is removed: the old page or
    the new one, with its pictures.
    """
    out = tmp_path / "report"
    report.reproduce(["andrews"], out, find=doctored)

    class Killed(BaseException):
        pass

    def kill(path, *_, unlink=Path.unlink, **__):
        if moment != "clean" or path.suffix == ".png":
            raise Killed
        unlink(path, missing_ok=True)

    where = {"page": (folder, "move_in"), "move": (Path, "replace"), "clean": (Path, "unlink")}[
        moment
    ]
    monkeypatch.setattr(*where, kill)
    with pytest.raises(Killed):
        report.reproduce(["pendulum"], out, find=doctored)
    monkeypatch.undo()
    assert f"the {'pendulum' if moment == 'clean' else 'andrews'}" in whole(out / "index.html")
    report.reproduce(["atwood"], out, find=doctored)
    assert "the atwood" in whole(out / "index.html")
    assert len(list(out.glob("run-*"))) == 1


def is_left(group):
    """Whether any process of the group still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of POSIX")
def test_ctrl_c_leaves_a_page_and_no_process(tmp_path):
    code = (
        # Tests that run in the background ignore Ctrl-C, and what they start would too.
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nfrom accion"
        " import cli, gallery\nfrom tests.report.test_report import doctored\n"
        "if __name__ == '__main__':\n"
        "    gallery.find = doctored\n    cli.app(['reproduce', 'andrews', 'skate', '--jobs', '2',"
        " '--out', 'report'])\n"
    )
    (tmp_path / "program.py").write_text(code)
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, root])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()  # as it ends, while the other still runs
    assert "andrews" in line
    assert "PASS" in line
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted; what was done is in report/index.html" in err
    assert "interrupted: 1 of 2 systems had ended" in whole(tmp_path / "report" / "index.html")
    for _ in range(100):
        if not is_left(process.pid):
            break
        time.sleep(0.1)
    assert not is_left(process.pid)

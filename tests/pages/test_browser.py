"""Pages in a browser: no errors, controls that work, light and dark, on a phone."""

import numpy as np
import pytest

import accion as ac
from accion.gallery import find
from accion.gallery.exported import page_of
from accion.lab import serve
from tests.browser import browser

API = "document.getElementById('lab').laboratory?.api"
# A system whose names are markup, which must be shown and not run.
NASTY = "<img src=x onerror='window.bad=1'></script><script>window.bad=1</script>"
OWN = f'''"""{NASTY}"""
import jax.numpy as jnp
import accion as ac

KEY = {NASTY!r}
system = ac.System(
    lambda t, q, v, params: params[KEY] * v @ v / 2 + jnp.cos(q[0]),
    ac.Torus(1), {{KEY: 1.0}}, coordinates=("theta [rad]",), name=KEY,
)
start, h, steps = {{"q0": [1.0], "v0": [0.0]}}, 0.02, 500
'''


@pytest.fixture(scope="module")
def tab():
    with browser() as one:
        yield one


@pytest.fixture(scope="module")
def pendulums(tmp_path_factory):
    """The page of a thousand pendulums."""
    path = tmp_path_factory.mktemp("page") / "pendulum.html"
    path.write_text(page_of(find("pendulum"), copies=1000, spread=1.0))
    return path


def moves(tab, least=3):
    """Wait until the page has made steps."""
    tab.until(f"{API}?.runs[0]?.k > {least}")


def test_a_thousand_pendulums_in_a_small_page(tab, pendulums):
    assert pendulums.stat().st_size < 100_000
    tab.open(pendulums.as_uri())
    moves(tab)
    assert tab.run(f"{API}.copies.length") == 1000
    # What a frame takes is a small part of a sixtieth of a second; the machine may be busy.
    made = tab.run(
        f"(() => {{const a = {API}, times = [], now = () => performance.now();"
        " for (let i = 0; i < 20; i++) {const t = now(); a.advance(0.1); a.drawMotion();"
        " times.push(now() - t);}"
        " return times.sort((x, y) => x - y)[5];})()"
    )
    assert made < 1000 / 60
    # The first of the copies and the last started apart.
    first, last = tab.run(f"[{API}.copies[0].state[0], {API}.copies.at(-1).state[0]]")
    assert first != last
    assert tab.errors == []


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_a_page_on_a_screen_and_on_a_dark_phone(tab, pendulums, width, dark):
    tab.open(pendulums.as_uri(), width=width, height=800, dark=dark)
    moves(tab)
    # Nothing is wider than the screen, and the colours follow it.
    assert tab.run("document.documentElement.scrollWidth") <= width
    ground = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark
    # A picture was drawn.
    assert tab.run(
        "(() => {const c = document.querySelector('canvas.tall'); return c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data.some((x) => x > 0);})()"
    )
    tab.run("document.querySelector('.bar button').click()")  # Pause
    k = tab.run(f"{API}.runs[0].k")
    tab.run("document.querySelectorAll('.bar button')[1].click()")  # One step
    assert tab.run(f"{API}.runs[0].k") == k + 1
    # A parameter that is moved begins the run again, and is in the Python that does the same.
    tab.run(
        "(() => {const box = document.querySelector('input[aria-label=\"l\"]'); box.value = 2.5;"
        " box.dispatchEvent(new Event('change'));})()"
    )
    assert tab.run(f"{API}.runs[0].k") == 0
    python = tab.run("document.querySelector('pre').textContent")
    assert '"l": 2.5' in python
    names = {}
    exec(python.replace('traj.plot().savefig("motion.png")', ""), names)
    row = tab.run(
        f"(() => {{const a = {API}; a.state.playing = false; for (let i = 0; i < 10; i++)"
        " a.runs[0].step(); return Array.from(a.runs[0].show());})()"
    )
    traj = names["traj"]
    assert np.isclose(row[0], float(traj.energy()[10]), rtol=1e-12)
    assert tab.errors == []


def test_a_motion_in_space(tab, tmp_path):
    entry = find("free_top")
    run = ac.simulate(entry.system, entry.method, **entry.start, h=entry.h, steps=50)
    run.show3d(tmp_path / "top.html")
    tab.open((tmp_path / "top.html").as_uri())
    tab.until(
        "document.querySelector('canvas.scene') && document.querySelector('.clock').textContent"
    )
    assert tab.errors == []
    with pytest.raises(FileExistsError, match=r"top\.html exists"):
        run.show3d(tmp_path / "top.html")
    assert "srcdoc" in run.show3d()._repr_html_()


def test_the_laboratory(tab, tmp_path):
    (tmp_path / "nasty_names.py").write_text(OWN)
    lab = serve([str(tmp_path / "nasty_names.py")])
    try:
        tab.open(lab.address)
        moves(tab)
        assert "<img" in tab.run("document.getElementById('title').textContent")
        assert tab.run("document.querySelector('main, header').innerHTML.includes('<img')") is False
        assert tab.run("window.bad") is None
        # Another system, and two methods side by side.
        change = (
            "(() => {{const s = document.getElementById({!r}); s.value = {!r};"
            " s.dispatchEvent(new Event('change'));}})()"
        )
        tab.run(change.format("system", "kepler"))
        tab.until("document.getElementById('title').textContent.startsWith('Kepler')")
        tab.until("document.getElementById('wait').hidden")
        tab.run(change.format("compare", "Midpoint"))
        tab.until(f"{API}?.runs.length === 2 && {API}.runs[1].k > 3")
        assert tab.run("document.querySelectorAll('#equations math').length") > 3
        assert tab.errors == []
        # What it saves is a page that moves by itself.
        saved = tab.run("fetch(document.getElementById('save').href).then((a) => a.text())")
        (tmp_path / "saved.html").write_text(saved)
        tab.open((tmp_path / "saved.html").as_uri())
        moves(tab)
        assert tab.errors == []
    finally:
        lab.close()

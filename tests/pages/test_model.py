"""Systems as JavaScript against Python: a hundred steps in node."""

import base64
import json
import re
import shutil
import subprocess
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import find
from accion.gallery.base import run as run_entry
from accion.pages.compact import compact, short_names
from accion.pages.model import model_of, script_json
from accion.pages.record import recorded

STEPS = 100
RUN = """
const { readFileSync } = require("node:fs");
const found = {};
for (const [name, text] of Object.entries(JSON.parse(readFileSync("models.json")))) {
  const flat = (list) => list.flatMap((part) => part.entries.map((entry) => entry.value));
  const m = (0, eval)(text), f = m.facts;
  const numbers = flat(f.numbers), rows = [];
  let s = m.begin([...numbers, f.t0, f.h, ...flat(f.start)]);
  for (let k = 0; k <= STEPS; k++) {
    const t = f.t0 + k * f.h;
    rows.push(Array.from(m.show([...numbers, t, f.h, ...s]), String));
    if (k < STEPS) s = m.step([...numbers, t, f.h, ...s]);
  }
  const q = rows[STEPS].slice(f.channels.find((c) => c.name[0] === "q").at).map(Number);
  found[name] = { rows, points: m.points ? Array.from(m.points([...numbers, ...q])) : null };
}
console.log(JSON.stringify(found));
""".replace("STEPS", str(STEPS))
# free, weighted, constrained, on a group, with heat, of order two, contact
NAMES = (
    "double_pendulum",
    "caldirola_oscillator",
    "rolling_disk",
    "free_top",
    "spring_in_gas",
    "splines",
    "herglotz_oscillator",
)


@pytest.fixture(scope="module")
def systems():
    """(system, method, start, h) by name."""
    entries = {name: find(name) for name in NAMES}
    found = {n: (e.system, e.method, e.start, e.h) for n, e in entries.items()}
    spring = ac.System(
        lambda t, q, v, params: params["m"] * v @ v / 2 - params["k"] @ q**2 / 2 - q[0] ** 4,
        ac.Euclidean(2),
        {"m": 1.5, "k": np.array([1.0, 2.0])},
    )
    start = {"q0": [0.5, 1.0], "p0": [0.1, 0.0]}
    found["galerkin"] = (spring, ac.Galerkin(2), start, 0.1)
    found["composition"] = (spring, ac.Composition(ac.Midpoint(), 4), start, 0.1)
    given = ac.DiscreteSystem(
        lambda t, h, q0, q1, params: (q1 - q0) @ (q1 - q0) / h - h * jnp.cos(q0[0]),
        ac.Euclidean(1),
    )
    found["given"] = (given, None, {"q0": [0.5], "q1": [0.51]}, 0.1)
    return found


@pytest.fixture(scope="module")
def models(systems):
    positions = {name: find(name).positions for name in ("double_pendulum", "splines")}
    return {
        name: model_of(system, method, start, h, positions=positions.get(name), t0=0.25)
        for name, (system, method, start, h) in systems.items()
    }


@pytest.fixture(scope="module")
def found():
    """What is to be controlled, as Python found it."""
    return run_entry(find("block_move"))


@pytest.fixture(scope="module")
def computed(models, found, tmp_path_factory):
    """What node makes of them."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    folder = tmp_path_factory.mktemp("models")
    (folder / "run.cjs").write_text(RUN)
    texts = {name: model.text for name, model in models.items()}
    texts["block_move"] = recorded(found, find("block_move").positions).text
    (folder / "models.json").write_text(json.dumps(texts))
    done = subprocess.run([node, "run.cjs"], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_a_hundred_steps_agree_with_python(systems, models, computed):
    for name, (system, method, start, h) in systems.items():
        run = ac.simulate(system, method, **start, t0=0.25, h=h, steps=STEPS)
        rows = np.array(computed[name]["rows"], dtype=float)
        shown = {channel["name"] for channel in models[name].facts["channels"]}
        assert {"q", "p"} <= shown or {"q_0", "p"} <= shown
        for channel in models[name].facts["channels"]:
            wanted = np.asarray(run.value(channel["name"])).reshape(STEPS + 1, -1)
            found = rows[:, channel["at"] : channel["at"] + channel["size"]]
            # An energy may be the difference of large parts.
            size = max(1.0, np.max(np.abs(wanted)))
            assert np.max(np.abs(found - wanted)) <= 1e-12 * size, (name, channel["name"])


def test_points_of_the_picture_agree(computed, systems):
    entry = find("double_pendulum")
    system, method, start, h = systems["double_pendulum"]
    last = ac.simulate(system, method, **start, t0=0.25, h=h, steps=STEPS).q[-1]
    assert entry.positions is not None
    points = np.ravel(entry.positions(jnp.asarray(last)))
    assert np.allclose(computed["double_pendulum"]["points"], points, rtol=0, atol=1e-12)


def test_a_controlled_motion_is_repeated(computed, found):
    rows = np.array(computed["block_move"]["rows"], dtype=float)[: len(found.t)]
    wanted = [found.trajectory.energy(), *(found.trajectory.value(name)[:, 0] for name in "pqv")]
    u = np.interp(found.t, found.t_u, found.u[:, 0])
    assert np.allclose(rows, np.stack([*wanted, u], axis=1), rtol=1e-8, atol=1e-12)


def test_what_a_page_knows_of_a_system(models):
    facts = models["galerkin"].facts
    assert [(n["name"], n["shape"]) for n in facts["numbers"]] == [("k", [2]), ("m", [])]
    assert facts["numbers"][0]["entries"][1] == {"label": "k[1]", "value": 2.0}
    assert facts["methodPython"]["imports"] == "from accion.methods import Galerkin"
    top = models["free_top"].facts
    assert top["bodies"] == [{"at": 0, "kind": "SO3", "point": None}]
    assert [part["free"] for part in top["start"]] == [False, True]  # no free numbers in a matrix


def test_nothing_in_data_ends_a_script():
    text = script_json({"</script><script>": "<!--&"})
    assert "<" not in text
    assert ">" not in text
    assert json.loads(text) == {"</script><script>": "<!--&"}


def test_compact_text_keeps_what_it_must():
    module = """// a comment

export function f(inputs, outputs = new Float64Array(2)) {
    const v1 = inputs[0];
    const v2 = v1 * 2.0;
    const v3 = v2 + 1.0;
    let c4 = v1;
    let c5 = v3;
    for (;;) {
        const v6 = c4 < 9.0;
        if (!v6) break;
        const v7 = c4 + c5;
        const v8 = c5 - c4;
        c4 = v7;
        c5 = v8;
    }
    outputs[0] = c4;
    outputs[1] = c5;
    return outputs;
}
"""
    text = compact(module)
    # What the end of the loop hands over is computed before it changes.
    assert text == (
        "function f(I,O=new Float64Array(2)){const c=I[0];let a=c,b=((c*2)+1);for(;;){if(!(a<9))"
        "break;const d=a+b,e=b-a;a=d;b=e;}O[0]=a;O[1]=b;return O;}\n"
    )


def test_no_short_name_is_a_word_of_the_language():
    names = short_names()
    assert not {"do", "if", "in", "for", "let", "new", "try", "var", "NaN", "this"} & set(names)
    assert len(names) == len(set(names)) > 100_000


def test_a_run_that_was_stored_makes_the_same_page(tmp_path):
    entry = find("kepler")
    run = ac.simulate(entry.system, entry.method, **entry.start, h=0.01, steps=10)
    run.save(tmp_path / "run.zarr")
    text = run.to_html()
    assert ac.load(tmp_path / "run.zarr", entry.system).to_html() == text
    runs = ac.ensemble(
        entry.system,
        entry.method,
        q0=[entry.start["q0"]] * 2,
        v0=entry.start["v0"],
        h=0.01,
        steps=9,
    )
    with pytest.raises(ValueError, match="take a member"):
        runs.to_html()
    assert "laboratory(" in runs[0].to_html()


def places(thing, name="places"):
    """The numbers of a thing in a scene."""
    raw = np.frombuffer(base64.b64decode(thing[name]), "<f4")
    return raw.reshape(-1, thing["count"], 3) if name == "places" else raw.reshape(-1, 3, 3)


def scene_of(page):
    """What the page of a scene was given."""
    data = re.search(r"getElementById\('scene'\),(\{.*\})\);\}</script>", page.text)
    assert data is not None
    return json.loads(data[1])


def test_a_scene_has_the_places_and_the_attitudes_of_the_run():
    box = ac.System(
        lambda t, q, v, params: v @ v / 2 - q[0][2],
        ac.Product(ac.Euclidean(3), ac.SO3(), ac.Euclidean(3), ac.Euclidean(1)),
        name="a box, a ball and a number",
    )
    start = {"q0": (np.ones(3), np.eye(3), np.zeros(3), np.zeros(1)), "v0": np.arange(10.0) / 10}
    run = ac.simulate(box, ac.Midpoint(), **start, h=0.1, steps=20)
    body, ball = scene_of(run.show3d())["things"]
    assert np.allclose(places(body)[:, 0], run.q[0], atol=1e-6)
    assert np.allclose(places(body, "turns"), run.q[1], atol=1e-6)
    assert np.allclose(places(ball)[:, 0], run.q[2], atol=1e-6)
    plane = ac.System(lambda t, g, xi, params: xi @ xi / 2, ac.SE2())
    car = ac.ensemble(
        plane, ac.Midpoint(), q0=[np.eye(3)] * 2, v0=[[1.0, 1.0, 0], [0, 1.0, 0]], h=0.1, steps=9
    )
    first, second = scene_of(car.show3d())["things"]
    assert (first["run"], second["run"]) == (0, 1)
    assert np.allclose(places(first)[:, 0, :2], car.q[0, :, :2, 2], atol=1e-6)
    assert np.allclose(places(first, "turns")[:, :2, :2], car.q[0, :, :2, :2], atol=1e-6)
    assert np.allclose(places(second, "turns"), np.eye(3))
    # What comes after a failure is left out, and long runs are thinned.
    lost = replace(car[0], q=np.where(np.arange(10)[:, None, None] < 4, car.q[0], np.nan))
    assert len(places(scene_of(lost.show3d())["things"][0])) == 4


def test_what_cannot_be_a_page_is_refused():
    entry = find("double_pendulum")
    with pytest.raises(ValueError, match=r"shape \(k, 2\) or \(k, 3\)"):
        model_of(entry.system, entry.method, entry.start, 0.1, positions=lambda q: q)
    run = ac.simulate(entry.system, entry.method, **entry.start, h=[0.1, 0.2], steps=2)
    with pytest.raises(ValueError, match="steps of one length"):
        run.to_html()
    with pytest.raises(ValueError, match="pass positions=f"):
        run.show3d()

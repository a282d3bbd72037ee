"""Systems as JavaScript against Python: a hundred steps in node."""

import json
import shutil
import subprocess

import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.gallery import find
from accion.pages.compact import compact
from accion.pages.model import model_of, script_json

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
def computed(models, tmp_path_factory):
    """What node makes of them."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    folder = tmp_path_factory.mktemp("models")
    (folder / "run.cjs").write_text(RUN)
    texts = {name: model.text for name, model in models.items()}
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


def test_what_cannot_be_a_page_is_refused():
    entry = find("double_pendulum")
    with pytest.raises(ValueError, match=r"shape \(k, 2\) or \(k, 3\)"):
        model_of(entry.system, entry.method, entry.start, 0.1, positions=lambda q: q)
    run = ac.simulate(entry.system, entry.method, **entry.start, h=[0.1, 0.2], steps=2)
    with pytest.raises(ValueError, match="steps of one length"):
        run.to_html()
    with pytest.raises(ValueError, match="pass positions=f"):
        run.show3d()

"""A trajectory in space, as a page: bodies with their attitudes, points, and trails.

three.js (parts/three.module.min.js, MIT, its licence beside it) is part of the page.
"""

import base64
import re
from collections.abc import Callable
from html import escape
from typing import Any

import jax
import numpy as np

from accion.arguments import reals
from accion.errors import in_function
from accion.pages.model import bodies_of, script_json
from accion.pages.page import document, part

FRAMES = 1200  # of a page at most; of longer runs some are left out
NUMBERS = 2_000_000  # of all places and attitudes in a page
SECONDS = 12.0  # that a motion takes on the page
SIZES = {"SO2": 2, "SO3": 3, "SE2": 3, "SE3": 4}


def scene_page(
    trajectory: Any, positions: Callable[..., Any] | None = None, trail: float = 0.3
) -> str:
    """The page of a trajectory, or of all members of an ensemble."""
    if trail > 1:
        raise ValueError(
            f"trail is the part of the motion that stays visible, 0 to 1; got {trail}."
        )
    t = np.asarray(trajectory.t)
    runs = len(trajectory.success) if trajectory.is_ensemble else 1
    q = jax.tree.map(
        lambda a: np.asarray(a) if trajectory.is_ensemble else np.asarray(a)[None], trajectory.q
    )
    flat = np.concatenate([a.reshape(runs, len(t), -1) for a in jax.tree.leaves(q)], axis=2)
    # What comes after a failure is no motion.
    good = max(1, int(np.min(np.sum(np.isfinite(flat).all(axis=2), axis=1))))
    most = max(2, min(FRAMES, NUMBERS // (runs * flat.shape[2])))
    frames = np.unique(np.linspace(0, good - 1, min(good, most)).round().astype(int))
    things = []
    for run in range(runs):
        own = jax.tree.map(lambda a, run=run: a[run][frames], q)
        found = things_of(trajectory.system, own, flat[run][frames], positions)
        things += [thing | {"run": run} for thing in found]
    data = {"times": packed(t[frames]), "things": things, "trail": trail, "seconds": SECONDS}
    name = str(trajectory.system.name)
    return document(
        name,
        f'<header><h1>{escape(name)}</h1></header><main id="scene" class="stage"></main>',
        part("app.css") + "canvas.scene{height:min(40rem,75vh);touch-action:none;cursor:grab}"
        ".bar input[type=range]{flex:1;min-width:8rem}",
        f"{{{library()}\n{part('scene.js')}\n"
        f"scene(THREE,document.getElementById('scene'),{script_json(data)});}}",
    )


def library() -> str:
    """three.js, with its functions in `THREE` in place of the names that it exports."""
    text = part("three.module.min.js")
    found = re.search(r"export\{([^}]*)\};?\s*$", text)
    if found is None:
        raise ValueError("three.module.min.js does not end with what it exports.")
    pairs = [name.split(" as ") for name in found[1].split(",")]
    names = ",".join(f"{pair[-1]}:{pair[0]}" for pair in pairs)
    return f"{text[: found.start()]}const THREE={{{names}}};"


def packed(values: Any) -> str:
    """Numbers as text, in float32, which is what graphics have."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


def things_of(
    system: Any, q: Any, flat: np.ndarray, positions: Callable[..., Any] | None
) -> list[dict[str, Any]]:
    """The bodies and points of one run, from its configurations."""
    if positions is not None:
        with in_function("positions"):
            drawn = jax.vmap(positions)(q)
        points = np.asarray(reals(drawn, "what positions(q) returns"))
        if points.ndim != 3 or points.shape[-1] not in (2, 3) or not points.shape[1]:
            raise ValueError(
                "positions(q) must return points, shape (k, 2) or (k, 3); it returned"
                f" {points.shape[1:]}."
            )
        return [points_of(points, joined=True)]
    bodies = bodies_of(system.space)
    if bodies:
        used = {body["point"] for body in bodies if body["point"] is not None}
        loose = [first for first in points_in(system.space) if first not in used]
        places = [flat[:, None, first : first + 3] for first in loose]
        found = [body_of(body, flat) for body in bodies]
        return found + ([points_of(np.concatenate(places, axis=1))] if places else [])
    count, angles = flat.shape[1], any("rad" in unit for unit in system.units)
    if angles or not system.space.flat or (count > 3 and count % 3):
        raise ValueError(
            f"show3d does not know what {system.name} looks like: pass positions=f, where f(q) are"
            " the points to draw, shape (k, 3) or (k, 2)."
        )
    each = 3 if count % 3 == 0 else count
    return [points_of(flat.reshape(len(flat), -1, each))]


def points_in(space: Any) -> list[int]:
    """Where points of space stand in a flat list of q: the flat factors of three numbers."""
    found, first = [], 0
    for factor in getattr(space, "factors", (space,)):
        if factor.flat and factor.dim == 3:
            found.append(first)
        first += sum(int(np.size(part)) for part in jax.tree.leaves(factor.identity()))
    return found


def points_of(points: np.ndarray, joined: bool = False) -> dict[str, Any]:
    """Points at all times, shape (times, k, 1 to 3), in space; `joined` by a line."""
    whole = np.zeros((*points.shape[:2], 3))
    whole[..., : points.shape[2]] = points
    whole[np.isnan(points).any(axis=2)] = np.nan
    return {"count": points.shape[1], "places": packed(whole), "joined": joined}


def body_of(body: dict[str, Any], flat: np.ndarray) -> dict[str, Any]:
    """A body's places and attitudes at all times."""
    n = SIZES[body["kind"]]
    matrix = flat[:, body["at"] : body["at"] + n * n].reshape(-1, n, n)
    rigid, d = body["kind"].startswith("SE"), int(body["kind"][2])
    turns = np.tile(np.eye(3), (len(flat), 1, 1))
    turns[:, :d, :d] = matrix[:, :d, :d]
    places = np.zeros((len(flat), 3))
    if rigid:
        places[:, :d] = matrix[:, :d, -1]
    elif body["point"] is not None:
        places = flat[:, body["point"] : body["point"] + 3]
    return {"count": 1, "places": packed(places), "turns": packed(turns)}

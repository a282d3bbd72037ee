"""The pages that a trajectory makes of itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from accion.methods import Method
from accion.pages.model import model_of
from accion.pages.page import Page, motion_page, save_page
from accion.pages.scene import scene_page
from accion.results.continuation import parts_of, start_of
from accion.results.paged import maker
from accion.results.trajectory import Trajectory


@maker("motion")
def motion(
    trajectory: Trajectory,
    path: Path | None,
    positions: Callable[..., Any] | None = None,
    compare: Method | None = None,
) -> str:
    """See `Trajectory.to_html`."""
    if trajectory.is_ensemble:
        raise ValueError(
            "to_html makes the page of one run, which has copies of its own; take a member:"
            " runs[0].to_html()."
        )
    if trajectory.carried is None or trajectory.controlled:
        raise ValueError(
            "to_html makes a page of a run of simulate, which begins where the run began; this"
            " trajectory was made otherwise. show3d and animate show what it is."
        )
    if np.ndim(trajectory.h):
        raise ValueError("to_html makes steps of one length; this run has steps of several.")
    start = start_of(parts_of(trajectory.carried)[0])._asdict()
    given = {name: value for name, value in start.items() if value is not None}
    methods = [trajectory.method] if compare is None else [trajectory.method, compare]
    settings: dict[str, Any] = {
        "t0": float(trajectory.t[0]),
        "steps": int(trajectory.steps_completed),
        "positions": positions,
    }
    h = float(trajectory.h)
    models = [model_of(trajectory.system, each, given, h, **settings) for each in methods]
    name = str(trajectory.system.name)
    text = motion_page(models, name, system=trajectory.system)
    if path is not None:
        save_page(text, path)
    return text


@maker("scene")
def scene(
    trajectory: Trajectory,
    path: Path | None,
    positions: Callable[..., Any] | None = None,
    trail: float = 2.0,
) -> Page:
    """See `Trajectory.show3d`."""
    page = Page(scene_page(trajectory, positions, trail))
    if path is not None:
        page.save(path)
    return page

"""What the entries of optimal control share: how they become entries, and how their motions are
drawn.
"""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from accion.control import ControlProblem
from accion.control.law import Push
from accion.gallery.base import Entry
from accion.methods import Midpoint


@dataclass(frozen=True)
class ByParameters:
    """The force of a control problem, with the controls among the parameters."""

    problem: ControlProblem
    names: tuple[str, ...]

    def __call__(self, t, q, v, params):
        return Push(
            self.problem.system.force,
            self.problem.law,
            jnp.stack([params[name] for name in self.names]),
        )(t, q, v, params)


def with_controls(problem):
    """The system of `problem` with its controls as parameters, whose equations are shown."""
    names = tuple(name.split("[")[0].strip() for name in problem.controls)
    params = dict(problem.system.params or {}) | dict.fromkeys(names, 1.0)
    return replace(problem.system, params=params, force=ByParameters(problem, names))


def control_entry(problem, *, steps, method=None, **rest):
    """The entry of a control problem; what is simulated of it, as in a campaign, is its motion
    without controls.
    """
    start = problem.ends[0]
    return Entry(
        system=problem.system,
        problem=problem,
        printed=with_controls(problem),
        method=method or Midpoint(),
        start={"q0": start.q, "v0": start.v},
        h=problem.longest / steps,
        steps=steps,
        **rest,
    )


def half_square(t, q, v, u, params):
    return 0.5 * u @ u


def order(errors):
    """Measured from the first to the last of errors on meshes that are halved."""
    return np.log2(errors[0] / errors[-1]) / (len(errors) - 1)


def shades(count):
    """Colours from early (light) to late (dark)."""
    import matplotlib

    return matplotlib.colormaps["viridis_r"](np.linspace(0.05, 1, count))


def strobe(ax, t, bodies, frames=12, lw=1.5):
    """Draw `bodies` (times, points, 2), lines through points, at `frames` times; early ones light,
    late ones dark.
    """
    at = np.linspace(0, len(t) - 1, frames).round().astype(int)
    for k, color in zip(at, shades(frames), strict=True):
        ax.plot(
            *bodies[k].T,
            color=color,
            lw=lw,
            solid_capstyle="round",
            label=f"t = {t[k]:.3g} s" if k in (at[0], at[-1]) else None,
        )
    ax.set_aspect("equal")


def held(ax, solution, j, **style):
    """Draw control `j`, constant on each step."""
    return ax.stairs(solution.u[:, j], solution.t, baseline=None, **style)

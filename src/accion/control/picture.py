"""A picture of a solution: coordinates, velocities and controls, with their bounds."""

import jax
import numpy as np

from accion.systems.base import unit_of


def rows_of(solution):
    """What is drawn: (label, times, values, bounds, steps) for each curve, panel by panel."""
    problem, system = solution.problem, solution.problem.system
    panels = []
    if system.space.flat:
        q = np.concatenate(
            [np.asarray(leaf).reshape(len(solution.t), -1) for leaf in jax.tree.leaves(solution.q)],
            axis=1,
        )
        panels.append(
            ("configuration", system.names, system.units, solution.t, q, problem.q_bounds, False)
        )
    units = tuple(f"{unit}/s" if unit else "" for unit in system.units)
    panels.append(
        (
            "velocity",
            system.names,
            units,
            solution.t,
            np.asarray(solution.v),
            problem.v_bounds,
            False,
        )
    )
    names = tuple(name.split("[")[0].strip() for name in problem.controls)
    steps = solution.formulation == "direct"
    panels.append(
        (
            "control",
            names,
            tuple(map(unit_of, problem.controls)),
            solution.t_u,
            solution.u,
            problem.u_bounds,
            steps,
        )
    )
    return panels


def picture(solution, axes=None):
    """Draw into `axes` (as many as there are panels) or a new figure, which is returned."""
    import matplotlib.pyplot as plt

    panels = rows_of(solution)
    if axes is None:
        figure, axes = plt.subplots(
            len(panels), 1, sharex=True, figsize=(7, 2.2 * len(panels)), constrained_layout=True
        )
    else:
        figure = np.ravel(axes)[0].figure
    for axis, (title, names, units, t, values, bounds, steps) in zip(
        np.ravel(axes), panels, strict=True
    ):
        for j, (name, unit) in enumerate(zip(names, units, strict=True)):
            label = f"{name} [{unit}]" if unit else name
            if steps:
                (curve,) = axis.step(
                    np.append(solution.t[:-1], solution.t[-1]),
                    np.append(values[:, j], values[-1, j]),
                    where="post",
                    label=label,
                )
            else:
                (curve,) = axis.plot(t, values[:, j], label=label)
            for side in bounds:
                if np.isfinite(side[j]):
                    axis.axhline(side[j], color=curve.get_color(), linestyle=":", linewidth=1)
        axis.set_ylabel(title)
        axis.legend(loc="best", fontsize="small")
    np.ravel(axes)[-1].set_xlabel("time [s]")
    np.ravel(axes)[0].set_title(f"{solution.problem.name}: cost {solution.cost:.6g}")
    return figure

"""Pictures and animations.

Everything here takes a trajectory, or arrays, and returns matplotlib objects.
"""

from accion.plot.chaos import exponents as exponents, section as section
from accion.plot.figures import (
    new_figure as new_figure,
    save_figure as save_figure,
    step_axis as step_axis,
    trajectory as trajectory,
)
from accion.plot.movies import animation as animation
from accion.plot.notebooks import shown as shown
from accion.plot.paths import path as path, phase as phase

KINDS = {"time": trajectory, "phase": phase, "path": path}

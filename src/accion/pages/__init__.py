"""Pages that move in any browser: a system as JavaScript, and a motion in space."""

from accion.pages import (
    of_trajectory as of_trajectory,  # registers what a trajectory makes of itself
)

"""What a notebook shows of a trajectory: its words and a small picture."""

import numpy as np

from accion.plot.figures import trajectory
from accion.plot.motion import Motion
from accion.told import html

MEMBERS = 50  # of an ensemble that are drawn


def shown(traj: Motion) -> str:
    """A trajectory, with its plot where its runs can be told apart."""
    return html(repr(traj), trajectory(traj) if np.size(traj.success) <= MEMBERS else None)

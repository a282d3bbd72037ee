"""What a notebook shows of a result: its words and a small picture."""

from base64 import b64encode
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from accion.plot.figures import trajectory
from accion.plot.motion import Motion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 60  # a third of the area of a figure that is asked for
MEMBERS = 50  # of an ensemble that are drawn


def html(words: str, figure: "Figure | None" = None) -> str:
    """`words` as they are, and under them `figure`, small."""
    shown = f"<pre>{escape(words)}</pre>"
    if figure is None:
        return shown
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    picture = b64encode(buffer.getvalue()).decode()
    return f'{shown}<img alt="its plot" src="data:image/png;base64,{picture}"/>'


def shown(traj: Motion) -> str:
    """A trajectory, with its plot where its runs can be told apart."""
    return html(repr(traj), trajectory(traj) if np.size(traj.success) <= MEMBERS else None)

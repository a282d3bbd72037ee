"""A figure and a movie that notebooks show by themselves; imported where they are made."""

import re
from io import BytesIO

from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure

# What stands on the buttons of the player in the place of icons that would come from the network.
BUTTONS = {
    "minus": "&minus;",
    "fast-backward": "|&lt;&lt;",
    "step-backward": "|&lt;",
    "play fa-flip-horizontal": "&#9664;",
    "pause": "| |",
    "play": "&#9654;",
    "step-forward": "&gt;|",
    "fast-forward": "&gt;&gt;|",
    "plus": "+",
}


class Picture(Figure):
    """A figure without a window, which a notebook shows as it is."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


class Movie(FuncAnimation):
    """An animation, which a notebook shows with its player."""

    def settle(self) -> None:
        """matplotlib warns of an animation that is deleted before it was drawn: of this one, which
        may have been written as a file, it shall not.
        """
        self._draw_was_started = True

    def _repr_html_(self) -> str:
        player = self.to_jshtml(default_mode="loop")
        player = re.sub(r'<link rel="stylesheet"\s+href="https?://[^>]*>', "", player)
        return re.sub(r'<i class="fa fa-([\w -]+)"></i>', lambda found: BUTTONS[found[1]], player)

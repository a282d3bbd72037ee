"""A figure and a movie that notebooks show by themselves; imported where they are made."""

from io import BytesIO

from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure


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
        return self.to_jshtml(default_mode="loop")

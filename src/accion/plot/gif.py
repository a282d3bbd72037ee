"""Moving pictures as GIF."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

COLORS = 64  # of the palette, that of the last picture, which has every line


def write(
    figure: Figure,
    draw: Callable[[int], Sequence[Any]],
    frames: Sequence[int],
    path: Path,
    fps: int,
) -> None:
    """The pictures `draw(i)` of all `frames`, one after the other.

    What does not move is drawn once, and what moves, the artists that `draw` returns, upon it.
    """
    canvas = FigureCanvasAgg(figure)
    moving = draw(frames[-1])
    for artist in moving:
        artist.set_animated(True)
    canvas.draw()
    still = canvas.copy_from_bbox(figure.bbox)

    def picture(i: int) -> Image.Image:
        canvas.restore_region(still)
        for artist in draw(i):
            figure.draw_artist(artist)
        return Image.fromarray(np.array(canvas.buffer_rgba())).convert("RGB")

    palette = picture(frames[-1]).quantize(COLORS)
    first, *rest = (picture(i).quantize(palette=palette, dither=Image.Dither.NONE) for i in frames)
    for artist in moving:
        artist.set_animated(False)
    first.save(path, save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)

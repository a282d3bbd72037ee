"""Results that are told in words: a line where Python shows them, all of it where one prints them,
and with a small picture in a notebook.
"""

from abc import ABC, abstractmethod
from base64 import b64encode
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 60  # a third of the area of a figure that is asked for


def html(words: str, figure: "Figure | None" = None) -> str:
    """`words` as they are, and under them `figure`, small."""
    return f"<pre>{escape(words)}</pre>" + ("" if figure is None else picture_of(figure))


def picture_of(figure: "Figure") -> str:
    """A small picture of a figure, for a page."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    picture = b64encode(buffer.getvalue()).decode()
    return f'<img alt="its plot" src="data:image/png;base64,{picture}"/>'


class InWords:
    """What `str` tells at length; abstract."""

    def __repr__(self) -> str:
        first, *rest = str(self).strip().splitlines()
        return f"<{type(self).__name__}: {first.rstrip(':')}{' ...' if rest else ''}>"


class Told(InWords):
    """In words alone; abstract."""

    def _repr_html_(self) -> str:
        return html(str(self))


class Drawn(InWords, ABC):
    """In words and with a picture; abstract."""

    @abstractmethod
    def plot(self, axes: Any = None) -> "Figure":
        """The picture."""

    def _repr_html_(self) -> str:
        return html(str(self), self.plot())

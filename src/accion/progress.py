"""Long work shows how far it is and how long it will take."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress_bar(what: str, total: float) -> Iterator[Callable[..., None]]:
    """A bar for `total` units of work; yields the function (amount, now) that adds to what is done
    and says what is next.
    """
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda amount, now=what: bar.update(task, advance=amount, description=now)

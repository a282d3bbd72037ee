"""One call, and how it ended."""

import dis
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import accion

ROOT = str(Path(accion.__file__).parent)
SECONDS = 30.0  # of the processor, after which a call hangs
PATIENCE = 300.0  # seconds by the clock, which may have been those of other processes

TIMERS = (
    (signal.ITIMER_PROF, signal.SIGPROF, SECONDS),
    (signal.ITIMER_REAL, signal.SIGALRM, PATIENCE),
)

RESULT, OWN, TAKEN, RAW, HANG = "result", "own error", "taken", "raw error", "hang"


class Hangs(BaseException):
    """Sent to a call that takes too long."""


@dataclass(frozen=True)
class Verdict:
    """How a call ended, with the place and the words of a raw error."""

    kind: str
    place: str = ""
    words: str = ""
    seconds: float = 0.0


def stop(*_: Any) -> None:
    raise Hangs


def judged(call: Callable[[], Any], names: Iterable[str], refused: bool) -> Verdict:
    """What became of a call.

    Arguments:
        call: makes it.
        names: of the arguments that are wrong; an own error has one of them in its words.
        refused: whether it must not end in a result.
    """
    for timer, number, seconds in TIMERS:
        signal.signal(number, stop)
        signal.setitimer(timer, seconds)
    start = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
        kind, place, words = (TAKEN if refused else RESULT), "", ""
    except Hangs as error:
        kind, place, words = HANG, *where(error)
    except Exception as error:
        place, words = where(error)
        kind = OWN if is_own(error, set(names)) else RAW
    finally:
        for timer, _, _ in TIMERS:
            signal.setitimer(timer, 0)
    return Verdict(kind, place, words, perf_counter() - start)


def where(error: BaseException) -> tuple[str, str]:
    """The last line of accion that an error went through, and its words."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if f.filename.startswith(ROOT)]
    place = (
        f"{inside[-1].filename[len(ROOT) + 1 :]}:{inside[-1].lineno} {inside[-1].name}"
        if inside
        else "outside"
    )
    return place, f"{type(error).__name__}: {error}"


def is_own(error: Exception, names: set[str]) -> bool:
    """Whether an error is accion's, and names one of the arguments.

    Accion's are those that a `raise` in its own code raises. Those that say that something was
    tried and failed (RuntimeError: StepFailed, ...) name the step or the time. An error of the
    user's own function passes with a note which function it was.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    last, _ = frames[-1]
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    assert tb is not None
    file = last.f_code.co_filename
    words = " ".join([str(error), *getattr(error, "__notes__", [])])
    named = any(
        re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", words) for name in names
    )
    if any("a function that was given" in note for note in getattr(error, "__notes__", [])):
        return named
    raised = dis.opname[last.f_code.co_code[tb.tb_lasti]] == "RAISE_VARARGS"
    tried = isinstance(error, RuntimeError) or type(error).__module__.startswith("accion.")
    return file.startswith(ROOT) and raised and (named or tried)

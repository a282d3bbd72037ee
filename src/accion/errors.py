"""The errors and the warnings that are accion's own; bad input raises ValueError."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

GIVEN = "a function that was given."  # how a note on an error of the user's own ends


@contextmanager
def in_function(name: str) -> Iterator[None]:
    """Errors that a function of the user raises in this block pass with a note which it was."""
    note = f"This came from {name}, {GIVEN}"
    try:
        yield
    except StopIteration as error:
        # On its way it would end a generator, and become another error without the note.
        other = RuntimeError("StopIteration was raised").with_traceback(error.__traceback__)
        other.add_note(note)
        raise other from None
    except Exception as error:
        error.add_note(note)
        raise


ADVICE = (
    " Try a smaller h (such as {:.3g}), look at the last good state (error.trajectory), or pass"
    " throw=False to go on with NaN."
)


class StepFailed(RuntimeError):
    """A time step whose equations were not solved.

    Attributes: `step` (its number, from 0), `t` (its time), `residual` (what was left of the
    equations), `trajectory` (the run up to the last good step, NaN after it), `smaller` (a step
    length to try, None where a smaller one is no remedy), `happened` (the message without advice).
    """

    def __init__(
        self,
        message: str,
        *,
        step: int,
        t: float,
        residual: float,
        trajectory: Any = None,
        smaller: float | None = None,
    ) -> None:
        advice = "" if smaller is None else ADVICE.format(smaller)
        RuntimeError.__init__(self, message + advice)
        self.happened = message
        self.smaller = smaller
        self.step = step
        self.t = t
        self.residual = residual
        self.trajectory = trajectory


class ConnectFailed(RuntimeError):
    """A two-point problem that was not solved.

    Attributes: `residual` of the equations, and `t`, where it is largest.
    """

    def __init__(self, message: str, *, residual: float, t: float) -> None:
        RuntimeError.__init__(self, message)
        self.residual = residual
        self.t = t


class OptimizeFailed(RuntimeError):
    """A control problem that was not solved.

    Attributes: `found`, where the solver ended; `solution`, the controls there, or None.
    """

    def __init__(self, message: str, *, found: Any = None, solution: Any = None) -> None:
        RuntimeError.__init__(self, message)
        self.found = found
        self.solution = solution


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended an optimisation.

    Attributes: `solution`, the controls where it was, or None; of several starts the best that was
    found.
    """

    def __init__(self, message: str, *, solution: Any = None) -> None:
        KeyboardInterrupt.__init__(self, message)
        self.solution = solution


class Untranslatable(ValueError):
    """A function does something that has no expression in SymPy, or an expression has no
    counterpart in JAX.
    """


class StepTooLarge(UserWarning):
    """In a run whose energy should be kept it changed by as much as the motion has to exchange: the
    step does not resolve the motion.
    """


class SecondLawViolated(UserWarning):
    """In a step of a thermal system friction gave energy, or entropy became less without
    cooling.
    """


class ReplayMisses(UserWarning):
    """Controls that were found on a mesh do not lead the continuous system to where the mesh says:
    it is too coarse, or the motion unstable.
    """


class BarelyHeld(UserWarning):
    """A bound or an inequality holds at a solution without a push: with other params it is let go
    on one side, so the derivatives of the solution differ from side to side.
    """


class NoChecksums(UserWarning):
    """A store that an older accion wrote: it has no checksums, so damage to it is not noticed."""


class NotLocked(UserWarning):
    """A file system has no locks: that only one process writes there is left to the user."""


class StoreBusy(UserWarning):
    """Another process writes a store, and this one waits for it."""

"""The errors and the warnings that are accion's own; bad input raises ValueError."""

from typing import Any


class StepFailed(RuntimeError):
    """A time step whose equations were not solved.

    Attributes: `step` (its number, from 0), `t` (its time), `residual` (what was left of the
    equations), `trajectory` (the run up to the last good step, NaN after it).
    """

    def __init__(
        self, message: str, *, step: int, t: float, residual: float, trajectory: Any = None
    ) -> None:
        RuntimeError.__init__(self, message)
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

"""A method, as everything else sees it: how a step is sampled."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import jax
import numpy as np

from accion.spaces import Space
from accion.types import Configuration, Scalar, Vector


class Sample(NamedTuple):
    """A point of TQ at which a step looks at the system, with its weight in the sum."""

    w: Any
    t: Any
    q: Any
    v: jax.Array


class Method(ABC):
    """A finite-difference map: from the two ends of a step to weighted samples (t_i, q_i, v_i).

    `order` is the order of convergence that is claimed; `symmetric` says whether the step equals
    its own adjoint, so that trajectories can be run backwards; None where it is not known. `nodes`
    are the (w_i, c_i) where the samples are q_i = q0 + c_i x and v_i = x/h, None for a map of
    another kind. Methods are immutable and compare by value, so compiled code is shared between
    equal ones.
    """

    order: Any
    symmetric: Any
    nodes: Any
    variational: Any  # whether it has a discrete Lagrangian
    # How many inner points a step has besides its ends, whose places are unknowns. `samples` of a
    # method that has some also takes `inner`, their increments from q0, shape (inner_points, dim).
    inner_points: int = 0
    # Where they are on the way, as fractions of the step; at equal distances where nothing is said.
    inner_places: Any = ()

    @property
    def places(self) -> np.ndarray:
        """Where the start, inner points and the end are, as fractions of the step."""
        inner = self.inner_places or np.arange(1, self.inner_points + 1) / (self.inner_points + 1)
        return np.concatenate([[0.0], inner, [1.0]])

    @property
    def onward(self) -> np.ndarray:
        """The matrix that makes of the increments of inner points and end those of a next step on
        the same polynomial.
        """
        c = self.places
        through = [
            [np.prod((x - np.delete(c, j)) / (c[j] - np.delete(c, j))) for j in range(1, len(c))]
            for x in (*(1 + c[1:]), 1.0)
        ]
        return np.array(through[:-1]) - np.array(through[-1])

    # Where in a step controls are given, as fractions of it: they go along the polynomial through
    # these places.
    control_places: Any = (0.5,)
    # Part of a step for which the constraint force at one of its ends acts.
    end_weight: float = 0.5
    # (method, parts) where a step consists of steps of another method, with parts of its length
    composed: Any = None
    own_lengths: bool = False  # whether h is not how long its steps are in time
    # Whether systems of order r are stepped by it from (q, ..., q^(r-1)) to the next, by inner
    # points or inner steps, not on windows of r + 1 configurations.
    on_levels: bool = False

    @property
    def of_two_ends(self) -> bool:
        """Whether what a step of length h does is said by its two ends, as by a discrete
        Lagrangian.
        """
        return self.composed is None and not self.own_lengths

    @abstractmethod
    def check(self, system: Any) -> None:
        """Raise ValueError unless the method can step `system`, saying why and what to try."""

    @abstractmethod
    def samples(
        self,
        space: Space,
        t: Scalar,
        h: Scalar,
        q0: Configuration,
        x: Vector,
        e0: Any = None,
        e1: Any = None,
    ) -> list[Sample]:
        """The samples of the step from retract(q0, e0) to retract(retract(q0, x), e1); without e0
        and e1, from q0 to retract(q0, x).

        `x`, `e0` and `e1` have shape (dim,). The displacements are zero in the value and serve to
        differentiate: D1 is the derivative with respect to `e0`, D2 with respect to `e1`.
        """


def check_windows(method: Method, system: Any) -> None:
    """Raise ValueError where a system of higher order meets a method that cannot sample windows."""
    if system.order > 1 and method.nodes is None:
        raise ValueError(
            f"{type(method).__name__} does not support systems of higher order, whose windows are"
            " sampled at fractions of a step; try Midpoint() or Trapezoid()."
        )


def check_free(method: Method, system: Any) -> None:
    """Raise ValueError where a method meets a thermal system under constraints, which it cannot
    step.
    """
    if system.constraint is not None:
        raise ValueError(
            f"{type(method).__name__} does not support thermal systems under constraints; try"
            " Midpoint() or Composition(Midpoint(), 4)."
        )

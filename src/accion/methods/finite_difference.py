"""A step sampled as the user says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.methods.base import Method, Sample, check_windows
from accion.spaces import Space
from accion.systems.indices import check_indices
from accion.systems.mistakes import not_evaluable
from accion.types import Configuration, Scalar, Vector

CHECKED = set()  # maps and spaces that were seen to fit
H = 0.37  # a step that is no power of two, nor 1: a velocity that is off by a factor h is seen
CLOSE = 1e-6


@dataclass(frozen=True)
class FiniteDifference(Method):
    """The user's own finite-difference map `psi(h, q0, q1) -> [(w, c, q, v), ...]` (Bonich, Def
    3.31).

    Each sample has a weight `w` (they add up to 1), a fraction `c` of the step at which time is
    taken, a configuration `q` and a velocity `v`. On a curved space `q` and `v` are a group element
    and a body velocity; of a thermal system they are (q, S) and the vector of v and S', of a
    contact system (q, z) and that of v and z'. `Midpoint` would be

        FiniteDifference(lambda h, q0, q1: [(1.0, 0.5, (q0 + q1) / 2, (q1 - q0) / h)])

    Every sample must be consistent, psi(h, q, q) = 0_q and dv/dq1 = 1/h there: then a motion is
    sampled where it is, with its own velocity, as h -> 0. This is looked at once for each space, at
    a point near its origin.
    """

    psi: Callable[..., Any]
    order = None
    symmetric = None
    nodes = None
    variational = True

    def __post_init__(self) -> None:
        if not callable(self.psi):
            raise ValueError(
                f"FiniteDifference(psi) needs a function psi(h, q0, q1); got {self.psi!r}."
            )

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
        q1 = space.retract(q0, x)
        rows = (
            self.called(h, q0, q1)
            if e0 is None
            else self.called(h, space.displace(q0, e0), space.displace(q1, e1))
        )
        try:
            rows = [(float(w), float(c), q, v) for w, c, q, v in rows]
        except (TypeError, ValueError) as error:
            raise ValueError(
                "psi(h, q0, q1) must return a list of samples (w, c, q, v), where w and c are plain"
                " numbers."
            ) from error
        if abs(sum(w for w, *_ in rows) - 1) > 1e-12:
            raise ValueError(
                "the weights of the samples must add up to 1; psi returned"
                f" {[w for w, *_ in rows]}."
            )
        for _, _, _, v in rows:
            if jnp.shape(v) != (space.dim,):
                raise ValueError(
                    f"a sample's velocity must have shape ({space.dim},); psi returned"
                    f" {jnp.shape(v)}."
                )
        return [Sample(w, t + c * h, q, v) for w, c, q, v in rows]

    def called(self, h: Scalar, q0: Configuration, q1: Configuration) -> Any:
        try:
            return self.psi(h, q0, q1)
        except Exception as error:
            not_evaluable("psi", error, "(h, q0, q1), the step and its two ends")

    def check(self, system: Any) -> None:
        check_windows(self, system)
        self.check_samples(system.step_space)

    def check_samples(self, space: Space) -> Any:
        """Raise ValueError unless every sample is a point of the space at which a short step has
        its own velocity.
        """
        if (self, space) not in CHECKED:
            # Numbers are looked at, also where all this is called while JAX traces.
            with jax.ensure_compile_time_eval():
                self.check_consistent(space)
            CHECKED.add((self, space))

    def check_consistent(self, space: Space) -> Any:

        def sampled(q: Configuration, x: Vector) -> Any:
            return [(s.q, s.v) for s in self.samples(space, 0.0, H, q, x)]

        zero = jnp.zeros(space.dim)
        points = [
            space.retract(space.identity(), jnp.asarray(a + 0.2 * np.cos(np.arange(space.dim))))
            for a in (0.3, -0.4, 1.1)
        ]
        traced, shapes = jax.make_jaxpr(sampled, return_shape=True)(points[0], zero)
        check_indices("psi", traced)
        check_points(space, shapes)
        look = jax.jit(
            lambda q: (sampled(q, zero), jax.jacfwd(lambda x: [v for _, v in sampled(q, x)])(zero))
        )
        for q in points:
            at_rest, slopes = look(q)
            # Where it has no value is left to the run, which says so.
            if all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves((at_rest, slopes))):
                check_at(q, at_rest, slopes)
                break


def check_points(space: Space, samples: Any) -> Any:
    """Raise ValueError unless the samples have configurations of the right shape."""
    expected = jax.tree.map(jnp.shape, space.identity())
    for q, _ in samples:
        given = jax.tree.map(jnp.shape, q)
        if given != expected:
            raise ValueError(
                f"a sample's configuration must be one of {space}, of shape {expected}; psi"
                f" returned {given}."
            )


def check_at(q: Configuration, at_rest: Any, slopes: Any) -> Any:
    """Raise ValueError unless psi(h, q, q) = 0_q and dv/dq1 = 1/h, in every sample."""
    for i, ((found, v), slope) in enumerate(zip(at_rest, slopes, strict=True)):
        off = max(
            float(jnp.max(jnp.abs(a - b)))
            for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(q), strict=True)
        )
        if off > CLOSE or float(jnp.max(jnp.abs(v))) > CLOSE:
            raise ValueError(
                "psi is not consistent: psi(h, q, q) must be 0_q, the point q with velocity 0, but"
                f" sample {i} is off by {off:.3g} and has v = {np.asarray(v)}. Its arguments are"
                " (h, q0, q1), in this order."
            )
        slope = H * np.asarray(slope)
        if np.max(np.abs(slope - np.eye(len(slope)))) > CLOSE:
            factor = slope[0, 0]
            single = np.max(np.abs(slope - factor * np.eye(len(slope)))) < CLOSE
            found = (
                f"it is {factor:.6g} times that, at h = {H}"
                if single
                else f"h dv/dq1 = {slope.tolist()} there, in place of 1"
            )
            raise ValueError(
                f"psi is not consistent: for q1 near q0 the velocity of sample {i} must be (q1 -"
                f" q0)/h, but {found}."
            )

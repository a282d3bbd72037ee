"""A step sampled as the user says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from accion.methods.base import Method, Sample


@dataclass(frozen=True)
class FiniteDifference(Method):
    """The user's own finite-difference map `psi(h, q0, q1) -> [(w, c, q, v), ...]` (001 Def 3.31).

    Each sample has a weight `w` (they add up to 1), a fraction `c` of the step at which time is taken, a configuration `q` and a
    velocity `v`. On a curved space `q` and `v` are a group element and a body velocity; of a thermal system they are (q, S) and the
    vector of v and S'. `Midpoint` would be

        FiniteDifference(lambda h, q0, q1: [(1.0, 0.5, (q0 + q1) / 2, (q1 - q0) / h)])
    """

    psi: Callable[..., Any]
    order = None
    symmetric = None
    nodes = None

    def __post_init__(self):
        if not callable(self.psi):
            raise ValueError(f"FiniteDifference(psi) needs a function psi(h, q0, q1); got {self.psi!r}.")

    def samples(self, space, t, h, q0, x, e0=None, e1=None):
        q1 = space.retract(q0, x)
        rows = self.psi(h, q0, q1) if e0 is None else self.psi(h, space.displace(q0, e0), space.displace(q1, e1))
        try:
            rows = [(float(w), float(c), q, v) for w, c, q, v in rows]
        except (TypeError, ValueError) as error:
            raise ValueError("psi(h, q0, q1) must return a list of samples (w, c, q, v), where w and c are plain numbers.") from error
        if abs(sum(w for w, *_ in rows) - 1) > 1e-12:
            raise ValueError(f"the weights of the samples must add up to 1; psi returned {[w for w, *_ in rows]}.")
        for _, _, _, v in rows:
            if jnp.shape(v) != (space.dim,):
                raise ValueError(f"a sample's velocity must have shape ({space.dim},); psi returned {jnp.shape(v)}.")
        return [Sample(w, t + c * h, q, v) for w, c, q, v in rows]

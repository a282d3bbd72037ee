"""Units of mass, length and time, as numbers among the params: one program serves all of them."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.pairs.places import Place

ONE = (0, 0, 0)


def params_of(units: tuple[int, int, int]) -> dict[str, float]:
    """The params of all systems, with units of mass, length and time that are powers of two."""
    mass, length, time = (2.0**power for power in units)
    return {"k": 0.7, "mass": mass, "length": length, "time": time}


@dataclass(frozen=True)
class Units:
    """What numbers of a system are measured in; `bare` takes units away, from q and from what is
    like it.
    """

    place: Place
    params: Any

    @property
    def mass(self) -> Any:
        return self.params["mass"]

    @property
    def length(self) -> Any:
        return self.params["length"]

    @property
    def time(self) -> Any:
        return self.params["time"]

    @property
    def energy(self) -> Any:
        return self.mass * (self.length / self.time) ** 2

    @property
    def lengths(self) -> Any:
        """Of each coordinate."""
        return jnp.where(self.place.long, self.length, 1.0)

    @property
    def speeds(self) -> Any:
        return self.lengths / self.time

    @property
    def forces(self) -> Any:
        return self.energy / self.lengths

    @property
    def momenta(self) -> Any:
        return self.time * self.forces

    @property
    def last(self) -> Any:
        """The unit of the last coordinate, that of constraints."""
        return self.lengths[-1]

    def bare(self, q: Any) -> Any:
        return self.place.bare(q, self.length)

    def dressed(self, q: Any) -> Any:
        """q with units."""
        return jax.tree.map(np.asarray, self.place.bare(q, 1 / self.length))

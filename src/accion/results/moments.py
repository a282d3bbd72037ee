"""What a trajectory is at any time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax

from accion.types import Array, Configuration, Covector, Multipliers, Vector

if TYPE_CHECKING:
    from accion.results.trajectory import Trajectory


@dataclass(frozen=True)
class Moments:
    """A trajectory at some times, or at one: what `Trajectory.at` returns.

    `t`, `q`, `v`, `p`, and where there are such `S`, `z`, `lam` and `jets`, as a `Trajectory` has
    them; of a single time they have no axis of times. `rows` is the same as a `Trajectory`.
    """

    rows: "Trajectory"
    alone: bool  # whether a single time was asked for

    def own(self, values: Any) -> Any:
        """The values at the times that were asked for."""
        if not self.alone:
            return values
        axis = int(self.rows.is_ensemble)
        return jax.tree.map(lambda a: a[:, 0] if axis else a[0], values)

    @property
    def t(self) -> Array:
        return self.rows.t[0] if self.alone else self.rows.t

    @property
    def q(self) -> Configuration:
        return self.own(self.rows.q)

    @property
    def v(self) -> Vector:
        return self.own(self.rows.v)

    @property
    def p(self) -> Covector:
        return self.own(self.rows.p)

    @property
    def reduced_p(self) -> Covector:
        """p over the weight of the system, where it has one."""
        return self.own(self.rows.reduced_p)

    @property
    def log_weight(self) -> Array:
        """The logarithm of that weight, else 0."""
        return self.own(self.rows.log_weight)

    @property
    def S(self) -> Array | None:
        return self.own(self.rows.S)

    @property
    def z(self) -> Array | None:
        return self.own(self.rows.z)

    @property
    def lam(self) -> Multipliers | None:
        return self.own(self.rows.lam)

    @property
    def jets(self) -> Array | None:
        return self.own(self.rows.jets)

    def energy(self) -> Array:
        """E = p.v - L there."""
        return self.own(self.rows.energy())

    def temperature(self) -> Array:
        """T = -dL/dS there, of a thermal system."""
        return self.own(self.rows.temperature())

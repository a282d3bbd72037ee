"""A run of a campaign at one time, as reductions see it: the channels that a trajectory shows."""

from functools import cached_property
from typing import Any

from accion.results import readings
from accion.results.channels import labels, value_of
from accion.stepping import Scheme, State
from accion.types import Array, Configuration, Multipliers, Params, Scalar, Vector


class Moment:
    """A run at one time: `t`, `params`, and the channels of its system: `q`, `p`, `v`, `energy`,
    `lam`, `S`, `T`, `z`, `supplied`, `jets`, `iterations`; None where there is none.

    They are those of a `Trajectory` at that time, by the same scheme. What costs something is
    computed only where it is asked for.
    """

    def __init__(self, scheme: Scheme, t: Scalar, h: Scalar, state: State, iterations: Array):
        self.system, self.t, self.iterations = scheme.system, t, iterations
        self.params: Params = scheme.system.params
        self.labels, self.point = labels(scheme.system), state.q
        q, beside = scheme.system.parts(state.q)
        row = {"t": t, "q": q, "beside": beside, "p": state.p, "x": state.x}
        row["iterations"] = iterations
        saved = scheme.saved(state)
        self.readout = scheme.readout(row, saved, h)
        self.fields = row | scheme.fields(row, saved, state, h)

    @cached_property
    def from_readout(self) -> dict[str, Any]:
        """What is shown in place of what the steps carry, where there is such."""
        if self.readout is None:
            return {}
        found = self.readout.f(self.system, self.t, *self.readout.arrays)
        return dict(zip(self.readout.names, found, strict=True))

    def field(self, name: str) -> Any:
        """What a `Trajectory` has in its field `name`; None where it has nothing."""
        own = self.readout is not None and name in self.readout.names
        return self.from_readout[name] if own else self.fields.get(name)

    def value(self, name: str) -> Any:
        """The value of the channel called `name`, of a Product's "q" a tuple; None where this
        system has none.
        """
        return value_of(self, name) if name == "q" or name in self.labels else None

    @property
    def q(self) -> Configuration:
        """The configuration."""
        return self.field("q")

    @property
    def p(self) -> Array:
        """Momenta, on the constraint where there is one."""
        return self.field("p")

    @property
    def lam(self) -> Multipliers | None:
        """Multipliers, the forces of constraint."""
        return self.field("lam")

    @property
    def reduced_p(self) -> Array:
        """Momenta over the weight of the system, where it has one."""
        own = self.field("reduced")
        return self.p if own is None else own.p

    @property
    def reduced_lam(self) -> Multipliers | None:
        """Multipliers over that weight."""
        own = self.field("reduced")
        return self.lam if own is None else own.lam

    @property
    def log_weight(self) -> Scalar:
        """Its logarithm, 0 where there is none."""
        return readings.log_weight(self.system, self.t)

    @property
    def jets(self) -> Array | None:
        """q', ..., q^(r) of a system of order r."""
        return self.field("jets")

    @property
    def S(self) -> Array | None:
        """Entropies."""
        return self.field("S")

    @property
    def z(self) -> Array | None:
        """The action of a contact system."""
        return self.field("z")

    @property
    def supplied(self) -> Array | None:
        """The energy that came from outside since the start."""
        return self.field("supplied")

    @property
    def laws(self) -> Any:
        """The extremes of the steps so far, of a thermal system."""
        return self.field("laws")

    @property
    def nodal(self) -> Any:
        """What the nodes of the discrete motion have, of a system of higher order."""
        return self.field("nodal")

    @cached_property
    def v(self) -> Vector:
        """Velocity, by the inverse Legendre transform."""
        if "v" not in self.labels:
            raise ValueError(readings.no_velocities(self.system))
        if self.jets is not None:
            return self.jets[0]
        if "guess" in self.from_readout:  # of a constrained motion, the velocity itself
            return self.from_readout["guess"]
        return readings.velocity(
            self.system, self.t, self.point, self.reduced_p, self.field("guess")
        )

    @cached_property
    def energy(self) -> Scalar:
        """E = p.v - L; of a system of order r, sum_s p_s.q^(s+1) - L."""
        if self.jets is not None:
            return readings.energy_of(self.system, self.t, self.q, self.jets, self.p)
        return readings.energy(self.system, self.t, self.point, self.v, self.reduced_lam)

    @cached_property
    def T(self) -> Array | None:
        """Temperatures -dL/dS, None of a system without them."""
        if "T" not in self.labels:
            return None
        T = readings.temperature(self.system, self.t, self.point, self.v)
        return self.system.frame.as_given(T)

    @property
    def rest(self) -> tuple[Any, ...]:
        """The arguments of the Lagrangian after (t, q, v)."""
        if self.jets is not None:
            return (*self.jets[1:], self.params)
        beside = self.S if self.z is None else self.z
        return (self.params,) if beside is None else (beside, self.params)

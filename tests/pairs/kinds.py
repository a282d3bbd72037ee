"""One small system of each kind on each space, with a start."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import accion as ac
from tests.pairs.places import PLACES, Place
from tests.pairs.units import ONE, Units, params_of

H = 0.05
STEPS = 6
MIDPOINT = "Midpoint"
METHODS: dict[str, Any] = {
    MIDPOINT: ac.Midpoint(),
    "Galerkin": ac.Galerkin(2),
    "Composition": ac.Composition(ac.Midpoint(), 4),
    "Adaptive": ac.Adaptive(ac.Midpoint(), lambda q, params: 1 + 0.2 * q[0] ** 2),
}


@dataclass(frozen=True)
class Case:
    """A system on a space, how it is stepped, and where it starts; `units` are the powers of two
    of its units of mass, length and time.
    """

    kind: str
    space: str
    system: Any
    method: Any
    start: dict[str, Any]
    units: tuple[int, int, int] = ONE
    by: str = MIDPOINT  # the name of the method

    @property
    def label(self) -> str:
        return f"{self.kind}, on {self.space}"

    @property
    def place(self) -> Place:
        return PLACES[self.space]

    @property
    def u(self) -> Units:
        return Units(self.place, self.system.params)

    @property
    def h(self) -> float:
        return H * self.system.params["time"]

    @property
    def run(self) -> dict[str, Any]:
        return {"h": self.h, "steps": STEPS}


def bare_L(place: Place, q: Any, v: Any, params: Any) -> Any:
    return 0.5 * v @ (place.inertia * v) - params["k"] * place.height(q)


def lagrangian(place: Place) -> Callable[..., Any]:
    def L(t, q, v, params):
        u = Units(place, params)
        return u.energy * bare_L(place, u.bare(q), v / u.speeds, params)

    return L


def kappa(place: Place) -> Callable[..., Any]:
    def function(t, q, v, params):
        u = Units(place, params)
        v = v / u.speeds
        return u.last / u.time * (v[-1] - place.ratio(u.bare(q)) * v[0])[None]

    return function


def damping(place: Place, v: Any, params: Any) -> Any:
    u = Units(place, params)
    return -0.2 * u.forces * (v / u.speeds)


def system(place: Place, **more: Any) -> ac.System:
    return ac.System(more.pop("L", lagrangian(place)), place.space, params_of(ONE), **more)


def free(place: Place) -> Any:
    return system(place), {"v0": place.v0}


def forced(place: Place) -> Any:
    def force(t, q, v, params):
        return damping(place, v, params)

    return system(place, force=force), {"v0": place.v0}


def time_dependent(place: Place) -> Any:
    own = lagrangian(place)

    def L(t, q, v, params):
        return jnp.exp(-0.3 * t / params["time"]) * own(t, q, v, params)

    return system(place, L=L), {"v0": place.v0}


def holonomic(place: Place) -> Any:
    def phi(t, q, params):
        u = Units(place, params)
        return u.last * place.phi(u.bare(q))[None]

    return system(place, holonomic=phi), {"v0": place.on_phi}


def nonholonomic(place: Place) -> Any:
    return system(place, nonholonomic=kappa(place)), {"v0": place.v0}


def vakonomic(place: Place) -> Any:
    return system(place, vakonomic=kappa(place)), {"v0": place.v0, "lam0": np.array([0.3])}


def thermal(place: Place, **held: Any) -> Any:
    own = lagrangian(place)

    def L(t, q, v, S, params):
        return own(t, q, v, params) - Units(place, params).energy * jnp.exp(S)

    def friction(t, q, v, S, params):
        return damping(place, v, params)

    found = ac.ThermalSystem(L, place.space, params_of(ONE), friction=friction, **held)
    return found, {"v0": place.v0, "S0": 0.1}


def hamiltonian(place: Place) -> Any:
    def H(t, q, p, params):
        u = Units(place, params)
        p = p / u.momenta
        bare = 0.5 * p @ (p / place.inertia) + params["k"] * place.height(u.bare(q))
        return u.energy * bare

    return ac.HamiltonianSystem(H, place.space, params_of(ONE)), {"v0": place.v0}


def thermal_nonholonomic(place: Place) -> Any:
    return thermal(place, nonholonomic=kappa(place))


def contact(place: Place) -> Any:
    own = lagrangian(place)

    def L(t, q, v, z, params):
        # The unit of an action is that of an energy times that of time.
        return own(t, q, v, params) - 0.4 * z / params["time"]

    return ac.ContactSystem(L, place.space, params_of(ONE)), {"v0": place.v0, "z0": 0.1}


def of_order_two(place: Place) -> Callable[..., Any]:
    def L(t, q, v, a, params):
        u = Units(place, params)
        a, v = a * u.time / u.speeds, v / u.speeds
        bare = 0.5 * a @ (place.inertia * a) + 0.5 * v @ v - params["k"] * place.height(u.bare(q))
        return u.energy * bare

    return L


def jets(place: Place) -> np.ndarray:
    """The derivatives q', q'', q''', with the height as the last component of q''."""

    def height(s: Any) -> Any:
        return place.height(place.space.retract(place.q0, s * place.v0))

    found = np.stack([place.v0, np.full(place.n, 0.2), np.full(place.n, 0.1)])
    found[1:, -1] = jax.jvp(height, (0.0,), (1.0,))
    return found


def higher(place: Place) -> Any:
    found = ac.HigherOrderSystem(of_order_two(place), place.space, params_of(ONE))
    return found, {"v0": jets(place)}


def higher_vakonomic(place: Place) -> Any:
    def Phi(t, q, v, a, params):
        u = Units(place, params)
        bare = (a * u.time / u.speeds)[-1] - place.height(u.bare(q))
        return u.last / u.time**2 * bare[None]

    found = ac.HigherOrderSystem(of_order_two(place), place.space, params_of(ONE), vakonomic=Phi)
    return found, {"v0": jets(place), "lam0": np.array([[0.3], [0.1]])}


def bare_x(u: Units, q0: Any, q1: Any) -> Any:
    """The increment from q0 to q1 without units."""
    return u.place.space.local(u.bare(q0), u.bare(q1))


def Ld_of(place: Place) -> Callable[..., Any]:
    def Ld(t, h, q0, q1, params):
        u = Units(place, params)
        step = h / u.time
        bare = step * bare_L(place, u.bare(q0), bare_x(u, q0, q1) / step, params)
        return u.energy * u.time * bare

    return Ld


def momentum(place: Place) -> np.ndarray:
    return place.inertia * place.v0


def discrete(place: Place) -> Any:
    return ac.DiscreteSystem(Ld_of(place), place.space, params_of(ONE)), {"p0": momentum(place)}


def step_constraint(place: Place) -> Callable[..., Any]:
    def c(t, h, q0, q1, params):
        return kappa(place)(t, q0, place.space.local(q0, q1) / h, params)

    return c


def discrete_vakonomic(place: Place) -> Any:
    c = step_constraint(place)
    found = ac.DiscreteSystem(Ld_of(place), place.space, params_of(ONE), constraint=c)
    return found, {"p0": momentum(place)}


def discrete_nonholonomic(place: Place) -> Any:
    def A(t, q, params):
        u = Units(place, params)
        bare = jnp.zeros((1, place.n)).at[0, -1].set(1.0).at[0, 0].set(-place.ratio(u.bare(q)))
        return u.last * bare / u.lengths

    c = step_constraint(place)
    found = ac.DiscreteSystem(
        Ld_of(place), place.space, params_of(ONE), constraint=c, variational=A
    )
    return found, {"p0": momentum(place)}


def following(place: Place, count: int) -> list[Any]:
    """Configurations that follow q0, one step apart."""
    return [place.space.retract(place.q0, (k + 1) * H * place.v0) for k in range(count)]


def discrete_of_order_two(place: Place) -> Any:
    own = of_order_two(place)

    def Ld(t, h, q0, q1, q2, params):
        u = Units(place, params)
        x, y = bare_x(u, q0, q1) * u.lengths, bare_x(u, q1, q2) * u.lengths
        return h * own(t, q1, (x + y) / (2 * h), (y - x) / h**2, params)

    found = ac.DiscreteSystem(Ld, place.space, params_of(ONE), order=2)
    return found, {"q1": following(place, 3)}


def discrete_thermal(place: Place) -> Any:
    Ld = Ld_of(place)

    def thermal_Ld(t, h, q0, q1, S0, S1, params):
        return Ld(t, h, q0, q1, params) - h * Units(place, params).energy * jnp.exp((S0 + S1) / 2)

    def rho(t, h, q0, q1, S0, S1, params):
        u = Units(place, params)
        v = bare_x(u, q0, q1) / (h / u.time)
        bare = -jnp.exp((S0 + S1) / 2) * (S1 - S0) / (h / u.time) + 0.2 * v @ v
        return u.energy / u.time * bare

    def friction(t, h, q0, q1, S0, S1, params):
        u = Units(place, params)
        x = bare_x(u, q0, q1)
        return -0.2 * x * u.momenta, jnp.zeros_like(x)

    found = ac.DiscreteThermalSystem(
        thermal_Ld, place.space, params_of(ONE), kinematic=rho, friction=friction
    )
    return found, {"q1": following(place, 1)[0], "S0": 0.1}


KINDS: dict[str, Callable[[Place], Any]] = {
    "System, free": free,
    "System, forced": forced,
    "System, time-dependent": time_dependent,
    "System, holonomic": holonomic,
    "System, nonholonomic": nonholonomic,
    "System, vakonomic": vakonomic,
    "ThermalSystem": thermal,
    "ThermalSystem, nonholonomic": thermal_nonholonomic,
    "HigherOrderSystem": higher,
    "HigherOrderSystem, vakonomic": higher_vakonomic,
    "DiscreteSystem": discrete,
    "DiscreteSystem, vakonomic": discrete_vakonomic,
    "DiscreteSystem, nonholonomic": discrete_nonholonomic,
    "DiscreteSystem, order 2": discrete_of_order_two,
    "DiscreteThermalSystem": discrete_thermal,
    "ContactSystem": contact,
    "HamiltonianSystem": hamiltonian,
}


@cache
def alone(kind: str, space: str) -> tuple[Any, dict[str, Any]]:
    """The one system of that kind on that space, in units of one; everything shares it."""
    return KINDS[kind](PLACES[space])


def with_units(system: Any, u: Units, start: dict[str, Any]) -> dict[str, Any]:
    """A start in units of one, in others."""
    r = system.order
    times = np.asarray(u.time) ** np.arange(2 * r - 1)[:, None]  # of derivatives
    rates = np.asarray(u.speeds) / times
    # A multiplier times a constraint is an energy.
    own = np.asarray(u.energy / u.last * u.time**r) / times[:r]
    units = {
        "v0": rates if r > 1 else rates[0],
        "p0": np.asarray(u.momenta),
        "lam0": own if r > 1 else own[0],
        "S0": 1.0,
        "z0": np.asarray(u.energy * u.time),
    }
    found: dict[str, Any] = {"q0": u.dressed(u.place.q0)}
    for name, value in start.items():
        if name != "q1":
            found[name] = value * units[name]
        else:
            found[name] = [*map(u.dressed, value)] if isinstance(value, list) else u.dressed(value)
    return found


def case(kind: str, space: str, units: tuple[int, int, int] = ONE, by: str = MIDPOINT) -> Case:
    """The system of that kind on that space, in some units, by a method."""
    system, start = alone(kind, space)
    made = system.with_params(params_of(units))
    method = None if made.discrete_time else METHODS[by]
    start = with_units(made, Units(PLACES[space], made.params), start)
    return Case(kind, space, made, method, start, units, by)

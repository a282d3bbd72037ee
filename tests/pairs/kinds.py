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

H = 0.05
STEPS = 6
MIDPOINT = ac.Midpoint()


@dataclass(frozen=True)
class Case:
    """A system on a space, how it is stepped, and where it starts."""

    kind: str
    space: str
    system: Any
    method: Any
    start: dict[str, Any]

    @property
    def label(self) -> str:
        return f"{self.kind}, on {self.space}"


def lagrangian(place: Place) -> Callable[..., Any]:
    def L(t, q, v, params):
        return 0.5 * v @ (place.inertia * v) - params["k"] * place.height(q)

    return L


def kappa(place: Place) -> Callable[..., Any]:
    def function(t, q, v, params):
        return (v[-1] - place.ratio(q) * v[0])[None]

    return function


def system(place: Place, **more: Any) -> ac.System:
    return ac.System(more.pop("L", lagrangian(place)), place.space, {"k": 0.7}, **more)


def free(place: Place) -> Any:
    return system(place), {"v0": place.v0}


def forced(place: Place) -> Any:
    return system(place, force=lambda t, q, v, params: -0.2 * v), {"v0": place.v0}


def time_dependent(place: Place) -> Any:
    own = lagrangian(place)

    def L(t, q, v, params):
        return jnp.exp(-0.3 * t) * own(t, q, v, params)

    return system(place, L=L), {"v0": place.v0}


def holonomic(place: Place) -> Any:
    def phi(t, q, params):
        return place.phi(q)[None]

    return system(place, holonomic=phi), {"v0": place.on_phi}


def nonholonomic(place: Place) -> Any:
    return system(place, nonholonomic=kappa(place)), {"v0": place.v0}


def vakonomic(place: Place) -> Any:
    return system(place, vakonomic=kappa(place)), {"v0": place.v0, "lam0": np.array([0.3])}


def thermal(place: Place) -> Any:
    own = lagrangian(place)

    def L(t, q, v, S, params):
        return own(t, q, v, params) - jnp.exp(S)

    def friction(t, q, v, S, params):
        return -0.2 * v

    found = ac.ThermalSystem(L, place.space, {"k": 0.7}, friction=friction)
    return found, {"v0": place.v0, "S0": 0.1}


def of_order_two(place: Place) -> Callable[..., Any]:
    def L(t, q, v, a, params):
        return 0.5 * a @ (place.inertia * a) + 0.5 * v @ v - params["k"] * place.height(q)

    return L


def jets(place: Place) -> np.ndarray:
    """The derivatives q', q'', q''', with the height as the last component of q''."""

    def height(s: Any) -> Any:
        return place.height(place.space.retract(place.q0, s * place.v0))

    found = np.stack([place.v0, np.full(place.n, 0.2), np.full(place.n, 0.1)])
    found[1:, -1] = jax.jvp(height, (0.0,), (1.0,))
    return found


def higher(place: Place) -> Any:
    found = ac.HigherOrderSystem(of_order_two(place), place.space, {"k": 0.7})
    return found, {"v0": jets(place)}


def higher_vakonomic(place: Place) -> Any:
    def Phi(t, q, v, a, params):
        return (a[-1] - place.height(q))[None]

    found = ac.HigherOrderSystem(of_order_two(place), place.space, {"k": 0.7}, vakonomic=Phi)
    return found, {"v0": jets(place), "lam0": np.array([[0.3], [0.1]])}


def Ld_of(place: Place) -> Callable[..., Any]:
    own = lagrangian(place)

    def Ld(t, h, q0, q1, params):
        return h * own(t, q0, place.space.local(q0, q1) / h, params)

    return Ld


def momentum(place: Place) -> np.ndarray:
    return place.inertia * place.v0


def discrete(place: Place) -> Any:
    return ac.DiscreteSystem(Ld_of(place), place.space, {"k": 0.7}), {"p0": momentum(place)}


def step_constraint(place: Place) -> Callable[..., Any]:
    def c(t, h, q0, q1, params):
        return kappa(place)(t, q0, place.space.local(q0, q1) / h, params)

    return c


def discrete_vakonomic(place: Place) -> Any:
    c = step_constraint(place)
    found = ac.DiscreteSystem(Ld_of(place), place.space, {"k": 0.7}, constraint=c)
    return found, {"p0": momentum(place)}


def discrete_nonholonomic(place: Place) -> Any:
    def A(t, q, params):
        return jnp.zeros((1, place.n)).at[0, -1].set(1.0).at[0, 0].set(-place.ratio(q))

    c = step_constraint(place)
    found = ac.DiscreteSystem(Ld_of(place), place.space, {"k": 0.7}, constraint=c, variational=A)
    return found, {"p0": momentum(place)}


def following(place: Place, count: int) -> list[Any]:
    """Configurations that follow q0, one step apart."""
    return [place.space.retract(place.q0, (k + 1) * H * place.v0) for k in range(count)]


def discrete_of_order_two(place: Place) -> Any:
    own, space = of_order_two(place), place.space

    def Ld(t, h, q0, q1, q2, params):
        x, y = space.local(q0, q1), space.local(q1, q2)
        return h * own(t, q1, (x + y) / (2 * h), (y - x) / h**2, params)

    found = ac.DiscreteSystem(Ld, space, {"k": 0.7}, order=2)
    return found, {"q1": following(place, 3)}


def discrete_thermal(place: Place) -> Any:
    space, Ld = place.space, Ld_of(place)

    def thermal_Ld(t, h, q0, q1, S0, S1, params):
        return Ld(t, h, q0, q1, params) - h * jnp.exp((S0 + S1) / 2)

    def rho(t, h, q0, q1, S0, S1, params):
        v = space.local(q0, q1) / h
        return -jnp.exp((S0 + S1) / 2) * (S1 - S0) / h + 0.2 * v @ v

    def friction(t, h, q0, q1, S0, S1, params):
        x = space.local(q0, q1)
        return -0.2 * x, jnp.zeros_like(x)

    found = ac.DiscreteThermalSystem(
        thermal_Ld, space, {"k": 0.7}, kinematic=rho, friction=friction
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
    "HigherOrderSystem": higher,
    "HigherOrderSystem, vakonomic": higher_vakonomic,
    "DiscreteSystem": discrete,
    "DiscreteSystem, vakonomic": discrete_vakonomic,
    "DiscreteSystem, nonholonomic": discrete_nonholonomic,
    "DiscreteSystem, order 2": discrete_of_order_two,
    "DiscreteThermalSystem": discrete_thermal,
}


@cache
def case(kind: str, space: str) -> Case:
    """The one system of that kind on that space; everything that tries it shares it."""
    place = PLACES[space]
    made, start = KINDS[kind](place)
    method = None if made.discrete_time else MIDPOINT
    return Case(kind, space, made, method, {"q0": place.q0} | start)

"""A discrete thermomechanical system that is given as such, not made from a continuous one."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import jax
import jax.numpy as jnp

from accion.spaces import Space
from accion.systems.system import check_returns, evaluate
from accion.systems.thermal import Entropic


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class DiscreteThermalSystem(Entropic):
    """A discrete thermomechanical system (001 Def 3.12), whose motion satisfies (001 Thm 3.17)

        D1 Ld(k, k+1) + D2 Ld(k-1, k) + Fd^-(k, k+1) + Fd^+(k-1, k) = 0
        rho_d(k, k+1) = 0

    All functions are of (t, h, q0, q1, S0, S1, params), the step from (q0, S0) at time t to (q1,
    S1): `lagrangian` returns Ld, a scalar; `kinematic` returns rho_d, one number for each entropy;
    `friction` and `external` return the pair (Fd^-, Fd^+) of covectors. It is simulated without a
    method: `simulate(system, None, q0=..., q1=..., S0=..., h=..., steps=...)`.
    """

    lagrangian: Callable[..., Any]
    space: Space
    params: Any = None
    _: KW_ONLY
    kinematic: Callable[..., Any]
    friction: Callable[..., Any] | None = None
    external: Callable[..., Any] | None = None
    entropies: Any = None
    coordinates: tuple[str, ...] | None = None
    name: str | None = None

    functions = ("lagrangian", "kinematic", "friction", "external")
    required = 2
    arguments = "t, h, q0, q1, S0, S1, params"

    def __post_init__(self):
        self.check_fields()

    def hessian(self, t, z, v):
        return None

    def evaluate(self, f, t, h, z0, z1):
        (q0, S0), (q1, S1) = self.apart(z0), self.apart(z1)
        return f(t, h, q0, q1, S0, S1, self.params)

    def velocity(self, *_):
        raise ValueError(
            f"{self.name} is given in discrete time: it has no velocities and no energy, only q, p"
            " and S."
        )

    energy = velocity
    temperature = velocity
    dissipation = velocity
    heating = velocity

    def check(self):
        """Raise ValueError unless the functions return what they should."""
        n, m, scalar = self.frame.n, self.frame.m, self.entropies is None
        z = self.origin()

        def read(system, field):
            return system.evaluate(getattr(system, field), jnp.zeros(()), jnp.ones(()), z, z)

        check_returns(
            "lagrangian",
            evaluate("lagrangian", lambda s: read(s, "lagrangian"), self),
            (),
            "a scalar",
        )
        shape = () if scalar else (m,)
        check_returns(
            "kinematic",
            evaluate("kinematic", lambda s: read(s, "kinematic"), self),
            shape,
            f"a number for each entropy, shape {shape}",
        )
        for field in ("friction", "external"):
            if getattr(self, field) is not None:
                pair = evaluate(field, lambda s, field=field: read(s, field), self)
                if not isinstance(pair, tuple | list) or len(pair) != 2:
                    raise ValueError(
                        f"{field} must return the pair (Fd^-, Fd^+); it returned"
                        f" {type(pair).__name__}."
                    )
                for part in pair:
                    check_returns(field, part, (n,), f"two covectors of shape ({n},)")

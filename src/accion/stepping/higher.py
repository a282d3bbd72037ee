"""Steps of systems of order r in continuous time."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from accion.discretise.window import combine, derivatives
from accion.instant.higher import check_start, known_at
from accion.instant.ostrogradsky import advanced, from_momenta
from accion.methods import Method
from accion.numerics.arrays import module_of
from accion.stepping.base import Readout, steps
from accion.stepping.nodal import Nodal, at_node, monomials, to_nodes
from accion.stepping.windows import WindowScheme
from accion.systems import HigherOrderSystem, Start
from accion.systems.higher import shifted
from accion.types import Array, Configuration, Covector, Scalar


@steps(HigherOrderSystem)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HigherOrder(WindowScheme):
    """The step of a system of higher order."""

    system: HigherOrderSystem
    method: Method = field(metadata={"static": True})

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        """From derivatives at t (`v0`, shape (2r - 1, dim)) the momenta of Jacobi and Ostrogradsky
        follow, or they are given (`p0`, shape (r, dim)) and derivatives follow. Both are carried on
        to the middle of the first r nodes, (r - 1) h/2 later, and there turned into momenta of the
        nodes. For r = 1 this is p0 = dL/dv.
        """
        system, r, n = self.system, self.system.order, self.system.space.dim
        q = start.q0
        if start.q1 is not None:
            d, P = self.from_nodes(t, h, q, start.q1, jnp.zeros((r, 0)))
            known = known_at(system, t, q, derivatives(d, 0.0, h), None)
            return self.first_state(q, P, d, jnp.zeros(0)), known
        if start.p0 is None:
            jets, lams = start.v0, jnp.zeros((r, 0)) if start.lam0 is None else start.lam0
            p = system.momenta(t, q, jets, lams)
        else:
            low = jnp.zeros((0, n)) if r == 1 else jnp.reshape(start.v0, (r - 1, n))
            p = jnp.reshape(start.p0, (r, n))
            jets, lams = from_momenta(system, t, q, low, p)
        tau = (r - 1) / 2 * h
        if r > 1:
            rates = partial(momentum_rates, system)
            along = (jnp.ones(()), jets[0], shifted(jets), shifted(lams))
            point = (jnp.asarray(t, float), jnp.zeros(n), jets, lams, q)
            dp = rates(*point, p)
            ddp = jax.jvp(
                lambda t, e, jets, lams, p: rates(t, e, jets, lams, q, p),
                (*point[:4], p),
                (*along, dp),
            )[1]
            p = p + tau * dp + tau**2 / 2 * ddp
        P = to_nodes(system.space, advanced(jets, tau), h, p)
        powers = jnp.stack([h ** (s + 1) for s in range(len(jets))])[:, None]
        d = combine(monomials(r + 1, len(jets)), powers * jets)
        return self.first_state(q, P, d, lams[0]), known_at(system, t, q, jets, lams)

    def check_start(self, known: Any, start: Start) -> Any:
        check_start(self.system, known, start)

    def fields(self, rows: Any, saved: Any, last: Any, h: Scalar) -> Any:
        shape = rows["iterations"].shape
        none = module_of(rows["p"]).zeros(shape)
        return {"guess": None, "nodal": Nodal(rows["p"], saved[0], none)}

    def readout(self, rows: Any, saved: Any, h: Scalar) -> Any:
        """Momenta, derivatives and multipliers at each row."""
        own, shape = module_of(rows["p"]), rows["iterations"].shape
        d, top, _ = saved
        arrays = (rows["q"], rows["p"], d, top, own.broadcast_to(h, shape), own.zeros(shape))
        names = ("p", "jets", "lam" if self.system.multipliers else "")
        return Readout(at_node, arrays, names)


def momentum_rates(
    system: Any, t: Scalar, e: Any, jets: Array, lams: Any, q: Configuration, p: Covector
) -> Array:
    """dp_s/dt at a configuration displaced by `e`."""
    return system.momentum_rates(t, system.space.displace(q, e), jets, p, lams[0])

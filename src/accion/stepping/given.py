"""Steps of systems that are given in discrete time."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from accion.instant.starts import Known
from accion.numerics.arrays import module_of
from accion.stepping.base import steps
from accion.stepping.nodal import Nodal
from accion.stepping.windows import WindowScheme
from accion.systems import DiscreteSystem, Start
from accion.types import Scalar


@steps(DiscreteSystem)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GivenScheme(WindowScheme):
    """The step of a `DiscreteSystem`.

    A trajectory has the momenta of the nodes as `p` (of order r, those of the r nodes that begin at
    a row) and as `lam` the multipliers of the window that led to a row, NaN at the first.
    """

    system: DiscreteSystem
    method: None = field(metadata={"static": True})

    def begin(self, t: Scalar, h: Scalar, start: Start) -> Any:
        system, r = self.system, self.system.order
        q, m = start.q0, system.multipliers
        if start.q1 is None:
            # Nothing is known of the first increment: Newton's method begins where there is none.
            P, d = start.p0[None], jnp.zeros((1, system.space.dim))
            return self.first_state(q, P, d, jnp.zeros(m)), Known()
        lams = jnp.zeros((r, m)) if start.lam0 is None else start.lam0
        following = jax.tree.map(lambda a: a[None], start.q1) if r == 1 else start.q1
        d, P = self.from_nodes(t, h, q, following, lams)
        return self.first_state(q, P, d, lams[0]), Known()

    def check_start(self, known: Any, start: Start) -> Any:
        """Nothing is known before the first step."""

    def fields(self, rows: Any, saved: Any, last: Any, h: Scalar) -> Any:
        p = rows["p"]
        found: dict[str, Any] = {"guess": None}
        if self.system.order == 1:
            found["p"] = p[..., 0, :]
        else:
            none = module_of(p).zeros(rows["iterations"].shape)
            found["nodal"] = Nodal(p, saved[0], none)
        return found | ({"lam": saved[2]} if self.system.multipliers else {})

    def readout(self, rows: Any, saved: Any, h: Scalar) -> Any:
        return None

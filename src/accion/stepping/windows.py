"""Steps on windows of r + 1 configurations: the discrete equations sum_j D_j Ld = 0 as a step in
positions and momenta.

The state at node k is q_k, ..., q_{k+r-1} with the momenta P_1, ..., P_r that belong to them, the
components of the discrete Poincare-Cartan form Theta^+ of the nodes before (Vakonomic thesis, eq
8.6). One step solves, for the next node (and the multipliers of the window),

    P_1 + D_1 Ld(q_k, ..., q_{k+r}) = 0,        the discrete constraint = 0 where there is one

and goes on with P_j <- P_{j+1} + D_{j+1} Ld, P_{r+1} = 0. For r = 1 it is the step of
`variational.py`.
"""  # fmt: skip

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise import discretise
from accion.discretise.forms import theta_minus
from accion.discretise.window import combine, differences, summation, window_sizes
from accion.numerics import newton
from accion.numerics.products import WrittenOut
from accion.stepping.base import End, SolvedScheme, State, longer
from accion.types import Configuration, Scalar


@dataclass(frozen=True)
class WindowEquations(newton.Equations):
    """P_1 + D_1 Ld + h A^T lam = 0 and, below it, the discrete constraint.

    Unknown are the highest difference of the window's increments and the multipliers; the arguments
    are (system, t, h, q, P, d), `d` the other differences.
    """

    method: Any
    multipliers: int

    def parts(self, unknowns: Any, args: Any) -> Any:
        """(discretisation, differences of the window, multipliers)."""
        system, d = args[0], args[-1]
        form = discretise(system, self.method)
        window = jnp.concatenate([d, form.blocks.increment(unknowns)[None]])
        return form, window, form.blocks.multipliers(unknowns)

    def residual(self, unknowns: Any, args: Any) -> Any:
        _, t, h, q, P, _ = args
        form, window, lam = self.parts(unknowns, args)
        momentum = P[0] + form.variation(t, h, q, window, lam).start
        if not form.blocks.lam:
            return momentum
        momentum = momentum + form.reaction(t, h, q, None, lam)
        return jnp.concatenate([momentum, form.closure(t, h, q, window)])

    def sizes(self, unknowns: Any, J: Any, args: Any) -> Any:
        _, t, h, q, P, _ = args
        form, window, _ = self.parts(unknowns, args)
        return window_sizes(form.action(t, h, q, window), window, J, P[0])


def next_window(
    system: Any, method: Any, t: Scalar, h: Scalar, q: Configuration, P: Any, d: Any, guess: Any
) -> Any:
    """The highest difference of the window that starts at `q`, and its multipliers."""
    equations = WrittenOut(WindowEquations(method, system.multipliers))
    return newton.root(equations, guess, (system, t, h, q, P, d))


class WindowScheme(SolvedScheme):
    """What the schemes on windows share.

    They carry the differences of the r - 1 increments that follow, the highest of the last window,
    and its multipliers.
    """

    @property
    def form(self) -> Any:
        return discretise(self.system, self.method)

    def from_nodes(
        self, t: Scalar, h: Scalar, q: Configuration, q1: Configuration, lams: Any
    ) -> Any:
        """(d, P) of a start from 2r configurations q, q1[0], ...: the differences of all
        increments, and the momenta with which the steps lead there.
        """
        nodes = [
            q,
            *(jax.tree.map(lambda a, i=i: a[i], q1) for i in range(2 * self.system.order - 1)),
        ]
        return differences(self.system.space, nodes), -theta_minus(self.form, t, h, nodes, lams)

    def first_state(self, q: Configuration, P: Any, d: Any, lam: Any) -> Any:
        """The state before the first step, `d` the differences of the increments, r + 1 of them or
        more (r = 1: one).
        """
        r = self.system.order
        before = d[r - 1] - d[r] if len(d) > r else d[r - 1]
        guess = jnp.concatenate([d[r - 1], lam])
        memory = (d[: r - 1], before, jnp.full(self.system.multipliers, jnp.nan))
        return State(q, P, jnp.zeros_like(d[0]), d[0], guess, jnp.array(0), memory)

    def equations(self, state: Any, t: Scalar, h: Scalar) -> Any:
        own = WindowEquations(self.method, self.system.multipliers)
        return own, (self.system, t, h, state.q, state.p, state.memory[0])

    def resized(self, state: Any, r: Scalar, gap: Scalar) -> Any:
        if self.system.order > 1:
            raise ValueError(
                f"steps of unequal lengths do not support {self.system.kind}: a window spans"
                " several steps, of one length."
            )
        d, top, lam = state.memory
        after = longer(state, r, gap, np.arange(len(state.guess)) < self.system.space.dim)
        return after._replace(memory=(d, r * top, lam))

    def solve(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.by_newton(state, t, h)

    def window(self, unknowns: Any, state: Any) -> Any:
        """The differences of the window."""
        return jnp.concatenate([state.memory[0], self.form.blocks.increment(unknowns)[None]])

    def moved(self, unknowns: Any, state: Any, h: Scalar) -> Any:
        return combine(summation(self.system.order)[-1:], self.window(unknowns, state))[0]

    def end(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        window, lam = self.window(unknowns, state), self.form.blocks.multipliers(unknowns)
        G = self.form.variation(t, h, state.q, window, lam).end
        P = G.at[:-1].add(state.p[1:])
        top = window[-1]
        # The increment of this step was known before it; what is not solved must still be NaN from
        # here on.
        x = window[0] + 0 * top
        guess = jnp.concatenate([2 * top - state.memory[1], lam])
        return End(x, P, guess, (window[:-1] + window[1:], top, lam))

    def lagrangian(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        return self.form.action(t, h, state.q, self.window(unknowns, state))

    def saved(self, state: Any) -> Any:
        return state.memory

    def prepare(self, state: Any, save_every: Any) -> Any:
        return state

    def watched(self, before: Any, after: Any) -> Any:
        return after

    def warn(self, trajectory: Any, known: Any, first: Any, last: Any, every: Any) -> Any:
        """Nothing is watched."""

    def obstacle(self, unknowns: Any, state: Any, t: Scalar, h: Scalar) -> Any:
        return (
            "the Lagrangian is not finite on the window that it leads to, whose highest difference"
            f" is {self.form.blocks.increment(unknowns)}"
        )

    def beyond(self, state: Any, t: Scalar, h: Scalar) -> Any:
        return ""

    def circumstances(self, first: Any, state: Any, t: float, h: Scalar) -> Any:
        return ""

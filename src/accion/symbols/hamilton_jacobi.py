"""The modified Hamiltonian of a vakonomic system under a method with one sample in a step, from
Hamilton and Jacobi's equation.

A step of length h, sampled at the fraction c, is Hamilton's equation at z = (q + c (q1 - q), p + (1
- c) (p1 - p)): its generating function of z is h H(t + c h, z). That of the flow of K over the time
tau, S(tau, z), satisfies

    dS/dtau = K(t + tau, q + (1 - c) dS/dp, p - c dS/dq),        S = tau S_1 + tau^2 S_2 + ...,

so that K = H + h K_1 + ... follows from S(h) = h H one power after the other (Hairer, Lubich and
Wanner, section IX.3): each from derivatives of those before, without solving for anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import sympy as sp

from accion.methods import Method
from accion.symbols.derivatives import derivative

if TYPE_CHECKING:
    from accion.symbols.equations import Equations


@dataclass(frozen=True)
class HamiltonJacobi:
    """K = H + h K_1 + ... up to h^order, in the letters of `Equations`."""

    equations: "Equations"
    method: Method
    order: int

    @property
    def c(self) -> Any:
        """Where in a step the sample is."""
        ((_, c),) = self.method.nodes
        return sp.nsimplify(c, rational=True)

    @cached_property
    def z(self) -> tuple[sp.Symbol, ...]:
        """(q, p)."""
        return (*self.equations.variables.q, *self.equations.variables.p)

    @cached_property
    def letters(self) -> dict[tuple[int, int], tuple[sp.Symbol, ...]]:
        """A letter for each derivative of S_kj, the part of S with tau^k h^j."""
        pairs = [(k, j) for k in range(1, self.order + 1) for j in range(self.order + 1 - k)]
        return {
            (k, j): tuple(sp.Symbol(f"{z.name}^{k}_{j}", real=True) for z in self.z)
            for k, j in pairs
        }

    def composed(self, f: Any, m: int, j: int) -> Any:
        """The coefficient of tau^m h^j in f at the end of the flow, in `letters`."""
        tau, h = sp.symbols("tau h", positive=True)
        t, n = self.equations.variables.t, len(self.z) // 2
        onto = {t: t + tau}
        for i, z in enumerate(self.z):
            part = (1 - self.c) if i < n else -self.c
            moved = (tau**k * h**a * own[i] for (k, a), own in self.letters.items() if k <= m)
            onto[z] = z + part * sp.Add(*moved)
        f = derivative(f.xreplace(onto), *[tau] * m).xreplace({tau: sp.Integer(0)})
        f = derivative(f, *[h] * j).xreplace({h: sp.Integer(0)})
        # Each coefficient by itself: products of long ones are never taken apart again.
        own = [a for each in self.letters.values() for a in each if f.has(a)]
        f = self.equations.simplify(f, own) if own else f
        return f / (sp.factorial(m) * sp.factorial(j))

    def slopes(self, S: Any) -> list[Any]:
        """dS/dp and dS/dq, as they displace q and p."""
        e, n = self.equations, len(self.z) // 2
        return [e.simplify(derivative(S, z), self.z[n:]) for z in (*self.z[n:], *self.z[:n])]

    @cached_property
    def inner_hamiltonian_terms(self) -> Sequence[Any]:
        """K_0 = H, K_1, ..., K_order, as functions of (t, q, p)."""
        e, x = self.equations, self.equations.variables
        found, known = [e.inner_hamiltonian], {}
        # With c = 1/2 the method is symmetric: odd powers of h vanish and, where time does not
        # enter, even ones of tau.
        middle = self.c == sp.Rational(1, 2)
        still = middle and not found[0].has(x.t)

        def keep(k: int, j: int, S: Any) -> None:
            if (k, j) in self.letters:
                known.update(zip(self.letters[k, j], self.slopes(S), strict=True))

        keep(1, 0, found[0])
        for total in range(1, self.order + 1):
            rest = sp.Integer(0)
            for k in range(2, total + 2):
                j, S = total + 1 - k, sp.Integer(0)
                if not (still and k % 2 == 0):
                    parts = (self.composed(K, k - 1, j - a) for a, K in enumerate(found[: j + 1]))
                    S = e.simplify(sp.Add(*(f.xreplace(known) for f in parts)) / k, x.p)
                keep(k, j, S)
                rest += S
            own = derivative(found[0], *[x.t] * total) * self.c**total / sp.factorial(total)
            odd = middle and total % 2
            found.append(sp.Integer(0) if odd else e.simplify(own - rest, x.p))
            keep(1, total, found[-1])
        return found

    @property
    def hamiltonian_terms(self) -> tuple[Any, ...]:
        """H, K_1, ..., K_order for the reader, in q(t) and p_q(t)."""
        return tuple(self.equations.for_reader(term) for term in self.inner_hamiltonian_terms)

    @property
    def hamiltonian(self) -> Any:
        """H + h K_1 + ... + h^order K_order."""
        h = sp.Symbol("h")
        return sp.Add(*(h**k * term for k, term in enumerate(self.hamiltonian_terms)))

    @property
    def terms(self) -> NoReturn:
        """There is no such series: see the error."""
        raise ValueError(
            f"the modified Lagrangian of {self.equations.system.name} is no power series in h: the"
            " velocities of its modified motion leave Phi = 0, so that it has terms of 1/h. Its"
            " modified Hamiltonian is one: hamiltonian_terms."
        )

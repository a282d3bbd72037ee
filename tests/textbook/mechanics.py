"""The systems of the gallery as the documents print them, corrected: typed from paper with SymPy,
apart from the functions that are run.
"""

from dataclasses import dataclass
from typing import Any

import sympy as sp


@dataclass(frozen=True)
class Textbook:
    """The Lagrangian, the force and the constraints: SymPy expressions in functions q_i(t)."""

    t: Any
    q: tuple[Any, ...]
    L: Any
    force: tuple[Any, ...] | None = None
    holonomic: tuple[Any, ...] = ()
    nonholonomic: tuple[Any, ...] = ()

    @property
    def lam(self):
        """The multipliers, as functions of time."""
        count = len(self.holonomic) + len(self.nonholonomic)
        return tuple(
            sp.Function(f"lambda_{i + 1}" if count > 1 else "lambda")(self.t) for i in range(count)
        )

    def equations(self):
        """[d/dt dL/dv_i - dL/dq_i - F_i - (A^T lam)_i], zero on a motion."""
        rows = []
        for i, q in enumerate(self.q):
            left = sp.diff(sp.diff(self.L, q.diff(self.t)), self.t) - sp.diff(self.L, q)
            A = [sp.diff(phi, q) for phi in self.holonomic] + [
                sp.diff(kappa, q.diff(self.t)) for kappa in self.nonholonomic
            ]
            right = (self.force[i] if self.force else 0) + sum(
                lam * c for lam, c in zip(self.lam, A, strict=True)
            )
            rows.append(left - right)
        return rows


def atwood():
    t = sp.Symbol("t")
    mA, mB, I, r, g = sp.symbols("m_A m_B I r g", positive=True)
    x = sp.Function("x")(t)
    return Textbook(
        t, (x,), (mA + mB) * x.diff(t) ** 2 / 2 + I * (x.diff(t) / r) ** 2 / 2 - (mB - mA) * g * x
    )


def caldirola_oscillator():
    t = sp.Symbol("t")
    kappa, omega = sp.symbols("kappa omega")
    q = sp.Function("q")(t)
    return Textbook(t, (q,), sp.exp(-kappa * t) * (q.diff(t) ** 2 - omega**2 * q**2) / 2)


def caldirola_particle():
    t, kappa = sp.Symbol("t"), sp.Symbol("kappa")
    q = tuple(sp.Function(name)(t) for name in ("x", "y", "z"))
    return Textbook(t, q, sp.exp(-kappa * t) * sum(c.diff(t) ** 2 for c in q) / 2)


def crank_pulley():
    t = sp.Symbol("t")
    M, I, a, b, g = sp.symbols("M I a b g", positive=True)
    alpha = sp.Function("alpha")(t)
    s = sp.sqrt(a**2 + b**2 - 2 * a * b * sp.cos(alpha))
    return Textbook(t, (alpha,), (I + M * s.diff(alpha) ** 2) * alpha.diff(t) ** 2 / 2 - M * g * s)


def damped_spring():
    t = sp.Symbol("t")
    m, eta, lam = sp.symbols("m eta lambda", positive=True)
    x = sp.Function("x")(t)
    return Textbook(t, (x,), m * x.diff(t) ** 2 / 2 - eta * x**2 / 2, (-lam * x.diff(t),))


def decay_laws():
    t = sp.Symbol("t")
    kappa, omega = sp.symbols("kappa omega")
    q = tuple(sp.Function(name)(t) for name in ("x", "y"))
    return Textbook(t, q, sp.exp(-kappa * t) * sum(c.diff(t) ** 2 - omega**2 * c**2 for c in q) / 2)


def disk_on_wedge():
    t = sp.Symbol("t")
    M, m, r, alpha, g = sp.symbols("M m r alpha g", positive=True)
    x, theta = sp.Function("x")(t), sp.Function("theta")(t)
    dx, dtheta = x.diff(t), theta.diff(t)
    T = (
        M * dx**2 / 2
        + m * (dx**2 + (r * dtheta) ** 2 + 2 * dx * dtheta * r * sp.cos(alpha)) / 2
        + m * r**2 * dtheta**2 / 4
    )
    return Textbook(t, (x, theta), T + m * g * theta * r * sp.sin(alpha))


def double_pendulum():
    t = sp.Symbol("t")
    ma, mb, a, b, g = sp.symbols("m_a m_b a b g", positive=True)
    alpha, beta = sp.Function("alpha")(t), sp.Function("beta")(t)
    da, db = alpha.diff(t), beta.diff(t)
    T = (
        a**2 * (ma + mb) * da**2
        + 2 * a * b * mb * da * db * sp.cos(alpha - beta)
        + b**2 * mb * db**2
    ) / 2
    V = -g * ((ma + mb) * a * sp.cos(alpha) + mb * b * sp.cos(beta))
    return Textbook(t, (alpha, beta), T - V)


def driven_mass():
    t = sp.Symbol("t")
    M, k, mu, A, w = sp.symbols("M k mu A omega", positive=True)
    x = sp.Function("x")(t)
    return Textbook(
        t,
        (x,),
        M * x.diff(t) ** 2 / 2 - k * x**2 / 2 + A * sp.cos(w * t) * x,
        force=(-mu * x.diff(t),),
    )


def heisenberg():
    t = sp.Symbol("t")
    m = sp.Symbol("m", positive=True)
    x, y, z = q = tuple(sp.Function(name)(t) for name in ("x", "y", "z"))
    L = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2
    return Textbook(t, q, L, nonholonomic=(z.diff(t) - (x * y.diff(t) - y * x.diff(t)) / 2,))


def henon_heiles():
    t = sp.Symbol("t")
    x, y = sp.Function("x")(t), sp.Function("y")(t)
    V = (x**2 + y**2) / 2 + x**2 * y - y**3 / 3
    return Textbook(t, (x, y), (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - V)


def kepler():
    t = sp.Symbol("t")
    m, GM = sp.symbols("m GM", positive=True)
    x, y = sp.Function("x")(t), sp.Function("y")(t)
    return Textbook(
        t, (x, y), m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + GM * m / sp.sqrt(x**2 + y**2)
    )


def magnetic_particle():
    t = sp.Symbol("t")
    kappa, B, c, d = sp.symbols("kappa B c d")
    x, y, z = q = tuple(sp.Function(name)(t) for name in ("x", "y", "z"))
    A = (-B * y / 2, B * x / 2 + c * z**2, d * x * y)
    L = sp.exp(-kappa * t) * (
        sum(c.diff(t) ** 2 for c in q) / 2 + sum(a * c.diff(t) for a, c in zip(A, q, strict=True))
    )
    return Textbook(t, q, L)


def pendulum():
    t = sp.Symbol("t")
    m, l, g = sp.symbols("m l g", positive=True)
    theta = sp.Function("theta")(t)
    return Textbook(t, (theta,), m * l**2 * theta.diff(t) ** 2 / 2 + m * g * l * sp.cos(theta))


def rods():
    t = sp.Symbol("t")
    ma, mb, a, b, g = sp.symbols("m_a m_b a b g", positive=True)
    x1, y1, x2, y2 = q = tuple(sp.Function(name)(t) for name in ("x1", "y1", "x2", "y2"))
    L = (
        ma * (x1.diff(t) ** 2 + y1.diff(t) ** 2) / 2
        + mb * (x2.diff(t) ** 2 + y2.diff(t) ** 2) / 2
        - g * (ma * y1 + mb * y2)
    )
    phi = ((x1**2 + y1**2 - a**2) / 2, ((x2 - x1) ** 2 + (y2 - y1) ** 2 - b**2) / 2)
    return Textbook(t, q, L, holonomic=phi)


def rolling_disk():
    t = sp.Symbol("t")
    R, m, I, J = sp.symbols("R m I J", positive=True)
    x, y, theta, phi = q = tuple(sp.Function(name)(t) for name in ("x", "y", "theta", "phi"))
    L = (
        m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2
        + I * theta.diff(t) ** 2 / 2
        + J * phi.diff(t) ** 2 / 2
    )
    kappa = (
        x.diff(t) - R * sp.cos(phi) * theta.diff(t),
        y.diff(t) - R * sp.sin(phi) * theta.diff(t),
    )
    return Textbook(t, q, L, nonholonomic=kappa)


def rotating_slot():
    t = sp.Symbol("t")
    m, g, W = sp.symbols("m g Omega", positive=True)
    x, y = sp.Function("x")(t), sp.Function("y")(t)
    L = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - m * g * y
    return Textbook(t, (x, y), L, holonomic=(y * sp.cos(W * t) - x * sp.sin(W * t),))


def skate():
    t = sp.Symbol("t")
    m, J, g, slope = sp.symbols("m J g alpha", positive=True)
    x, y, phi = q = tuple(sp.Function(name)(t) for name in ("x", "y", "phi"))
    L = (
        m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2
        + J * phi.diff(t) ** 2 / 2
        + m * g * sp.sin(slope) * x
    )
    return Textbook(t, q, L, nonholonomic=(x.diff(t) * sp.sin(phi) - y.diff(t) * sp.cos(phi),))


def sleigh():
    t = sp.Symbol("t")
    m, I, a = sp.symbols("m I a", positive=True)
    _, _, theta = q = tuple(sp.Function(name)(t) for name in ("x", "y", "theta"))
    dx, dy, dth = (c.diff(t) for c in q)
    L = (
        m * ((dx - a * sp.sin(theta) * dth) ** 2 + (dy + a * sp.cos(theta) * dth) ** 2) / 2
        + I * dth**2 / 2
    )
    return Textbook(t, q, L, nonholonomic=(dy * sp.cos(theta) - dx * sp.sin(theta),))


def slotted_disk():
    t = sp.Symbol("t")
    m, I, g = sp.symbols("m I g", positive=True)
    l, alpha = sp.Function("l")(t), sp.Function("alpha")(t)
    L = (
        m * (l.diff(t) ** 2 + l**2 * alpha.diff(t) ** 2) / 2
        + I * alpha.diff(t) ** 2 / 2
        - m * g * l * sp.sin(alpha)
    )
    return Textbook(t, (l, alpha), L)


def two_masses():
    t = sp.Symbol("t")
    m, g, ell = sp.symbols("m g ell", positive=True)
    q1, q2 = sp.Function("q1")(t), sp.Function("q2")(t)
    L = m * (q1.diff(t) ** 2 + q2.diff(t) ** 2) / 2 - m * g * (q1 + q2)
    return Textbook(t, (q1, q2), L, holonomic=(q1 - q2 - ell,))


TEXTBOOK = {
    "atwood": atwood,
    "caldirola_oscillator": caldirola_oscillator,
    "caldirola_particle": caldirola_particle,
    "crank_pulley": crank_pulley,
    "damped_spring": damped_spring,
    "decay_laws": decay_laws,
    "disk_on_wedge": disk_on_wedge,
    "double_pendulum": double_pendulum,
    "driven_mass": driven_mass,
    "heisenberg": heisenberg,
    "henon_heiles": henon_heiles,
    "kepler": kepler,
    "magnetic_particle": magnetic_particle,
    "pendulum": pendulum,
    "rods": rods,
    "rolling_disk": rolling_disk,
    "rotating_slot": rotating_slot,
    "skate": skate,
    "sleigh": sleigh,
    "slotted_disk": slotted_disk,
    "two_masses": two_masses,
    "vertical_disk": rolling_disk,
}

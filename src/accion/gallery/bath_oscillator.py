"""An oscillator that a periodic force drives and friction heats, in a bath that cools it.

m x'' + mu x' + k x = A cos(omega t),    C T' = mu x'^2 + G (T_bath - T)

Bonich, section 4.1 and Thm 3.9, with an external force and heat. It comes to a periodic state in
which the work of the force, the heat of friction and the heat that goes to the bath are the same in
each period, and the mean of T is T_bath + (mean power) / G.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np

from accion import thermo
from accion.gallery.base import Entry, compare
from accion.instant.continuous import reference
from accion.methods import EnergyConsistent, Midpoint
from accion.plot import new_figure
from accion.solve.simulation import simulate
from accion.spaces import Euclidean
from accion.systems import ThermalSystem

X0, V0, T_START = 0.1, 0.0, 285.0
PARAMS = {
    "m": 1.0,
    "k": 100.0,
    "mu": 2.0,
    "A": 10.0,
    "omega": 9.0,
    "C": 1.0,
    "T0": 300.0,
    "T_bath": 290.0,
    "G": 1.0,
}
PERIOD = 2 * np.pi / PARAMS["omega"]
PERIODS, SAVED = 64, 32  # periods in a run, and saved times in each
S0 = float(PARAMS["C"] * np.log(T_START / PARAMS["T0"]))


def solid(params):
    """U = C T, with entropy zero at T0."""
    return thermo.Solid(params["C"], params["T0"])


def lagrangian(t, q, v, S, params):
    return 0.5 * params["m"] * v[0] ** 2 - 0.5 * params["k"] * q[0] ** 2 - solid(params).U(S)


def friction(t, q, v, S, params):
    return -params["mu"] * v


def external(t, q, v, S, params):
    return jnp.array([params["A"] * jnp.cos(params["omega"] * t)])


def heat(t, q, v, S, params):
    return thermo.bath(solid(params).T(S), params["T_bath"], params["G"])


system = ThermalSystem(
    lagrangian,
    Euclidean(1),
    PARAMS,
    friction=friction,
    external=external,
    heat=heat,
    coordinates=("x [m]",),
    name="oscillator in a bath",
)


# ---------------------------------------------------------------- closed forms


def exact(t):
    """x, v and T at the times t.

    The velocity is a sum of exponentials, so are its square and the temperature that it drives.
    """
    m, k, mu, A, omega, C, T_bath, G = (
        PARAMS[key] for key in ("m", "k", "mu", "A", "omega", "C", "T_bath", "G")
    )
    t = np.asarray(t, dtype=float)
    steady = A / (k - m * omega**2 + 1j * mu * omega)  # x -> Re(steady e^(i omega t))
    p = -mu / (2 * m) + 1j * np.sqrt(k / m - (mu / (2 * m)) ** 2)
    x0, v0 = X0 - steady.real, V0 - (1j * omega * steady).real
    decaying = x0 - 1j * (v0 - p.real * x0) / p.imag
    s = np.array([1j * omega, -1j * omega, p, np.conj(p)])
    w = np.array([steady, np.conj(steady), decaying, np.conj(decaying)]) / 2
    x, v = ((factor @ np.exp(np.multiply.outer(s, t))).real for factor in (w, w * s))
    rate = G / C
    T = T_bath + (T_START - T_bath) * np.exp(-rate * t)
    for a, sa in zip(w * s, s, strict=True):
        for b, sb in zip(w * s, s, strict=True):
            T = (
                T
                + mu
                / C
                * (a * b * (np.exp((sa + sb) * t) - np.exp(-rate * t)) / (sa + sb + rate)).real
            )
    return x, v, T


def amplitude(h=0.0):
    """Of the periodic state: A / |k - m omega^2 + i mu omega|, and the same of the midpoint rule
    with step h, whose recurrence is

    m (x_{k+1} - 2 x_k + x_{k-1}) / h^2 + mu (x_{k+1} - x_{k-1}) / (2 h) + k (x_{k+1} + 2 x_k +
    x_{k-1}) / 4 = (f_{k+1/2} + f_{k-1/2}) / 2
    """
    m, k, mu, A, omega = (PARAMS[key] for key in ("m", "k", "mu", "A", "omega"))
    if h == 0.0:
        return A / abs(k - m * omega**2 + 1j * mu * omega)
    half = omega * h / 2
    return (
        A
        * np.cos(half)
        / abs(
            k * np.cos(half) ** 2 - m * (2 * np.sin(half) / h) ** 2 + 1j * mu * np.sin(2 * half) / h
        )
    )


def mean_power():
    """mu omega^2 X^2 / 2, of friction, of the force and of the bath."""
    return PARAMS["mu"] * (PARAMS["omega"] * amplitude()) ** 2 / 2


def mean_temperature():
    return PARAMS["T_bath"] + mean_power() / PARAMS["G"]


def swing():
    """The amplitude of T about its mean, at twice the frequency of the force."""
    return mean_power() / np.hypot(PARAMS["G"], 2 * PARAMS["omega"] * PARAMS["C"])


# ---------------------------------------------------------------- runs


@cache
def run(method, count):
    """All periods with `count` steps in each."""
    return simulate(
        system,
        method,
        q0=[X0],
        v0=[V0],
        S0=S0,
        h=PERIOD / count,
        steps=PERIODS * count,
        save_every=count // SAVED,
    )


def power(traj):
    """The power of the external force at the saved times."""
    return PARAMS["A"] * np.cos(PARAMS["omega"] * np.asarray(traj.t)) * np.asarray(traj.v[:, 0])


def mean(values):
    """Over the last period."""
    return float(np.mean(np.asarray(values)[-SAVED:]))


def to_zero(values):
    """The limit for h -> 0 of values at h, h/2 and h/4 whose errors are even in h."""
    a, b, c = values
    return (64 * c - 20 * b + a) / 45


def continuous_checks():
    ts, rows = np.array([0.0, 0.3, 1.0, 3.0, 10.0, 30.0]), []
    q, v, S = map(np.asarray, reference(system, q0=[X0], v0=[V0], S0=S0, ts=ts))
    x_exact, v_exact, T_exact = exact(ts)
    for i, t in list(enumerate(ts))[1:]:
        rows += compare(
            f"(x, v)({t:g}), continuous", [q[i, 0], v[i, 0]], [x_exact[i], v_exact[i]], 1e-9
        )
        rows += compare(
            f"T({t:g}), continuous [K]", PARAMS["T0"] * np.exp(S[i] / PARAMS["C"]), T_exact[i], 1e-9
        )
    late = exact(PERIOD * (PERIODS - 1 + np.arange(SAVED) / SAVED))
    rows += compare(
        "amplitude of x in the last period, closed form [m]",
        np.sqrt(2 * np.mean(late[0] ** 2)),
        amplitude(),
        1e-12,
    )
    rows += compare(
        "mean of T in the last period, closed form [K]", np.mean(late[2]), mean_temperature(), 1e-10
    )
    rows += compare(
        "swing of T in the last period, closed form [K]",
        np.sqrt(2) * np.std(late[2]),
        swing(),
        1e-10,
    )
    return rows


def periodic_checks():
    """The periodic state of the midpoint rule: its own amplitude to roundoff, the powers and the
    temperature with order 2.
    """
    counts, rows = (64, 128, 256), []
    runs = [run(Midpoint(), count) for count in counts]
    for count, traj in zip(counts, runs, strict=True):
        x = np.asarray(traj.q[-SAVED:, 0])
        words = f"amplitude of the midpoint rule, {count} steps in a period [m]"
        rows += compare(words, np.sqrt(2 * np.mean(x**2)), amplitude(float(traj.h)), 1e-12)
    targets = {
        "mean power of friction [W]": (lambda traj: mean(traj.dissipation()), mean_power()),
        "mean power of the force [W]": (lambda traj: mean(power(traj)), mean_power()),
        "mean power into the bath [W]": (lambda traj: -mean(traj.heat()), mean_power()),
        "mean of T [K]": (lambda traj: mean(traj.temperature()), mean_temperature()),
        "swing of T [K]": (lambda traj: np.sqrt(2) * np.std(traj.temperature()[-SAVED:]), swing()),
    }
    for name, (value, target) in targets.items():
        found = np.array([value(traj) for traj in runs])
        rows += compare(f"{name}, midpoint, h -> 0", to_zero(found), target, 1e-6)
        slope = np.polyfit(np.log(counts), np.log(np.abs(found - target)), 1)[0]
        rows += compare(f"{name}, order", -slope, 2, 0.05)
    T = exact(runs[0].t)[2]
    errors = {
        "T": [np.max(np.abs(traj.temperature() - T)) for traj in runs],
        "the first law": [np.max(np.abs(traj.first_law())) for traj in runs],
    }
    for name, values in errors.items():
        rows += compare(
            f"order of the midpoint rule, {name}",
            -np.polyfit(np.log(counts), np.log(values), 1)[0],
            2,
            0.05,
        )
    return rows


def first_law_checks():
    traj = run(EnergyConsistent(Midpoint()), 64)
    rows = compare(
        "first law, EnergyConsistent, largest error [J]",
        np.max(np.abs(traj.first_law())),
        0.0,
        1e-11,
    )
    rows += compare(
        "EnergyConsistent, work less heat in the last period [J]",
        traj.supplied[-1] - traj.supplied[-1 - SAVED],
        0.0,
        1e-11,
    )
    return rows


def checks():
    return continuous_checks() + periodic_checks() + first_law_checks()


def figure():
    fig, axes = new_figure(2, 2, (10, 6.4))
    (motion, warm), (powers, law) = axes
    traj, h = run(Midpoint(), 64), float(run(Midpoint(), 64).h)
    t, ts = np.asarray(traj.t), np.linspace(0, 8, 1500)
    shown = t <= 8
    motion.plot(ts, exact(ts)[0], lw=1.2, label="closed form")
    motion.plot(
        t[shown][::4], traj.q[shown][::4, 0], "o", ms=2.5, label=f"midpoint, h = {1e3 * h:.1f} ms"
    )
    for sign in (-1, 1):
        motion.axhline(sign * amplitude(), color="k", ls="--", lw=0.9)
    motion.set(xlabel="t [s]", ylabel="x [m]", ylim=(-0.75, 1.0))
    motion.legend(loc="upper right", ncols=2)
    warm.plot(ts, exact(ts)[2], lw=1.2, label="closed form")
    warm.plot(t[shown][::4], traj.temperature()[shown][::4], "o", ms=2.5, label="midpoint")
    warm.axhline(mean_temperature(), color="k", ls="--", lw=0.9, label="bath + mean power / G")
    warm.axhline(PARAMS["T_bath"], color="k", ls=":", lw=0.9, label="bath")
    warm.set(xlabel="t [s]", ylabel="T [K]")
    warm.legend(loc="lower right")
    last = slice(-2 * SAVED - 1, None)
    rows = {
        "force": power(traj),
        "friction": np.asarray(traj.dissipation()),
        "into the bath": -np.asarray(traj.heat()),
    }
    for name, values in rows.items():
        powers.plot(t[last] - t[last][0], values[last], label=name)
    powers.axhline(mean_power(), color="k", ls="--", lw=0.9, label="mean, closed form")
    powers.set(xlabel="t, in the last two periods [s]", ylabel="power [W]", ylim=(-6, 43))
    powers.legend(loc="upper center", ncols=2)
    for method, count in ((Midpoint(), 64), (Midpoint(), 128), (EnergyConsistent(Midpoint()), 64)):
        each = run(method, count)
        error = np.abs(each.first_law())[1:]
        name = "energy consistent" if isinstance(method, EnergyConsistent) else "midpoint"
        law.semilogy(
            each.t[1:], np.maximum(error, 1e-16), lw=0.9, label=f"{name}, {count} steps in a period"
        )
    law.set(xlabel="t [s]", ylabel="|E - E(0) - work - heat| [J]", ylim=(1e-16, 1e3))
    law.legend(loc="upper right")
    return fig


entry = Entry(
    name="bath_oscillator",
    title="Driven oscillator in a bath",
    source="Bonich, section 4.1 and Thm 3.9, with an external force and heat",
    text=(
        "A mass on a spring that a periodic force drives, friction heats and a bath cools. It comes"
        " to a periodic state: in each period the force does the work that friction turns into heat"
        " and that flows to the bath, and the temperature swings at twice the frequency about a"
        " mean above that of the bath. In parts of each period the entropy becomes less, because it"
        " flows out; this is no violation of the second law."
    ),
    system=system,
    method=Midpoint(),
    start={"q0": [X0], "v0": [V0], "S0": S0},
    h=PERIOD / 64,
    steps=1280,
    checks=checks,
    figure=figure,
    positions=lambda q: jnp.array([[-1.0, 0.0], [q[0], 0.0]]),
)

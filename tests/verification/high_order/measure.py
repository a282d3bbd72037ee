"""What methods of orders four to ten do on those motions: one row of the audit for each pair."""

from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from scipy.linalg import expm

import accion as ac
from accion.analysis.phase import canonical
from tests.verification.high_order.ends import known
from tests.verification.high_order.motions import DURATION, MOTIONS, system_of

ORDERS = (4, 6, 8, 10)
# Numbers of steps, for which the order is seen and rounding is not.
POLYNOMIALS = {4: (128, 181, 256), 6: (81, 102, 128), 8: (80, 101, 127), 10: (76, 90, 107)}
COMPOSED = {4: (161, 203, 256), 6: (102, 128, 161), 8: (128, 161, 203), 10: (84, 94, 104)}
STEPS = {"h": 0.5, "steps": 2, "save_every": 2}  # of which the symplectic defect is measured
PAIRS, APART = 6, 1 / 64  # points on both sides of the start, from which tangents are taken
RUN = {"h": 0.25, "steps": 256, "save_every": 4, "params": {"tilt": 0.0}}


@dataclass(frozen=True)
class Row:
    """One line of the audit."""

    kind: str
    method: str
    claimed: int
    order: float
    symplectic: float | None
    momentum: float


def methods_of(name: str) -> list[Any]:
    composed = MOTIONS[name].composed
    polynomials = [ac.Galerkin(order // 2) for order in ORDERS]
    return [*polynomials, *(ac.Composition(composed, order) for order in ORDERS)]


CASES = [(name, method) for name in MOTIONS for method in methods_of(name)]


def measure(name: str, method: Any) -> Row:
    defect = symplectic(name, method) if MOTIONS[name].symplectic else None
    slope, drift = order(name, method), momentum(name, method)
    return Row(name, short(method), method.order, slope, defect, drift)


def short(method: Any) -> str:
    if isinstance(method, ac.Galerkin):
        return f"Galerkin({method.s})"
    return f"Composition({method.method}, {method.order})"


# ---------------------------------------------------------------- order


def order(name: str, method: Any) -> float:
    """The slope of log(error) over log(h)."""
    counts = steps_of(name, method)
    return -float(np.polyfit(np.log(counts), np.log(errors(name, method, counts)), 1)[0])


def steps_of(name: str, method: Any) -> list[int]:
    table = POLYNOMIALS if isinstance(method, ac.Galerkin) else COMPOSED
    return [round(MOTIONS[name].steps * count) for count in table[method.order]]


def errors(name: str, method: Any, counts: list[int]) -> list[float]:
    """Of (q, v), or (q, v, S), at the end."""
    exact = known(name)
    return [float(np.linalg.norm(end(name, method, count) - exact)) for count in counts]


def end(name: str, method: Any, steps: int) -> np.ndarray:
    run = ac.simulate(
        system_of(name),
        method,
        **MOTIONS[name].start,
        h=DURATION / steps,
        steps=steps,
        save_every=steps,
    )
    q = np.asarray(run.q[-1])
    if q.shape == (4, 4):
        q = np.concatenate([q[:3, :3].ravel(), q[:3, 3]])
    rest = [] if run.S is None else np.ravel(run.S[-1])
    return np.concatenate([q.ravel(), np.asarray(run.v[-1]), rest])


# ---------------------------------------------------------------- momentum


def momentum(name: str, method: Any) -> float:
    """How far the momentum map is from what it was and the torque has brought, relative to the
    largest that it is.
    """
    motion = MOTIONS[name]
    run = ac.simulate(system_of(name), method, **motion.start, **RUN)
    J, t = np.asarray(run.momentum(motion.X)), np.asarray(run.t)
    return float(np.max(np.abs(J - J[0] - motion.torque * t)) / np.max(np.abs(J)))


# ---------------------------------------------------------------- the symplectic form


def symplectic(name: str, method: Any) -> float:
    """The largest entry of T^T J1 T - J0 relative to the largest of its terms, for two steps that
    `simulate` makes from starts near to each other.

    T is a derivative by central differences of order twelve, whose error is rounding: to compile
    that of a polynomial on a group would take minutes.
    """
    space = system_of(name).space
    q, p = nearby(name, method, 0, 0.0)
    before, after = tangents(name, method, q)
    forms = [T.T @ canonical(space, p[i]) @ T for i, T in enumerate((before, after))]
    terms = np.abs(after).T @ np.abs(canonical(space, p[1])) @ np.abs(after)
    return float(np.max(np.abs(forms[1] - forms[0])) / np.max(terms))


def tangents(name: str, method: Any, centre: Any) -> Any:
    """Derivatives of (q, p) before and after these steps by each direction, shape (2, 2 dim, k)."""
    sides = [k for k in range(-PAIRS, PAIRS + 1) if k]
    weights = [weight(k) / APART for k in sides]
    columns = []
    for i in range(directions(name)):
        runs = [nearby(name, method, i, k * APART) for k in sides]
        dq, dp = (np.tensordot(weights, np.stack(part), 1) for part in zip(*runs, strict=True))
        columns.append(
            [np.concatenate([body(*q), p]) for *q, p in zip(centre, dq, dp, strict=True)]
        )
    return np.moveaxis(np.array(columns), 0, -1)


def body(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """A change of q as a displacement of the body: hat(xi) = q^-1 dq."""
    if q.ndim == 1:
        return dq
    hat = np.linalg.inv(q) @ dq
    return np.array([hat[2, 1], hat[0, 2], hat[1, 0], *(hat[:3, 3] if len(q) == 4 else ())])


def moved(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """q exp(hat(dq)); on a flat space q + dq."""
    if q.ndim == 1:
        return q + dq
    hat = np.zeros(q.shape)
    hat[:3, :3] = np.cross(dq[:3], -np.eye(3))
    hat[:3, 3:] = dq[3:].reshape(3, -1)
    return q @ expm(hat)


def weight(k: int) -> float:
    """Of f(k) in f'(0)."""
    parts = factorial(PAIRS - abs(k)) * factorial(PAIRS + abs(k))
    return (-1) ** (k + 1) * factorial(PAIRS) ** 2 / (k * parts)


def directions(name: str) -> int:
    return 2 * (system_of(name).space.dim - system_of(name).multipliers)


def nearby(name: str, method: Any, i: int, e: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, p) before and after two steps from a start that is moved by e in the i-th direction."""
    system, start = system_of(name), MOTIONS[name].start
    q, v = (np.asarray(start[key], float) for key in ("q0", "v0"))
    move = np.zeros(2 * system.space.dim)
    free = directions(name) // 2
    move[i % free + (i // free) * system.space.dim] = e
    dq, dv = np.split(move, 2)
    q, v = moved(q, dq), v + dv
    if system.multipliers:
        q, v = on_the_sphere(q, v, np.linalg.norm(start["q0"]))
    run = ac.simulate(system, method, q0=q, v0=v, **STEPS)
    return np.asarray(run.q), np.asarray(run.p)


def on_the_sphere(q: np.ndarray, v: np.ndarray, radius: Any) -> tuple[np.ndarray, np.ndarray]:
    """The third of each is what the sphere makes of the first two."""
    third = -np.sqrt(radius**2 - q[0] ** 2 - q[1] ** 2)
    q = np.array([q[0], q[1], third])
    return q, np.array([v[0], v[1], -(q[0] * v[0] + q[1] * v[1]) / third])

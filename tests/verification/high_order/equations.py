"""The equations of motion of those systems, derived by hand and written for numbers of any length.

They know nothing of accion. A state is a list of numbers: (q, v), or (q, v, S), matrices row by
row.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mpmath import exp, mpf

State = list[Any]
TILT, TORQUE = mpf(1) / 4, mpf(1) / 512
INERTIA = (mpf(1), mpf(13) / 8, mpf(17) / 8)
LEVER = (mpf(1) / 8, mpf(1) / 4, mpf(-1))


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), mpf(0))


def cross(a: Sequence[Any], b: Sequence[Any]) -> State:
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def pull(x: Any, y: Any) -> State:
    """Minus the gradient of r^2/2 + r^4/8 + tilt (x^2 y - y^3/3)."""
    rise = 1 + (x * x + y * y) / 2
    return [-rise * x - 2 * TILT * x * y, -rise * y - TILT * (x * x - y * y)]


def flat(z: State) -> State:
    x, y, vx, vy = z
    return [vx, vy, *pull(x, y)]


def forced(z: State) -> State:
    """With the inertia J = 1 + r^2/2 about the shaft and J' = q.v,

    v' = F + q w^2/2 - (q.v) q/8        J w' = torque - J' w
    """
    x, y, _, vx, vy, w = z
    ax, ay = pull(x, y)
    outward, growth = w * w / 2, x * vx + y * vy
    push = outward - growth / 8
    inertia = 1 + (x * x + y * y) / 2
    return [vx, vy, w, ax + push * x, ay + push * y, (TORQUE - growth * w) / inertia]


def holonomic(z: State) -> State:
    """a = F + lam q with q.a + v.v = 0."""
    q, v = z[:3], z[3:]
    F = [-TILT * q[1], -TILT * q[0], mpf(-1)]
    lam = -(dot(q, F) + dot(v, v)) / dot(q, q)
    return [*v, *(f + lam * x for f, x in zip(F, q, strict=True))]


def nonholonomic(z: State) -> State:
    """a = F + A^T lam with A v = 0, A = (-f x, -f y, 1) and f = (1 + x)/8."""
    (x, y, height), v = z[:3], z[3:]
    vx, vy, _ = v
    f, radial = (1 + x) / 8, x * vx + y * vy
    A = [-f * x, -f * y, mpf(1)]
    ax, ay = pull(x, y)
    F = [
        ax - x * height**2 / 2,
        ay - y * height**2 / 2,
        -height - (x * x + y * y) * height / 2,
    ]
    turning = -vx * radial / 8 - f * (vx * vx + vy * vy)  # A' v
    lam = -(dot(A, F) + turning) / dot(A, A)
    return [*v, *(force + lam * a for force, a in zip(F, A, strict=True))]


def spun(R: Sequence[Any], w: Sequence[Any]) -> State:
    """R hat(w), row by row."""
    return [entry for i in range(3) for entry in cross(R[3 * i : 3 * i + 3], w)]


def rotation(z: State) -> State:
    """R' = R hat(w), I w' = I w x w + gamma x c, with gamma the vertical in the body."""
    R, w = z[:9], z[9:]
    momentum = [i * x for i, x in zip(INERTIA, w, strict=True)]
    torque = [a + b for a, b in zip(cross(momentum, w), cross(R[6:9], LEVER), strict=True)]
    return [*spun(R, w), *(x / i for i, x in zip(INERTIA, torque, strict=True))]


def rigid(z: State) -> State:
    """R' = R hat(w), x' = R u and, with m and p what kinetic energy has for derivatives by w and u,

        m' = m x w + p x u + gamma x c        p' = p x w - R^T dU/dx

    where the kinetic energy has a term w_0 u_1/4.
    """
    R, x, w, u = z[:9], z[9:12], z[12:15], z[15:]
    m = [i * a for i, a in zip(INERTIA, w, strict=True)]
    p = list(u)
    m[0] += u[1] / 4
    p[1] += w[0] / 4
    rise = 1 + dot(x, x) / 2
    slope = [rise * x[0] + TILT * x[1], rise * x[1] + TILT * x[0], rise * x[2]]
    force = [-sum(R[3 * i + j] * slope[i] for i in range(3)) for j in range(3)]
    dm = [sum(parts) for parts in zip(cross(m, w), cross(p, u), cross(R[6:9], LEVER), strict=True)]
    dp = [a + b for a, b in zip(cross(p, w), force, strict=True)]
    # the two that are coupled: I_0 w_0' + u_1'/4 = dm_0, w_0'/4 + u_1' = dp_1
    first = (dm[0] - dp[1] / 4) / (INERTIA[0] - mpf(1) / 16)
    turn = [first, dm[1] / INERTIA[1], dm[2] / INERTIA[2]]
    move = [dp[0], dp[1] - first / 4, dp[2]]
    return [*spun(R, w), *(dot(R[3 * i : 3 * i + 3], u) for i in range(3)), *turn, *move]


def thermal(z: State) -> State:
    """That under a force, with -dU/dq too, U = e^S (1 + r^2/8)/4; T S' = (q.v)^2/8, T = U."""
    *z, S = z
    x, y, _, vx, vy, _ = z
    *rates, ax, ay, turn = forced(z)
    heat = exp(S) / 4
    T = heat * (1 + (x * x + y * y) / 8)
    lost = (x * vx + y * vy) ** 2 / 8
    return [*rates, ax - heat * x / 4, ay - heat * y / 4, turn, lost / T]


EQUATIONS: dict[str, Callable[[State], State]] = {
    "flat": flat,
    "SO(3)": rotation,
    "SE(3)": rigid,
    "forced": forced,
    "holonomic": holonomic,
    "nonholonomic": nonholonomic,
    "thermal": thermal,
}

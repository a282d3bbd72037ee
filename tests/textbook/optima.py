"""Problems of optimal control with known optima: the equations here, the numbers in
tests/data/control.

Equations are written once, with a module `m` that has sin, cos and sqrt, so that accion and
others take the same.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import accion as ac

DATA = Path(__file__).parents[1] / "data" / "control"


class Equations(NamedTuple):
    """x' = rates(m, t, x, u, p), of lists and as a list, and the running cost; where there are
    some the cost of the end, path constraints g <= 0 and what is to be zero at the end, as lists;
    the Lagrangian of a mechanical problem, whose states are (q, v), with what its controls act on.
    """

    states: list[str]
    controls: list[str]
    rates: Any
    cost: Any
    terminal: Any = None
    path: Any = None
    at_end: Any = None
    lagrangian: Any = None
    actuated: Any = None


def nothing(m, t, x, u, p):
    return 0.0 * u[0]


def time(m, t, x, u, p):
    return 1.0 + 0.0 * u[0]


def half_square(m, t, x, u, p):
    return 0.5 * sum(a * a for a in u)


def square(m, t, x, u, p):
    return sum(a * a for a in u)


def fuel(m, t, x, u, p):
    return sum(u)


# ---------------------------------------------------------------- blocks


def block(m, t, x, u, p):
    return [x[1], u[0]]


def block_lagrangian(t, q, v, p):
    return 0.5 * v @ v


def pushed_both_ways(m, t, x, u, p):
    return [x[1], u[0] - u[1]]


def wall(m, x, u, p):
    return [x[0] - p["wall"]]


# ---------------------------------------------------------------- curves


def bead(m, t, x, u, p):
    return [x[2] * m.sin(u[0]), x[2] * m.cos(u[0]), p["gravity"] * m.cos(u[0])]


def car(m, t, x, u, p):
    return [m.cos(x[2]), m.sin(x[2]), u[0]]


def area(m, t, x, u, p):
    return [u[0], u[1], x[0] * u[1] - x[1] * u[0]]


# ---------------------------------------------------------------- vehicles


def robot(m, t, x, u, p):
    ahead = u[0] - u[1] + u[2] - u[3]
    turn = p["alpha"] * (u[0] - u[1]) - p["beta"] * (u[2] - u[3])
    return [x[3], x[4], x[5], ahead * m.cos(x[2]), ahead * m.sin(x[2]), turn]


def one_pair_each(m, x, u, p):
    return [u[0] + u[1] - 1.0, u[2] + u[3] - 1.0]


def orbit(m, t, x, u, p):
    a = p["thrust"] / (1.0 - p["burn"] * t)
    return [
        x[1],
        x[2] * x[2] / x[0] - 1.0 / (x[0] * x[0]) + a * m.sin(u[0]),
        -x[1] * x[2] / x[0] + a * m.cos(u[0]),
    ]


def radius(m, x, p):
    return -x[0]


def circular(m, x, p):
    return [x[1], x[2] - 1.0 / m.sqrt(x[0])]


# ---------------------------------------------------------------- poles and links


def cart_pole(m, t, x, u, p):
    """The angle is zero when the pole stands."""
    s, c = m.sin(x[1]), m.cos(x[1])
    push = u[0] + p["m"] * p["l"] * s * x[3] * x[3] - p["m"] * p["gravity"] * s * c
    a = push / (p["M"] + p["m"] - p["m"] * c * c)
    return [x[2], x[3], a, (p["gravity"] * s - c * a) / p["l"]]


def cart_pole_lagrangian(t, q, v, p):
    kinetic = 0.5 * (p["M"] + p["m"]) * v[0] ** 2 + 0.5 * p["m"] * p["l"] ** 2 * v[1] ** 2
    kinetic = kinetic + p["m"] * p["l"] * v[0] * v[1] * jnp.cos(q[1])
    return kinetic - p["m"] * p["gravity"] * p["l"] * jnp.cos(q[1])


def acrobot(m, t, x, u, p):
    """Two rods of which the second is driven against the first; angles from hanging."""
    c = m.cos(x[1])
    d11 = p["I1"] + p["I2"] + p["m1"] * p["c1"] ** 2
    d11 = d11 + p["m2"] * (p["l1"] ** 2 + p["c2"] ** 2 + 2 * p["l1"] * p["c2"] * c)
    d12 = p["I2"] + p["m2"] * (p["c2"] ** 2 + p["l1"] * p["c2"] * c)
    d22 = p["I2"] + p["m2"] * p["c2"] ** 2
    bend = p["m2"] * p["l1"] * p["c2"] * m.sin(x[1])
    low = p["m2"] * p["c2"] * p["gravity"] * m.sin(x[0] + x[1])
    high = (p["m1"] * p["c1"] + p["m2"] * p["l1"]) * p["gravity"] * m.sin(x[0])
    f1 = bend * (2 * x[2] * x[3] + x[3] * x[3]) - high - low
    f2 = u[0] - bend * x[2] * x[2] - low
    det = d11 * d22 - d12 * d12
    return [x[2], x[3], (d22 * f1 - d12 * f2) / det, (d11 * f2 - d12 * f1) / det]


def acrobot_lagrangian(t, q, v, p):
    d = v[0] + v[1]
    first = p["I1"] + p["m1"] * p["c1"] ** 2 + p["m2"] * p["l1"] ** 2
    kinetic = 0.5 * first * v[0] ** 2 + 0.5 * (p["I2"] + p["m2"] * p["c2"] ** 2) * d**2
    kinetic = kinetic + p["m2"] * p["l1"] * p["c2"] * jnp.cos(q[1]) * v[0] * d
    high = (p["m1"] * p["c1"] + p["m2"] * p["l1"]) * jnp.cos(q[0])
    return kinetic + p["gravity"] * (high + p["m2"] * p["c2"] * jnp.cos(q[0] + q[1]))


def satellite(m, t, x, u, p):
    """Modified Rodrigues parameters, tan(angle/4) times the axis, and the body's rates."""
    s, w = [x[0], x[1], x[2]], [x[3], x[4], x[5]]
    ss, sw = sum(a * a for a in s), sum(a * b for a, b in zip(s, w, strict=True))
    cross = [s[1] * w[2] - s[2] * w[1], s[2] * w[0] - s[0] * w[2], s[0] * w[1] - s[1] * w[0]]
    ds = [(0.5 * (1 - ss) * w[i] + cross[i] + sw * s[i]) / 2 for i in range(3)]
    i1, i2, i3 = p["I1"], p["I2"], p["I3"]
    dw = [
        (u[0] - (i3 - i2) * w[1] * w[2]) / i1,
        (u[1] - (i1 - i3) * w[2] * w[0]) / i2,
        (u[2] - (i2 - i1) * w[0] * w[1]) / i3,
    ]
    return [*ds, *dw]


POINT = ["x [m]", "v [m/s]"]
LINKS = ["theta1 [rad]", "theta2 [rad]", "omega1 [rad/s]", "omega2 [rad/s]"]
EQUATIONS = {
    "block_effort": Equations(
        POINT, ["u [N]"], block, half_square, lagrangian=block_lagrangian, actuated=[0]
    ),
    "block_time": Equations(
        POINT, ["u [N]"], block, time, lagrangian=block_lagrangian, actuated=[0]
    ),
    "block_fuel": Equations(POINT, ["right [N]", "left [N]"], pushed_both_ways, fuel),
    "breakwell": Equations(POINT, ["u [N]"], block, half_square, path=wall),
    "brachistochrone": Equations(["x [m]", "y [m]", "v [m/s]"], ["angle [rad]"], bead, time),
    "dubins": Equations(["x [m]", "y [m]", "heading [rad]"], ["turn [rad/m]"], car, time),
    "brockett": Equations(["x", "y", "z"], ["u1", "u2"], area, half_square),
    "free_flying_robot": Equations(
        ["x", "y", "theta", "vx", "vy", "omega"],
        ["u1", "u2", "u3", "u4"],
        robot,
        fuel,
        path=one_pair_each,
    ),
    "low_thrust": Equations(
        ["r", "vr", "vt"], ["angle [rad]"], orbit, nothing, terminal=radius, at_end=circular
    ),
    "cart_pole": Equations(
        ["x [m]", "theta [rad]", "v [m/s]", "omega [rad/s]"],
        ["u [N]"],
        cart_pole,
        square,
        lagrangian=cart_pole_lagrangian,
        actuated=[0],
    ),
    "acrobot": Equations(
        LINKS, ["u [N m]"], acrobot, half_square, lagrangian=acrobot_lagrangian, actuated=[1]
    ),
    "satellite_turn": Equations(
        ["s1", "s2", "s3", "w1", "w2", "w3"], ["u1", "u2", "u3"], satellite, half_square
    ),
}


class Known(NamedTuple):
    """A problem with its optimum: `data` is what its file says."""

    name: str
    equations: Equations
    data: dict[str, Any]

    @property
    def params(self) -> dict[str, float]:
        return self.data["parameters"]

    def error(self, cost: float) -> float:
        """How far off a cost is, relative; absolute where the optimum is 0."""
        return abs(cost - self.data["optimum"]) / (abs(self.data["optimum"]) or 1.0)

    def guess(self, places) -> tuple[np.ndarray, np.ndarray]:
        """(x, u) on the line from the start to the end, or to what the file says, at these places
        between 0 and 1.
        """
        given, s = self.data.get("guess", {}), np.asarray(places)[:, None]
        start, end = (
            np.array([0.0 if a is None else a for a in self.data[side]])
            for side in ("start", "end")
        )
        end = np.array(given.get("end", end))
        u0, u1 = (
            np.array(given.get(key, [0.0] * len(self.equations.controls))) for key in ("u0", "u1")
        )
        return start + s * (end - start), u0 + s * (u1 - u0)


def load() -> dict[str, Known]:
    """All problems by their names."""
    found = {}
    for path in sorted(DATA.glob("*.json")):
        found[path.stem] = Known(path.stem, EQUATIONS[path.stem], json.loads(path.read_text()))
    return found


# ---------------------------------------------------------------- as accion takes them


def dynamics(known: Known) -> ac.ControlProblem:
    """The problem about x' = f(t, x, u)."""
    e, data = known.equations, known.data

    def f(t, x, u, p):
        return jnp.stack(e.rates(jnp, t, x, list(u), p))

    def cost(t, x, u, p):
        return e.cost(jnp, t, x, list(u), p)

    more: dict[str, Any] = {}
    if e.terminal is not None:
        more["terminal"] = lambda t, x, p: e.terminal(jnp, x, p)
    if e.at_end is not None:
        more["at_end"] = lambda t, x, p: jnp.stack(e.at_end(jnp, x, p))
    if e.path is not None:
        more["path"] = {"path": lambda t, x, u, p: jnp.stack(e.path(jnp, x, list(u), p))}
    return ac.ControlProblem(
        ac.Dynamics(f, e.states, e.controls, known.params, name=known.name),
        cost,
        start=data["start"],
        end=data["end"],
        duration=duration(known),
        control_bounds=bounds(known),
        state_bounds=data.get("state_bounds"),
        **more,
    )


def mechanical(known: Known) -> ac.ControlProblem:
    """The problem about a Lagrangian, where there is one."""
    e, data = known.equations, known.data
    n = len(e.states) // 2

    def cost(t, q, v, u, p):
        return e.cost(jnp, t, jnp.concatenate([q, v]), list(u), p)

    system = ac.System(
        e.lagrangian, ac.Euclidean(n), known.params, coordinates=e.states[:n], name=known.name
    )
    return ac.ControlProblem(
        system,
        cost,
        actuated=e.actuated,
        start=(data["start"][:n], data["start"][n:]),
        end=(data["end"][:n], data["end"][n:]),
        duration=duration(known),
        control_bounds=bounds(known),
        state_bounds=data.get("state_bounds"),
    )


def duration(known: Known) -> Any:
    given = known.data["duration"]
    return tuple(given) if isinstance(given, list) else given


def bounds(known: Known) -> Any:
    given = known.data.get("control_bounds")
    return None if given is None else tuple(given)


def solve(known: Known, problem: ac.ControlProblem | None = None, **settings) -> Any:
    """The problem on the mesh, by the method and from the guess that its file says."""
    data, problem = known.data, problem or dynamics(known)
    steps, s = data["steps"], data["order"] // 2
    method = ac.Galerkin(s) if s > 1 else ac.Midpoint()
    x, _ = known.guess(np.linspace(0, 1, steps + 1))
    _, u = known.guess((np.arange(steps) + 0.5) / steps)
    q = x[:, : problem.system.space.dim]
    return ac.optimize(problem, method, steps, guess=(q, u), **settings)

"""A system of every kind, each with a start, on which two versions of accion are compared.

Only the public names of accion are used, within functions, so that a version that lacks one fails
in the cases that need it and in no other.
"""

import jax.numpy as jnp
import numpy as np

import accion as ac

GRAVITY = 9.81
SL2_BASIS = np.array([[[1, 0], [0, -1]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=float)
SPIN = np.array([0.3, -0.8, 0.5, 0.4, 0.9, -0.2])  # the first dim of them: a velocity on a group


# ---------------------------------------------------------------- free, forced, dependent on time


def chain(t, q, v, params):
    """Two pendulums, one below the other, unit masses on unit rods."""
    across, down = jnp.cumsum(v * jnp.cos(q)), jnp.cumsum(v * jnp.sin(q))
    height = -jnp.sum(jnp.cumsum(jnp.cos(q)))
    return 0.5 * jnp.sum(across**2 + down**2) - params["gravity"] * height


def drag(t, q, v, params):
    return -0.3 * v * jnp.sqrt(1 + v @ v) + 0.2 * jnp.sin(3 * t)


def double_pendulum(force=None):
    system = ac.System(chain, ac.Torus(2), {"gravity": GRAVITY}, force=force)
    return system, {"q0": [1.0, 1.5], "v0": [0.2, -0.4]}


def forced():
    return double_pendulum(drag)


def rubbed():
    return double_pendulum(ac.rayleigh(lambda t, q, v, params: 0.2 * jnp.sum(v**2) ** 1.5))


def driven():
    """L depends on time, in mass and potential, and has a term of first degree in v."""

    def lagrangian(t, q, v, params):
        growth = jnp.exp(params["gamma"] * t)
        turning = params["B"] * (q[0] * v[1] - q[1] * v[0])
        return growth * (0.5 * v @ v + turning) - growth**2 * jnp.sum(q**2) ** 2 / 4

    system = ac.System(lagrangian, ac.Euclidean(2), {"gamma": 0.3, "B": 0.7})
    return system, {"q0": [1.0, 0.2], "v0": [-0.3, 0.9], "t0": 0.4}


def two_configurations():
    system, _ = driven()
    return system, {"q0": [1.0, 0.2], "q1": [0.985, 0.245]}


def mechanical():
    """M = diag, a potential and a weight that depends on time: explicit where the method is."""
    system = ac.mechanical(
        [1.0, 2.0],
        lambda t, q, params: jnp.exp(0.3 * t) * (jnp.sum(q**2) ** 2 / 4 + 0.2 * q[0] * q[1]),
        2,
        weight=lambda t, params: jnp.exp(0.3 * t),
    )
    return system, {"q0": [1.0, 0.2], "v0": [-0.3, 0.9]}


def magnetic():
    system = ac.mechanical(
        jnp.array([[2.0, 0.3], [0.3, 1.0]]),
        lambda t, q, params: jnp.cos(q[0]) + 0.5 * q[1] ** 2,
        ac.Torus(2),
        magnetic=lambda q, params: jnp.array([-q[1], q[0] ** 2]),
        force=lambda t, q, v, params: -0.1 * v,
    )
    return system, {"q0": [0.4, 0.2], "v0": [-0.3, 0.9]}


def particles():
    def positions(t, q, params):
        return jnp.array([[jnp.sin(q[0]), -jnp.cos(q[0])], [q[1] + 0.1 * jnp.sin(t), 0.0]])

    system = ac.particles(
        positions,
        [1.0, 2.0],
        lambda t, q, params: -GRAVITY * jnp.cos(q[0]) + q[1] ** 2,
        2,
        forces=lambda t, r, u, params: -0.2 * u,
    )
    return system, {"q0": [0.7, 0.2], "v0": [0.1, -0.3]}


# ---------------------------------------------------------------- constraints


def falling(t, q, v, params):
    return 0.5 * v @ v - GRAVITY * jnp.sum(q[1::2])


def rods(t, q, params):
    first, second = q[:2], q[2:] - q[:2]
    return 0.5 * jnp.stack([first @ first - 1, second @ second - 1])


def holonomic():
    system = ac.System(falling, ac.Euclidean(4), holonomic=rods)
    a = np.array([1.0, 1.5])
    q0 = np.stack([np.cumsum(np.sin(a)), -np.cumsum(np.cos(a))], axis=1).ravel()
    return on_constraint(system, q0, [0.3, 0.1, -0.2, 0.4])


def moving_rod():
    """The length of the rod depends on time; a force acts besides."""
    system = ac.System(
        falling,
        ac.Euclidean(2),
        holonomic=lambda t, q, params: jnp.array([q @ q - (1 + 0.2 * jnp.sin(2 * t)) ** 2]),
        force=lambda t, q, v, params: -0.3 * v,
    )
    return on_constraint(system, [0.6, -0.8], [0.4, 0.3])


def skating(t, q, v, params):
    return 0.5 * (v[0] ** 2 + v[1] ** 2) + 0.25 * v[2] ** 2 + 0.2 * GRAVITY * q[0]


def edge(t, q, v, params):
    return jnp.array([v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2])])


def nonholonomic():
    system = ac.System(skating, ac.Euclidean(3), nonholonomic=edge)
    return on_constraint(system, [0.1, 0.2, 0.3], [0.5, 0.2, 0.9])


def drifting():
    """The edge slips at a given rate, but virtual displacements are as if it did not."""
    system = ac.System(
        skating,
        ac.Euclidean(3),
        nonholonomic=lambda t, q, v, params: edge(t, q, v, params) - 0.1 * jnp.cos(t),
        variational=lambda t, q, params: jnp.array([[jnp.sin(q[2]), -jnp.cos(q[2]), 0.0]]),
    )
    return on_constraint(system, [0.1, 0.2, 0.3], [0.5, 0.2, 0.9])


def both_constraints():
    """A skate whose edge does not slip on a surface z = 0.3 x y."""
    system = ac.System(
        lambda t, q, v, params: 0.5 * v @ v - GRAVITY * q[3],
        ac.Euclidean(4),
        holonomic=lambda t, q, params: jnp.array([q[3] - 0.3 * q[0] * q[1]]),
        nonholonomic=edge,
    )
    return on_constraint(system, [0.1, 0.2, 0.3, 0.006], [0.5, 0.2, 0.9, 0.1])


def vakonomic():
    system = ac.System(skating, ac.Euclidean(3), vakonomic=edge)
    q0, v0 = [0.1, 0.2, 0.3], [np.cos(0.3), np.sin(0.3), 0.7]
    return system, {"q0": q0, "v0": v0, "lam0": [0.3]}


def on_constraint(system, q0, v0):
    q0, v0 = ac.project(system, q0, v0)
    return system, {"q0": np.asarray(q0), "v0": np.asarray(v0)}


# ---------------------------------------------------------------- entropies


def thermal():
    """Everything is coupled: the mass depends on S, friction on S and q."""

    def lagrangian(t, q, v, S, params):
        mass = 1.3 * (1 + 0.2 * S + 0.3 * q[0] ** 2)
        return 0.5 * mass * v @ v - q @ q - q[0] ** 4 - 2 * jnp.exp(S / 2) * (1 + 0.1 * q[1] ** 2)

    def friction(t, q, v, S, params):
        return -params["mu"] * (1 + 0.5 * S) * (1 + q[0] ** 2) * v

    system = ac.ThermalSystem(lagrangian, ac.Euclidean(2), {"mu": 0.4}, friction=friction)
    return system, {"q0": [0.4, -0.2], "v0": [0.3, 0.8], "S0": 0.2}


def two_entropies():
    """A block on a spring rubs on a plate; heat flows between them and from outside."""

    def lagrangian(t, q, v, S, params):
        return 0.5 * v @ v - 2 * q @ q - 2 * jnp.exp(S[0] / 2) - 5 * jnp.exp(S[1] / 5)

    def friction(t, q, v, S, params):
        return -0.8 * jnp.stack([0.7 * v, 0.3 * v])

    def heat(t, q, v, S, params):
        flow = params["G"] * (jnp.exp(S[1] / 5) - jnp.exp(S[0] / 2))
        return jnp.stack([flow, -flow + 0.1 * jnp.sin(t)])

    def external(t, q, v, S, params):
        return jnp.stack([0.3 * jnp.cos(2 * t)])

    system = ac.ThermalSystem(
        lagrangian,
        ac.Euclidean(1),
        {"G": 0.6},
        friction=friction,
        external=external,
        heat=heat,
        entropies=2,
    )
    return system, {"q0": [0.5], "v0": [0.1], "S0": [0.3, 0.9]}


def warm_top():
    """A body that turns on SO(3) with friction, whose heat it keeps."""
    system = ac.ThermalSystem(
        lambda t, R, xi, S, params: 0.5 * xi @ (jnp.array([1.0, 2.0, 1.5]) * xi) - jnp.exp(S),
        ac.SO3(),
        friction=lambda t, R, xi, S, params: -0.2 * xi,
    )
    return system, {"q0": np.eye(3), "v0": SPIN[:3], "S0": 0.1}


def discrete_thermal():
    """Ld, rho_d and discrete friction, as they are written in discrete time."""

    def lagrangian(t, h, q0, q1, S0, S1, params):
        v, q, S = (q1 - q0) / h, (q0 + q1) / 2, (S0 + S1) / 2
        return h * (0.5 * v @ v - 0.5 * params["k"] * q @ q - jnp.exp(S))

    def friction(t, h, q0, q1, S0, S1, params):
        return -0.15 * (q1 - q0), -0.15 * (q1 - q0)

    def kinematic(t, h, q0, q1, S0, S1, params):
        return jnp.exp((S0 + S1) / 2) * (S1 - S0) / h - 0.3 * jnp.sum(((q1 - q0) / h) ** 2)

    system = ac.DiscreteThermalSystem(
        lagrangian, ac.Euclidean(2), {"k": 2.0}, kinematic=kinematic, friction=friction
    )
    return system, {"q0": [0.4, -0.2], "q1": [0.409, -0.176], "S0": 0.1}


# ---------------------------------------------------------------- higher derivatives


def bent(order):
    """Nonlinear, dependent on time and on all derivatives."""

    def lagrangian(t, q, *rest):
        v, top = rest[0][0], rest[-2][0]
        stiff = 0.5 * (1 + 0.3 * jnp.sin(q[0])) * top**2 + 0.2 * top * q[0] ** 2
        return stiff + 0.25 * v**4 + jnp.cos(q[0]) + 0.1 * t * v * q[0] ** 2

    derivatives = np.array([[0.7], [-0.5], [0.4], [0.9], [-0.3]])
    system = ac.HigherOrderSystem(lagrangian, ac.Euclidean(1), order=order)
    return system, {"q0": [0.3], "v0": derivatives[: 2 * order - 1]}


def curve():
    """L = a_x^2 / 2 held by y'' = cos(y) x'' - sin(y); starts in several places of it."""
    system = ac.HigherOrderSystem(
        lambda t, q, v, a, params: 0.5 * a[0] ** 2 + 0.5 * v @ v,
        ac.Euclidean(2),
        vakonomic=lambda t, q, v, a, params: jnp.array(
            [a[1] + jnp.sin(q[1]) - jnp.cos(q[1]) * a[0]]
        ),
    )

    def start(numbers, lam):
        y, dy, dx, ddx, dddx = numbers
        ddy = np.cos(y) * ddx - np.sin(y)
        dddy = np.cos(y) * dddx - np.sin(y) * dy * ddx - np.cos(y) * dy
        v0 = [[dx, dy], [ddx, ddy], [dddx, dddy]]
        return {"q0": [0.2, y], "v0": v0, "lam0": lam}

    numbers = np.random.default_rng(18).uniform(-0.6, 0.6, size=(5, 5))
    lams = np.random.default_rng(19).uniform(-0.3, 0.3, size=(5, 2, 1))
    return system, [start(row, lam) for row, lam in zip(numbers, lams, strict=True)]


def cubic_of_rotations():
    system = ac.HigherOrderSystem(
        lambda t, R, v, a, params: 0.5 * a @ a + 0.2 * v @ (jnp.array([1.0, 2.0, 3.0]) * v),
        ac.SO3(),
    )
    jets = [[0.9, -0.4, 1.2], [0.5, 2.1, -0.7], [-1.5, 0.3, 1.0]]
    return system, {"q0": np.eye(3), "v0": jets}


# ---------------------------------------------------------------- groups


def turning(t, g, xi, params):
    """A left-invariant kinetic energy, coupled, in a potential that depends on g and t."""
    dim = len(xi)
    mass = jnp.diag(jnp.arange(1.0, dim + 1)) + 0.1 * jnp.ones((dim, dim))
    return 0.5 * xi @ mass @ xi - params["pull"] * (g[0, -1] + (1 + 0.1 * t) * g[1, 1])


def on_group(space, force=None):
    system = ac.System(turning, space, {"pull": 1.3}, force=force)
    q0 = np.asarray(space.retract(space.identity(), jnp.asarray(0.5 * SPIN[: space.dim])))
    return system, {"q0": q0, "v0": SPIN[: space.dim]}


def pushed_top(retraction):
    return on_group(ac.SO3(retraction), lambda t, g, xi, params: -0.3 * xi + 0.2 * g[2])


def held_body():
    """A body in space held at a point: holonomic on SE(3)."""
    space = ac.SE3("cayley")
    at = jnp.array([0.0, 0.3, 1.0, 1.0])
    system = ac.System(
        turning, space, {"pull": 1.3}, holonomic=lambda t, g, params: (g @ at - at)[:3]
    )
    return on_constraint(system, np.eye(4), SPIN)


def skate_on_group():
    system = ac.System(
        turning, ac.SE2(), {"pull": 1.3}, nonholonomic=lambda t, g, xi, params: xi[2:]
    )
    return on_constraint(system, np.eye(3), SPIN[:3])


def product():
    space = ac.Product(ac.Euclidean(2), ac.SE3("cayley"), ac.SO2())

    def lagrangian(t, q, v, params):
        r, g, R = q
        tied = jnp.sum((r - g[:2, 3]) ** 2) + R[0, 1] * g[0, 1]
        return 0.5 * v @ (jnp.linspace(1.0, 2.0, 9) * v) - tied

    system = ac.System(lagrangian, space)
    q0 = (np.array([0.3, -0.2]), np.eye(4), np.eye(2))
    return system, {"q0": q0, "v0": np.concatenate([SPIN, -SPIN[:3]])}

"""Systems and motions that several files of tests share."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp

import accion as ac
from tests.textbook import higher as book

MID, TRAP, LEFT = ac.Midpoint(), ac.Trapezoid(), ac.LeftRectangle()


def spline(t, q, v, a, params):
    return 0.5 * jnp.sum(a**2) + 0.5 * params["s"] ** 2 * jnp.sum(v**2)


TENSION = ac.HigherOrderSystem(
    spline, ac.Euclidean(2), {"s": 1.5}, coordinates=("x [m]", "y [m]"), name="spline in tension"
)


START = np.array([[1.0, 0.2], [1.0, 2.0], [0.5, -1.0], [3.0, 1.0]])  # q and three derivatives


def bent(order):
    """A Lagrangian of this order with everything in it: nonlinear, dependent on time and on all
    derivatives.
    """

    def lagrangian(t, q, *rest):
        low, top = rest[0][0], rest[-2][0]
        return (
            0.5 * (1 + 0.3 * jnp.sin(q[0])) * top**2
            + 0.25 * low**4
            + jnp.cos(q[0])
            + 0.1 * t * low * q[0] ** 2
            + 0.2 * top * q[0] ** 2
        )

    return ac.HigherOrderSystem(lagrangian, ac.Euclidean(1), order=order, name=f"bent {order}")


BENT = {r: bent(r) for r in (1, 2, 3)}


JETS = np.array([[0.7], [-0.5], [0.4], [0.9], [-0.3]])


def order_of(error, counts):
    few, many = counts
    errors = error(few), error(many)
    return np.log(errors[0] / errors[1]) / np.log(many / few), errors[1]


@lru_cache
def marched(n, s=1.5):
    # Between 64 and 128 rows are shown by one compiled program.
    return ac.simulate(TENSION, MID, q0=START[0], v0=START[1:], h=2 / n, steps=n, params={"s": s})


def displaced(space, nodes, e):
    n = space.dim
    return [space.retract(q, e[i * n : (i + 1) * n]) for i, q in enumerate(nodes)]


def flow_defect(system, method, h, nodes):
    """(defect of F^* Omega = Omega, size of Omega): the derivative of the flow from that of the
    equations, as an implicit function.
    """
    d, space, r, n = ac.discrete(system, method), system.space, system.order, system.space.dim
    after = jax.jit(d.flow)(0.1, h, *nodes)
    EL = jax.jit(
        jax.jacfwd(lambda e: d.euler_lagrange(0.1, h, *displaced(space, [*nodes, after[-1]], e)))
    )(jnp.zeros((2 * r + 1) * n))
    A = np.zeros((2 * r * n, 2 * r * n))
    A[:-n, n:] = np.eye((2 * r - 1) * n)
    A[-n:] = -np.linalg.solve(EL[:, -n:], EL[:, :-n])
    omega = jax.jit(d.omega)
    before, later = omega(0.1, h, *nodes), omega(0.1 + h, h, *after)
    np.testing.assert_allclose(before, -np.asarray(before).T, atol=1e-9)
    return (
        np.max(np.abs(A.T @ later @ A - before)),
        float(jnp.max(jnp.abs(before))),
        abs(np.linalg.det(before)),
    )


TURNING = ac.HigherOrderSystem(
    lambda t, q, v, a, params: 0.5 * jnp.sum(a**2), ac.SO3(), name="Riemannian cubic"
)


def held(t, q, v, a, params):
    return jnp.array([a[1] + jnp.sin(q[1]) - a[0] * jnp.cos(q[1])])


CURVE = ac.HigherOrderSystem(
    lambda t, q, v, a, params: 0.5 * a[0] ** 2 + 0.1 * v[1] ** 2,
    ac.Euclidean(2),
    vakonomic=held,
    coordinates=("x", "y"),
    name="held",
)


@lru_cache
def eliminated():
    """x'' = (y'' + sin y)/cos y put into L leaves a free problem in y alone; x and the multiplier
    lam = x''/cos y follow.

    Returns (q0, v0, lam0) of the constrained problem and y with its derivatives at 0, 1/2 and 1, by
    SymPy and the free problem.
    """
    free = ac.HigherOrderSystem(
        lambda t, q, v, a, params: (
            0.5 * ((a[0] + jnp.sin(q[0])) / jnp.cos(q[0])) ** 2 + 0.1 * v[0] ** 2
        ),
        ac.Euclidean(1),
        name="eliminated",
    )
    y, jets = ac.reference(free, q0=[0.3], v0=[[0.2], [-0.4], [0.5]], ts=[0.0, 0.5, 1.0])
    Y = sp.Function("y")(book.T)
    pull = (Y.diff(book.T, 2) + sp.sin(Y)) / sp.cos(Y)
    lam = pull / sp.cos(Y)

    def number(expr):
        return book.at(expr, [Y], [[0.3], [0.2], [-0.4], [0.5]])

    v0 = np.array([[0.0, 0.2], [number(pull), -0.4], [number(pull.diff(book.T)), 0.5]])
    return np.array([0.0, 0.3]), v0, np.array([[number(lam)], [number(lam.diff(book.T))]]), y, jets


@lru_cache
def held_run():
    q0, v0, lam0, _, _ = eliminated()
    return ac.simulate(CURVE, MID, q0=q0, v0=v0, lam0=lam0, h=1 / 20, steps=20)


def run(system=TENSION, method=MID, **start):
    return lambda: ac.simulate(
        system, method, **({"q0": START[0], "v0": START[1:], "h": 0.1, "steps": 4} | start)
    )

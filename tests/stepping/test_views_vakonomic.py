"""The discrete objects of vakonomic systems, whose state has multipliers besides configurations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import accion as ac

MID, H = ac.Midpoint(), 0.1


def area(t, q, v, params):
    return jnp.array([v[2] - q[0] * v[1] + jnp.sin(q[1]) * v[0] + 0.1 * t])


def L(t, q, v, params):
    return 0.5 * (v[0] ** 2 + v[1] ** 2) - 0.3 * jnp.cos(q[0]) * q[2]


FIRST = ac.System(L, ac.Euclidean(3), vakonomic=area, name="first")
SAME = ac.HigherOrderSystem(L, ac.Euclidean(3), order=1, vakonomic=area, name="same")
SECOND = ac.HigherOrderSystem(
    lambda t, q, v, a, params: 0.5 * a[0] ** 2 + 0.1 * v[1] ** 2,
    ac.Euclidean(2),
    vakonomic=lambda t, q, v, a, params: jnp.array([jnp.cos(q[1]) * a[0] - a[1] - jnp.sin(q[1])]),
    name="second",
)
NODES = jnp.array([[0.3, 0.2, 0.1], [0.33, 0.26, 0.112]])
LONG = jnp.array([[0.3, 0.2], [0.33, 0.26], [0.35, 0.31], [0.38, 0.37]])


def kept(system, nodes, lam):
    """(defect of F^* Omega = Omega for changes of configurations and multipliers, size of
    Omega).
    """
    d, shape = ac.discrete(system, MID), nodes.shape

    def state(z):
        return z[: nodes.size].reshape(shape), z[nodes.size :].reshape(lam.shape)

    def flow(z):
        q, lam = state(z)
        after = d.flow(0.2, H, *q, lam=lam)
        return (moved := jnp.concatenate([jnp.stack(after[0]).ravel(), after[1].ravel()])), moved

    z = jnp.concatenate([nodes.ravel(), lam.ravel()])
    T, after = jax.jit(jax.jacfwd(flow, has_aux=True))(z)
    omega = jax.jit(lambda t, z: (lambda q, lam: d.omega(t, H, *q, lam=lam))(*state(z)))
    before, later = np.asarray(omega(0.2, z)), np.asarray(omega(0.2 + H, after))
    np.testing.assert_allclose(before, -before.T, atol=1e-12)
    return np.max(np.abs(T.T @ later @ T - before)), np.max(np.abs(before)), np.max(np.abs(T))


@pytest.mark.parametrize(
    ("system", "nodes", "lam"),
    [(FIRST, NODES, [0.7]), (SAME, NODES, [[0.7]]), (SECOND, LONG, [[0.7], [0.6]])],
)
def test_the_form_is_kept_by_the_flow(system, nodes, lam):
    defect, size, stretch = kept(system, nodes, jnp.array(lam))
    assert defect < 1e-14 * size * stretch**2
    with pytest.raises(ValueError, match="give lam, the multipliers of the"):
        ac.discrete(system, MID).omega(0.0, H, *nodes)


def test_the_form_is_that_of_both_ends_and_nondegenerate_on_the_constraint():
    d, n = ac.discrete(FIRST, MID), 3
    # The height at the end with which the step satisfies the constraint.
    q0, q1 = NODES[0], NODES[1].at[2].add(-H * d.Phi(0.2, H, *NODES)[0])
    assert abs(d.Phi(0.2, H, q0, q1)[0]) < 1e-15
    z = jnp.concatenate([q0, q1, jnp.array([0.7])])

    def minus(z):
        return jnp.concatenate(
            [d.legendre_minus(0.2, H, z[:n], z[n : 2 * n], z[2 * n :])[1], jnp.zeros(n + 1)]
        )

    D = np.asarray(jax.jacfwd(minus)(z))
    W = np.asarray(d.omega(0.2, H, q0, q1, [0.7]))
    allowed = scipy.linalg.null_space(
        np.append(jax.jacfwd(lambda z: d.Phi(0.2, H, z[:n], z[n:]))(z[: 2 * n]), [[0.0]], axis=1)
    )
    assert allowed.shape == (7, 6)
    np.testing.assert_allclose(allowed.T @ W @ allowed, allowed.T @ (D - D.T) @ allowed, atol=1e-12)
    assert np.linalg.svd(allowed.T @ W @ allowed, compute_uv=False)[-1] > 0.1


def test_the_equations_with_their_multipliers():
    """Of a run: the multipliers of two steps follow from three configurations, and lead to them
    again.
    """
    d = ac.discrete(FIRST, MID)
    v0 = np.array([0.3, 0.5, 0.3 * 0.5 - np.sin(0.2) * 0.3])
    run = ac.simulate(FIRST, MID, q0=NODES[0], v0=v0, lam0=[0.7], h=H, steps=4)
    lam = d.multipliers(0.0, H, *run.q[:3])
    np.testing.assert_allclose(d.euler_lagrange(0.0, H, *run.q[:3], lam=lam), 0.0, atol=1e-13)
    np.testing.assert_allclose(
        d.legendre_minus(0.0, H, *run.q[:2], lam=lam[0])[1], run.p[0], atol=1e-13
    )
    np.testing.assert_allclose(
        d.legendre_plus(0.0, H, *run.q[:2], lam=lam[0])[1], run.p[1], atol=1e-13
    )
    (_, q2), after = d.flow(0.0, H, *run.q[:2], lam=lam[0])
    np.testing.assert_allclose(q2, run.q[2], atol=1e-13)
    np.testing.assert_allclose(after, lam[1], atol=1e-11)
    np.testing.assert_allclose(
        lam[:, 0], np.interp([H / 2, 1.5 * H], run.t, run.lam[:, 0]), atol=2e-3
    )
    for call in (
        lambda: d.flow(0.0, H, *run.q[:2]),
        lambda: d.euler_lagrange(0.0, H, *run.q[:3]),
        lambda: d.legendre_plus(0.0, H, *run.q[:2]),
    ):
        with pytest.raises(
            ValueError, match=r"configurations do not determine a vakonomic motion, .* give lam"
        ):
            call()
    with pytest.raises(ValueError, match=r"lam must have shape \(2, 1\)"):
        d.euler_lagrange(0.0, H, *run.q[:3], lam=[0.7])

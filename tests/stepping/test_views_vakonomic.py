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


BODY = ac.System(
    lambda t, q, v, params: 0.5 * v @ (jnp.array([1.0, 2.0, 2.5]) * v) - q[2, 2],
    ac.SO3(),
    vakonomic=lambda t, q, v, params: jnp.array([v[2] - q[0, 0] * v[0] - 0.3]),
    name="body",
)


def canonical(space, p):
    """dq ^ dp at momenta p, on displacements of the body."""
    one = np.eye(space.dim)
    turned = [[p @ space.ad(jnp.asarray(a), jnp.asarray(b)) for b in one] for a in one]
    return np.block([[np.array(turned), one], [-one, 0 * one]])


@pytest.mark.parametrize("system", [FIRST, BODY])
def test_the_form_is_the_pullback_by_both_legendre_transforms(system):
    """M_d x R^m -> T*Q: dq ^ dp at either end, on changes that keep the constraint, is the discrete
    form there, nondegenerate; and the block matrix is that of its derivatives by q1 and h lam.
    """
    d, space, n = ac.discrete(system, MID), system.space, 3
    q0 = space.retract(space.identity(), NODES[0])
    q1, lam = space.retract(q0, jnp.array([0.03, 0.06, 0.0])), jnp.array([0.7])

    @jax.jit
    def nearer(q1):
        def left(e):
            return d.Phi(0.2, H, q0, space.retract(q1, e))[0]

        value, slope = jax.value_and_grad(left)(jnp.zeros(n))
        return space.retract(q1, jnp.zeros(n).at[2].set(-value / slope[2]))

    for _ in range(6):
        q1 = nearer(q1)

    def at(transform, node):
        def end(z):
            a, b = space.retract(q0, z[:n]), space.retract(q1, z[n : 2 * n])
            return transform(0.2, H, a, b, lam + z[2 * n :])[1]

        zero = jnp.zeros(2 * n + 1)
        moved = np.zeros((n, 2 * n + 1))
        moved[:, node * n : (node + 1) * n] = np.eye(n)
        slopes, p = jax.jit(lambda z: (jax.jacfwd(end)(z), end(z)))(zero)
        return np.concatenate([moved, slopes]), np.asarray(p)

    kept = np.asarray(d.on_constraint(0.2, H, q0, q1))
    assert kept.shape == (7, 6)
    W = np.asarray(d.omega_on_constraint(0.2, H, q0, q1, lam))
    both = [
        at(transform, node) for node, transform in enumerate((d.legendre_minus, d.legendre_plus))
    ]
    for T, p in both:
        pulled = kept.T @ T.T @ canonical(space, p) @ T @ kept
        np.testing.assert_allclose(pulled, W, atol=1e-10)
    assert np.linalg.svd(W, compute_uv=False)[-1] > 1e-2
    (T, p), (_, last) = both
    slopes = jax.jacfwd(lambda e: d.Phi(0.2, H, q0, space.retract(q1, e)))(jnp.zeros(n))
    K = np.block([[-T[n:, n : 2 * n], -T[n:, 2 * n :] / H], [np.asarray(slopes), np.zeros((1, 1))]])
    np.testing.assert_allclose(d.regularity(0.2, H, q0, q1, lam), K, atol=1e-11)
    across = jax.grad(lambda e: d.Phi(0.2, H, space.retract(q0, e), q1)[0])(jnp.zeros(n))
    np.testing.assert_allclose(K[:n, n], across, atol=1e-11)
    minus, plus = d.theta_minus(0.2, H, q0, q1, lam), d.theta_plus(0.2, H, q0, q1, lam)
    np.testing.assert_allclose(minus[0], p, atol=1e-14)
    np.testing.assert_allclose(plus[1], last, atol=1e-14)


def test_the_flow_on_a_group_keeps_the_form():
    """(q0, q1, lam) -> (q1, q2, lam) on SO(3), from differences of the flow."""
    d, space = ac.discrete(BODY, MID), BODY.space
    q0 = space.retract(space.identity(), NODES[0])
    q1, lam = space.retract(q0, jnp.array([0.03, 0.06, 0.05])), jnp.array([0.7])
    (_, q2), after = d.flow(0.2, H, q0, q1, lam)

    def moved(z):
        ends = space.retract(q0, z[:3]), space.retract(q1, z[3:6])
        (_, end), own = d.flow(0.2, H, *ends, lam + z[6:])
        return jnp.concatenate([z[3:6], space.local(q2, end), own - after])

    T = np.asarray(jax.jit(jax.jacfwd(moved))(jnp.zeros(7)))
    before, later = d.omega(0.2, H, q0, q1, lam), np.asarray(d.omega(0.2 + H, H, q1, q2, after))
    size = np.max(np.abs(T)) ** 2 * np.max(np.abs(later))
    np.testing.assert_allclose(T.T @ later @ T, before, atol=1e-13 * size)


def test_the_block_matrix_of_other_kinds():
    """Without constraints D12 Ld; held by forces [[D12 Ld, A^T], [D2 Phi, 0]]; singular where the
    form is degenerate.
    """
    free = ac.System(lambda t, q, v, p: 0.5 * v @ v + 0.1 * q[0] * v[1], ac.Euclidean(2))
    d = ac.discrete(free, MID)
    q0, q1 = jnp.array([0.1, 0.2]), jnp.array([0.15, 0.3])
    np.testing.assert_allclose(d.regularity(0.0, H, q0, q1), d.D12(0.0, H, q0, q1), atol=1e-14)
    assert d.on_constraint(0.0, H, q0, q1).shape == (4, 4)

    def kappa(t, q, v, p):
        return v[1:] - q[0] * v[:1]

    held = ac.discrete(ac.System(free.lagrangian, free.space, nonholonomic=kappa), MID)
    K = np.asarray(held.regularity(0.0, H, q0, q1))
    np.testing.assert_allclose(K[:2, :2], d.D12(0.0, H, q0, q1), atol=1e-14)
    np.testing.assert_allclose(K[:2, 2], [-q0[0], 1.0], atol=1e-14)
    middle, step = (q0 + q1)[0] / 2, (q1 - q0)[0] / H
    np.testing.assert_allclose(K[2], [-middle / H - step / 2, 1 / H, 0.0], atol=1e-12)
    light = ac.System(
        lambda t, q, v, p: 0.5 * (v[0] ** 2 - v[1] ** 2),
        free.space,
        vakonomic=lambda t, q, v, p: v[:1] - v[1:],
    )
    d, ends = ac.discrete(light, MID), (q0, q0 + 0.05)
    assert abs(np.linalg.det(d.regularity(0.0, H, *ends, [0.7]))) < 1e-10
    assert abs(np.linalg.det(d.omega_on_constraint(0.0, H, *ends, [0.7]))) < 1e-10

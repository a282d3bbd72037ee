"""Small products written out are the products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import accion as ac
from accion.numerics.products import LARGEST, written_out

CASES = {
    "vectors": ("i,i->", (3,), (3,)),
    "matrix and vector": ("ij,j->i", (3, 4), (4,)),
    "matrices": ("ij,jk->ik", (2, 3), (3, 4)),
    "outer": ("i,j->ij", (2,), (3,)),
    "batches": ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    "two sums": ("ijk,jkl->il", (2, 3, 4), (3, 4, 2)),
    "transposed": ("ji,kj->ki", (3, 2), (4, 3)),
}


def primitives(f, *arguments):
    return {eqn.primitive.name for eqn in jax.make_jaxpr(f)(*arguments).jaxpr.eqns}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_kind_of_product(case):
    subscripts, *shapes = case
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape) for shape in shapes)

    def f(a, b):
        return jnp.sin(jnp.einsum(subscripts, a, b))

    np.testing.assert_allclose(written_out(f)(a, b), f(a, b), rtol=0, atol=1e-15 * 30)
    assert not {"dot_general", "pjit", "jit"} & primitives(written_out(f), a, b)
    tangent = jax.jvp(written_out(f), (a, b), (b.sum() + a, a.sum() + b))[1]
    np.testing.assert_allclose(
        tangent, jax.jvp(f, (a, b), (b.sum() + a, a.sum() + b))[1], rtol=1e-13, atol=1e-13
    )


def test_a_large_product_is_left_alone():
    n = int(LARGEST**0.5) + 1
    A, v = jnp.ones((n, n)), jnp.ones(n)
    assert "dot_general" in primitives(written_out(lambda A, v: A @ v), A, v)


def test_loops_and_functions_with_their_own_derivatives():
    @jax.custom_jvp
    def f(x):
        return x @ x

    f.defjvp(lambda primals, tangents: (f(*primals), 7.0 * jnp.sum(tangents[0])))

    def g(x):
        return {"y": (f(x), jax.lax.fori_loop(0, 3, lambda _, y: y * 2, x))}

    x = jnp.arange(3.0)
    out = written_out(g)(x)
    np.testing.assert_array_equal(out["y"][0], 5.0)
    np.testing.assert_array_equal(out["y"][1], 8 * x)
    np.testing.assert_array_equal(jax.grad(lambda x: written_out(g)(x)["y"][0])(x), [7.0, 7.0, 7.0])


def test_the_loop_of_a_simulation_has_no_product():
    """However the Lagrangian is written."""
    M = np.array([[2.0, 0.3], [0.3, 1.0]])
    system = ac.System(
        lambda t, q, v, p: 0.5 * v @ (p["M"] @ v) - (q @ q) ** 2, ac.Euclidean(2), {"M": M}
    )
    text = jax.make_jaxpr(
        lambda q: ac.simulate(system, ac.Midpoint(), q0=q, v0=[0.0, 1.0], h=0.1, steps=3).p
    )(jnp.ones(2)).pretty_print()
    march = text[text.index("while") :]
    assert "dot_general" not in march

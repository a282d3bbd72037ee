"""Laws of the configuration spaces."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

import accion as ac

SPACES = [ac.Euclidean(3), ac.Torus(2), ac.Product(ac.Euclidean(2), ac.Torus(1))]
small = st.floats(-3.0, 3.0)


def vectors(space):
    return st.lists(small, min_size=space.dim, max_size=space.dim).map(jnp.array)


def configurations(space):
    if isinstance(space, ac.Product):
        return st.tuples(*(configurations(factor) for factor in space.factors))
    return vectors(space)


@pytest.mark.parametrize("space", SPACES, ids=str)
@given(data=st.data())
def test_local_inverts_retract(space, data):
    q, eta = data.draw(configurations(space)), data.draw(vectors(space))
    np.testing.assert_allclose(space.local(q, space.retract(q, eta)), eta, atol=1e-13)


@pytest.mark.parametrize("space", SPACES, ids=str)
@given(data=st.data())
def test_relative_is_local_of_displaced_ends_and_so_are_its_derivatives(space, data):
    q = data.draw(configurations(space))
    x, e0, e1 = (data.draw(vectors(space)) / 4 for _ in range(3))

    def direct(x, e0, e1):
        return space.local(space.retract(q, e0), space.retract(space.retract(q, x), e1))

    np.testing.assert_allclose(space.relative(x, e0, e1), direct(x, e0, e1), atol=1e-13)
    for i in range(3):
        np.testing.assert_allclose(
            jax.jacfwd(space.relative, i)(x, e0, e1), jax.jacfwd(direct, i)(x, e0, e1), atol=1e-13
        )


def test_torus_goes_the_short_way_round():
    space = ac.Torus(1)
    np.testing.assert_allclose(
        space.local(jnp.array([3.0]), jnp.array([-3.0])), [2 * np.pi - 6.0], atol=1e-14
    )
    np.testing.assert_allclose(
        space.local(jnp.array([0.1]), jnp.array([0.1 + 4 * np.pi])), [0.0], atol=1e-14
    )


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_accumulated_increments_keep_their_digits(space):
    """A hundred thousand increments of 0.1 add up with an error of one rounding, not of a hundred
    thousand.
    """

    @jax.jit
    def total(x):
        start = (space.identity(), jnp.zeros(space.dim))
        return jax.lax.fori_loop(0, 100_000, lambda _, s: space.accumulate(*s, x), start)[0]

    q = total(jnp.full(space.dim, 0.1))
    for part in jax.tree.leaves(q):
        np.testing.assert_allclose(part, 0.1 * 100_000, rtol=2.3e-16)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ac.Euclidean(0), "n >= 1"),
        (lambda: ac.Torus(2.5), "n >= 1"),
        (lambda: ac.Product(), "Product needs spaces"),
        (lambda: ac.Product(ac.Euclidean(1), 3), "Product needs spaces"),
        (lambda: ac.Euclidean(2).check([1.0]), r"shape \(2,\)"),
        (lambda: ac.Euclidean(1).check(1.0), r"brackets: q=\[1.0\]"),
        (lambda: ac.Euclidean(2).check(["a", 1]), "real numbers"),
        (lambda: ac.Euclidean(2).check([np.nan, 1]), "finite"),
        (lambda: ac.Product(ac.Euclidean(1), ac.Torus(1)).check([1.0, 2.0, 3.0]), "a tuple"),
        (
            lambda: ac.Product(ac.Euclidean(1), ac.Torus(1)).check(([1.0], [np.inf])),
            r"q\[1\] must be finite",
        ),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_product_names_and_units():
    assert ac.Product(ac.Euclidean(1), ac.Torus(1)).coordinates() == ("q1", "q2 [rad]")

"""What results are computed from, by the operations that are left."""

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.reached import reached

P = jax.ShapeDtypeStruct((2,), np.dtype(float))


def test_entries_and_their_sources():
    def f(a, b):
        return jnp.stack([a[0] * b[1], jnp.sin(a[1]), 0.0 * a[0] + 2.0])

    first, second, third = reached(f, P, P) or []
    assert first.sources == {(0, 0), (1, 1)}
    assert first.constant is None
    assert second.sources == {(0, 1)}
    assert not second.sees(1)
    assert third.constant == 2.0


def test_what_vanishes_is_not_seen():
    """The derivative of p^2/2m + V(q) by p, twice."""

    def H(q, p):
        return 0.5 * p @ p + jnp.cos(q[0]) * q[1]

    def bend(q, p, u):
        return jax.jvp(lambda p: jax.grad(H, 1)(q, p), (p,), (u,))[1]

    assert [row.sources for row in reached(bend, P, P, P) or []] == [{(2, 0)}, {(2, 1)}]
    slope = reached(lambda q: jax.grad(H, 1)(q, jnp.zeros(2)), P) or []
    assert [row.constant for row in slope] == [0.0, 0.0]


def test_through_loops_and_branches():
    def f(a, b):
        looped = jax.lax.fori_loop(0, 200, lambda i, x: x * b[0] + 1, a[0])
        chosen = jax.lax.cond(b[1] > 0, lambda: a[1], lambda: 1.0)
        return jnp.stack([looped, chosen])

    looped, chosen = reached(f, P, P) or []
    assert looped.sources == {(0, 0), (1, 0)}
    assert chosen.sources >= {(0, 1), (1, 1)}


def test_what_cannot_be_taken_apart():
    def f(a):
        return jnp.linalg.eigh(jnp.outer(a, a))[0]

    assert reached(f, P) is None

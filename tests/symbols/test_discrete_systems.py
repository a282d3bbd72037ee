"""Systems given in discrete time, in letters; and what methods make of thermal systems and of
systems of higher order: against the discrete objects that are run and closed forms.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import accion as ac

H, TIME = 0.1, 0.4


def letters(eqs, points, lam=()):
    """Numbers for the letters: `points` are the configurations around q_k, `lam` the multipliers
    {"k": ..., "k-1": ...}.
    """
    at = dict(eqs.values) | {eqs.h: H, eqs.t: TIME}
    middle = len(points) // 2
    for i, q in enumerate(points):
        entries = np.concatenate([np.ravel(part) for part in jax.tree.leaves(q)])
        at |= dict(zip(eqs.q(i - middle), map(float, entries), strict=True))
    for where, values in dict(lam).items():
        names = [str(x).removesuffix("_k") for x in eqs.lam]
        at |= {
            sp.Symbol(f"{name}_{where}"): float(x) for name, x in zip(names, values, strict=True)
        }
    return at


def values(rows, at):
    return [float(getattr(row, "lhs", row).xreplace(at)) for row in rows]


def close(found, expected):
    np.testing.assert_allclose(found, np.ravel(expected), rtol=1e-9, atol=1e-10)


# ---------------------------------------------------------------- given in discrete time


def by_hand(t, h, q0, q1, p):
    v = (q1 - q0) / h
    return h * (0.5 * p["m"] * v @ v - p["k"] * jnp.cos(q0[0]))


def test_a_discrete_lagrangian_on_paper():
    """m (q_k+1 - 2 q_k + q_k-1)/h = h k sin q_k, Stoermer's."""
    system = ac.DiscreteSystem(
        by_hand, ac.Torus(1), {"m": 2.0, "k": 0.5}, coordinates=("theta [rad]",), name="pendulum"
    )
    eqs = ac.symbolic(system)
    a, b, c, h, m, k, time = sp.symbols("theta_k-1 theta_k theta_k+1 h m k t_k")
    assert sp.expand(eqs.Ld - (m * (c - b) ** 2 / (2 * h) - h * k * sp.cos(b))) == 0
    assert sp.expand(eqs.equations[0].lhs + m * (c - 2 * b + a) / h - h * k * sp.sin(b)) == 0
    assert sp.expand(eqs.D1[0] - (m * (b - c) / h + h * k * sp.sin(b))) == 0
    assert sp.expand(eqs.D2[0] - m * (c - b) / h) == 0
    assert sp.expand(eqs.explicit[c] - (2 * b - a + h**2 * k * sp.sin(b) / m)) == 0
    assert (eqs.force_minus, eqs.force_plus, eqs.constraints, eqs.complete) == (
        (0,),
        (0,),
        (),
        True,
    )
    assert (eqs.t, eqs.h, eqs.q(), eqs.q(1), eqs.lam) == (time, h, (b,), (c,), ())
    assert eqs.values == {m: 2, k: sp.Rational(1, 2)}
    assert eqs.text().startswith("pendulum\n\ndiscrete Lagrangian\n")
    assert "θₖ₊₁" in eqs.text()
    assert r"\theta_{k+1}" in eqs.latex()
    assert "discrete constraints" not in eqs.text()


def pushed(t, h, q0, q1, p):
    """The discrete forces (Fd^-, Fd^+), of no method in particular."""
    return h * jnp.array([q1[0], t * q0[1]]), -h * p["k"] * (q1 - q0) / h


def rolling(t, h, q0, q1, p):
    return jnp.array([(q1[0] - q0[0]) / h - q0[1] * (q1[1] - q0[1]) / h + t])


def plane(**options):
    return ac.DiscreteSystem(by_hand, ac.Euclidean(2), {"m": 2.0, "k": 0.5}, **options)


SYSTEMS = {
    "free": plane(),
    "forced": plane(work=pushed),
    "constrained": plane(
        work=pushed, constraint=rolling, variational=lambda t, q, p: jnp.array([[1.0 + t, -q[1]]])
    ),
    "in the action": plane(work=pushed, constraint=rolling),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_given_in_discrete_time(name, rng):
    system = SYSTEMS[name]
    eqs, d = ac.symbolic(system), ac.discrete(system, None)
    q = [jnp.array(rng.normal(size=2)) for _ in range(3)]
    m = system.multipliers
    lam = jnp.array(rng.normal(size=(2, m)))
    at = letters(eqs, q, {"k-1": lam[0], "k": lam[1]})
    in_action = lam if system.enters_action else None
    expected = d.euler_lagrange(TIME - H, H, *q, in_action)
    if system.variational is not None:
        A = system.variational(TIME, q[1], system.params)
        expected = expected + H * A.T @ lam[1]
    close(values(eqs.equations, at), expected)
    own = in_action[1] if in_action is not None else None
    close(values([eqs.Ld], at), d.Ld(TIME, H, q[1], q[2], own))
    close(values(eqs.D1, at), d.D1(TIME, H, q[1], q[2], own))
    close(values(eqs.D2, at), d.D2(TIME, H, q[1], q[2], own))
    close(values(eqs.force_minus, at), d.force_minus(TIME, H, q[1], q[2]))
    close(values(eqs.force_plus, at), d.force_plus(TIME, H, q[1], q[2]))
    close(values(eqs.constraints, at), d.Phi(TIME, H, q[1], q[2]))
    assert len(eqs.lam) == len(eqs.constraints) == m
    assert ("discrete constraints" in eqs.text()) == bool(m)


def test_what_a_method_gives_may_be_given(rng):
    """The discrete Lagrangian of a method, given as such, has the method's equations."""
    system = ac.mechanical(
        lambda p: p["m"],
        lambda t, q, p: p["k"] * q[0] ** 4 + t * q[0],
        1,
        params={"m": 2.0, "k": 3.0},
        coordinates=("x",),
    )
    method = ac.Midpoint()

    def Ld(t, h, q0, q1, p):
        return ac.discrete(system.with_params(p), method).Ld(t, h, q0, q1)

    given = ac.DiscreteSystem(Ld, system.space, system.params, coordinates=("x",))
    left, right = ac.symbolic(given), ac.symbolic(system).discrete(method)
    assert sp.expand(left.equations[0].lhs - right.equations[0].lhs) == 0
    assert sp.expand(left.Ld - right.Ld) == 0


def spline(t, h, q0, q1, q2, p):
    a = (q2 - 2 * q1 + q0) / h**2
    return h * (0.5 * p["c"] * a @ a + t * jnp.sum(jnp.cos(q1)))


def bent(t, h, q0, q1, q2, p):
    return jnp.array([(q2[0] - q0[0]) / (2 * h) - q1[1]])


def test_five_points_of_order_two():
    """Vakonomic thesis, section 8.6: q_k+2 - 4 q_k+1 + 6 q_k - 4 q_k-1 + q_k-2 = 0."""
    system = ac.DiscreteSystem(
        lambda t, h, q0, q1, q2, p: 0.5 * h * ((q2 - 2 * q1 + q0)[0] / h**2) ** 2,
        ac.Euclidean(1),
        order=2,
        coordinates=("x",),
    )
    eqs = ac.symbolic(system)
    a, b, c, d, e, h = sp.symbols("x_k-2 x_k-1 x_k x_k+1 x_k+2 h")
    row = a - 4 * b + 6 * c - 4 * d + e
    assert sp.expand(eqs.equations[0].lhs * h**3 - row) == 0
    assert sp.expand(eqs.explicit[e] + row - e) == 0


@pytest.mark.parametrize("constraint", [None, bent], ids=["free", "constrained"])
def test_order_two(constraint, rng):
    system = ac.DiscreteSystem(spline, ac.Euclidean(2), {"c": 1.5}, order=2, constraint=constraint)
    eqs, d = ac.symbolic(system), ac.discrete(system, None)
    q = [jnp.array(rng.normal(size=2)) for _ in range(5)]
    m = system.multipliers
    lam = jnp.array(rng.normal(size=(3, m)))
    at = letters(eqs, q, zip(("k-2", "k-1", "k"), lam, strict=True))
    expected = d.euler_lagrange(TIME - 2 * H, H, *q, lam=lam if m else None)
    close(values(eqs.equations, at), expected)
    if m:
        close(values(eqs.constraints, at), system.c(TIME, H, q[2:]))


def moser_veselov(t, h, R0, R1, p):
    return jnp.trace(R0 @ jnp.diag(p["J"]) @ R1.T) / h


def test_moser_veselovs_rigid_body(rng):
    """In the entries of rotations; the operator is that which is run, and M = W^T J - J W is kept
    where it is zero.
    """
    system = ac.DiscreteSystem(moser_veselov, ac.SO3(), {"J": jnp.array([1.0, 2.0, 3.0])})
    eqs, d = ac.symbolic(system), ac.discrete(system, None)
    space = system.space
    q = [space.retract(space.identity(), jnp.array(rng.normal(size=3))) for _ in range(3)]
    at = letters(eqs, q)
    close(values(eqs.equations, at), d.euler_lagrange(TIME - H, H, *q))
    close(values([eqs.Ld], at), d.Ld(TIME, H, q[1], q[2]))
    close(values(eqs.D2, at), d.D2(TIME, H, q[1], q[2]))
    J, (a, b, c) = sp.diag(1, 2, 3), (sp.Matrix(np.asarray(x)) for x in q)
    # d/de tr(R J R'^T) at R_k along R_k hat(e): the axial vector of R_k^T (R_k-1 + R_k+1) J.
    W = b.T * (a + c) * J
    axial = [W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]
    close(values(eqs.equations, at), [float(x) / H for x in axial])
    with pytest.raises(ValueError, match=r"discrete system lives on SO3.*flat spaces"):
        _ = eqs.explicit
    assert "R_11_k+1" in map(str, eqs.q(1))


def test_a_parameter_named_like_an_entry_of_a_matrix():
    def Ld(t, h, R0, R1, p):
        return p["R_11"] * p["R_12_k"] * R0[0, 0] * R1[0, 1]

    system = ac.DiscreteSystem(Ld, ac.SO2(), {"R_11": 2.0, "R_12_k": 3.0})
    eqs = ac.symbolic(system)
    assert {s.name for s in eqs.values} == {"params_R_11", "params_R_12_k"}
    assert len(eqs.Ld.free_symbols) == 4


# ---------------------------------------------------------------- thermal


def gas(t, q, v, S, p):
    return 0.5 * p["m"] * v @ v - 0.5 * p["k"] * q @ q - p["c"] * jnp.exp(S / p["c"]) * (1 + q[0])


def thermal(**options):
    return ac.ThermalSystem(
        gas,
        ac.Euclidean(1),
        {"m": 1.5, "k": 2.0, "c": 3.0},
        friction=lambda t, q, v, S, p: -0.3 * v * S,
        external=lambda t, q, v, S, p: jnp.array([jnp.cos(t)]),
        heat=lambda t, q, v, S, p: 0.1 * t,
        coordinates=("x [m]",),
        **options,
    )


@pytest.mark.parametrize("method", [ac.Midpoint(), ac.Trapezoid(), ac.LeftRectangle()], ids=str)
def test_discrete_equations_of_a_thermal_system(method, rng):
    system = thermal(name="gas")
    eqs, d = ac.symbolic(system).discrete(method), ac.discrete(system, method)
    q, S = jnp.array(rng.normal(size=(3, 1))), jnp.array(rng.uniform(1, 2, 3))
    at = letters(eqs, list(zip(q, S, strict=True)))
    close(values(eqs.equations, at), d.euler_lagrange(TIME - H, H, *q, *S))
    close(values(eqs.constraints, at), d.rho(TIME, H, *q[1:], *S[1:]))
    close(values([eqs.Ld], at), d.Ld(TIME, H, *q[1:], *S[1:]))
    close(values(eqs.force_minus, at), d.force_minus(TIME, H, *q[1:], *S[1:]))
    close(values(eqs.force_plus, at), d.force_plus(TIME, H, *q[1:], *S[1:]))
    assert eqs.text().startswith(f"gas, {method}\n")
    assert "discrete entropy balance" in eqs.text()
    if method == ac.Midpoint():
        with pytest.raises(ValueError, match="is implicit: its equations are not linear in x_k"):
            _ = eqs.explicit


def test_the_balance_of_the_energy_is_not_written():
    with pytest.raises(ValueError, match=r"EnergyConsistent .* try Midpoint\(\)"):
        ac.symbolic(thermal()).discrete(ac.EnergyConsistent(ac.Midpoint()))


def test_thermal_systems_given_in_discrete_time(rng):
    """Two bodies on a group's circle, with friction and an external force."""

    def Ld(t, h, R0, R1, S0, S1, p):
        return (R0[0, 0] * R1[0, 0] + R0[1, 0] * R1[1, 0]) / h - h * jnp.sum(jnp.exp(S0 * p["c"]))

    def rho(t, h, R0, R1, S0, S1, p):
        return (S1 - S0) / h * p["c"] - R1[0, 1] * jnp.array([1.0, t])

    system = ac.DiscreteThermalSystem(
        Ld,
        ac.SO2(),
        {"c": 0.7},
        kinematic=rho,
        friction=lambda t, h, R0, R1, S0, S1, p: (S0[:1] * R1[0, 1], S1[1:] * R0[0, 0]),
        external=lambda t, h, R0, R1, S0, S1, p: (jnp.array([t]), jnp.array([h])),
        entropies=2,
    )
    eqs, d = ac.symbolic(system), ac.discrete(system, None)
    q = [ac.SO2().retract(jnp.eye(2), jnp.array([x])) for x in rng.normal(size=3)]
    S = jnp.array(rng.normal(size=(3, 2)))
    at = letters(eqs, list(zip(q, S, strict=True)))
    close(values(eqs.equations, at), d.euler_lagrange(TIME - H, H, *q, *S))
    close(values(eqs.constraints, at), d.rho(TIME, H, *q[1:], *S[1:]))
    assert "discrete entropy balance" in eqs.text()


# ---------------------------------------------------------------- higher order


@pytest.mark.parametrize("method", [ac.Midpoint(), ac.Trapezoid()], ids=str)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_discrete_equations_of_higher_order(order, method, rng):
    def L(t, q, *rest):
        *jets, p = rest
        return sum(p["c"] * jet @ jet for jet in jets) + t * jnp.cos(q[0]) * jets[-1][1]

    def Phi(t, q, *rest):
        return jnp.array([rest[0][0] - q[1] * rest[0][1]])

    system = ac.HigherOrderSystem(L, ac.Euclidean(2), {"c": 1.5}, order=order, vakonomic=Phi)
    eqs, d = ac.symbolic(system).discrete(method), ac.discrete(system, method)
    q = [jnp.array(rng.normal(size=2)) for _ in range(2 * order + 1)]
    lam = jnp.array(rng.normal(size=(order + 1, 1)))
    names = [f"k{i:+d}" if i else "k" for i in range(-order, 1)]
    at = letters(eqs, q, zip(names, lam, strict=True))
    close(values(eqs.equations, at), d.euler_lagrange(TIME - order * H, H, *q, lam=lam))


# ---------------------------------------------------------------- what cannot be written


def test_what_cannot_be_written():
    class Other:
        """Not a system."""

    with pytest.raises(ValueError, match=r"must be a System; got .*Other"):
        ac.symbolic(Other())
    group = ac.MatrixGroup([[[0.0, 1.0], [1.0, 0.0]]])
    boost = ac.System(lambda t, q, v, p: 0.5 * v @ v, group)
    with pytest.raises(ValueError, match="is no formula of letters; try retraction='cayley'"):
        ac.symbolic(boost).discrete(ac.Midpoint())
    with pytest.raises(ValueError, match="must be a method, such as"):
        ac.symbolic(ac.mechanical(1.0, lambda t, q, p: q[0] ** 2, 1)).discrete(ac.Midpoint)

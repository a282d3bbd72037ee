"""Vakonomic thesis, chapters 2 to 4 and 6: forms, constraints, vakonomic mechanics, the maximum
principle.
"""

import sympy as sp

from tests.errata.forms import agree, derivative, differ, function, same, symbols, t


def exterior(form, x):
    """The matrix of d(form) for a 1-form with the coefficients `form` in the coordinates x."""
    return sp.Matrix(len(x), len(x), lambda i, j: sp.diff(form[j], x[i]) - sp.diff(form[i], x[j]))


def wedge(i, j, size):
    """The matrix of dx^i ^ dx^j."""
    out = sp.zeros(size, size)
    out[i, j] += 1
    out[j, i] -= 1
    return out


def euler_lagrange(L, q):
    return derivative(L, q.diff(t)).diff(t) - derivative(L, q)


def test_004_sec_2_1_1_canonical_form_is_minus_d_theta():
    """omega_Q = dq ^ dp = -d(p dq); printed +.

    With dq ^ dp, i_X omega = dH are Hamilton's equations of 2.1.2, and with d(p dq) their reverse.
    """
    q1, q2, p1, p2 = x = symbols("q1 q2 p1 p2")
    omega = wedge(0, 2, 4) + wedge(1, 3, 4)
    d_theta = exterior((p1, p2, 0, 0), x)
    assert omega == -d_theta
    assert omega != d_theta
    H = q1**2 * p2 + p1**3 * q2
    field = sp.Matrix([H.diff(p1), H.diff(p2), -H.diff(q1), -H.diff(q2)])
    dH = sp.Matrix([H.diff(z) for z in x])
    assert (omega.T * field).expand() == dH.expand()
    assert (d_theta.T * field).expand() == -dH.expand()


def lagrangian_on_the_plane():
    q, v = symbols("q1 q2"), symbols("v1 v2")
    return q, v, (1 + q[1] ** 2) * v[0] ** 2 / 2 + q[0] * q[1] ** 2 * v[0] * v[1] + v[1] ** 3 * q[0]


def test_004_sec_2_2_4_lagrangian_form_in_coordinates():
    """What is printed for Omega_L = -d Theta_L, and its matrix (2.3), is +d Theta_L; FL* omega_Q is
    -d Theta_L.
    """
    q, v, L = lagrangian_on_the_plane()
    x, p = (*q, *v), [L.diff(w) for w in v]
    printed = sp.zeros(4, 4)
    for i in range(2):
        for j in range(2):
            printed += p[j].diff(q[i]) * wedge(i, j, 4) + p[j].diff(v[i]) * wedge(2 + i, j, 4)
    d_theta = exterior((*p, 0, 0), x)
    assert (printed - d_theta).expand() == sp.zeros(4, 4)
    assert (printed + d_theta).expand() != sp.zeros(4, 4)
    W = sp.hessian(L, v)
    assert (printed[2:, :2] - W).expand() == sp.zeros(2, 2)  # the lower left of (2.3)
    legendre = sp.Matrix([*q, *p]).jacobian(x)
    pulled = legendre.T * (wedge(0, 2, 4) + wedge(1, 3, 4)) * legendre
    assert (pulled + d_theta).expand() == sp.zeros(4, 4)


def test_004_sec_2_2_4_legendre_map_moves_the_velocity():
    """<FL(q, v), w> = d/ds L(q, v + s w) at s = 0; printed d/dt L(q + t v), which is dL/dq . v."""
    q, v, L = lagrangian_on_the_plane()
    w, s = symbols("w1 w2"), symbols("s")

    def along(shift):
        return L.subs(shift, simultaneous=True).diff(s).subs(s, 0)

    momenta = sum(L.diff(v[i]) * w[i] for i in range(2))
    printed = along({q[i]: q[i] + s * v[i] for i in range(2)})
    assert same(along({v[i]: v[i] + s * w[i] for i in range(2)}), momenta)
    assert differ(printed, momenta)
    assert not printed.has(*w)


def on_distribution(expr, s, slope):
    """`expr` where s' = slope."""
    return expr.doit().xreplace({s.diff(t, 2): slope.diff(t)}).doit().xreplace({s.diff(t): slope})


def chapter_3(L, A, r, s, horizontal):
    """Left minus right of the printed equations, d omega taken on the horizontal lift of d/dr^alpha
    or on itself.
    """
    rates = [x.diff(t) for x in r]
    slope = -sum(a * v for a, v in zip(A, rates, strict=True))
    L_D = L.xreplace({s.diff(t): slope})
    x = (*symbols("x0 x1"), symbols("y"))
    named = dict(zip((*r, s), x, strict=True))
    back = {value: key for key, value in named.items()}
    d_omega = exterior([*(a.xreplace(named) for a in A), sp.Integer(1)], x).xreplace(back)
    velocity = sp.Matrix([*rates, slope])
    found = []
    for alpha, q in enumerate(r):
        lift = sp.zeros(3, 1)
        lift[alpha], lift[2] = 1, -A[alpha] if horizontal else 0
        curvature = (velocity.T * d_omega * lift)[0]
        left = (
            derivative(L_D, q.diff(t)).diff(t) - derivative(L_D, q) + A[alpha] * derivative(L_D, s)
        )
        found.append(on_distribution(left + derivative(L, s.diff(t)) * curvature, s, slope))
    return found


def test_004_ch_3_printed_equation_is_the_nonholonomic_one():
    """It is EL_r - A EL_s on the constraint, with d omega on the horizontal lift, not what the
    variation of int L_D gives, and not vakonomic.
    """
    r1, r2, s, lam = function("r1"), function("r2"), function("s"), function("lambda")
    v1, v2, w = r1.diff(t), r2.diff(t), s.diff(t)
    L, A = (
        (1 + s**2) * (v1**2 + v2**2) / 2 + w**2 / 2 + r1 * v2 * s * w - r1**2 * r2 * s,
        [
            s * r2,
            r1**2 + s,
        ],
    )
    slope = -A[0] * v1 - A[1] * v2
    lagrange_dalembert = [
        on_distribution(euler_lagrange(L, q) - a * euler_lagrange(L, s), s, slope)
        for q, a in zip((r1, r2), A, strict=True)
    ]
    for alpha in range(2):
        assert agree(
            chapter_3(L, A, (r1, r2), s, horizontal=True)[alpha], lagrange_dalembert[alpha]
        )
        assert differ(
            chapter_3(L, A, (r1, r2), s, horizontal=False)[alpha], lagrange_dalembert[alpha]
        )
    # Heisenberg: s' = r1 r2'.
    heisenberg = (v1**2 + v2**2 + w**2) / 2
    printed = chapter_3(heisenberg, [sp.Integer(0), -r1], (r1, r2), s, horizontal=True)[0]
    L_D = heisenberg.xreplace({w: r1 * v2})
    assert same(printed, r1.diff(t, 2))
    assert same(euler_lagrange(L_D, r1), r1.diff(t, 2) - r1 * v2**2)
    extended = heisenberg + lam * (w - r1 * v2)
    assert same(euler_lagrange(extended, s), (w + lam).diff(t))  # so lam = c - s'
    c = symbols("c")
    vakonomic = euler_lagrange(extended, r1).xreplace({lam: c - w}).xreplace({w: r1 * v2})
    assert same(vakonomic, r1.diff(t, 2) - (r1 * v2 - c) * v2)
    assert same(vakonomic.subs(c, 0), euler_lagrange(L_D, r1))
    assert differ(vakonomic, printed)


def test_004_ch_3_extended_lagrangian_adds_the_constraint():
    """L + lam omega_i q'^i, whose equations carry -lam' omega_i - lam (d omega_i/dt - d
    omega_j/dq^i q'^j); printed L = lam omega_i q^i.
    """
    q = (function("x"), function("y"))
    lam = function("lambda")
    v, omega = [x.diff(t) for x in q], [q[0] * q[1] ** 2, q[0] + sp.sin(q[1])]
    L = (v[0] ** 2 + q[0] * v[1] ** 2) / 2 - q[0] ** 2 * q[1]
    constraint = sum(w * x for w, x in zip(omega, v, strict=True))
    extended = L + lam * constraint
    printed = lam * sum(w * x for w, x in zip(omega, q, strict=True))
    assert same(derivative(extended, lam), constraint)
    assert differ(derivative(printed, lam), constraint)
    for i in range(2):
        turned = sum(derivative(omega[j], q[i]) * v[j] for j in range(2))
        right = -lam.diff(t) * omega[i] - lam * (omega[i].diff(t) - turned)
        printed_right = (
            -lam.diff(t) * omega[i]
            - lam * omega[i].diff(t)
            - derivative(omega[i], q[i]) * omega[i] * v[i]
        )
        assert same(euler_lagrange(extended, q[i]), euler_lagrange(L, q[i]) - right)
        assert differ(euler_lagrange(extended, q[i]), euler_lagrange(L, q[i]) - printed_right)


def test_004_eq_4_4_sign_of_the_right_side():
    """On solutions of (4.2), with lam = dL/dq' - mu and Phi = Psi - q', (4.4) holds with a minus
    sign on its right side, or with -lam.
    """
    q1, q2, v1, v2, a2, mu = symbols("q1 q2 v1 v2 a2 mu")  # alpha = 1, a = 2
    L = v1**2 * (1 + q2) / 2 + v2**2 * (2 + q1) / 2 + v1 * v2 * q1 / 3 - q1**2 * q2
    Psi = q1 * v2**2 + q2 * v2 + q1 * q2
    L_M = L.subs(v1, Psi)
    rates = {q1: Psi, q2: v2, v2: a2, mu: L_M.diff(q1) - mu * Psi.diff(q1)}

    def rate(f):
        return sum(f.diff(x) * dx for x, dx in rates.items())

    balance = (
        rate(L_M.diff(v2))
        - L_M.diff(q2)
        - mu * (rate(Psi.diff(v2)) - Psi.diff(q2))
        - rates[mu] * Psi.diff(v2)
    )
    motion = {a2: sp.solve(balance, a2)[0]}
    Phi, lam = Psi - v1, L.diff(v1).subs(v1, Psi) - mu
    for x, v in ((q1, v1), (q2, v2)):
        left = rate(L.diff(v).subs(v1, Psi)) - L.diff(x).subs(v1, Psi)
        right = rate(lam) * Phi.diff(v) + lam * (rate(Phi.diff(v)) - Phi.diff(x))
        assert agree(left.subs(motion), -right.subs(motion))
        assert differ(left.subs(motion), right.subs(motion))


def test_004_obs_4_1_3_one_multiplier_for_each_constraint():
    """L_phi lives on T(Q x R^m).

    On T(Q x R^n) there are n - m multipliers about which the equations say nothing.
    """
    q, lam = [function(f"q{i}") for i in range(3)], [function(f"lambda{i}") for i in range(3)]
    n, constraints = 3, [q[0].diff(t) - q[1] * q[2].diff(t)]
    m = len(constraints)
    L_phi = sum(x.diff(t) ** 2 for x in q) / 2 + sum(
        a * b for a, b in zip(lam[:m], constraints, strict=True)
    )
    equations = [euler_lagrange(L_phi, x) for x in (*q, *lam)]
    assert sum(equation != 0 for equation in equations) == n + m
    assert equations[n + m :] == [0] * (n - m)


def test_004_thm_6_2_1_derivative_of_the_hamiltonian_by_q():
    """dH/dq = -dL/dq + (p - dL/dq') dphi/dq = -(dL/dq + lam dPhi/dq); printed with dphi/dp, and
    with dL/dq' in place of dL/dq.
    """
    q, v, p = symbols("q1 q2"), symbols("v1 v2"), symbols("p1 p2")
    lam = symbols("lambda")
    L, Phi = (v[0] ** 2 + v[1] ** 2) / 2 - q[0] ** 2 * q[1], v[0] - q[1] ** 2 * v[1] - q[0]
    found = sp.solve(
        [p[i] - (L + lam * Phi).diff(v[i]) for i in range(2)] + [Phi], [*v, lam], dict=True
    )[0]
    phi = [found[x] for x in v]

    def at(expr):
        return expr.subs(found, simultaneous=True)

    H = sum(p[i] * phi[i] for i in range(2)) - at(L)
    gap = [p[i] - at(L.diff(v[i])) for i in range(2)]
    for i in range(2):
        assert same(H.diff(p[i]), phi[i])
        assert same(H.diff(q[i]), -at((L + lam * Phi).diff(q[i])))
        assert same(
            H.diff(q[i]), -at(L.diff(q[i])) + sum(gap[j] * phi[j].diff(q[i]) for j in range(2))
        )
        assert differ(
            H.diff(q[i]), -at(L.diff(q[i])) + sum(gap[j] * phi[j].diff(p[i]) for j in range(2))
        )
        assert differ(H.diff(q[i]), -at(L.diff(v[i]) + lam * Phi.diff(q[i])))

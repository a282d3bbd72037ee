"""The practical limit for two links: the discrete equations written out as scalars by SymPy and
compiled by numba.
"""

import numba
import numpy as np
import sympy as sp
from chain import GRAVITY, H, start

ITERATIONS = 25
EPS = float(np.finfo(float).eps)
QUADRATIC = EPS**0.5


def equations():
    """The momentum balance r = p + D1 Ld, its Jacobian dr/dx by rows, and D2 Ld, as compiled
    functions of scalars.
    """
    q, p, x, at, v = (sp.Matrix(sp.symbols(f"{letter}a {letter}b")) for letter in "qpxsv")
    across = [v[0] * sp.cos(at[0]), v[0] * sp.cos(at[0]) + v[1] * sp.cos(at[1])]
    down = [v[0] * sp.sin(at[0]), v[0] * sp.sin(at[0]) + v[1] * sp.sin(at[1])]
    T = sum(c**2 for c in across + down) / 2
    L = sp.trigsimp(sp.expand(T)) + GRAVITY * (2 * sp.cos(at[0]) + sp.cos(at[1]))
    middle = {**dict(zip(at, q + x / 2, strict=True)), **dict(zip(v, x / H, strict=True))}
    dL_dq, dL_dv = (sp.Matrix([L.diff(c) for c in letter]).subs(middle) for letter in (at, v))
    r = p + H / 2 * dL_dq - dL_dv
    balance = sp.lambdify((*q, *p, *x), (*r, *r.jacobian(x)), modules="math", cse=True)
    momentum = sp.lambdify((*q, *x), tuple(H / 2 * dL_dq + dL_dv), modules="math", cse=True)
    compiled = numba.njit(error_model="numpy")
    return compiled(balance), compiled(momentum)


def stepper():
    """The function (q, p, x, steps) -> (q, p), shapes (steps + 1, 2), x being the increment before:
    the stopping rule and the guess are those of accion.
    """
    balance, momentum = equations()

    @numba.njit
    def small(dx, x, scale):
        return abs(dx) <= QUADRATIC * abs(x) or abs(dx) <= EPS * scale

    @numba.njit(error_model="numpy")
    def march(q, p, x, steps):
        qs, ps = np.empty((steps + 1, 2)), np.empty((steps + 1, 2))
        qs[0], ps[0] = q, p
        (qa, qb), (pa, pb), (last_a, last_b) = (q[0], q[1]), (p[0], p[1]), (x[0], x[1])
        guess_a, guess_b = last_a, last_b
        scale_a, scale_b = abs(qa), abs(qb)
        for k in range(1, steps + 1):
            xa, xb = guess_a, guess_b
            for _ in range(ITERATIONS):
                ra, rb, Jaa, Jab, Jba, Jbb = balance(qa, qb, pa, pb, xa, xb)
                det = Jaa * Jbb - Jab * Jba
                da, db = (Jbb * ra - Jab * rb) / det, (Jaa * rb - Jba * ra) / det
                xa, xb = xa - da, xb - db
                if small(da, xa, scale_a) and small(db, xb, scale_b):
                    break
            pa, pb = momentum(qa, qb, xa, xb)
            qa, qb = qa + xa, qb + xb
            guess_a, guess_b = 2 * xa - last_a, 2 * xb - last_b
            last_a, last_b = xa, xb
            scale_a, scale_b = max(scale_a, abs(qa)), max(scale_b, abs(qb))
            qs[k, 0], qs[k, 1], ps[k, 0], ps[k, 1] = qa, qb, pa, pb
        return qs, ps

    return march


def limit():
    """The function (steps) -> (q, p) from the chain's start."""
    march = stepper()
    q0, v0 = start(2)
    # At rest, so p0 = 0.
    return lambda steps: march(q0, np.zeros(2), H * v0, steps)


def limit_of_many():
    """The function (q0, steps) -> q, shape (members, 2): where many chains at rest are after so
    many steps, on all cores that numba has.
    """
    march = stepper()

    @numba.njit(parallel=True)
    def last(q0, steps):
        q = np.empty_like(q0)
        for i in numba.prange(len(q0)):
            q[i] = march(q0[i], np.zeros(2), np.zeros(2), steps)[0][steps]
        return q

    return last

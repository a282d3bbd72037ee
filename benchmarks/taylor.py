"""heyoka's Taylor series for the systems of work_precision.py, from equations or from a
Lagrangian.
"""

import heyoka as hy
import sympy as sp

import accion as ac


def variables(n, letter):
    found = hy.make_vars(*(f"{letter}{i}" for i in range(n)))
    return list(found) if n > 1 else [found]


def first_order(field, n):
    """Pairs (variable, its derivative) from a function of `fields`."""
    y = variables(n, "y")
    return list(zip(y, field(hy)(y), strict=True))


def lagrangian_chain(n, gravity):
    """Pairs for n unit masses on unit rods, from their Lagrangian."""
    q, v = variables(n, "q"), variables(n, "v")
    across = down = depth = hy.expression(0.0)
    L = hy.expression(0.0)
    for angle, rate in zip(q, v, strict=True):
        across, down = across + rate * hy.cos(angle), down + rate * hy.sin(angle)
        depth = depth + hy.cos(angle)
        L = L + 0.5 * (across**2 + down**2) + gravity * depth
    return hy.lagrangian(L, q, v)


def eliminated(matrix, right):
    """The solution of a symmetric system of expressions; no pivots are looked for."""
    n = len(right)
    A, b = [list(row) for row in matrix], list(right)
    zero = hy.expression(0.0)
    for k in range(n):
        for i in range(k + 1, n):
            if A[i][k] != zero:
                factor = A[i][k] / A[k][k]
                for j in range(k + 1, n):
                    if A[k][j] != zero:
                        A[i][j] = A[i][j] - factor * A[k][j]
                b[i] = b[i] - factor * b[k]
    x = [zero] * n
    for k in reversed(range(n)):
        rest = [A[k][j] * x[j] for j in range(k + 1, n) if A[k][j] != zero]
        x[k] = (b[k] - hy.sum(rest) if rest else b[k]) / A[k][k]
    return x


def constrained(system):
    """Pairs for a `System` with constraints phi(q) = 0, from its own symbols.

    [[M, A^T], [A, 0]] (a, -lam) = (dL/dq - d/dq (dL/dv) v, -d/dq (A v) v), A = dphi/dq.
    """
    eqs = ac.symbolic(system)
    n = len(eqs.q)
    q, v = (sp.symbols([f"{letter}{i}" for i in range(n)]) for letter in "qv")
    names = dict(zip((*eqs.v, *eqs.q), (*v, *q), strict=True))
    numbers = {letter: sp.Float(float(value), 17) for letter, value in eqs.values.items()}

    def written(expression):
        # Velocities first: q stands in them.
        for old, new in names.items():
            expression = expression.subs(old, new)
        return expression.subs(numbers)

    L, phi = written(eqs.L), sp.Matrix([written(row.lhs) for row in eqs.constraints])
    q, v = sp.Matrix(q), sp.Matrix(v)
    A, momenta = phi.jacobian(q), sp.Matrix([L]).jacobian(v).T
    above = sp.Matrix([L]).jacobian(q).T - momenta.jacobian(q) * v
    below = -(A * v).jacobian(q) * v
    matrix = sp.Matrix(sp.BlockMatrix([[momenta.jacobian(v), A.T], [A, sp.zeros(len(phi))]]))
    rows = [[hy.from_sympy(entry) for entry in matrix.row(i)] for i in range(n + len(phi))]
    a = eliminated(rows, [hy.from_sympy(entry) for entry in (*above, *below)])[:n]
    names = [hy.expression(str(letter)) for letter in (*q, *v)]
    return list(zip(names, [*names[n:], *a], strict=True))

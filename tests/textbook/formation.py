"""Formations of the gallery, typed from paper (Colombo-Gamonal, eq 36 and 38).

e^{kappa t} (q_i'' + kappa q_i' + sum over neighbours of (|q_i - q_j|^2 - d_ij^2) (q_i - q_j)) = 0.
"""

import sympy as sp

from tests.textbook.groups import Page

t, kappa = sp.symbols("t kappa")
PYRAMID = [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
SQUARE = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3)]


def page(agents, edges, letters):
    q = {i: [sp.Function(f"{letter}{i}")(t) for letter in letters] for i in range(1, agents + 1)}
    rows = {
        (i, a): x.diff(t, 2) + kappa * x.diff(t)
        for i, axes in q.items()
        for a, x in enumerate(axes)
    }
    for w, (i, j) in enumerate(edges):
        z = [x - y for x, y in zip(q[i], q[j], strict=True)]
        gamma = sum(c**2 for c in z) - sp.Symbol(f"d_{w + 1}") ** 2
        for a, c in enumerate(z):
            rows[i, a] += gamma * c
            rows[j, a] -= gamma * c
    return Page([sp.exp(kappa * t) * row for row in rows.values()])


FORMATION_PAGES = {
    "pyramid": lambda: page(4, PYRAMID, "xyz"),
    "square_formation": lambda: page(4, SQUARE, "xy"),
}

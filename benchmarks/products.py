"""A Lagrangian with products of small matrices, as people write it, with them written out (as
`simulate` does it) and left to XLA.

python benchmarks/products.py
"""

from unittest.mock import patch

import jax
import numpy as np
from timing import progress, ratio, sample, spread, timed

import accion as ac

STEPS, ROUNDS = 5_000, 5
M = np.diag(np.arange(1.0, 7.0)) + 0.1
X = np.array([0.0, 0.3, 1.0])


def lagrangian(t, g, xi, params):
    return 0.5 * xi @ (params["M"] @ xi) - (g[:3, :3] @ params["X"])[2]


def flat_lagrangian(t, q, v, params):
    return 0.5 * v @ (params["M"] @ v) - q @ (params["M"] @ q) * (q @ q)


SYSTEMS = {
    "R^6": (ac.Euclidean(6), flat_lagrangian),
    "SE(3), cayley": (ac.SE3("cayley"), lagrangian),
}


def run(space, L):
    system = ac.System(L, space, {"M": M, "X": X})
    start = {
        "q0": space.identity(),
        "v0": np.linspace(0.1, 0.5, 6),
        "h": 0.01,
        "steps": STEPS,
        "save_every": STEPS,
    }
    return timed(lambda: ac.simulate(system, ac.Midpoint(), **start).p)


def main():
    print("| space | written out [us/step] | left to XLA | ratio |\n| --- | --- | --- | --- |")
    for name, (space, L) in SYSTEMS.items():
        ours = run(space, L)
        ours()
        jax.clear_caches()
        # Two functions, so that each is compiled for itself.
        with patch("accion.stepping.variational.written_out", lambda f: f):
            plain = run(space, lambda *z, L=L: L(*z))
            plain()
        ours()
        times = [(sample(ours, STEPS), sample(plain, STEPS)) for _ in progress(range(ROUNDS), name)]
        a, b = zip(*times, strict=True)
        print(f"| {name} | {spread(a)} | {spread(b)} | {ratio(b, a):.1f} |")


if __name__ == "__main__":
    main()

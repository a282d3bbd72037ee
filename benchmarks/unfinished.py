"""What sweeps of `Galerkin(8)` that end early do to the energy of Kepler's motion: the step as
accion makes it, in long doubles, where rounding does not hide it.

    python benchmarks/unfinished.py [--steps 1e5] [--left 58 61 64 80]

`--left k` ends the sweeps of a step where the next would change the stages by less than 2^-k of
them. NumPy's long doubles must have more digits than doubles; 10^5 steps take a minute and more.
"""

import argparse
import math

import numpy as np

from accion.methods.polynomials import stages
from accion.stepping.collocated import NEARLY, SWEEPS, continued

LONG = np.longdouble
S, H, E = 8, LONG(2 * math.pi / 40.618), 0.5


def pull(q):
    square = np.sum(q * q, axis=-1)
    return -q / (square * np.sqrt(square))[:, None]


def energy(q, p):
    return np.sum(p * p) / 2 - 1 / np.sqrt(np.sum(q * q))


def swept(q, p, G, left, b, places, twice):
    """The impulses of a step, from a guess of them, and the number of sweeps."""
    before = LONG(np.inf)
    for i in range(1, SWEEPS):
        new = H * b[:, None] * pull(q + H * (places[:, None] * p + twice @ G))
        change = np.sum(((new - G) / b[:, None]) ** 2)
        now = np.sqrt(change / (S * np.sum(p * p) + np.sum((new / b[:, None]) ** 2)))
        G, shrunk = new, np.minimum(now / before, 1) if np.isfinite(before) else LONG(1)
        if now * shrunk <= left or (now >= before and now <= NEARLY):
            return G, i
        before = now
    raise RuntimeError("the sweeps do not converge.")


def drift(steps, left, kick=1e-3):
    """(change of the relative energy a step, sweeps a step)."""
    form = stages(S)
    places, b, twice = (a.astype(LONG) for a in (form.c, form.b, form.twice))
    ahead, late = continued(S)[0].astype(LONG), (1 - form.c).astype(LONG)
    q = np.array([1 - E, 0], LONG)
    p = np.array([0, math.sqrt((1 + E) / (1 - E))], LONG) + kick
    first, G, total = energy(q, p), H * b[:, None] * pull(np.tile(q, (S, 1))), 0
    for _ in range(steps):
        G, count = swept(q, p, G, left, b, places, twice)
        q, p, total = q + H * (p + late @ G), p + np.sum(G, axis=0), total + count
        G = ahead @ G
    return float(energy(q, p) / first - 1) / steps, total / steps


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=float, default=1e5)
    parser.add_argument("--left", type=int, nargs="+", default=[58, 61, 64, 80])
    given = parser.parse_args()
    if np.finfo(LONG).nmant <= np.finfo(float).nmant:
        parser.error("NumPy's long doubles have no more digits here than doubles.")
    for k in given.left:
        each, sweeps = drift(int(given.steps), LONG(2) ** -k)
        print(f"2^-{k}: {each:.1e} of the energy a step, {sweeps:.2f} sweeps", flush=True)


if __name__ == "__main__":
    main()

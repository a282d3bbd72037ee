"""Draw the pictures of the README and the docs: `make figures`."""

from pathlib import Path

import jax
import numpy as np

import accion as ac
from accion.gallery.double_pendulum import positions, system
from accion.plot import new_figure, save_figure

IMAGES = Path(__file__).parent / "images"
Q0, V0 = [2.0, 2.5], [0.0, 0.0]


def readme():
    """A double pendulum, and its energy over a million steps by Midpoint and by Runge-Kutta."""
    figure, axes = new_figure(1, 2, (10, 3.7))
    left, right = axes[0]
    short = ac.simulate(system, ac.Midpoint(), q0=Q0, v0=V0, h=0.005, steps=2400)
    points = np.asarray(jax.vmap(positions)(short.q))
    left.plot(points[:, 2, 0], points[:, 2, 1], lw=0.7)
    left.plot(points[-1, :, 0], points[-1, :, 1], "o-", color="#3d405b", lw=2)
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="double pendulum, 12 s")
    h, steps, every = 0.02, 1_000_000, 500
    long = ac.simulate(system, ac.Midpoint(), q0=Q0, v0=V0, h=h, steps=steps, save_every=every)
    E = np.asarray(long.energy())
    t, q, v = ac.analysis.rk4(system, q0=Q0, v0=V0, h=h, steps=steps, save_every=every)
    control = np.asarray(jax.jit(jax.vmap(system.energy))(t, q, v))
    hours = np.asarray(t) / 3600
    right.plot(hours, control - E[0], lw=0.8, color="#d1495b", label="Runge-Kutta, order 4")
    right.plot(hours, E - E[0], lw=0.4, color="#1b6ca8", label="accion, Midpoint, order 2")
    right.set(xlabel="t [h]", ylabel="energy error [J]", title="a million steps of 0.02 s")
    right.legend()
    save_figure(figure, IMAGES / "double_pendulum.png")


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    readme()

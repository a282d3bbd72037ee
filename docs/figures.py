"""Draw the pictures of the README and the docs: `make figures`."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import accion as ac
from accion.gallery.double_pendulum import positions, system
from accion.plot import new_figure, save_figure

IMAGES = Path(__file__).parent / "images"
Q0, V0 = [2.0, 2.5], [0.0, 0.0]


def runge_kutta(h, steps, save_every):
    """The classical method of order 4 on the same equations, for comparison: saved energies."""
    a = ac.accelerations(system)

    def field(t, y):
        return jnp.concatenate([y[2:], a(t, y[:2], y[2:])])

    def step(i, y):
        t = i * h
        k1 = field(t, y)
        k2 = field(t + h / 2, y + h / 2 * k1)
        k3 = field(t + h / 2, y + h / 2 * k2)
        k4 = field(t + h, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def save(y, j):
        y = jax.lax.fori_loop(0, save_every, lambda i, y: step(j * save_every + i, y), y)
        return y, system.energy(0.0, y[:2], y[2:])

    return jax.jit(lambda y: jax.lax.scan(save, y, jnp.arange(steps // save_every))[1])(jnp.array(Q0 + V0))


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
    rk = np.asarray(runge_kutta(h, steps, every))
    t = np.asarray(long.t[1:]) / 3600
    right.plot(t, rk - E[0], lw=0.8, color="#d1495b", label="Runge-Kutta, order 4")
    right.plot(t, E[1:] - E[0], lw=0.4, color="#1b6ca8", label="accion, Midpoint, order 2")
    right.set(xlabel="t [h]", ylabel="energy error [J]", title="a million steps of 0.02 s")
    right.legend()
    save_figure(figure, IMAGES / "double_pendulum.png")


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    readme()

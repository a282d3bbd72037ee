"""The command that writes a file to begin with."""

from pathlib import Path
from string import Template
from typing import Annotated

import typer

from accion.cli.base import app, errors_told, say

SYSTEM = Template('''\
"""$title"""

import jax.numpy as jnp

import accion as ac


def lagrangian(t, q, v, params):
    """Kinetic minus potential energy, in jax.numpy (jnp); q and v are vectors."""
    m, l, gravity = params["m"], params["l"], params["gravity"]
    return 0.5 * m * l**2 * v[0] ** 2 + m * gravity * l * jnp.cos(q[0])


def force(t, q, v, params):
    """What else acts, for each coordinate: here friction."""
    return -params["c"] * v


def positions(q):
    """The points that a moving picture joins by a line."""
    return jnp.array([[0.0, 0.0], [jnp.sin(q[0]), -jnp.cos(q[0])]])


system = ac.System(
    lagrangian,
    ac.Torus(1),  # angles; Euclidean(n), SO3(), SE3(), Product(...) are others
    {"m": 1.0, "l": 0.5, "gravity": 9.81, "c": 0.05},
    force=force,
    coordinates=("theta [rad]",),
    name="$name",
)
method = ac.Midpoint()
start = {"q0": [2.0], "v0": [0.0]}
h, steps = 0.01, 1000

if __name__ == "__main__":
    print(ac.symbolic(system))
    traj = ac.simulate(system, method, **start, h=h, steps=steps)
    print(traj)
    traj.plot().savefig("$name.png")
''')
CAMPAIGN = Template("""\
# accion campaign $file
# A system of the gallery, or "module:attribute" of a file beside this one.
system = "$system"
method = "Midpoint"
h = 0.01
steps = 1000
store = "$name.zarr"  # beside this file; run again, it goes on where it was

[start]  # of every member, where the plan does not set it
v0 = [0.0]

[plan]  # "grid" with axes, "sample" with size, how, seed and ranges, "table" with file
kind = "grid"
[plan.axes]
"q0[0]" = { from = -3.0, to = 3.0, count = 60 }
"params.l" = [0.5, 1.0]

[[reductions]]  # "final", "extrema", "event", "mean", or "module:attribute"
kind = "extrema"
of = "q[0]"
name = "angle"

[[reductions]]
kind = "final"
""")


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="What it is called: letters, digits and _.")],
    campaign: Annotated[
        bool, typer.Option("--campaign", help="A campaign, NAME.toml, in place of a system.")
    ] = False,
) -> None:
    """Write NAME.py, a system to begin with, or NAME.toml, a campaign; nothing is overwritten."""
    path = Path(f"{name}.toml" if campaign else f"{name}.py")
    with errors_told():
        if not name.isidentifier():
            raise ValueError(f"a name is made of letters, digits and _; got {name!r}.")
        if path.exists():
            raise FileExistsError(f"{path} exists; choose another name.")
        own = Path(f"{name}.py").is_file()
        words = {
            "name": name,
            "title": f"{name.replace('_', ' ').capitalize()}: a pendulum with friction.",
            "file": path.name,
            "system": f"{name}:system" if own else "pendulum",
        }
        with path.open("x", encoding="utf-8") as file:
            file.write((CAMPAIGN if campaign else SYSTEM).substitute(words))
    command = "campaign" if campaign else "run"
    say(f"written: {path}. Now: accion {command} {path}")

"""How long a reference trajectory takes, the first with what has to be compiled and the next: by
`reference`, and by diffrax compiled as a whole.

`python benchmarks/reference.py` prints a table; times of the processor, which other work on the
machine changes less than those of the clock.
"""

import resource

import diffrax
import jax
import jax.numpy as jnp

import accion as ac
from accion.gallery import ENTRIES

NAMES = ("double_pendulum", "kepler", "magnetic_particle")
TOLERANCE = 1e-12


def seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def whole(system, q0, v0, ts):
    """The same equations, solver and all in one compiled function."""
    a = ac.accelerations(system)

    @jax.jit
    def run(y, ts):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, _: (y[1], a(t, *y))),
            diffrax.Dopri8(),
            ts[0],
            ts[-1],
            None,
            y,
            saveat=diffrax.SaveAt(ts=ts),
            stepsize_controller=diffrax.ClipStepSizeController(
                diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE), step_ts=ts
            ),
            max_steps=100_000,
            adjoint=diffrax.ForwardMode(),
        ).ys

    return lambda: jax.block_until_ready(run((jnp.array(q0), jnp.array(v0)), ts))


def timed(f):
    begin = seconds()
    result = f()
    return seconds() - begin, result


def main():
    print(
        "| system | first, reference | next, reference | first, diffrax | next, diffrax | they"
        " differ by |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for name in NAMES:
        entry = ENTRIES[name]
        start = {key: jnp.array(value) for key, value in entry.start.items()}
        ts = jnp.linspace(0, 5, 6)

        def ours(start=start, entry=entry, ts=ts):
            return ac.reference(entry.system, **start, ts=ts)

        theirs = whole(entry.system, start["q0"], start["v0"], ts)
        (first, a), (second, _), (other, b), (again, _) = (
            timed(ours),
            timed(ours),
            timed(theirs),
            timed(theirs),
        )
        difference = float(jnp.max(jnp.abs(a[0] - b[0])))
        print(
            f"| {name} | {first:.2f} s | {second:.3f} s | {other:.2f} s | {again:.4f} s |"
            f" {difference:.1e} |"
        )


if __name__ == "__main__":
    main()

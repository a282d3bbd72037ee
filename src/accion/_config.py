"""What accion asks of JAX, once, at import.

float64. In float32 Newton's iteration stalls above the roundoff that the conservation laws need.

One function for a loop. XLA on a CPU pays for each operation that it dispatches, unless it may compile a small loop into one
function; the loops of mechanics are just above its default size (1 KiB touched in each turn). With a limit of 1 MiB a step of the double
pendulum takes about a fifth of the time (`benchmarks/step_cost.py`), and compiles faster. XLA reads the option when the first JAX
computation of the process runs, so `import accion` must come before it; later, results are the same, only slower.
"""

import os

import jax

LOOP_OPTION = "xla_cpu_small_while_loop_byte_threshold"


def configure():
    jax.config.update("jax_enable_x64", True)
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:  # the user's own choice stands
        os.environ["XLA_FLAGS"] = f"{flags} --xla_backend_extra_options={LOOP_OPTION}=1048576".strip()


configure()

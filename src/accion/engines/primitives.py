"""Every primitive of JAX that the functions of mechanics use."""

from accion.engines import control_flow, entrywise, moves, sums
from accion.engines.interpreter import Rule

RULES: dict[str, Rule] = {
    **entrywise.RULES,
    **sums.RULES,
    **control_flow.RULES,
    **moves.RULES,
}

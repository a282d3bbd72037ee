"""Every primitive of JAX that the functions of mechanics use.

STRUCTURE   what moves, sums, repeats and chooses, for any algebra
RULES       all, for a `Graph`
"""

from accion.engines import control_flow, entrywise, moves, native_calls, sums
from accion.engines.interpreter import Rule

STRUCTURE: dict[str, Rule] = {**sums.RULES, **control_flow.RULES, **moves.RULES}
RULES: dict[str, Rule] = {**STRUCTURE, **entrywise.RULES, **native_calls.RULES}

"""Functions that JAX has traced, read in either form that it gives them.

Up to JAX 0.10 the operations are a Jaxpr, and a ClosedJaxpr holds one with the values of its
constants. Since 0.11 there is one type, a Jaxpr that may have those values itself, and a loop
tells by trees what it told by numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from jax.extend.core import ClosedJaxpr, Jaxpr


def is_jaxpr(value: Any) -> TypeGuard[ClosedJaxpr | Jaxpr]:
    """Whether it is a traced function, with values of its constants or without."""
    return isinstance(value, ClosedJaxpr | Jaxpr)


def parts(function: Any) -> tuple[Any, Sequence[Any]]:
    """The operations of a traced function, and the values of its constants, if it has them."""
    if isinstance(function, ClosedJaxpr):
        return function.jaxpr, function.consts
    return function, ()


def without_constants(function: Any) -> Any:
    """The operations of a traced function alone, to be given the values of its constants."""
    if not isinstance(function, ClosedJaxpr):
        return function
    jaxpr: Any = function.jaxpr
    return jaxpr.with_consts(()) if jaxpr is function else jaxpr


def with_constants(function: Any, jaxpr: Any, constants: Sequence[Any]) -> Any:
    """A function in the form of `function`, of other operations and constants."""
    return ClosedJaxpr(jaxpr, list(constants)) if isinstance(function, ClosedJaxpr) else jaxpr


def parameters(eqn: Any) -> Mapping[str, Any]:
    """The parameters of an operation; of a `scan` with the numbers `num_consts` and `num_carry` of
    its arguments that stay and that are carried on, before the rows.
    """
    params = eqn.params
    if eqn.primitive.name != "scan" or "ft_in" not in params:
        return params
    consts, carry, _ = map(len, params["ft_in"].unpack())
    rest = {name: value for name, value in params.items() if name not in ("ft_in", "ft_out")}
    return rest | {"num_consts": consts, "num_carry": carry}

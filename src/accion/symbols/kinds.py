"""The kinds of system whose equations can be written: importing them registers them."""

from accion.symbols import (
    contact as contact,
    discrete_systems as discrete_systems,
    equations as equations,
    higher as higher,
    thermal as thermal,
)
from accion.symbols.registry import derive as derive

"""How a system is stepped by a method."""

from accion.stepping import (
    adaptive as adaptive,
    alpha as alpha,
    collocated as collocated,
    composition as composition,
    composition_thermal as composition_thermal,
    contact as contact,
    energy_consistent as energy_consistent,
    energy_entropy as energy_entropy,
    given as given,
    higher as higher,
    levels as levels,
    thermal as thermal,
    variational as variational,
    views_contact as views_contact,
    views_thermal as views_thermal,
    views_windows as views_windows,
    weighted as weighted,
)
from accion.stepping.base import Scheme as Scheme, State as State, scheme_of as scheme_of

"""What a system becomes under a method."""

from accion.discretise import (
    contact as contact,
    given as given,
    step as step,
    thermal as thermal,
    window as window,
)
from accion.discretise.base import (
    Blocks as Blocks,
    Discretisation as Discretisation,
    Variation as Variation,
    discretise as discretise,
)

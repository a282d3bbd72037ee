"""HOW a step is sampled."""

from accion.methods.adaptive import (
    Adaptive as Adaptive,
    ReversibleSteps as ReversibleSteps,
    TransformedTime as TransformedTime,
)
from accion.methods.adjoint import Adjoint as Adjoint
from accion.methods.base import Method as Method, Sample as Sample
from accion.methods.composition import Composition as Composition
from accion.methods.energy_consistent import EnergyConsistent as EnergyConsistent
from accion.methods.energy_entropy import EnergyEntropyConsistent as EnergyEntropyConsistent
from accion.methods.finite_difference import FiniteDifference as FiniteDifference
from accion.methods.galerkin import Galerkin as Galerkin
from accion.methods.generalized_alpha import GeneralizedAlpha as GeneralizedAlpha
from accion.methods.quadrature import (
    Alpha as Alpha,
    LeftRectangle as LeftRectangle,
    Midpoint as Midpoint,
    RightRectangle as RightRectangle,
    Trapezoid as Trapezoid,
)

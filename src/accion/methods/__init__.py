"""HOW a step is sampled."""

from accion.methods.adjoint import Adjoint as Adjoint
from accion.methods.base import Method as Method, Sample as Sample
from accion.methods.energy_consistent import EnergyConsistent as EnergyConsistent
from accion.methods.finite_difference import FiniteDifference as FiniteDifference
from accion.methods.generalized_alpha import GeneralizedAlpha as GeneralizedAlpha
from accion.methods.quadrature import (
    Alpha as Alpha,
    LeftRectangle as LeftRectangle,
    Midpoint as Midpoint,
    RightRectangle as RightRectangle,
    Trapezoid as Trapezoid,
)

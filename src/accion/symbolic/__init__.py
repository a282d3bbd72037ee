"""Equations a person reads, from the functions that are simulated, and back."""

from accion.symbolic.back import from_sympy as from_sympy
from accion.symbolic.equations import Equations as Equations, symbolic as symbolic
from accion.symbolic.higher import higher_order as higher_order
from accion.symbolic.translate import Untranslatable as Untranslatable

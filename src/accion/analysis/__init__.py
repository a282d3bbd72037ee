"""What a method keeps and how well; what a system allows."""

from accion.analysis.constraints import ConstraintAlgorithm as ConstraintAlgorithm, constraint_algorithm as constraint_algorithm
from accion.analysis.order import Order as Order, order as order
from accion.analysis.symplectic import symplecticity as symplecticity

"""What a method does to a system, measured."""

from accion.analysis.order import Order as Order, order as order
from accion.analysis.symplectic import symplecticity as symplecticity

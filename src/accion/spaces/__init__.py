"""WHERE a system lives."""

from accion.spaces.base import Space as Space
from accion.spaces.flat import Euclidean as Euclidean, Torus as Torus, check_vector as check_vector
from accion.spaces.product import Product as Product

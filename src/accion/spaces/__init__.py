"""WHERE a system lives."""

from accion.spaces.base import Space as Space
from accion.spaces.flat import Euclidean as Euclidean, Torus as Torus, check_vector as check_vector
from accion.spaces.groups import Group as Group
from accion.spaces.matrix_groups import MatrixGroup as MatrixGroup
from accion.spaces.product import Product as Product
from accion.spaces.retractions import Retraction as Retraction
from accion.spaces.rigid import SE2 as SE2, SE3 as SE3, SO2 as SO2, SO3 as SO3

"""WHAT moves: Lagrangians and what acts on them."""

from accion.systems.base import AbstractSystem as AbstractSystem
from accion.systems.bodies import rigid_body as rigid_body
from accion.systems.contact import ContactSystem as ContactSystem
from accion.systems.discrete import (
    DiscreteSystem as DiscreteSystem,
    DiscreteThermalSystem as DiscreteThermalSystem,
)
from accion.systems.dynamics import Dynamics as Dynamics, check_alone as check_alone
from accion.systems.first_order import first_order as first_order
from accion.systems.forces import rayleigh as rayleigh
from accion.systems.hamiltonians import HamiltonianSystem as HamiltonianSystem
from accion.systems.higher import HigherOrderSystem as HigherOrderSystem
from accion.systems.manifolds import sphere as sphere, stiefel as stiefel
from accion.systems.mechanical import mechanical as mechanical
from accion.systems.particles import particles as particles
from accion.systems.start import Start as Start
from accion.systems.system import System as System
from accion.systems.thermal import ThermalSystem as ThermalSystem

"""Equations of state, the flow of heat, and what a trajectory says about the laws of
thermodynamics.
"""

from accion.thermo.bodies import (
    Body as Body,
    IdealGas as IdealGas,
    R as R,
    Radiation as Radiation,
    Solid as Solid,
    VanDerWaals as VanDerWaals,
)
from accion.thermo.exchange import (
    bath as bath,
    conduction as conduction,
    dry_friction as dry_friction,
    network as network,
)
from accion.thermo.potentials import (
    Potential as Potential,
    from_potential as from_potential,
    from_temperature as from_temperature,
)
from accion.thermo.seen import LawsKept as LawsKept, laws as laws, states as states

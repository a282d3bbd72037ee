"""Formations of agents: graphs, rigidity, stabilisation by distances (Colombo-Gamonal, section 6),
regions of attraction.
"""

from accion.formation import shapes as shapes
from accion.formation.attraction import attraction as attraction
from accion.formation.euler import euler as euler
from accion.formation.flexes import Framework as Framework, framework as framework
from accion.formation.formation import Formation as Formation
from accion.formation.graph import Graph as Graph
from accion.formation.laman import Laman as Laman, laman as laman
from accion.formation.picture import plot_attraction as plot_attraction
from accion.formation.potentials import quartic as quartic, spring as spring
from accion.formation.refine import refine as refine
from accion.formation.rigid import RigidFormation as RigidFormation
from accion.formation.rigidity import (
    Congruence as Congruence,
    complete as complete,
    congruent as congruent,
    infinitesimally_rigid as infinitesimally_rigid,
    minimally_rigid as minimally_rigid,
    missing as missing,
    pair_distances as pair_distances,
    rank as rank,
    redundant as redundant,
    relative_positions as relative_positions,
    rigidity_matrix as rigidity_matrix,
)
from accion.formation.settling import OUTCOMES as OUTCOMES, Rule as Rule
from accion.formation.storage import (
    load_attraction as load_attraction,
    save_attraction as save_attraction,
)

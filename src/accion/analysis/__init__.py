"""What a system has and a method keeps: order, symmetries, symplecticity, modified equations,
regularity.
"""

from accion.analysis import principle_of_runs as principle_of_runs
from accion.analysis.abnormal import Abnormal as Abnormal, abnormal as abnormal
from accion.analysis.card import Card as Card, audit as audit
from accion.analysis.comparison import Comparison as Comparison, compare as compare
from accion.analysis.connection import (
    Connection as Connection,
    Integrability as Integrability,
    connection as connection,
    integrability as integrability,
)
from accion.analysis.constraints import (
    ConstraintAlgorithm as ConstraintAlgorithm,
    constraint_algorithm as constraint_algorithm,
)
from accion.analysis.cosymplectic import (
    cosymplectic as cosymplectic,
    extended_flow as extended_flow,
)
from accion.analysis.diffeomorphisms import (
    Hyperregular as Hyperregular,
    hyperregular as hyperregular,
)
from accion.analysis.exact import (
    exact_discrete_lagrangian as exact_discrete_lagrangian,
    variational_order as variational_order,
)
from accion.analysis.exponents import Lyapunov as Lyapunov, lyapunov as lyapunov
from accion.analysis.laws import (
    Law as Law,
    decay as decay,
    decay_rate as decay_rate,
    law as law,
    spatial_momentum as spatial_momentum,
)
from accion.analysis.modified import ladder as ladder, modified_hamiltonian as modified_hamiltonian
from accion.analysis.noether import (
    Symmetry as Symmetry,
    complete_lift as complete_lift,
    vertical_lift as vertical_lift,
)
from accion.analysis.on_section import Section as Section
from accion.analysis.order import Order as Order, order as order
from accion.analysis.presymplectic import (
    Presymplectic as Presymplectic,
    presymplectic as presymplectic,
)
from accion.analysis.principle import action as action, first_variation as first_variation
from accion.analysis.regularity import regularity as regularity
from accion.analysis.runge_kutta import rk4 as rk4
from accion.analysis.sections import poincare_section as poincare_section
from accion.analysis.steps import step_bound as step_bound
from accion.analysis.symmetries import symmetries as symmetries
from accion.analysis.symplectic import (
    cosymplecticity as cosymplecticity,
    poincare_invariant as poincare_invariant,
    symplecticity as symplecticity,
    symplecticity_along as symplecticity_along,
)
from accion.analysis.thermal import thermal_regularity as thermal_regularity
from accion.analysis.thermal_exact import (
    ExactThermalStep as ExactThermalStep,
    ThermalVariationalOrder as ThermalVariationalOrder,
    exact_thermal_step as exact_thermal_step,
    thermal_variational_order as thermal_variational_order,
)
from accion.analysis.thermal_forms import (
    NoetherBalance as NoetherBalance,
    ThermalForms as ThermalForms,
    noether_balance as noether_balance,
    thermal_forms as thermal_forms,
)

"""accion: Lagrangian mechanics in continuous and in discrete time.

Write one scalar function, the Lagrangian, and say what acts on it; accion gives the equations of
motion, a structure-preserving (variational) integrator, and the conservation laws with how well
they are kept. Importing it sets JAX to float64.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

# isort: off
from accion import _config as _config  # first: JAX reads it when it starts

# isort: on
from accion.errors import (
    BarelyHeld as BarelyHeld,
    ConnectFailed as ConnectFailed,
    Interrupted as Interrupted,
    NoChecksums as NoChecksums,
    NotLocked as NotLocked,
    OptimizeFailed as OptimizeFailed,
    ReplayMisses as ReplayMisses,
    SecondLawViolated as SecondLawViolated,
    StepFailed as StepFailed,
    StepTooLarge as StepTooLarge,
    StoreBusy as StoreBusy,
)
from accion.instant.constrained import project as project
from accion.instant.continuous import accelerations as accelerations, reference as reference
from accion.methods import (
    Adaptive as Adaptive,
    Alpha as Alpha,
    Composition as Composition,
    EnergyConsistent as EnergyConsistent,
    EnergyEntropyConsistent as EnergyEntropyConsistent,
    FiniteDifference as FiniteDifference,
    Galerkin as Galerkin,
    LeftRectangle as LeftRectangle,
    Midpoint as Midpoint,
    RightRectangle as RightRectangle,
    Trapezoid as Trapezoid,
)
from accion.pages import of_trajectory as _of_trajectory  # noqa: F401 (to_html, show3d)
from accion.results.trajectory import Trajectory as Trajectory, load as load
from accion.solve.simulation import ensemble as ensemble, simulate as simulate
from accion.solve.two_point import connect as connect
from accion.spaces import (
    SE2 as SE2,
    SE3 as SE3,
    SO2 as SO2,
    SO3 as SO3,
    Euclidean as Euclidean,
    MatrixGroup as MatrixGroup,
    Product as Product,
    Retraction as Retraction,
    Torus as Torus,
)
from accion.stepping.views import discrete as discrete
from accion.symbols import (
    Untranslatable as Untranslatable,
    from_sympy as from_sympy,
    symbolic as symbolic,
)
from accion.systems import (
    ContactSystem as ContactSystem,
    DiscreteSystem as DiscreteSystem,
    DiscreteThermalSystem as DiscreteThermalSystem,
    Dynamics as Dynamics,
    HamiltonianSystem as HamiltonianSystem,
    HigherOrderSystem as HigherOrderSystem,
    System as System,
    ThermalSystem as ThermalSystem,
    first_order as first_order,
    mechanical as mechanical,
    particles as particles,
    rayleigh as rayleigh,
    rigid_body as rigid_body,
    sphere as sphere,
    stiefel as stiefel,
)

if TYPE_CHECKING:
    from accion import (
        analysis as analysis,
        campaign as campaign,
        control as control,
        formation as formation,
        thermo as thermo,
    )
    from accion.analysis.suggestion import suggest_step as suggest_step
    from accion.control import ControlProblem as ControlProblem, optimize as optimize

__version__ = version("accion")

# What is imported when it is first asked for: many programs never do, and it takes a third of the
# time of accion's own import.
_ROOMS = ("analysis", "campaign", "control", "formation", "thermo")
_LATER = {
    "suggest_step": "accion.analysis.suggestion",
    "ControlProblem": "accion.control",
    "optimize": "accion.control",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"accion.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'accion' has no attribute {name!r}")
    found = getattr(import_module(_LATER[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_LATER})

"""Optimal control: problems, their discrete formulations, solvers and solutions; and what holds
them."""

from accion.control import abnormal as abnormal, chain as chain
from accion.control.brackets import Reach as Reach, reach as reach
from accion.control.canonical import CanonicalSystem as CanonicalSystem
from accion.control.certificate import Certificate as Certificate, certify as certify
from accion.control.differentiable import Optimum as Optimum, optimum as optimum
from accion.control.extremal import Extremal as Extremal
from accion.control.feedback import Feedback as Feedback, lqr as lqr, track as track
from accion.control.hamiltonian import Hamiltonian as Hamiltonian
from accion.control.linear import Linear as Linear, linearise as linearise
from accion.control.optimization import optimize as optimize
from accion.control.problem import ControlProblem as ControlProblem
from accion.control.receding import Receding as Receding, receding_horizon as receding_horizon
from accion.control.refinement import (
    Refined as Refined,
    adapt as adapt,
    refine as refine,
    step_errors as step_errors,
)
from accion.control.run import Run as Run
from accion.control.saved import load as load
from accion.control.solution import Solution as Solution

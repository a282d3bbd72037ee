"""Optimal control: problems, their discrete formulations, solvers and solutions."""

from accion.control.collect import Refined as Refined
from accion.control.optimize import optimize as optimize, refine as refine
from accion.control.pontryagin import Extremal as Extremal, Hamiltonian as Hamiltonian
from accion.control.problem import ControlProblem as ControlProblem
from accion.control.solution import Solution as Solution, load as load

"""One page that shows every gallery system with its equations, figure and reference check."""

from accion.report.build import Result as Result, reproduce as reproduce

"""One page that shows every gallery system with its equations, figure, reference check and, where it asks for it, the card of `audit`."""

from accion.report.build import Result as Result, reproduce as reproduce

"""One page that shows every gallery system with its equations, figure, reference check and, where
it asks for it, the card of `audit`.
"""

from accion.report.build import default_jobs as default_jobs, reproduce as reproduce
from accion.report.one import Result as Result

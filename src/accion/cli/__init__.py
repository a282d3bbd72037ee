"""The command line: `accion list [NAME]`, `accion run NAME`, `accion equations NAME`, `accion new
NAME`, `accion export NAME`, `accion lab`, `accion reproduce [NAME ...]`, `accion campaign FILE`,
`accion attraction SHAPE`.
"""

# Commands are listed by `accion --help` in the order of these lines.
from accion.cli import gallery as gallery, templates as templates  # isort: skip
from accion.cli import pages as pages  # isort: skip
from accion.cli import report as report, campaigns as campaigns  # isort: skip
from accion.cli.base import app as app
from accion.cli.words import describe_control as describe_control

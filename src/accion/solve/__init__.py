"""Problems that are solved: from a start, or between two ends."""

from accion.solve import extension as extension

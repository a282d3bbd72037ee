"""A system at one instant: velocities and momenta under constraints, accelerations, and
trajectories of the continuous equations.
"""

from accion.instant import (
    contact as contact,
    higher as higher,
    mechanical as mechanical,
    thermal as thermal,
)
from accion.instant.constrained import project as project
from accion.instant.continuous import accelerations as accelerations, reference as reference

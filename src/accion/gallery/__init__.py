"""The systems of the documents, one file each: physics, numbers, figure, reference check."""

from accion.gallery import (
    andrews,
    caldirola_oscillator,
    caldirola_particle,
    damped_spring,
    double_pendulum,
    magnetic_particle,
    rods,
    rolling_disk,
    rotating_slot,
    skate,
    sleigh,
    two_masses,
)
from accion.gallery.base import Check as Check, Entry as Entry

ENTRIES = {
    entry.name: entry
    for entry in (
        damped_spring.entry,
        caldirola_particle.entry,
        caldirola_oscillator.entry,
        magnetic_particle.entry,
        double_pendulum.entry,
        rolling_disk.entry,
        two_masses.entry,
        rods.entry,
        rotating_slot.entry,
        skate.entry,
        sleigh.entry,
        andrews.entry,
    )
}


def find(name):
    """The gallery system called `name`."""
    if name not in ENTRIES:
        raise ValueError(f"there is no gallery system {name!r}. Try one of: {', '.join(ENTRIES)}.")
    return ENTRIES[name]

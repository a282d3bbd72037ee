"""The systems of the documents, one file each: physics, numbers, figure, reference check."""

from accion.gallery import (
    adiabatic_piston,
    andrews,
    attraction_region,
    atwood,
    bath_oscillator,
    caldirola_oscillator,
    caldirola_particle,
    crank_pulley,
    damped_spring,
    damped_top,
    decay_laws,
    disk_on_wedge,
    double_pendulum,
    driven_mass,
    free_top,
    friction_cart,
    heavy_top,
    heavy_top_se3,
    henon_heiles,
    kepler,
    magnetic_particle,
    pendulum,
    piston_spring,
    pyramid,
    quadrotor,
    rods,
    rolling_disk,
    rolling_disk_se2,
    rotating_slot,
    satellite,
    skate,
    sleigh,
    slotted_disk,
    spring_in_gas,
    square_formation,
    two_bodies,
    two_masses,
    underwater,
)
from accion.gallery.base import Check as Check, Entry as Entry

ENTRIES = {
    entry.name: entry
    for entry in (
        damped_spring.entry,
        caldirola_particle.entry,
        caldirola_oscillator.entry,
        decay_laws.entry,
        magnetic_particle.entry,
        pendulum.entry,
        double_pendulum.entry,
        kepler.entry,
        henon_heiles.entry,
        rolling_disk.entry,
        slotted_disk.entry,
        crank_pulley.entry,
        atwood.entry,
        disk_on_wedge.entry,
        driven_mass.entry,
        two_masses.entry,
        rods.entry,
        rotating_slot.entry,
        skate.entry,
        sleigh.entry,
        andrews.entry,
        free_top.entry,
        damped_top.entry,
        heavy_top.entry,
        heavy_top_se3.entry,
        satellite.entry,
        underwater.entry,
        quadrotor.entry,
        rolling_disk_se2.entry,
        spring_in_gas.entry,
        friction_cart.entry,
        piston_spring.entry,
        adiabatic_piston.entry,
        two_bodies.entry,
        bath_oscillator.entry,
        pyramid.entry,
        square_formation.entry,
        attraction_region.entry,
    )
}


def find(name):
    """The gallery system called `name`."""
    if name not in ENTRIES:
        raise ValueError(f"there is no gallery system {name!r}. Try one of: {', '.join(ENTRIES)}.")
    return ENTRIES[name]

"""The systems of the documents, one file each: physics, numbers, figure, reference check."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module

from accion.gallery.base import Check as Check, Entry as Entry

# In the order of the report. Each is the file of its name, and the `entry` in it.
NAMES = (
    "damped_spring",
    "caldirola_particle",
    "caldirola_oscillator",
    "herglotz_oscillator",
    "decay_laws",
    "magnetic_particle",
    "pendulum",
    "double_pendulum",
    "kepler",
    "henon_heiles",
    "rolling_disk",
    "slotted_disk",
    "crank_pulley",
    "atwood",
    "disk_on_wedge",
    "driven_mass",
    "two_masses",
    "rods",
    "rotating_slot",
    "skate",
    "sleigh",
    "heisenberg",
    "vertical_disk",
    "andrews",
    "free_top",
    "damped_top",
    "heavy_top",
    "heavy_top_se3",
    "satellite",
    "underwater",
    "quadrotor",
    "rolling_disk_se2",
    "spring_in_gas",
    "friction_cart",
    "piston_spring",
    "adiabatic_piston",
    "two_bodies",
    "bath_oscillator",
    "pyramid",
    "square_formation",
    "attraction_region",
    "swarm",
    "vehicles",
    "splines",
    "elastica",
    "block_move",
    "cart_pole",
    "cart_pole_held",
    "kelly_cart_pole",
    "skate_parking",
    "satellite_attitude",
    "two_link_arm",
    "acrobot",
)

# for a first look: a rotation, heat, an optimal control
QUICK = ("free_top", "spring_in_gas", "block_move")


class Gallery(Mapping[str, Entry]):
    """The entries by their names.

    A file is imported when its entry is asked for: all of them take seconds.
    """

    def __getitem__(self, name: str) -> Entry:
        if name not in NAMES:
            raise KeyError(name)
        return import_module(f"accion.gallery.{name}").entry

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


ENTRIES = Gallery()


def check_name(name):
    """Raise ValueError unless there is a gallery system called `name`."""
    if name not in NAMES:
        close = get_close_matches(name, NAMES, n=1)
        meant = f"Did you mean {close[0]}?" if close else "`accion list` names them."
        raise ValueError(f"there is no gallery system {name!r}. {meant}")


def find(name):
    """The gallery system called `name`."""
    check_name(name)
    return ENTRIES[name]


def find_or_read(name):
    """The gallery system called `name`, or that of a file of one's own."""
    from accion.gallery import own

    return own.read(name) if own.is_file(name) else find(name)

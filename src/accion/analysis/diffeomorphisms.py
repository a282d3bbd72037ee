"""Whether Legendre transforms, continuous and discrete, are one to one everywhere, not only near a
point.

    L is hyperregular     if v -> dL/dv(t, q, v) is one to one and onto, for every q
    Ld is hyperregular    if q1 -> -D1 Ld(q0, q1) and q0 -> D2 Ld(q0, q1) are

A map f of a box is one to one where C f' = 1 + E with one matrix C and E of a norm below one: C f
- 1 is a contraction; on all of R^n f is onto, too. E is bounded by arithmetic of intervals, on the
whole box at once (`intervals.bounds`).
"""  # fmt: skip

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.intervals import Undecided, bounds
from accion.analysis.natural import natural_units
from accion.arguments import door, instance, number, positive, reals, wrong
from accion.checks import check_kind
from accion.discretise import discretise
from accion.engines.errors import Unsupported
from accion.methods import FiniteDifference, Method
from accion.spaces import SE2, SE3, SO2, SO3, Euclidean, Product, Space, Torus
from accion.systems import AbstractSystem, DiscreteSystem, System
from accion.systems.rank import relative_rank
from accion.systems.weights import local
from accion.told import Told
from accion.types import Vector

SAMPLES = 256  # points at which a matrix that is singular is looked for
INF = np.inf


@final
@dataclass(frozen=True, repr=False)
class Hyperregular(Told):
    """Whether Legendre transforms are one to one everywhere: `holds` is True, False, or None where
    it could not be decided; `why`, in words; `bound`, the largest norm of E, where it holds.
    """

    holds: bool | None
    why: str
    bound: float | None = None

    def text(self) -> str:
        """What was found, in words."""
        head = {True: "hyperregular", False: "not hyperregular", None: "cannot decide"}
        return f"{head[self.holds]}: {self.why}"

    def __str__(self) -> str:
        return self.text()


@door(h=positive, t=number)
def hyperregular(
    system: AbstractSystem,
    method: Method | None = None,
    *,
    h: float | None = None,
    t: float = 0.0,
    box: Any = None,
) -> Hyperregular:
    """Whether the Legendre transform of a system, or both discrete ones of its step, are one to one
    for all q, or for all q in a box; of all of R^n whether they are onto, too.

    What is shown is shown of all points, by bounds of d2L/dv2, or of D12 Ld; a matrix that is
    singular somewhere, or of both signs, shows that it does not hold. Between the two it cannot be
    decided here, and `why` says what stands in the way. On a group no Ld is hyperregular: Q x Q and
    T*Q differ in their topology, and transforms are one to one near the diagonal only.

    Arguments:
        system: a `System` or a `DiscreteSystem` of order one, without constraints.
        method, h: the method and step of the discrete Lagrangian; without `method` the Legendre
            transform of L is looked at. A `DiscreteSystem` needs h alone.
        t: the time, of the start of the step.
        box: (low, high), bounds of q, numbers or of shape (n,), on flat spaces; all of R^n by
            default.

    Raises: ValueError for systems of another kind, under constraints, and without h.
    Reference: Colombo-Eyrea, sections 1 and 3; Colombo-Gamonal, section 2.
    """
    check_kind(system)
    if method is not None:
        instance(Method, "a method, such as Midpoint()")(method, "method")
    if system.constraint is not None:
        raise ValueError(
            "hyperregular looks at systems without constraints; analysis.regularity has the matrix"
            " that they border."
        )
    system.check()
    discrete = system.discrete_time or method is not None
    if discrete and h is None:
        raise ValueError("hyperregular of a discrete Lagrangian needs h, the step.")
    own = of_step(system, method, h, t) if discrete else of_velocities(system, t)
    return (
        own
        if isinstance(own, Hyperregular)
        else decide(own, system.space, check_box(system.space, box))
    )


class Look(NamedTuple):
    """What is looked at: a matrix as a function of two arguments, in words and letters, and
    whether both of them are configurations.
    """

    matrix: Any
    name: str
    maps: str
    pairs: bool
    sizes: Any  # of random coordinates, and of the other argument


@singledispatch
def of_velocities(system: Any, t: float) -> Any:
    """d2L/dv2, of the map v -> dL/dv."""
    raise ValueError(
        f"hyperregular looks at a System, or at a DiscreteSystem of order one; got {system.kind}."
        " analysis.regularity takes any kind."
    )


@of_velocities.register
def _(system: System, t: float) -> Any:
    here, sizes, space = local(system, t), natural_units(system, ordinary=False), system.space
    unit, (_, tree) = space.identity(), jax.tree.flatten(space.identity())

    def matrix(*arguments: Any) -> Any:
        *parts, v = arguments
        q = space.retract(unit, *parts) if space.flat else jax.tree.unflatten(tree, parts)
        return second(lambda a, b: here.system.L(here.t, q, v + a + b), v)

    return Look(matrix, "d2L/dv2", "v -> dL/dv", False, (sizes.x, sizes.rates[0]))


@singledispatch
def of_step(system: Any, method: Method | None, h: Any, t: float) -> Any:
    """D12 Ld, of the maps q1 -> -D1 Ld and q0 -> D2 Ld; or why it cannot be looked at."""
    return of_velocities(system, t)


@of_step.register
def _(system: System, method: Method | None, h: Any, t: float) -> Any:
    name, inside = f" by {method}", method is not None and method.nodes is None
    if system.space.flat and inside and not isinstance(method, FiniteDifference):
        return Hyperregular(
            None,
            f"Ld{name} is found by solving equations inside the step, which may have several"
            " solutions",
        )
    here = local(system, t)
    form = discretise(here.system, method)
    return of_pairs(system, name, lambda q, x: form.action(here.t, h, q, x))


@of_step.register
def _(system: DiscreteSystem, method: Method | None, h: Any, t: float) -> Any:
    if system.order > 1:
        raise ValueError(f"hyperregular looks at order one; this system is of {system.order}.")
    ends, space = system.Ld, system.space
    return of_pairs(system, "", lambda q, x: ends(t, h, (q, space.retract(q, x)), None))


def of_pairs(system: Any, name: str, Ld: Any) -> Any:
    """D12 of a function of (q0, x)."""
    space = system.space
    if turns(space):
        return Hyperregular(
            False,
            f"on {space} Q x Q and T*Q differ in their topology: no Ld{name} has transforms that"
            " are one to one and onto; near the diagonal analysis.regularity shows them regular",
        )
    if not space.flat:
        return Hyperregular(None, f"coordinates of all of {space} are not known")
    unit, sizes = space.identity(), natural_units(system, ordinary=False)

    def matrix(x0: Vector, x1: Vector) -> Any:
        def moved(a: Vector, b: Vector) -> Any:
            return Ld(space.retract(unit, x0 + a), (x1 - x0) + (b - a))

        return second(moved, x0)

    maps = "q1 -> -D1 Ld and q0 -> D2 Ld"
    return Look(matrix, f"D12 Ld{name}", maps, True, (sizes.x, sizes.x))


def second(f: Any, like: Vector) -> Any:
    """The derivative of f(a, b) by both at zero: forward twice, so that what displacements are
    multiplied with are numbers, and no intervals that depend on each other.
    """
    zero = jnp.zeros_like(like)
    return jax.jacfwd(lambda b: jax.jacfwd(lambda a: f(a, b))(zero))(zero).T


# ---------------------------------------------------------------- where


@singledispatch
def turns(space: Space) -> bool:
    """Whether a space has closed curves that cannot be drawn together, or the like: whether it is
    known not to be contractible.
    """
    return False


@turns.register(SO2)
@turns.register(SO3)
@turns.register(SE2)
@turns.register(SE3)
def _(space: Any) -> bool:
    return True


@turns.register
def _(space: Product) -> bool:
    return any(map(turns, space.factors))


@singledispatch
def entries(space: Space) -> Any:
    """Boxes of the arrays that a configuration is made of, a list of (low, high)."""
    raise Undecided(f"bounds of the entries of {space} are not known")


@entries.register(SO2)
@entries.register(SO3)
def _(space: Any) -> Any:
    size = np.shape(space.identity())
    return [(np.full(size, -1.0), np.ones(size))]


@entries.register(SE2)
@entries.register(SE3)
def _(space: Any) -> Any:
    end = np.asarray(space.identity())
    low, high = np.full(end.shape, -1.0), np.ones(end.shape)
    low[:-1, -1], high[:-1, -1] = -INF, INF
    low[-1] = high[-1] = end[-1]
    return [(low, high)]


@entries.register(Euclidean)
@entries.register(Torus)
def _(space: Any) -> Any:
    return [(np.full(space.dim, -INF), np.full(space.dim, INF))]


@entries.register
def _(space: Product) -> Any:
    return [box for factor in space.factors for box in entries(factor)]


def check_box(space: Space, box: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Bounds of the coordinates of a flat space, of other spaces None.

    Raises: ValueError where they are none, or the space has no such coordinates.
    """
    n = space.dim
    if not space.flat:
        if box is not None:
            raise ValueError(f"box: a box is one of coordinates, which {space} has not; leave it.")
        return None
    if box is None:
        return np.full(n, -INF), np.full(n, INF)
    words = f"(low, high), bounds of q, numbers or of shape ({n},)"
    if not isinstance(box, tuple | list) or len(box) != 2:
        wrong("box", words, box)
    low, high = (np.asarray(reals(each, "box", words)) for each in box)
    if not all(each.shape in ((), (n,)) for each in (low, high)) or not np.all(low < high):
        wrong("box", words, box)
    return np.broadcast_to(low, (n,)), np.broadcast_to(high, (n,))


# ---------------------------------------------------------------- what is found


def decide(look: Look, space: Space, box: tuple[np.ndarray, np.ndarray] | None) -> Hyperregular:
    """By bounds of the matrix on the whole box; where they are too wide, by points where it is
    singular.
    """
    everywhere = (np.full(space.dim, -INF), np.full(space.dim, INF))
    whole = box is None or not np.any(np.isfinite(box))
    where = f"of {space}" if whole else "in the box"
    try:
        given = entries(space) if box is None else [box]
        found = bounds(look.matrix, *given, given[0] if look.pairs else everywhere)
    except Undecided as obstacle:
        return by_points(look, box, str(obstacle))
    except Unsupported as obstacle:
        return by_points(look, box, f"no bounds are known of {obstacle}")
    norm = apart(*found)
    if norm >= 1:
        return by_points(look, box, f"{look.name} varies too much for its bounds, at q {where}")
    onto = " and onto" if whole or not look.pairs else ""
    return Hyperregular(
        True,
        f"{look.maps} are one to one{onto} for all q {where}: C {look.name}, with one matrix"
        f" C, differs from 1 by at most {norm:.3g} there",
        norm,
    )


def apart(low: np.ndarray, high: np.ndarray) -> float:
    """The largest norm of C f' - 1, of both sides, for all matrices between `low` and `high`; C is
    the inverse of the middle.
    """
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        return INF
    middle, radius = (low + high) / 2, (high - low) / 2
    size = np.sqrt(np.maximum(np.abs(np.diag(middle)), 1e-300))
    middle, radius = (a / size[:, None] / size for a in (middle, radius))  # without units
    if np.linalg.matrix_rank(middle) < len(middle):
        return INF
    C = np.linalg.inv(middle)
    off = np.abs(C @ middle - np.eye(len(C))) + np.abs(C) @ radius
    back = np.abs(middle @ C - np.eye(len(C))) + radius @ np.abs(C)
    # the rows of the one map are the columns of the other
    return float(max(np.max(np.sum(off, axis=1)), np.max(np.sum(back, axis=0)))) * (1 + 1e-9)


def by_points(look: Look, box: Any, why: str) -> Hyperregular:
    """False where the matrix is singular at a point, or has determinants of both signs; else that
    it cannot be decided, and why.
    """
    if box is None:
        return Hyperregular(None, why)
    rng, (low, high) = np.random.default_rng(0), box
    n = len(low)
    pairs = np.array([inside(look, low, high, rng) for _ in range(SAMPLES)])
    found = np.asarray(jax.vmap(look.matrix)(*jnp.moveaxis(jnp.asarray(pairs), 1, 0)))
    found = found[np.all(np.isfinite(found), axis=(1, 2))]
    if not len(found):
        return Hyperregular(None, f"{why}; {look.name} is not finite at random points")
    signs = {float(np.sign(np.linalg.det(each))) for each in found}
    if min(relative_rank(each, n)[0] for each in found) < n or len(signs) > 1:
        how = "has determinants of both signs" if len(signs) > 1 else "is singular"
        return Hyperregular(False, f"{look.name} {how}, so that transforms are not even regular")
    return Hyperregular(None, f"{why}; it is regular at {len(found)} random points")


def inside(look: Look, low: np.ndarray, high: np.ndarray, rng: Any) -> list[np.ndarray]:
    """A random pair of arguments, the configurations in the box."""
    far = 4.0 ** rng.uniform(-1, 4)  # where there are no bounds, near and far
    found = [far * size * rng.normal(size=len(low)) for size in look.sizes]
    for i in range(2 if look.pairs else 1):
        between = (
            low + (high - low) * rng.uniform(size=len(low))
            if np.all(np.isfinite(high - low))
            else np.clip(found[i], low, high)
        )
        found[i] = between
    return found

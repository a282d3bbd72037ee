"""Steps by `Galerkin`: the stages of a step by fixed-point iteration, by Newton's method where that
does not converge.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.discretise.collocation import Inertia, inertia_of, instant_of
from accion.discretise.sweeps import (
    Stage,
    combined,
    exchanged,
    increment_of,
    of_impulses,
    quotient,
    relative,
    swept,
    swept_impulses,
)
from accion.engines.abreast import abreast
from accion.engines.rarely import rarely
from accion.methods import Galerkin
from accion.methods.polynomials import stages
from accion.numerics import following, newton
from accion.numerics.following import Followed, Lately, followed
from accion.stepping.base import STILL, End, Pace, State, longer, steps
from accion.stepping.thermal import ContinuousThermal, SampledThermal
from accion.stepping.variational import MechanicalScheme, Variational
from accion.systems import System, ThermalSystem
from accion.types import Array, Configuration, Covector, Scalar, Vector

SWEEPS = 200  # which take less time than one step by Newton's method
EPS = float(np.finfo(float).eps)
LEFT = 2.0**-64  # part of the stages by which the next sweep would still change them
SMALL = 2.0**-44  # part below which changes may be of rounding
NEARLY = 2.0**-36  # part below which what no longer shrinks is rounding


@dataclass(frozen=True)
class StageEquations(following.StepEquations):
    """The equations of all stages; unknown are the increment x, the X_i, the impulses G_i, the
    momentum P where the space is not flat, and the multipliers; the arguments (system, t, h, q0,
    p).
    """

    method: Galerkin
    in_action: int = 0  # multipliers, the last of the unknowns
    multipliers: int = 0

    def parts(self, unknowns: Array, system: Any) -> tuple[Vector, Stage, Any]:
        """(x, all stages, P)."""
        at, s = instant_of(system), self.method.s
        flat = at.whole.space.flat
        ends = np.cumsum([at.moved, s * at.moved, s * at.n, 0 if flat else at.n, s * at.lam])
        x, X, G, P, lam, _ = jnp.split(unknowns, ends)
        all = Stage(X.reshape(s, at.moved), G.reshape(s, at.n), lam.reshape(s, at.lam))
        return x, all, None if flat else P

    def residual(self, unknowns: Array, args: Any) -> Array:
        system, t, h, q0, p = args
        at, (c, b, mu, *_) = instant_of(system), stages(self.method.s)
        x, all, P = self.parts(unknowns, system)
        pi0 = p if P is None else P - jnp.sum(all.G, axis=0)

        def one(mu: Any, c: Any, b: Any, own: Stage) -> Any:
            xi = jnp.sum(mu[:, None] * all.X, axis=0)
            pi = pi0 + jnp.sum(mu[:, None] * all.G, axis=0)
            u = jnp.concatenate([own.X / (h * b), own.lam])
            r = at.momentum(t + c * h, q0, xi, u)
            impulse = own.G - h * b * at.force(t + c * h, q0, xi, u)
            W = jnp.zeros(0) if P is None else h * b * at.by_start(t + c * h, q0, xi, u)
            return jnp.concatenate([r[: at.n] - pi, r[at.n :], impulse]), W

        rows, W = jax.vmap(one)(mu, c, b, all)
        end = () if P is None else (P - at.end_momentum(x, p + jnp.sum(W, axis=0)),)
        return jnp.concatenate([jnp.sum(all.X, axis=0) - x, jnp.ravel(rows), *end])

    def shorter(self, args: Any, s: Any) -> Any:
        system, t, h, *rest = args
        return system, t, s * h, *rest

    def powers(self, count: int) -> np.ndarray:
        return np.where(np.arange(count) < count - self.in_action, 1, 0)

    def sizes(self, unknowns: Array, J: Array, args: Any) -> tuple[Array, Array]:
        """Those of velocities and impulses of the energy |L|, beside configurations."""
        system, t, h, q0, p = args
        at, s = instant_of(system), self.method.s
        x, all, P = self.parts(unknowns, system)
        u = jnp.concatenate([x / h, all.lam[-1]])
        M = jnp.diagonal(jax.jacfwd(at.momentum, 3)(t, q0, jnp.zeros_like(x), u))
        L = jnp.abs(at.L(t, q0, x, u))
        own = h * jnp.sqrt(newton.own_size(L, M[: at.moved]))
        impulse = jnp.sqrt(L * jnp.abs(M[: at.n]))
        lam = jnp.max(jnp.abs(all.lam), axis=0, initial=0.0)
        beside = at.whole.space.magnitude(q0)
        momenta = s if P is None else s + 1
        return (
            jnp.concatenate([jnp.tile(own, 1 + s), jnp.tile(impulse, momenta), jnp.tile(lam, s)]),
            jnp.concatenate(
                [jnp.tile(beside, 1 + s), jnp.tile(jnp.abs(p), momenta), jnp.tile(lam, s)]
            ),
        )


def joined(x: Vector, all: Stage, P: Any) -> Array:
    """The unknowns of a step as one vector."""
    end = () if P is None else (P,)
    return jnp.concatenate([x, jnp.ravel(all.X), jnp.ravel(all.G), *end, jnp.ravel(all.lam)])


# ---------------------------------------------------------------- the iteration


class Swept(NamedTuple):
    """What sweeps lead to."""

    stages: Any
    now: Any  # how much the last one changed
    before: Any  # and the one before
    rate: Any  # by which changes shrink from sweep to sweep
    left: Any  # what the next would change, but for rounding
    done: Any
    i: Any


def until_rounding(sweep: Any, first: Any) -> Swept:
    """sweep(stages) -> (stages, change) again and again, until what the next would change is far
    below rounding: of what is left of the equations energy would have its part in each step, and
    always with the same sign.

    Small changes are those of rounding. What they hide goes on to shrink as fast as before.
    """

    def turn(state: Swept) -> Swept:
        found, now = sweep(state.stages)
        lately = now / state.now
        rate = jnp.where(jnp.isinf(state.before), lately, jnp.sqrt(now / state.before))
        known = (now <= SMALL) & (state.rate < 1)
        rate = jnp.where(known, state.rate, jnp.where(jnp.isinf(state.now), 1.0, rate))
        left = jnp.minimum(rate, 1.0) * jnp.minimum(now, state.left)
        done = (left <= LEFT) | ((now >= state.now) & (now <= NEARLY))
        return Swept(found, now, state.now, rate, left, done, state.i + 1)

    def unfinished(state: Swept) -> Any:
        return ~state.done & (state.i < SWEEPS) & ~jnp.isnan(state.now)

    inf = jnp.array(jnp.inf)
    start = Swept(first, inf, inf, jnp.array(1.0), inf, jnp.array(False), jnp.array(0))
    return jax.lax.while_loop(unfinished, turn, start)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def solved(
    equations: StageEquations, inertia: Inertia, guess: Array, args: Any, lately: Lately
) -> Followed:
    """The stages of a step, from a guess of them.

    Each sweep computes all stages from those of the last one. Derivatives are those of the implicit
    function.
    """
    method = equations.method
    _, first, P = equations.parts(guess, args[0])

    def sweep(state: Any) -> Any:
        all, P = state
        found, P = swept(method, inertia, args, P, all)
        return (found.stage, P), relative(found)

    def sweep_impulses(G: Array) -> Any:
        found = swept_impulses(method, args, G)
        return found.G, jnp.sqrt(quotient(found.change, found.size))

    if inertia.alone:
        found = until_rounding(sweep_impulses, first.G)
        all, x = first._replace(G=found.stages), increment_of(method, args, found.stages)
    else:
        found = until_rounding(sweep, (first, P))
        all, P = found.stages
        x = jnp.sum(all.X, axis=0)
    change = lately.change_to(x) if lately else ()
    swept_up = Followed(joined(x, all, P), found.i, found.done, change, jnp.ones(()))
    newtons = partial(by_newton, equations, inertia)
    return jax.lax.cond(
        found.done, lambda: swept_up, lambda: rarely(newtons, swept_up, guess, args, lately)
    )


def by_newton(
    equations: StageEquations, inertia: Inertia, guess: Array, args: Any, lately: Lately
) -> Followed:
    """The stages of a step where sweeps did not converge."""
    if not lately:
        full = whole(equations, inertia, guess, args)
        found = newton.root(equations, full, args)
        return Followed(found.x, found.iterations, found.converged, (), jnp.ones(()))
    return followed(equations, whole(equations, inertia, guess, args), args, lately)


def whole(equations: StageEquations, inertia: Inertia, unknowns: Array, args: Any) -> Array:
    """The unknowns with all X_i, which are not computed where impulses are enough."""
    if not inertia.alone:
        return unknowns
    x, all, _ = equations.parts(unknowns, args[0])
    return joined(x, of_impulses(equations.method, args, all.G), None)


@solved.defjvp
def solved_jvp(equations: Any, inertia: Inertia, primals: Any, tangents: Any) -> Any:
    guess, args, lately = primals
    out = solved(equations, inertia, guess, args, lately)
    full = out._replace(x=whole(equations, inertia, out.x, args))
    dx = newton.implicit(equations, full, guess, args, tangents[1])
    none = newton.NONE
    change = jax.tree.map(jnp.zeros_like, out.change)
    return out, Followed(dx, none, none, change, jnp.zeros_like(out.part))


def first_stages(system: Any, method: Galerkin, t: Any, h: Any, q: Any, x: Any, lam: Any) -> Stage:
    """Those of a motion with the rates and forces of the start, of which `x` is h times the
    rates.
    """
    at, b = instant_of(system), stages(method.s).b
    u = jnp.concatenate([x / h, lam])
    force = at.force(t, q, jnp.zeros_like(x), u)
    return Stage(b[:, None] * x, b[:, None] * (h * force), jnp.tile(lam, (len(b), 1)))


def ahead(method: Galerkin, space: Any, n: int, x: Vector, all: Stage, P: Any) -> Stage:
    """A guess of the stages of the next step: the polynomials of this one go on."""
    E, inverse, F = continued(method.s)
    if space.flat:
        return Stage(combined(E, all.X), combined(E, all.G), ahead_lam(method, all.lam))
    further = x + jnp.sum(F[:, :, None] * all.X[None], axis=1)
    momenta = P + jnp.sum(F[:, :, None] * all.G[None], axis=1)
    eta, own = abreast(OneAhead(space, n), x, (further, momenta))
    end = to_body(space, x, jnp.zeros_like(x).at[:n].set(P))[:n]
    X, G = (jnp.sum(inverse[:, :, None] * a[None], axis=1) for a in (eta, own - end))
    return Stage(X, G, ahead_lam(method, all.lam))


@dataclass(frozen=True)
class OneAhead:
    """A stage of the next step in its chart, from its increment and its momentum in that of the
    step which ends with the increment x.
    """

    space: Any
    n: int

    def __call__(self, x: Vector, row: Any) -> tuple[Array, Array]:
        xi, pi = row
        space, origin = self.space, self.space.identity()
        eta = space.local(space.retract(origin, x), space.retract(origin, xi))
        body = to_body(space, xi, jnp.zeros_like(xi).at[: self.n].set(pi))
        (own,) = jax.vjp(lambda rate: space.velocity(eta, rate), eta)[1](body)
        return eta, own[: self.n]


def ahead_lam(method: Galerkin, lam: Array) -> Array:
    return jnp.sum(stages(method.s).ahead[:, :, None] * lam[None], axis=1)


def to_body(space: Any, xi: Vector, pi: Covector) -> Covector:
    """The momentum of the space from that of chart coordinates xi."""
    return jax.vjp(lambda v: space.rate(xi, v), jnp.zeros_like(xi))[1](pi)[0]


def continued(s: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(E, mu^-1, F): stages of the next step are E X; their coordinates from its start F X."""
    _, b, mu, _, ahead = stages(s)
    E = b[:, None] * ahead / b
    return E, np.linalg.inv(mu), mu @ E


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Collocated(MechanicalScheme):
    """The step of a system without constraint forces by collocation at Gauss points."""

    system: System
    method: Galerkin = field(metadata={"static": True})

    @property
    def stage_equations(self) -> StageEquations:
        return StageEquations(self.method, self.method.s * instant_of(self.system).lam)

    def resized(self, state: State, r: Scalar, gap: Scalar) -> State:
        grow = self.stage_equations.powers(len(state.guess)) > 0
        return longer(state, r, gap, grow)

    def start(
        self, t: Scalar, h: Scalar, q: Configuration, p: Covector, x: Vector, lam: Any
    ) -> State:
        at = instant_of(self.system)
        own = lam if at.lam else jnp.zeros(0)
        all = first_stages(self.system, self.method, t, h, q, x, own)
        u, force = jnp.concatenate([x / h, own]), jnp.sum(all.G, axis=0) / h
        M = jnp.abs(jnp.diagonal(jax.jacfwd(at.momentum, 3)(t, q, jnp.zeros_like(x), u)))[: at.n]
        change = jnp.sum(newton.own_size(h * force**2, M / h**2))
        pace = Pace(change, M / h, STILL * jnp.abs(h * at.L(t, q, jnp.zeros_like(x), u)))
        zero = jnp.zeros_like(x)
        P = None if self.system.space.flat else p
        return State(q, p, zero, x, joined(x, all, P), jnp.array(0), zero, pace=pace)

    def equations(self, state: State, t: Scalar, h: Scalar) -> Any:
        return self.stage_equations, (self.system, t, h, state.q, state.p)

    def solve(self, state: State, t: Scalar, h: Scalar) -> Followed:
        equations, args = self.equations(state, t, h)
        lately = Lately(state.x, *state.pace)
        return solved(equations, inertia_of(self.system), state.guess, args, lately)

    def moved(self, unknowns: Array, state: State, h: Scalar) -> Vector:
        return self.system.space.stretched(unknowns[: self.system.space.dim])

    def end(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> End:
        space, n = self.system.space, self.system.space.dim
        x, all, P = self.stage_equations.parts(unknowns, self.system)
        if P is not None:
            p = to_body(space, x, P)
            guess = ahead(self.method, space, n, x, all, P)
            guess = joined(jnp.sum(guess.X, axis=0), guess, p + jnp.sum(guess.G, axis=0))
            return End(x, p, guess, state.memory)
        impulse = jnp.sum(all.G, axis=0)
        if inertia_of(self.system).alone:
            E, *_ = continued(self.method.s)
            own = Stage(jnp.zeros_like(all.X), combined(E, all.G), all.lam)
            guess = joined(2 * x - state.x, own, None)
        else:
            own = ahead(self.method, space, n, x, all, None)
            guess = joined(jnp.sum(own.X, axis=0), own, None)
        # With compensated summation, as configurations.
        y = impulse + state.memory
        p = state.p + y
        return End(x, p, guess, y - (p - state.p))

    def lagrangian(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> Scalar:
        """At the end of the step."""
        x, all, _ = self.stage_equations.parts(unknowns, self.system)
        u = jnp.concatenate([x / h, all.lam[-1]])
        return instant_of(self.system).L(t + h, state.q, x, u)


@steps(ThermalSystem, Galerkin)
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CollocatedThermal(SampledThermal, ContinuousThermal):
    """The step of a thermomechanical system, its entropy balances collocated at Gauss points."""

    system: ThermalSystem
    method: Galerkin = field(metadata={"static": True})
    keeps_energy: ClassVar[bool] = False
    compared: ClassVar[bool] = False

    @property
    def stage_equations(self) -> StageEquations:
        return StageEquations(self.method)

    def first_guess(self, t: Scalar, h: Scalar, z: Configuration, x: Vector, v: Vector) -> Array:
        all = first_stages(self.system, self.method, t, h, z, x, jnp.zeros(0))
        P = None if self.system.space.flat else self.system.legendre(t, z, v)
        return joined(x, all, P)

    def equations(self, state: State, t: Scalar, h: Scalar) -> Any:
        return self.stage_equations, (self.system, t, h, state.q, state.p)

    def solve(self, state: State, t: Scalar, h: Scalar) -> Followed:
        equations, args = self.equations(state, t, h)
        return solved(equations, inertia_of(self.system), state.guess, args, ())

    def led(self, unknowns: Array, state: State, t: Scalar, h: Scalar) -> Any:
        space, n = self.system.step_space, self.system.space.dim
        x, all, P = self.stage_equations.parts(unknowns, self.system)
        guess, after = ahead(self.method, space, n, x, all, P), None
        p = state.p + jnp.sum(all.G, axis=0)
        if P is not None:
            p = to_body(space, x, jnp.zeros_like(x).at[:n].set(P))[:n]
            after = p + jnp.sum(guess.G, axis=0)
        exchange = exchanged(self.system, self.method, t, h, state.q, all.X)
        return p, exchange, joined(jnp.sum(guess.X, axis=0), guess, after)


@steps(System, Galerkin)
def of_galerkin(system: System, method: Galerkin) -> Any:
    """Without constraint forces by collocation; under them with inner points as unknowns."""
    held = system.constraint is not None and not system.enters_action
    return (
        Variational(system, method)
        if held or method.quadrature != "gauss"
        else Collocated(system, method)
    )

"""The root of a step that was meant.

The equations of a step have many roots. The one that was meant goes over into h v as the length h
of the step goes to zero; Newton's method may find another, far away, with other physics.
"""

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from accion.engines.rarely import rarely
from accion.engines.tracing import BY_ENTRIES
from accion.numerics.newton import NONE, Equations, Root, implicit, root
from accion.types import Array

# A step whose increment changes by more than so many times what the last ones did is looked at
# again; so is one that took many iterations and changes by more than they did.
FAR = 2.5
QUICK = 5
FIRST = 1 / 16  # part of a step with which following it begins
SHORTEST = 2.0**-12  # part of a step by which it goes on
PATIENCE = 400  # iterations for all of it


class StepEquations(Equations):
    """Equations of a step of a motion, whose solutions can be followed from a step of no length."""

    @abstractmethod
    def shorter(self, args: Any, s: Any) -> Any:
        """The arguments of a step that is s times as long, from the same state."""

    @abstractmethod
    def powers(self, count: int) -> np.ndarray:
        """With which power of the length each of `count` unknowns goes to zero with it: 1 for
        increments, 0 for velocities, -1 for forces whose impulse stays.
        """


class Followed(NamedTuple):
    """The unknowns of a step, as of a `Root`."""

    x: Any
    iterations: Any
    converged: Any
    change: Any = ()  # the action of the change of the increment, see `Lately`
    # how far the solution was followed, as a part of the step; 1 where that was not needed
    part: Any = np.ones(())


class Lately(NamedTuple):
    """What the steps before were like."""

    x: Any  # the last increment, the first of the unknowns
    change: Any  # the action of the largest change of an increment
    weights: Any  # inertias over h, of the first increments
    still: Any  # the action of a change that is too small to matter

    def action(self, x: Array) -> Any:
        """How large an increment, or a change of one, is in one unit: weights x^2."""
        n = self.weights.shape[0]
        return jnp.sum(self.weights * x[:n] * x[:n])

    def size(self, x: Array) -> Any:
        """Its root."""
        return jnp.sqrt(self.action(x))

    def change_to(self, x: Array) -> Any:
        """The action of the change from the last increment to that of the unknowns x."""
        n = self.weights.shape[0]
        return self.action(x[:n] - self.x[:n])


class Way(NamedTuple):
    """How far a solution was followed."""

    found: Followed  # the whole step, as it was found from its own guess; in the end the result
    going: Any
    aim: Any  # the part of it that is tried next
    start: Any  # a guess of its unknowns
    s: Any  # the part that was reached
    w: Any  # the unknowns there, over s^powers
    s0: Any  # the part that was reached before
    w0: Any


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def followed(equations: StepEquations, guess: Array, args: Any, lately: Lately) -> Followed:
    """The root of the equations of a step that goes over into h v as its length h goes to zero.

    A step has many roots, and Newton's method may find one that is far away. So a root is looked at
    again where its increment differs from that of the step before by far more than increments did
    lately: it is followed from a short step to the whole one, see `Branch`. In the good case all
    this is a comparison.
    """
    branch = Branch(equations, guess, args, lately)
    if BY_ENTRIES.get():
        way = branch.judged(root(equations, guess, args))
        follow = partial(on_the_way, equations)
        return jax.lax.cond(
            way.going, lambda: rarely(follow, way, way, guess, args, lately), lambda: way
        ).found
    # XLA would compile both roots: they are one in a loop, with the whole step as its first turn.
    yes = jnp.array(True)
    none = Root(guess, jnp.array(0), ~yes)
    begin = branch.judged(none)._replace(going=yes, aim=jnp.ones(()), start=guess)

    def turn(state: Any) -> Any:
        way, first = state
        found = branch.tried(way)
        after = jax.lax.cond(first, lambda: branch.judged(found), lambda: branch.onward(way, found))
        return after, ~yes

    return jax.lax.while_loop(lambda state: state[0].going, turn, (begin, yes))[0].found


def on_the_way(equations: StepEquations, way: Way, guess: Array, args: Any, lately: Lately) -> Way:
    """The end of a way that was begun."""
    branch = Branch(equations, guess, args, lately)
    return jax.lax.while_loop(
        lambda way: way.going, lambda way: branch.onward(way, branch.tried(way)), way
    )


class Branch(NamedTuple):
    """The solutions of a step over its length, followed from a short step to the whole one.

    By Newton's method from a straight line through the last two points, in parts that are chosen
    such that a few iterations are enough. Where the branch ends before the whole step nothing is
    found, and `part` says where.
    """

    equations: StepEquations
    guess: Any
    args: Any
    lately: Lately

    def scale(self, s: Any) -> Any:
        """By which each unknown of a whole step becomes one of the part s."""
        powers = self.equations.powers(self.guess.shape[0])
        return jnp.where(powers > 0, s, jnp.where(powers < 0, 1 / s, 1.0))

    def ahead(self, way: Way, s: Any) -> Any:
        """The unknowns of the part s on a line through the last two points."""
        gap = way.s - way.s0
        along = jnp.where(gap > 0, (s - way.s) / gap, 0.0)
        return self.scale(s) * (way.w + along * (way.w - way.w0))

    def tried(self, way: Way) -> Root:
        """What Newton's method finds of the part that is next."""
        return root(self.equations, way.start, self.equations.shorter(self.args, way.aim))

    def judged(self, whole: Root) -> Way:
        """After the whole step, from its own guess."""
        x, i, converged = whole
        lately, guess, none, first = self.lately, self.guess, jnp.zeros(()), jnp.array(FIRST)
        change = lately.change_to(x)
        far = change > jnp.where(i > QUICK, 1.0, FAR**2) * lately.change + lately.still
        found = Followed(x, i, converged, change, jnp.ones(()))
        # After a failure there is nothing to look for.
        going = (far | ~converged) & jnp.all(jnp.isfinite(guess))
        return Way(found, going, first, self.scale(first) * guess, none, guess, none, guess)

    def onward(self, way: Way, part: Root) -> Way:
        """After a part of it."""
        (x, i, converged), lately, size = part, self.lately, self.lately.size
        found, s, aim, gap = way.found, way.s, way.aim, way.s - way.s0
        ds, w = aim - s, x / self.scale(aim)
        bend, expected = size(x - way.start), size(way.start - self.scale(aim) * way.w)
        # From near by the line need not be the right one: it is drawn anew.
        near = (ds <= gap / 8) & (i < QUICK)
        allowed = 0.5 * (expected + aim * ds * jnp.sqrt(lately.change)) + jnp.sqrt(lately.still)
        calm = (bend <= allowed) | near | ~(gap > 0)
        good = converged & (i <= QUICK) & calm
        # The first point is no line yet.
        begun, length = s > 0, ds * jnp.where(good, jnp.where(s > 0, 2.0, 1.0), 0.25)
        way = way._replace(
            s=jnp.where(good, aim, s),
            w=jnp.where(good, w, way.w),
            s0=jnp.where(good, jnp.where(begun, s, aim), way.s0),
            w0=jnp.where(good, jnp.where(begun, way.w, w), way.w0),
        )
        arrived = good & (aim >= 1)
        ends = (length < SHORTEST) | (found.iterations > PATIENCE)
        # Often the root is where it was: then every digit stays.
        own = size(x) + size(lately.x) + jnp.sqrt(lately.change)
        same = found.converged & (size(x - found.x) <= 1e-6 * own + jnp.sqrt(lately.still))
        # Where nothing is found near h = 0, nothing is known.
        lost = ends & ~arrived & (way.s > 0)
        # One wild step is no licence for the next.
        most = jnp.where(lately.change > 0, 4 * lately.change, jnp.inf)
        calm_change = jnp.minimum(lately.change_to(x), most)
        aim = jnp.minimum(way.s + length, 1.0)
        return way._replace(
            found=Followed(
                jnp.where(arrived & ~same, x, found.x),
                found.iterations + i,
                (found.converged | arrived) & ~lost,
                jnp.where(arrived, calm_change, found.change),
                jnp.where(lost, way.s, 1.0),
            ),
            going=~(arrived | ends),
            aim=aim,
            start=self.ahead(way, aim),
        )


@followed.defjvp
def followed_jvp(equations: Any, primals: Any, tangents: Any) -> Any:
    guess, args, lately = primals
    out = followed(equations, guess, args, lately)
    dx = implicit(equations, out, guess, args, tangents[1])
    return out, Followed(dx, NONE, NONE, jnp.zeros_like(out.change), jnp.zeros_like(out.part))

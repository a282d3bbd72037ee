"""What a symmetry keeps along a trajectory: one law, whatever the symmetry is given by."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.affine import AffineSymmetry
from accion.analysis.invariance import FieldSymmetry
from accion.analysis.natural import natural_units
from accion.analysis.noether import Field, Symmetry
from accion.arguments import door, one_of, seed, wrong
from accion.checks import check_field, check_mechanical, refuse
from accion.engines.auto import each
from accion.memory import rows
from accion.plot.figures import one_axes
from accion.results.trajectory import Trajectory, a_trajectory
from accion.systems import System
from accion.systems.weights import logs_at, reduced
from accion.told import Drawn, Told
from accion.types import Array

MOTIONS = {"space": Symmetry.of_space, "body": Symmetry.of_body}


@dataclass(frozen=True, repr=False)
class Decay(Told):
    """The rate of an exponential law, measured and predicted."""

    measured: float
    predicted: float

    def __str__(self) -> str:
        return f"e^({self.measured:.9g} t), predicted e^({self.predicted:.9g} t)"


@dataclass(frozen=True, repr=False)
class Law(Drawn):
    """The momenta p.X - f of a symmetry at each saved time of a trajectory.

    Where X is a symmetry of the discretised system they are constant, to roundoff.

    Fields:
        t: the times.
        values: p.X - f, shape (times,), of k fields at once (times, k), with an axis of runs in
            front of these for an ensemble.
        reduced: the same over the weight w of a system with one, which is finite at any time.
        own: p.X over w, without f.
        size: of the terms of `reduced`, sum_i |p_i X_i| + |f| over w, of the same shape: what
            roundoff is of.
        log_weight: log |w|, with axes like those of `values`; 0 where there is no weight.
        signs: of w.
        ratios: of the weights after and before each saved step; 1 where there is none.
    """

    t: Array
    values: np.ndarray
    reduced: np.ndarray
    own: np.ndarray
    size: np.ndarray
    log_weight: np.ndarray
    signs: np.ndarray
    ratios: np.ndarray
    symmetry: Any = field(repr=False)
    trajectory: Trajectory = field(repr=False)

    @property
    def axis(self) -> int:
        """That of the times."""
        return int(self.trajectory.is_ensemble)

    @property
    def changes(self) -> np.ndarray:
        """How much each saved step changes the momenta, in units of the size of their terms."""
        first, second = (
            tuple(np.delete(a, end, self.axis) for a in (self.reduced, self.size))
            for end in (-1, 0)
        )
        size = np.maximum(first[1], self.ratios * second[1])
        return np.abs(self.ratios * second[0] - first[0]) / np.where(size > 0, size, 1.0)

    @property
    def drift(self) -> float:
        """The largest change since the start, of each momentum (and run) in units of the largest
        size of its terms.
        """
        with np.errstate(divide="ignore"):
            most = np.max(self.log_weight + np.log(self.size), axis=self.axis, keepdims=True)
        most = np.where(np.isneginf(most), 0.0, most)
        values = self.reduced * self.signs * np.exp(self.log_weight - most)
        return float(np.max(np.abs(values - np.take(values, [0], self.axis))))

    def decay(self) -> Decay:
        """For L = e^{-kappa t} L0, whose p.X is constant: the rate of J0 = dL0/dv.X, the slope of
        log|J0| with J0 from the velocities, and kappa (Colombo-Gamonal, eq 9, with the right sign).

        Raises:
            ValueError: for other Lagrangians, several fields at once, and a momentum that is zero.
        """
        trajectory, system = self.trajectory, self.trajectory.system
        if not np.all(np.isfinite(self.own)):
            raise ValueError("X must be finite all along the trajectory; p.X is not.")
        if system.forced or np.any(self.reduced != self.own):
            raise ValueError(
                "a momentum decays like e^{kappa t} where p.X itself is kept: here a force acts, or"
                " X changes L by a total derivative f."
            )
        kappa = decay_rate(system)
        if self.values.ndim > 1:
            raise ValueError("a rate is that of one momentum in one run; here are several.")
        first = jax.tree.map(lambda a: a[0], trajectory.q)
        X = check_field(self.symmetry.X, trajectory.t[0], first, system.space.dim)

        def momentum(t: Any, q: Any, v: Any) -> Any:
            return system.legendre(0.0, q, v) @ X(t, q)

        J0 = np.asarray(each(momentum, trajectory.t, trajectory.q, trajectory.v))
        if np.any(J0 == 0) or np.any(np.sign(J0) != np.sign(J0[0])):
            raise ValueError("the momentum is zero somewhere on the trajectory; it has no rate.")
        return Decay(float(np.polyfit(np.asarray(trajectory.t), np.log(np.abs(J0)), 1)[0]), kappa)

    def text(self) -> str:
        """How well it is kept, in words."""
        count = self.values.shape[-1] if self.values.ndim > self.axis + 1 else 1
        what = "p.X - f" if count == 1 else f"{count} momenta p.X - f"
        return (
            f"{what}: changes of {self.drift:.2g} of the terms in {len(self.t) - 1} saved steps,"
            f" {np.max(self.changes, initial=0.0):.2g} in one of them"
        )

    def __str__(self) -> str:
        return self.text()

    def plot(self, axes: Any = None) -> Any:
        """The changes of the momenta since the start, over time; returns the matplotlib figure."""
        ax = one_axes(axes)
        moved = np.moveaxis(self.values - np.take(self.values, [0], self.axis), self.axis, 0)
        ax.plot(np.asarray(self.t), moved.reshape(len(self.t), -1))
        ax.set(xlabel="t [s]", ylabel="change of p.X - f", title=f"drift {self.drift:.2g}")
        return ax.figure


@door(trajectory=a_trajectory)
def law(trajectory: Trajectory, of: Any) -> Law:
    """What a symmetry conserves, along a trajectory: p.X - f, how large its terms are, and how well
    it is kept.

    Arguments:
        trajectory: one run, or an ensemble.
        of: a `Symmetry`; a field `X(q)` or `X(t, q)`; one that `symmetries` found; "space" or
            "body", all motions of space (on SE(3): angular and linear momentum) or of the body.
    """
    trajectory.check_system()
    if isinstance(of, str):
        of = MOTIONS[one_of(*MOTIONS)(of, "of")](trajectory.system.space)
    if not isinstance(of, Symmetry | AffineSymmetry | FieldSymmetry):
        if not callable(of):
            words = 'a Symmetry, "space", "body" or a field, where X must be a function X(q)'
            wrong("of", words, of)
        field: Any = of
        of = Symmetry(field)
    values = np.asarray(of.along(trajectory))
    p = trajectory.reduced_p
    X = check_field(of.X, *first_of(trajectory), p.shape[-1])
    if p.ndim - trajectory.is_ensemble > 2:
        own = size = np.asarray(trajectory.momentum(of.X))
    else:
        own, size = map(np.asarray, trajectory.each(partial(paired, X), trajectory.q, p))
    full = np.asarray(trajectory.momentum(of.X))
    with np.errstate(invalid="ignore"):
        f = np.where(full == values, 0.0, full - values)  # also where they are infinite
    log = np.zeros(own.shape[: trajectory.is_ensemble + 1])
    signs = np.ones_like(log)
    if trajectory.weighted:
        f, log = (np.asarray(a) for a in (trajectory.each(reduced, f), trajectory.log_weight))
        signs = np.asarray(trajectory.each(sign_of_weight))
    parts, more = (log, signs, ratios_of(trajectory, log, signs)), (1,) * (own.ndim - log.ndim)
    log, signs, ratios = (a.reshape(*a.shape, *more) for a in parts)
    terms = np.abs(size) + np.abs(f)
    weights = (log, signs, ratios)
    return Law(trajectory.t, values, own - f, own, terms, *weights, of, trajectory)


def sign_of_weight(system: Any, t: Any) -> Any:
    """That of w(t)."""
    return logs_at(system, t).sign


def ratios_of(trajectory: Trajectory, log: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The weight after each saved step over that before it; of steps of one length from that, as a
    difference of late times, or of large logarithms, has lost digits.
    """
    system, t, h = trajectory.system, np.asarray(trajectory.t), np.asarray(trajectory.h)
    apart = signs[..., 1:] * signs[..., :-1] * np.exp(np.diff(log, axis=-1))
    if trajectory.is_ensemble or not trajectory.weighted or h.ndim:
        return apart
    lengths = h * np.rint(np.diff(t) / h)
    if np.any(np.abs(lengths - np.diff(t)) > 1e-6 * h):  # not whole steps, or steps of their own
        return apart
    ratio = jax.vmap(lambda t, length: system.conformal.ratio(t, length, system.params))
    return np.asarray(ratio(t[:-1], lengths))


def first_of(trajectory: Trajectory) -> tuple[Any, Any]:
    """The first time and configuration, of an ensemble those of its first run."""
    q = jax.tree.map(lambda a: a[0, 0] if trajectory.is_ensemble else a[0], trajectory.q)
    return trajectory.t[0], q


def paired(X: Field, system: Any, t: Any, q: Any, p: Any) -> tuple[Any, Any]:
    """p.X, and the sum of the sizes of its terms."""
    here = X(t, q)
    return p @ here, jnp.abs(p) @ jnp.abs(here)


@door(trajectory=a_trajectory)
def spatial_momentum(trajectory: Trajectory) -> Array:
    """The momentum in space Ad*_(g^-1) p at each saved time of a trajectory on a group.

    Its component zeta, p(Ad_(g^-1) zeta), is the momentum map of the motions of space g -> exp(s
    zeta) g, and kept where L does not see them. On SO(3) it is R p, the angular momentum; on SE(3)
    (angular momentum about the origin, linear momentum); on a product those of its factors, one
    after the other. The same with its drift: `law(trajectory, "space")`.

    Arguments:
        trajectory: one run of a system of order one on a group, or on a product with one.

    Returns:
        An array of shape (times, dim).
    """
    trajectory.check_system()
    space = trajectory.system.space
    if space.flat:
        raise ValueError(f"spatial_momentum needs a group, such as SO3(); got {space}.")
    if trajectory.p.ndim > 2:
        kind = trajectory.system.kind
        refuse("spatial_momentum", kind, "it takes one momentum for each time of one run")
    return Symmetry.of_space(space).along(trajectory)


@door(samples=rows(1000), seed=seed)
def decay_rate(system: System, *, samples: int = 20, seed: int = 0) -> float:
    """kappa of a Lagrangian L = e^{-kappa t} L0(q, v).

    Arguments:
        system: in continuous time, of order one.
        samples, seed: how many random points are looked at, and which.

    Raises:
        ValueError: where L is not of that form.
    """
    check_mechanical(system, "decay_rate")
    space, rng, natural = system.space, np.random.default_rng(seed), natural_units(system)
    t, (x, v) = rng.uniform(0, 2, samples), rng.normal(size=(2, samples, space.dim))
    t, x, v = natural.t * t, natural.x * x, natural.rates[0] * v
    q = jax.vmap(lambda x: space.retract(space.identity(), x))(x)
    L, dL = each(jax.value_and_grad(system.L), t, q, v)
    L, dL = np.asarray(L), np.asarray(dL)
    kappa = -float(dL @ L / (L @ L))
    if not np.max(np.abs(dL + kappa * L)) <= 1e-9 * np.max(np.abs(dL) + np.abs(kappa * L)):
        raise ValueError(
            f"the Lagrangian of {system.name} is not e^(-kappa t) times one that does not depend on"
            " time."
        )
    return kappa


@door(trajectory=a_trajectory)
def decay(trajectory: Trajectory, X: Field) -> Decay:
    """The law |J0(t)| = e^{kappa t} |J0(0)| of J0 = dL0/dv.X for L = e^{-kappa t} L0 with the
    symmetry X: `law(trajectory, X).decay()`.

    Arguments:
        trajectory: one run of a `System` with such a Lagrangian.
        X: a field `X(q) -> (dim,)`.

    Reference: Colombo-Gamonal, eq 9, with the right sign.
    """
    if isinstance(X, str):
        wrong("X", "a field X(q) -> (dim,)", X)
    return law(trajectory, X).decay()

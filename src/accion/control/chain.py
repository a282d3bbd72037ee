"""The constraint algorithm of a control problem (Vakonomic thesis, section 7.1 and Obs 5.3.3): from
W0, where controls are free, to the final submanifold Wf, on which extremals exist.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from accion.analysis.chains import Chain, Words, followed
from accion.analysis.constraints import ConstraintAlgorithm, algorithm_of, result_of
from accion.analysis.natural import natural_units
from accion.checks import refuse
from accion.control.hamiltonian import Hamiltonian
from accion.control.problem import ControlProblem
from accion.numerics import newton
from accion.types import Array


class ExtremalChain(Chain):
    """On z = (t, q, v, p0, p1, u): the canonical equations of H = p0.v + p1.a - C with dH/du = 0.

    Coordinates and velocities are measured by the natural units of the system, controls by the
    accelerations that they make, the cost by its derivatives. On a group q is x, with which the
    retraction leads there from the origin.
    """

    def __init__(self, problem: ControlProblem, rng: np.random.Generator, samples: int) -> None:
        self.system, self.own = problem.system, Hamiltonian(problem.cost, problem.law)
        self.dim, self.controls = problem.system.space.dim, problem.control_count
        d, r = self.dim, self.controls
        self.n, self.m, self.beside = 2 * d, 0, 0
        self.first, self.size = 1 + 4 * d, 1 + 4 * d + r
        sizes = natural_units(problem.system)
        states = np.concatenate([sizes.x[:d], sizes.rates[0, :d]])
        self.scale, self.time = np.ones(self.size), sizes.time
        self.scale[0], self.scale[1 : 1 + 2 * d] = sizes.t, states
        self.scale[self.first :] = self.control_units(rng, samples, sizes)
        self.cost = self.size_of_cost(rng, samples)
        self.scale[1 + 2 * d : self.first] = self.cost * sizes.time / states
        name, n = problem.name, f"{d} coordinate{'s' if d != 1 else ''}"
        self.words = Words(
            f"{name}: {n}, {r} control{'s' if r != 1 else ''}.",
            "(q, v, p0, p1)",
            "controls",
            "the controls",
            "det d2H/du2",
        )

    def control_units(self, rng: np.random.Generator, samples: int, sizes: Any) -> np.ndarray:
        """The control that accelerates as the motion does in its natural time."""
        z = jnp.asarray(rng.normal(size=(samples, self.size)) * self.scale)

        def push(z: Array) -> Array:
            t, q, v, _, _, u = self.cut(z)
            return jax.jacfwd(lambda u: self.own.acceleration(self.system, t, q, v, u))(u)

        own = sizes.rates[0, : self.dim] / sizes.time
        slopes = np.abs(np.nan_to_num(np.asarray(jax.vmap(push)(z)))) / own[:, None]
        largest = slopes.max(axis=(0, 1))
        return 1 / np.where(largest > 0, largest, 1.0)

    def size_of_cost(self, rng: np.random.Generator, samples: int) -> float:
        """Of its first and second derivatives, with all that it depends on of natural size."""
        z = rng.normal(size=(samples, self.size))

        def cost(z: Array) -> Array:
            t, q, v, _, _, u = self.cut(z * self.scale)
            return self.own.cost(t, q, v, u, self.system.params)

        found = jax.vmap(lambda z: (jax.grad(cost)(z), jax.hessian(cost)(z)))(z)
        size = max(float(np.max(np.abs(np.nan_to_num(np.asarray(x))))) for x in found)
        return size if size > 0 else 1.0

    def cut(self, z: Array) -> tuple[Any, ...]:
        """(t, q, v, p0, p1, u) of a point in the user's units."""
        d, space = self.dim, self.system.space
        t, x, v, p0, p1, u = jnp.split(z, np.cumsum([1, d, d, d, d]))
        return t[0], space.retract(space.identity(), x), v, p0, p1, u

    def equations(self, z: Array) -> Array:
        """dH/du = 0: the submanifold W1."""
        t, q, v, p0, p1, u = self.cut(z * self.scale)
        found = self.own.primary(u, (self.system, t, q, v, p0, p1))
        return found * self.scale[self.first :] / self.cost

    def drift(self, z: Array) -> Array:
        """The canonical equations by t in natural times; the rates of the controls are left out."""
        t, q, v, p0, p1, u = self.cut(z * self.scale)
        space, system = self.system.space, self.system

        def pairing(e: Array, v: Array) -> tuple[Array, Array]:
            moved = space.displace(q, e)
            a = self.own.acceleration(system, t, moved, v, u)
            return p1 @ a - self.own.cost(t, moved, v, u, system.params), a

        slopes = jax.grad(pairing, (0, 1), has_aux=True)(jnp.zeros(self.dim), v)
        (by_q, by_v), a = slopes
        moved = v if space.flat else newton.solve(self.frame(z), v)
        pushed = space.coad(v, p0) - by_q, -p0 - by_v
        rates = jnp.concatenate([jnp.ones(1), moved, a, *pushed, 0 * u])
        return rates * (self.time / self.scale)

    def frame(self, z: Array) -> Array:
        """What makes a velocity of the rate of x, shape (dim, dim): one on a flat space."""
        x, zero = (z * self.scale)[1 : 1 + self.dim], jnp.zeros(self.dim)
        return jax.jacfwd(lambda rate: self.system.space.velocity(x, rate))(zero)

    def form(self, z: Array) -> Array:
        """dq ^ dp0 + dv ^ dp1, on a group with p0.[e_i, e_j] for displacements of the body."""
        d, space, one = self.dim, self.system.space, jnp.eye(self.dim)
        p0 = self.cut(z * self.scale)[3]
        turned = jax.vmap(lambda a: jax.vmap(lambda b: p0 @ space.ad(a, b))(one))(one)
        T, zero = self.frame(z), jnp.zeros((d, d))
        bent = jnp.block([[T.T @ turned @ T, zero], [zero, zero]])
        across = jnp.block([[T.T, zero], [zero, one]])
        whole = jnp.block([[bent, across], [-across.T, 0 * bent]])
        scale = self.scale[1 : self.first]
        return whole * scale[:, None] * scale / (scale[0] * scale[2 * d])

    def random(self, rng: np.random.Generator, samples: int) -> np.ndarray:
        """Each number of its own size."""
        return rng.normal(size=(samples, self.size))


@algorithm_of.register
def _(problem: ControlProblem, samples: int, seed: int, seconds: float) -> ConstraintAlgorithm:
    if problem.system.constraint is not None:
        why = "their states are a submanifold, on which costates are determined up to its normals"
        refuse("constraint_algorithm", "control problems of constrained systems", why)
    rng = np.random.default_rng(seed)
    chain = ExtremalChain(problem, rng, samples)
    found = followed(chain, rng, samples, lambda derivative: None)
    from accion.control.levels import control_levels  # SymPy takes long to import

    equations, determinant, reason = control_levels(problem, found.cuts, seconds)
    return result_of(problem, chain, found, equations, determinant, reason)

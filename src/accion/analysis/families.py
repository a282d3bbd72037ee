"""Families of vector fields, linear in their coefficients, in which symmetries are looked for.

    vectors    X(q) = A q + b               affine
    a group    X(g) = Ad(g^-1) zeta + b     motions of space, g -> exp(s zeta) g, and of the body
    a product  those of its vectors together, and of each group
"""  # fmt: skip

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import jax.numpy as jnp
import numpy as np

from accion.analysis.affine import AffineSymmetry, coefficients, turned_forward, written
from accion.spaces import Euclidean, Group, Product, Space, Torus
from accion.types import Array, Configuration, Vector


@dataclass(frozen=True)
class Affine:
    """X = A q + b on vectors of n numbers; the coefficients are (A, b)."""

    n: int

    @property
    def count(self) -> int:
        """How many coefficients there are."""
        return self.n * (self.n + 1)

    def X(self, u: Array, q: Configuration) -> Vector:
        """The field at a configuration."""
        square = self.n * self.n
        return jnp.reshape(u[:square], (self.n, self.n)) @ q + u[square:]

    def units(self, sizes: np.ndarray) -> np.ndarray:
        """The units of the coefficients where coordinates have these sizes."""
        return np.concatenate([np.outer(sizes, 1 / sizes).ravel(), sizes])

    def forward(self, u: np.ndarray) -> np.ndarray:
        """The same field, or its opposite where that is how one says it."""
        return turned_forward(u)

    def text(self, u: np.ndarray, names: tuple[str, ...]) -> list[str]:
        """The field in words."""
        if not np.any(u):
            return []
        return [AffineSymmetry(*coefficients(u), None, names).field_text()]


@dataclass(frozen=True)
class Motions:
    """X = Ad(g^-1) zeta + b on a group; the coefficients are (zeta, b)."""

    group: Group

    @property
    def count(self) -> int:
        return 2 * self.group.dim

    def X(self, u: Array, q: Configuration) -> Vector:
        n = self.group.dim
        return self.group.Ad(self.group.inverse(q)) @ u[:n] + u[n:]

    def units(self, sizes: np.ndarray) -> np.ndarray:
        return np.concatenate([sizes, sizes])

    def forward(self, u: np.ndarray) -> np.ndarray:
        return u

    def text(self, u: np.ndarray, names: tuple[str, ...]) -> list[str]:
        n = self.group.dim
        parts = (("motion of space", u[:n]), ("motion of the body", u[n:]))
        return [f"{word} along {written(part, names)}" for word, part in parts if np.any(part)]


@dataclass(frozen=True)
class Beside:
    """Fields on a product: one family for all vectors, and one for each group."""

    space: Product

    @property
    def flat(self) -> tuple[int, ...]:
        """The factors whose configurations are vectors."""
        return tuple(i for i, s in enumerate(self.space.factors) if not isinstance(s, Group))

    @property
    def families(self) -> list[tuple[Any, tuple[int, ...]]]:
        """(family, the factors that it moves) of each."""
        own: list[Any] = [
            (Motions(s), (i,)) for i, s in enumerate(self.space.factors) if isinstance(s, Group)
        ]
        n = sum(self.space.factors[i].dim for i in self.flat)
        return [(Affine(n), self.flat), *own] if n else own

    @property
    def count(self) -> int:
        return sum(family.count for family, _ in self.families)

    def parts(self, u: Any) -> list[Any]:
        """The coefficients of each family."""
        ends = np.cumsum([family.count for family, _ in self.families])
        return np.split(u, ends[:-1]) if isinstance(u, np.ndarray) else jnp.split(u, ends[:-1])

    def X(self, u: Array, q: Configuration) -> Vector:
        moved: list[Any] = [None] * len(self.space.factors)
        for (family, factors), own in zip(self.families, self.parts(u), strict=True):
            place = q[factors[0]] if isinstance(family, Motions) else self.vectors(q)
            ends = np.cumsum([self.space.factors[i].dim for i in factors])
            for i, part in zip(factors, jnp.split(family.X(own, place), ends[:-1]), strict=True):
                moved[i] = part
        return jnp.concatenate(moved)

    def units(self, sizes: np.ndarray) -> np.ndarray:
        slices = self.space.slices
        return np.concatenate(
            [
                family.units(np.concatenate([sizes[slices[i]] for i in factors]))
                for family, factors in self.families
            ]
        )

    def forward(self, u: np.ndarray) -> np.ndarray:
        moving = [(f, own) for (f, _), own in zip(self.families, self.parts(u), strict=True)]
        alone = sum(bool(np.any(own)) for _, own in moving) == 1
        return np.concatenate([f.forward(own) if alone else own for f, own in moving])

    def vectors(self, q: Configuration) -> Vector:
        """All vectors of a configuration in one."""
        return jnp.concatenate([q[i] for i in self.flat])

    def text(self, u: np.ndarray, names: tuple[str, ...]) -> list[str]:
        found = []
        for (family, factors), own in zip(self.families, self.parts(u), strict=True):
            here = [name for i in factors for name in names[self.space.slices[i]]]
            found += family.text(own, tuple(here))
        return found


@singledispatch
def fields_on(space: Space) -> Any:
    """The family of fields that is looked at on a space."""
    raise ValueError(f"symmetries does not support systems on {space}: no fields are known there.")


@fields_on.register(Euclidean)
@fields_on.register(Torus)
def _(space: Euclidean | Torus) -> Affine:
    return Affine(space.dim)


@fields_on.register
def _(space: Group) -> Motions:
    return Motions(space)


@fields_on.register
def _(space: Product) -> Beside:
    if any(isinstance(factor, Product) for factor in space.factors):
        raise ValueError(f"symmetries does not support {space}: write it as one product.")
    return Beside(space)

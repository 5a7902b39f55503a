"""Numbers for the elements of matrices."""

from __future__ import annotations

import numpy as np

from vkgroup.conformance.cooperative_matrix.case import Shape
from vkgroup.conformance.cooperative_matrix.component import COMPONENTS, Array, Combination, Component
from vkgroup.conformance.cooperative_matrix.program import UNITS

_SIGNIFICAND = 11
"""Bits that sums stay within beside those of narrower types: what hardware keeps of every type of floats."""


def any_bits(random: np.random.Generator, component: Component, *shape: int) -> Array:
    """Return numbers of all the bits that a type has, none NaN, infinite or subnormal: (UNITS, …)."""
    whole = (UNITS, *shape)
    if not component.is_float:
        limits = np.iinfo(component.dtype)
        return random.integers(limits.min, limits.max, whole, component.dtype, endpoint=True)
    exponents = (-12, 12) if component.size == 2 and not component.is_bfloat16 else (-60, 60)
    numbers = np.ldexp(random.uniform(1, 2, whole), random.integers(*exponents, whole))
    numbers *= random.choice([-1.0, 1.0], whole)
    # Rounded once to the type itself, so that storing changes nothing.
    return component.read(component.stored(numbers.astype(np.float64)).view(np.uint8))


def small_integers(
    random: np.random.Generator, component: Component, limit: int, *shape: int, least: int | None = None
) -> Array:
    """Return whole numbers up to a limit, negative ones where the type has them: (UNITS, …)."""
    low = -limit if component.dtype.kind != "u" else 0
    numbers = random.integers(low if least is None else least, limit, (UNITS, *shape), endpoint=True)
    return numbers.astype(component.dtype)


def exact_product(
    random: np.random.Generator, combination: Combination, shape: Shape, steps: int = 1
) -> tuple[Array, Array, Array]:
    """Return A, B and C whose product is exact in every order and in every type of at least theirs' digits.

    Floats: every partial sum of `steps` products is a whole number that the narrowest of the four types has,
    and of at most 11 bits. Integers: any numbers; what overflows keeps its low bits, whatever the order.

    Returns
    -------
    a : (UNITS, steps, rows, inner); b : (UNITS, steps, inner, columns); c : (UNITS, rows, columns).
    """
    kinds = [COMPONENTS[name] for name in combination.types]
    a_shape, b_shape = (steps, shape.rows, shape.inner), (steps, shape.inner, shape.columns)
    c_shape = shape.rows, shape.columns
    if not kinds[0].is_float:
        return (
            any_bits(random, kinds[0], *a_shape),
            any_bits(random, kinds[1], *b_shape),
            any_bits(random, kinds[2], *c_shape),
        )
    largest = 2 ** min(_SIGNIFICAND, *(kind.digits for kind in kinds))
    terms = steps * shape.inner
    limit = max(1, int((0.7 * largest / terms) ** 0.5))
    a = small_integers(random, kinds[0], limit, *a_shape)
    # Where even products of ones are too many, only so many of a row are other than zero.
    kept = int(0.7 * largest / limit**2)
    a.reshape(UNITS, steps, shape.rows, shape.inner)[..., max(1, kept // steps) :] = 0
    b = small_integers(random, kinds[1], limit, *b_shape)
    c = small_integers(random, kinds[2], int(0.3 * largest), *c_shape)
    return a, b, c


def rounding_product(
    random: np.random.Generator, combination: Combination, shape: Shape
) -> tuple[Array, Array, Array]:
    """Return A, B and C of floats near 1 with all their bits, whose sums must be rounded; shapes as above."""
    matrices = []
    sizes = ((1, shape.rows, shape.inner), (1, shape.inner, shape.columns), (shape.rows, shape.columns))
    for name, size in zip(combination.types, sizes, strict=False):
        component = COMPONENTS[name]
        numbers = random.uniform(0.5, 2, (UNITS, *size)) * random.choice([-1.0, 1.0], (UNITS, *size))
        matrices.append(component.read(component.stored(numbers).view(np.uint8)))
    return matrices[0], matrices[1], matrices[2]


def saturating_product(
    random: np.random.Generator, combination: Combination, shape: Shape, steps: int = 1
) -> tuple[Array, Array, Array]:
    """Return A and B of small integers, and C so near the ends of its type that many sums saturate."""
    kinds = [COMPONENTS[name] for name in combination.types]
    a = small_integers(random, kinds[0], 100, steps, shape.rows, shape.inner)
    b = small_integers(random, kinds[1], 100, steps, shape.inner, shape.columns)
    limits = np.iinfo(kinds[2].dtype)
    near = random.integers(0, 50 * shape.inner, (UNITS, shape.rows, shape.columns))
    top = random.integers(0, 2, near.shape) == 1
    c = np.where(top, limits.max - near, limits.min + near).astype(kinds[2].dtype)
    return a, b, c

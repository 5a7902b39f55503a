"""Input data: values for which operations with the same signature have different results.

Each of the four workgroups of a dispatch has data of a different kind, so one dispatch has subgroups in
which all values are equal, all differ, or some are equal. Invocations that the pattern leaves inactive read
*decoys*: values that change the result if the device includes them.

Data sets
---------
exact : every order of evaluation gives the same bits, so bits are compared.
rounding : floating-point sums and products that round; compared with a guaranteed interval.
special : NaN, infinities, negative zero, denormals; the smallest and largest integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from vkgroup.conformance.arrays import Array
from vkgroup.conformance.shapes import WORKGROUPS
from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.types import GlslType


@dataclass(frozen=True)
class RecipeParameters:
    """The parameters of a recipe."""

    type: GlslType  # the GLSL type of the values
    invocations: int  # invocations in one workgroup
    denormals: bool = False  # whether the device preserves denormals of this type

    @property
    def shape(self) -> tuple[int, int, int]:
        """Workgroups, invocations, components."""
        return WORKGROUPS, self.invocations, self.type.components


Recipe = Callable[[np.random.Generator, RecipeParameters], tuple[Array, Array]]
"""Makes (values, decoys), each (workgroups, invocations, components) in the type's dtype."""


def _bits(generator: np.random.Generator, request: RecipeParameters) -> Array:
    dtype = dtype_of(request.type.scalar)
    if dtype == np.bool_:
        return generator.integers(0, 2, request.shape).astype(np.bool_)
    if dtype.kind == "f":
        # Normal numbers of both signs and many magnitudes: no NaN, so that bits can be compared.
        exponent = generator.integers(-12, 13, request.shape)
        mantissa = generator.uniform(1.0, 2.0, request.shape) * generator.choice([-1.0, 1.0], request.shape)
        return np.asarray(np.ldexp(mantissa, exponent).astype(dtype))
    return np.frombuffer(generator.bytes(int(np.prod(request.shape)) * dtype.itemsize), dtype).reshape(
        request.shape
    )


def moves(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Random values: two invocations very rarely have the same one."""
    return _bits(generator, request), _bits(generator, request)


def _singles(generator: np.random.Generator, request: RecipeParameters) -> Array:
    """Booleans for half of a workgroup, one true among 32 in each component: (half, components).

    It is in an even and an odd lane alternately, so that leaving out half of the lanes gives a wrong
    result. It is in the upper half of eight lanes, so that other lanes precede it in a scan.
    """
    half, components = request.invocations // 2, request.type.components
    blocks = -(-half // 32)
    chosen = generator.integers(0, 8, (blocks, 1, components))
    places = chosen // 2 * 8 + 4 + chosen % 2 * 2 + np.arange(blocks).reshape(-1, 1, 1) % 2
    values = np.zeros((blocks, 32, components), np.bool_)
    np.put_along_axis(values, places, True, axis=1)
    return values.reshape(-1, components)[:half]


def predicates(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Booleans: all true, none, one true among 32 and half, one false among 32 and a few.

    The decoys have the opposite value.
    """
    likelihood = np.array([1.0, 0.0, 0.5, 0.9]).reshape(WORKGROUPS, 1, 1)
    values = generator.random(request.shape) < likelihood
    singles = _singles(generator, request)
    values[2, : len(singles)], values[3, : len(singles)] = singles, ~singles
    return values, ~values


def equalities(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Values all equal, all different, equal except a few in one component, equal in every workgroup."""
    values = _bits(generator, request).copy()
    same = np.broadcast_to(values[:, :1], request.shape)
    few = generator.random(request.shape) < 0.1
    few[:, :, :-1] = False
    values[0], values[3] = same[0], same[3]
    values[2] = np.where(few[2], values[2], same[2])
    decoys = _bits(generator, request).copy()
    if dtype_of(request.type.scalar) == np.bool_:
        decoys = ~values
    return values, decoys


def classes(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Values all equal, all different, of three kinds, of two kinds that differ only in the last component.

    The decoys are of the same kinds.
    """
    values = _bits(generator, request).copy()
    few = values.copy()
    few[:, :, -1] = np.take(few[:, :2, -1], generator.integers(0, 2, request.shape[1]), axis=1)
    few[:, :, :-1] = few[:, :1, :-1]
    kinds = generator.integers(0, 3, request.shape[1])
    values[0], values[2], values[3] = values[0, :1], values[2, kinds], few[3]
    return values, generator.permutation(values, axis=1)


def ballots(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Bit masks, dense and sparse, different for each invocation, with bits beyond any subgroup set."""
    density = np.array([0.5, 0.95, 0.05, 0.3]).reshape(WORKGROUPS, 1, 1, 1)
    bits = generator.random((*request.shape, 32)) < density
    words = np.packbits(bits, axis=-1, bitorder="little").view(np.uint32)[..., 0]
    return words, ~words


def uniform_ballots(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Bit masks that all invocations of a workgroup share, as subgroupInverseBallot requires."""
    values = np.broadcast_to(ballots(generator, request)[0][:, :1], request.shape).copy()
    return values, ~values


def sums(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Summands: any integers; floating-point integers up to 15, so that sums of 128 are exact in float16."""
    dtype = dtype_of(request.type.scalar)
    if dtype.kind != "f":
        return moves(generator, request)
    values = generator.integers(1, 16, request.shape) * generator.choice([-1, 1], request.shape)
    return values.astype(dtype), (generator.integers(1, 16, request.shape)).astype(dtype)


def products(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Factors: odd integers, so that no product vanishes; signed powers of two in float16's range."""
    dtype = dtype_of(request.type.scalar)
    if dtype.kind != "f":
        return _bits(generator, request) | dtype.type(1), _bits(generator, request) | dtype.type(1)
    return _signed_powers(generator, request), _signed_powers(generator, request)


def _signed_powers(generator: np.random.Generator, request: RecipeParameters) -> Array:
    """At most 12 factors other than ±1 a workgroup: any partial product lies in 2^-12 … 2^12."""
    exponents = np.zeros(request.shape)
    for index in np.ndindex(WORKGROUPS, request.type.components):
        where = generator.choice(request.invocations, 12, replace=False)
        exponents[index[0], where, index[1]] = generator.choice([-1, 1], 12)
    signs = generator.choice([-1.0, 1.0], request.shape)
    return np.asarray(np.ldexp(signs, exponents.astype(int)).astype(dtype_of(request.type.scalar)))


def _between(generator: np.random.Generator, request: RecipeParameters, low: float, high: float) -> Array:
    return np.asarray(generator.uniform(low, high, request.shape).astype(dtype_of(request.type.scalar)))


def rounded_sums(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Positive summands of full precision: their sum rounds, without cancellation."""
    return _between(generator, request, 0.5, 1.0), _between(generator, request, 4.0, 8.0)


def rounded_products(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Factors near 1 of full precision: 128 of them stay between 1e-3 and 1e3."""
    return _between(generator, request, 0.95, 1.05), _between(generator, request, 2.0, 3.0)


def _mostly(generator: np.random.Generator, request: RecipeParameters, ones: bool) -> Array:
    """Words in which each bit rarely differs, so that And and Or of many words do not saturate."""
    dtype = dtype_of(request.type.scalar)
    rarity = np.array([0.02, 0.2, 0.005, 0.08]).reshape(WORKGROUPS, 1, 1)
    if dtype == np.bool_:
        values = _few_true(generator, request)
    else:
        bits = generator.random((*request.shape, dtype.itemsize * 8)) < rarity[..., None]
        values = np.packbits(bits, axis=-1, bitorder="little").view(dtype)[..., 0]
    return ~values if ones else values


def _few_true(generator: np.random.Generator, request: RecipeParameters) -> Array:
    """Booleans with few true: none, two, three, one in 32 and half; And, Or and Xor give different results.

    The two or three are odd lanes among the first eight, so they are active together in most patterns:
    two make Or true and Xor false, three make Xor true and And false.
    """
    values = generator.random(request.shape) < np.array([0, 0, 0, 0.5]).reshape(WORKGROUPS, 1, 1)
    values[1, [1, 3]] = True
    values[2, [1, 3, 5]] = True
    singles = _singles(generator, request)
    values[3, : len(singles)] = singles
    return values


def conjunctions(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Values for And: nearly all bits set; the decoys clear bits."""
    return _mostly(generator, request, ones=True), _bits(generator, request)


def disjunctions(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Values for Or: few bits set; the decoys set bits."""
    return _mostly(generator, request, ones=False), _bits(generator, request)


def parities(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Values for Xor: any integers; few Booleans that are true."""
    if dtype_of(request.type.scalar) == np.bool_:
        return disjunctions(generator, request)
    return moves(generator, request)


def orders(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Values for Min and Max; the decoys are the smallest and largest values."""
    values = _bits(generator, request)
    low, high = _extremes(dtype_of(request.type.scalar))[:2]
    decoys = np.where(generator.random(request.shape) < 0.5, low, high).astype(values.dtype)
    return values, decoys


def _extremes(dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        info = np.finfo(dtype)
        return np.array([info.min, info.max], dtype)
    limits = np.iinfo(dtype)
    return np.array([limits.min, limits.max, 0, 1, limits.max - 1, limits.min + 1], dtype)


def special_floats(denormals: bool, dtype: np.dtype[Any]) -> Array:
    """Return the special values of a floating-point type, with denormals on request."""
    info = np.finfo(dtype)
    values = [np.nan, np.inf, -np.inf, -0.0, 0.0, float(info.max), float(info.min), 1.0, -2.0]
    if denormals:
        values += [float(info.smallest_subnormal), -float(info.smallest_subnormal), float(info.tiny) / 2]
    return np.array(values).astype(dtype)


def special_moves(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Special values for operations that must copy every bit."""
    dtype = dtype_of(request.type.scalar)
    pool = special_floats(True, dtype) if dtype.kind == "f" else _extremes(dtype)
    return generator.choice(pool, request.shape), _bits(generator, request)


def special_orders(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Special values for Min and Max: many NaN, one workgroup with only NaN, one without infinities."""
    dtype = dtype_of(request.type.scalar)
    if dtype.kind != "f":
        return generator.choice(_extremes(dtype), request.shape), _bits(generator, request)
    values = generator.choice(special_floats(request.denormals, dtype), request.shape)
    finite = generator.uniform(-4.0, 4.0, request.shape).astype(dtype)
    sparse = np.where(generator.random(request.shape) < 0.6, dtype.type(np.nan), finite)
    values[1], values[3] = sparse[1], finite[3]
    values[2] = np.where(generator.random(values[2].shape) < 0.9, dtype.type(np.nan), values[2])
    return values, orders(generator, request)[1]


def special_sums(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Summands with one infinity, with both, with NaN, with signed zeros and denormals."""
    dtype: np.dtype[Any] = dtype_of(request.type.scalar)
    values = generator.integers(-8, 9, request.shape).astype(dtype)
    chance = generator.random(request.shape)
    values[0][chance[0] < 0.1] = np.inf
    values[1][chance[1] < 0.2] = np.inf
    values[1][chance[1] < 0.1] = -np.inf
    values[2][chance[2] < 0.1] = np.nan
    tiny = np.finfo(dtype).smallest_subnormal if request.denormals else dtype.type(0)
    values[3] = np.where(chance[3] < 0.5, values[3] * tiny, dtype.type(-0.0))
    return values, moves(generator, request)[1]


def special_products(generator: np.random.Generator, request: RecipeParameters) -> tuple[Array, Array]:
    """Factors with infinities, with zeros, with both (which make NaN), with NaN."""
    dtype = dtype_of(request.type.scalar)
    values = generator.choice(np.array([1.0, -1.0], dtype), request.shape)
    chance = generator.random(request.shape)
    values[0][chance[0] < 0.1] = np.inf
    values[1][chance[1] < 0.1] = -0.0
    values[2][chance[2] < 0.2] = np.inf
    values[2][chance[2] < 0.1] = 0.0
    values[3][chance[3] < 0.1] = np.nan
    return values, moves(generator, request)[1]


RECIPES: dict[str, Recipe] = {
    recipe.__name__: recipe
    for recipe in (
        moves, predicates, equalities, classes, ballots, uniform_ballots, sums, products, rounded_sums,
        rounded_products, conjunctions, disjunctions, parities, orders, special_moves, special_orders,
        special_sums, special_products,
    )
}  # fmt: skip
"""All recipes by name."""

_BY_OPERATOR = {
    ("Add", "exact"): "sums",
    ("Add", "rounding"): "rounded_sums",
    ("Add", "special"): "special_sums",
    ("Mul", "exact"): "products",
    ("Mul", "rounding"): "rounded_products",
    ("Mul", "special"): "special_products",
    ("Min", "exact"): "orders",
    ("Min", "special"): "special_orders",
    ("Max", "exact"): "orders",
    ("Max", "special"): "special_orders",
    ("And", "exact"): "conjunctions",
    ("Or", "exact"): "disjunctions",
    ("Xor", "exact"): "parities",
}

_BY_OPERATION = {
    "subgroupAll": "predicates",
    "subgroupAny": "predicates",
    "subgroupBallot": "predicates",
    "subgroupAllEqual": "equalities",
    "subgroupInverseBallot": "uniform_ballots",
    "subgroupPartitionNV": "classes",
}


def recipe_name(operation: str, operator: str | None, operand_kind: str, data: str) -> str:
    """Return the recipe for an operation with an operator, an operand kind and a data set."""
    if operator is not None:
        return _BY_OPERATOR[operator, data]
    if operation in _BY_OPERATION:
        return _BY_OPERATION[operation]
    if operand_kind == "ballot":
        return "ballots"
    return "special_moves" if data == "special" else "moves"


def make(recipe: str, request: RecipeParameters, seed: int) -> tuple[Array, Array]:
    """Make a recipe's values and decoys, each (workgroups × invocations, components), from a seed."""
    key = f"{recipe}:{request.type.name}:{request.invocations}:{request.denormals}"
    generator = np.random.default_rng([seed, crc32(key.encode())])
    values, decoys = RECIPES[recipe](generator, request)
    flat = (WORKGROUPS * request.invocations, request.type.components)
    dtype = dtype_of(request.type.scalar)
    return np.asarray(values, dtype).reshape(flat), np.asarray(decoys, dtype).reshape(flat)

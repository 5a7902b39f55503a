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
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from vkgroup.conformance.arrays import Array, Flags
from vkgroup.conformance.patterns import WORKGROUPS
from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.operations import OperandKind, Operation
from vkgroup.spec.types import GlslType


@dataclass(frozen=True)
class DataSource:
    """The random generator of a data set, and the type and number of its values."""

    random: np.random.Generator
    type: GlslType
    invocations: int  # invocations in one workgroup
    denormals: bool = False  # whether the device preserves denormals of this type

    @property
    def shape(self) -> tuple[int, int, int]:
        """Workgroups, invocations, components."""
        return WORKGROUPS, self.invocations, self.type.components

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a component."""
        return dtype_of(self.type.scalar)

    def values(self) -> Array:
        """Return random values; those of floats are normal numbers of both signs and many magnitudes."""
        if self.dtype == np.bool_:
            return self.random.integers(0, 2, self.shape).astype(np.bool_)
        if self.dtype.kind == "f":
            exponent = self.random.integers(-12, 13, self.shape)
            mantissa = self.random.uniform(1.0, 2.0, self.shape) * self.random.choice([-1.0, 1.0], self.shape)
            return np.asarray(np.ldexp(mantissa, exponent).astype(self.dtype))
        content = self.random.bytes(int(np.prod(self.shape)) * self.dtype.itemsize)
        return np.frombuffer(content, self.dtype).reshape(self.shape)

    def between(self, low: float, high: float) -> Array:
        """Return uniformly distributed floats of full precision."""
        return np.asarray(self.random.uniform(low, high, self.shape).astype(self.dtype))

    def chance(self, *shares: float) -> Flags:
        """Return Booleans that are true with one probability, or with that of their workgroup."""
        return np.asarray(self.random.random(self.shape) < np.reshape(shares, (-1, 1, 1)))


class Feed(NamedTuple):
    """Values and decoys, each (workgroups, invocations, components) or (places, components)."""

    values: Array
    decoys: Array


Recipe = Callable[[DataSource], tuple[Array, Array]]
"""Function that returns values and decoys, (workgroups, invocations, components)."""


def moves(source: DataSource) -> tuple[Array, Array]:
    """Random values: two invocations very rarely have the same one."""
    return source.values(), source.values()


def _singles(source: DataSource) -> Array:
    """Booleans for half of a workgroup, one true among 32 in each component: (half, components).

    It is in an even and an odd lane alternately, so that leaving out half of the lanes gives a wrong
    result. It is in the upper half of eight lanes, so that other lanes precede it in a scan.
    """
    half, components = source.invocations // 2, source.type.components
    blocks = -(-half // 32)
    chosen = source.random.integers(0, 8, (blocks, 1, components))
    places = chosen // 2 * 8 + 4 + chosen % 2 * 2 + np.arange(blocks).reshape(-1, 1, 1) % 2
    values = np.zeros((blocks, 32, components), np.bool_)
    np.put_along_axis(values, places, True, axis=1)
    return values.reshape(-1, components)[:half]


def predicates(source: DataSource) -> tuple[Array, Array]:
    """Booleans: all true, none, one true among 32 and half, one false among 32 and a few.

    The decoys have the opposite value.
    """
    values = source.chance(1.0, 0.0, 0.5, 0.9)
    singles = _singles(source)
    values[2, : len(singles)], values[3, : len(singles)] = singles, ~singles
    return values, ~values


def equalities(source: DataSource) -> tuple[Array, Array]:
    """Values all equal, all different, equal except a few in one component, equal in every workgroup."""
    values = source.values().copy()
    same = np.broadcast_to(values[:, :1], source.shape)
    few = source.chance(0.1)
    few[:, :, :-1] = False
    values[0], values[3] = same[0], same[3]
    values[2] = np.where(few[2], values[2], same[2])
    return values, ~values if source.dtype == np.bool_ else source.values()


def classes(source: DataSource) -> tuple[Array, Array]:
    """Values all equal, all different, of three kinds, of two kinds that differ only in the last component.

    The decoys are of the same kinds.
    """
    values = source.values().copy()
    few = values.copy()
    few[:, :, -1] = np.take(few[:, :2, -1], source.random.integers(0, 2, source.invocations), axis=1)
    few[:, :, :-1] = few[:, :1, :-1]
    kinds = source.random.integers(0, 3, source.invocations)
    values[0], values[2], values[3] = values[0, :1], values[2, kinds], few[3]
    return values, source.random.permutation(values, axis=1)


def _sparse_words(source: DataSource, dtype: np.dtype[Any], *density: float) -> Array:
    """Return words whose bits are set with the density of their workgroup."""
    bits = source.random.random((*source.shape, dtype.itemsize * 8)) < np.reshape(density, (-1, 1, 1, 1))
    return np.packbits(bits, axis=-1, bitorder="little").view(dtype)[..., 0]


def ballots(source: DataSource) -> tuple[Array, Array]:
    """Bit masks, dense and sparse, different for each invocation, with bits beyond any subgroup set."""
    words = _sparse_words(source, np.dtype(np.uint32), 0.5, 0.95, 0.05, 0.3)
    return words, ~words


def uniform_ballots(source: DataSource) -> tuple[Array, Array]:
    """Bit masks that all invocations of a workgroup share, as subgroupInverseBallot requires."""
    values = np.broadcast_to(ballots(source)[0][:, :1], source.shape).copy()
    return values, ~values


def sums(source: DataSource) -> tuple[Array, Array]:
    """Summands: any integers; floating-point integers up to 15, so that sums of 128 are exact in float16."""
    if source.dtype.kind != "f":
        return moves(source)
    values = source.random.integers(1, 16, source.shape) * source.random.choice([-1, 1], source.shape)
    return values.astype(source.dtype), source.random.integers(1, 16, source.shape).astype(source.dtype)


def products(source: DataSource) -> tuple[Array, Array]:
    """Factors: odd integers, so that no product vanishes; signed powers of two in float16's range."""
    if source.dtype.kind != "f":
        return source.values() | source.dtype.type(1), source.values() | source.dtype.type(1)
    return _signed_powers(source), _signed_powers(source)


def _signed_powers(source: DataSource) -> Array:
    """At most 12 factors other than ±1 a workgroup: any partial product lies in 2^-12 … 2^12."""
    exponents = np.zeros(source.shape)
    for workgroup, component in np.ndindex(WORKGROUPS, source.type.components):
        where = source.random.choice(source.invocations, 12, replace=False)
        exponents[workgroup, where, component] = source.random.choice([-1, 1], 12)
    signs = source.random.choice([-1.0, 1.0], source.shape)
    return np.asarray(np.ldexp(signs, exponents.astype(int)).astype(source.dtype))


def _few_set(source: DataSource) -> Array:
    """Return values in which each bit is rarely set, so that And and Or of many words do not saturate.

    Of Booleans none, two, three, one in 32 and half are true; And, Or and Xor give different results. The two
    or three are odd lanes among the first eight, so they are active together in most patterns: two make Or
    true and Xor false, three make Xor true and And false.
    """
    if source.dtype != np.bool_:
        return _sparse_words(source, source.dtype, 0.02, 0.2, 0.005, 0.08)
    values = source.chance(0, 0, 0, 0.5)
    values[1, [1, 3]] = values[2, [1, 3, 5]] = True
    singles = _singles(source)
    values[3, : len(singles)] = singles
    return values


def orders(source: DataSource) -> tuple[Array, Array]:
    """Values for Min and Max; the decoys are the smallest and largest values."""
    values = source.values()
    low, high = _extremes(source.dtype)[:2]
    return values, np.where(source.chance(0.5), low, high).astype(values.dtype)


def _extremes(dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return np.array([np.finfo(dtype).min, np.finfo(dtype).max], dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.array([low, high, 0, 1, high - 1, low + 1], dtype)


def _special_values(dtype: np.dtype[Any], denormals: bool) -> Array:
    """Return the special values of a type, with denormals on request."""
    if dtype.kind != "f":
        return _extremes(dtype)
    info = np.finfo(dtype)
    values = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.max, info.min, 1.0, -2.0]
    tiny = [info.smallest_subnormal, -info.smallest_subnormal, info.tiny / 2] if denormals else []
    return np.array([*values, *tiny], dtype)


def special_moves(source: DataSource) -> tuple[Array, Array]:
    """Special values for operations that must copy every bit."""
    return source.random.choice(_special_values(source.dtype, True), source.shape), source.values()


def special_orders(source: DataSource) -> tuple[Array, Array]:
    """Special values for Min and Max: many NaN, one workgroup with only NaN, one without infinities."""
    random, nan = source.random, source.dtype.type(np.nan) if source.dtype.kind == "f" else None
    values = random.choice(_special_values(source.dtype, source.denormals), source.shape)
    if nan is None:
        return values, source.values()
    finite = source.between(-4.0, 4.0)
    values[1], values[3] = np.where(source.chance(0.6), nan, finite)[1], finite[3]
    values[2] = np.where(random.random(values[2].shape) < 0.9, nan, values[2])
    return values, orders(source)[1]


def _with(source: DataSource, values: Array, *rows: tuple[int, float, Any]) -> tuple[Array, Array]:
    """Return the values after replacements, and random decoys.

    A row has a workgroup, the share of its values that are replaced, and the new value. The values of a
    smaller share are among those of a greater one.
    """
    chance = source.random.random(source.shape)
    for workgroup, share, value in rows:
        values[workgroup] = np.where(chance[workgroup] < share, value, values[workgroup])
    return values, moves(source)[1]


def special_sums(source: DataSource) -> tuple[Array, Array]:
    """Summands with one infinity, with both, with NaN, with signed zeros and denormals."""
    values = source.random.integers(-8, 9, source.shape).astype(source.dtype)
    least = np.finfo(source.dtype).smallest_subnormal if source.denormals else source.dtype.type(0)
    infinities = (0, 0.1, np.inf), (1, 0.2, np.inf), (1, 0.1, -np.inf)
    return _with(source, values, *infinities, (2, 0.1, np.nan), (3, 1.0, -0.0), (3, 0.5, values[3] * least))


def special_products(source: DataSource) -> tuple[Array, Array]:
    """Factors with infinities, with zeros, with both (which make NaN), with NaN."""
    values = source.random.choice(np.array([1.0, -1.0], source.dtype), source.shape)
    both = (2, 0.2, np.inf), (2, 0.1, 0.0)
    return _with(source, values, (0, 0.1, np.inf), (1, 0.1, -0.0), *both, (3, 0.1, np.nan))


_FUNCTIONS: tuple[Any, ...] = (
    moves, predicates, equalities, classes, ballots, uniform_ballots, sums, products, orders, special_moves,
    special_orders, special_sums, special_products,
)  # fmt: skip
RECIPES: dict[str, Recipe] = {recipe.__name__: recipe for recipe in _FUNCTIONS} | {
    # Positive summands of full precision: their sum rounds, without cancellation.
    "rounded_sums": lambda source: (source.between(0.5, 1.0), source.between(4.0, 8.0)),
    # Factors near 1 of full precision: 128 of them stay between 1e-3 and 1e3.
    "rounded_products": lambda source: (source.between(0.95, 1.05), source.between(2.0, 3.0)),
    # For And: nearly all bits set; the decoys clear bits. For Or: few bits set; the decoys set bits.
    "conjunctions": lambda source: (~_few_set(source), source.values()),
    "disjunctions": lambda source: (_few_set(source), source.values()),
    # For Xor: any integers; few Booleans that are true.
    "parities": lambda source: RECIPES["disjunctions" if source.dtype == np.bool_ else "moves"](source),
}
"""All recipes by name."""

_BY_OPERATION = {
    "Add": "sums", "Mul": "products", "Min": "orders", "Max": "orders", "And": "conjunctions",
    "Or": "disjunctions", "Xor": "parities", "subgroupAll": "predicates", "subgroupAny": "predicates",
    "subgroupBallot": "predicates", "subgroupAllEqual": "equalities", "subgroupPartitionNV": "classes",
    "subgroupInverseBallot": "uniform_ballots",
}  # fmt: skip
_BY_DATA = {"exact": "", "rounding": "rounded_", "special": "special_"}


def recipe_name(operation: Operation, data: str = "exact") -> str:
    """Return the recipe for an operation and a data set."""
    plain = "ballots" if operation.operands[0].kind is OperandKind.BALLOT else "moves"
    return _BY_DATA[data] + _BY_OPERATION.get(operation.operator or operation.name, plain)


def make(recipe: str, type_: GlslType, invocations: int, seed: int, denormals: bool = False) -> Feed:
    """Make a recipe's values and decoys, each (workgroups × invocations, components), from a seed."""
    key = f"{recipe}:{type_.name}:{invocations}:{denormals}"
    random = np.random.default_rng([seed, crc32(key.encode())])
    made = RECIPES[recipe](DataSource(random, type_, invocations, denormals))
    shape = WORKGROUPS * invocations, type_.components
    return Feed(*(np.asarray(part, dtype_of(type_.scalar)).reshape(shape) for part in made))

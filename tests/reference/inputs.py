"""Random inputs of the semantics: values of every type with special ones among them, masks, operands."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.operations import OperandKind

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
BEYOND = (2**31, 2**32 - 1)


def floats(rng, shape, dtype):
    """Return floats of all magnitudes, a share of them special."""
    limits = np.finfo(dtype)
    extremes = [limits.max, limits.smallest_normal, limits.smallest_subnormal]
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, *extremes]
    values = rng.normal(size=shape) * 2.0 ** rng.integers(-6, 7, shape)
    return np.where(rng.random(shape) < rng.choice([0.1, 1]), rng.choice(special, shape), values).astype(
        dtype
    )


def integers(rng, shape, dtype):
    """Return integers, a share of them extreme or small."""
    limits = np.iinfo(dtype)
    special = np.array([0, 1, 2, 3, limits.max, limits.min, limits.max - 1], dtype=dtype)
    values = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    return np.where(rng.random(shape) < rng.choice([0.1, 1]), rng.choice(special, shape), values)


def values_of(rng, scalar, shape):
    """Return an array of a scalar type; often nearly all lanes hold the same, or one of three values."""
    if scalar.kind == "bool":
        return rng.random(shape) < rng.choice([0.0, 0.1, 0.5, 0.9, 1.0])
    make = floats if scalar.kind == "float" else integers
    values = make(rng, shape, dtype_of(scalar))
    kind = rng.integers(3)
    if kind == 0:
        return rng.choice(make(rng, 3, dtype_of(scalar)), shape)
    if kind == 1:
        same = np.broadcast_to(values[:, :1], shape)
        return np.where(rng.random(shape) < rng.choice([0.0, 0.02]), values, same)
    return values


def masks_of(rng, shape):
    """Return an active mask: all, none, one lane, or each lane by chance."""
    subgroups, size = shape
    kind = rng.integers(4)
    if kind == 0:
        return np.ones(shape, dtype=bool)
    if kind == 1:
        return rng.random(shape) < rng.choice([0.1, 0.5, 0.9])
    active = np.zeros(shape, dtype=bool)
    if kind == 2:
        active[np.arange(subgroups), rng.integers(0, size, subgroups)] = True
    return active


def operand_of(rng, kind, shape):
    """Return a second operand: in range, just out of it and far out, uniform or one for each lane."""
    size = shape[1]
    if kind is OperandKind.CLUSTER_SIZE:
        return int(rng.choice([*SIZES[: SIZES.index(size) + 1], 2 * size, 3]))
    below = [4, size][rng.integers(2)]
    words = rng.integers(0, below, shape, dtype=np.uint32)
    outside = rng.choice([*BEYOND, size, size + 1], shape).astype(np.uint32)
    words = np.where(rng.random(shape) < rng.choice([0.0, 0.2]), outside, words)
    return np.broadcast_to(words[:, :1], shape).copy() if rng.random() < 0.5 else words


generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)

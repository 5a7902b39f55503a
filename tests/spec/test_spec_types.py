"""The table of types: twelve scalars with their NumPy types, features and extensions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.types import SCALARS, TYPES


def test_there_are_twelve_scalars_each_alone_and_in_vectors() -> None:
    assert len(SCALARS) == 12
    assert Counter(type_.components for type_ in TYPES.values()) == {1: 12, 2: 12, 3: 12, 4: 12}
    names = {"vec2", "dvec3", "ivec4", "uvec2", "bvec3", "i8vec4", "u16vec2", "i64vec3", "f16vec4"}
    assert names <= set(TYPES)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float", np.float32),
        ("double", np.float64),
        ("float16_t", np.float16),
        ("int", np.int32),
        ("uint", np.uint32),
        ("bool", np.bool_),
        ("int8_t", np.int8),
        ("uint8_t", np.uint8),
        ("int16_t", np.int16),
        ("uint16_t", np.uint16),
        ("int64_t", np.int64),
        ("uint64_t", np.uint64),
    ],
)
def test_a_scalar_has_the_numpy_type_of_its_name(name, dtype) -> None:
    assert dtype_of(SCALARS[name]) == dtype


@pytest.mark.parametrize("scalar", SCALARS.values(), ids=lambda scalar: scalar.name)
def test_a_scalar_needs_the_features_of_its_width(scalar) -> None:
    extended = scalar.bits in (8, 16) or (scalar.bits == 64 and scalar.kind != "float")
    assert scalar.extended == extended
    assert ("shaderSubgroupExtendedTypes" in scalar.subgroup_features) == extended
    wide = {8: "shaderInt8", 16: "shaderInt16", 64: "shaderInt64"}
    if scalar.kind == "float":
        wide = {16: "shaderFloat16", 64: "shaderFloat64"}
    assert scalar.features == ((wide[scalar.bits],) if scalar.bits in wide else ())

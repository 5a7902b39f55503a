"""GLSL's names of NumPy's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

GLSL: dict[np.dtype[Any], str] = {
    np.dtype(kind): name
    for kind, name in (
        (np.float32, "float"),
        (np.uint32, "uint"),
        (np.int32, "int"),
        (np.float64, "double"),
        (np.uint64, "uint64_t"),
        (np.int64, "int64_t"),
        (np.float16, "float16_t"),
        (np.uint16, "uint16_t"),
        (np.int16, "int16_t"),
        (np.uint8, "uint8_t"),
        (np.int8, "int8_t"),
    )
}
"""Types of elements (GL_EXT_shader_explicit_arithmetic_types for those of other than 32 bits)."""

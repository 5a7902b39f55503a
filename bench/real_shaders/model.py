"""A shader with the parameters of its host, its expected output, and planted errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

UNIT = 2.0**-24
"""Unit roundoff of 32-bit floats: the largest relative error of one correctly rounded operation."""

SIZES = (4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Expected:
    """The expected contents of an output, and the error that 32-bit floats may have.

    The tolerance is ``roundings * UNIT * magnitude``. `roundings` counts the operations on the longest path
    to a number; each has a relative error of at most UNIT (a function with n ULP of error counts 2 n).
    `magnitude` bounds the numbers on that path: the sum of the absolute values of a sum's terms.
    """

    values: Array  # computed in 64-bit floats, or exact integers
    roundings: float = 0.0
    magnitude: Any = 1.0
    unordered: bool = False  # whether only the set of numbers in each row (the last axis) is defined

    @property
    def tolerance(self) -> Array:
        """The largest permitted error of each number."""
        bound = self.roundings * UNIT * np.asarray(self.magnitude, np.float64)
        return np.broadcast_to(bound, self.values.shape)


@dataclass(frozen=True)
class Mutant:
    """A planted error: one match of a pattern in one line is replaced."""

    kind: (
        str  # "missing barrier", "hard-coded 32", "off-by-one bound", "inactive lane" or "missing final sum"
    )
    pattern: str  # literal text
    replacement: str
    occurrence: int = 1  # which match, from 1; of those in `file`
    file: str = ""  # the file that is changed; empty for the shader itself
    at: str = ""  # text of the lines where it is expected; empty for the changed line


@dataclass(frozen=True)
class Shader:
    """One configuration of a shader."""

    name: str
    file: str  # below the corpus's shader folder
    groups: tuple[int, int, int]
    inputs: Callable[[np.random.Generator], dict[int, Array]]  # arrays by binding
    outputs: dict[int, tuple[int, Any]]  # length and type of the outputs by binding
    expected: Callable[[dict[int, Array]], dict[int, Expected]]
    derivation: str  # why the tolerance has its number of roundings
    mutants: tuple[Mutant, ...]
    corpus: str = "ggml"
    defines: Mapping[str, str] = field(default_factory=dict)
    push: Mapping[str, Any] = field(default_factory=dict)
    specialization: Callable[[int], dict[int, Any]] = lambda size: {}  # by subgroup size
    sizes: tuple[int, ...] = SIZES  # subgroup sizes that the host permits
    each_size: bool = False  # whether the host gives the shader the subgroup size, so each size is a check
    full_subgroups: bool = False
    linear_lanes: bool = False  # whether the shader relies on the order of lanes
    options: Mapping[str, bool] = field(default_factory=dict)  # ncnn's options
    local_size: tuple[int, int, int] = (1, 1, 1)  # what ncnn writes into the module
    known: str = ""  # errors of the shader itself, which the check is expected to report


def barrier(occurrence: int = 1, pattern: str = "barrier();", file: str = "", at: str = "") -> Mutant:
    """Remove a barrier."""
    return Mutant("missing barrier", pattern, pattern.replace("barrier();", ";"), occurrence, file, at)


def bound(before: str, after: str, occurrence: int = 1, file: str = "", at: str = "") -> Mutant:
    """Change a bound or an index by one."""
    return Mutant("off-by-one bound", before, after, occurrence, file, at)


def hard_coded(before: str, after: str, occurrence: int = 1, file: str = "", at: str = "") -> Mutant:
    """Replace the size of a subgroup or workgroup by a constant."""
    return Mutant("hard-coded 32", before, after, occurrence, file, at)


def inactive(before: str, after: str, occurrence: int = 1, file: str = "", at: str = "") -> Mutant:
    """Let some invocations miss a subgroup operation or a barrier, which is expected to be named."""
    return Mutant("inactive lane", before, after, occurrence, file, at)


def final_sum(before: str, after: str, occurrence: int = 1, file: str = "", at: str = "") -> Mutant:
    """Leave out a step that combines the results of invocations or subgroups."""
    return Mutant("missing final sum", before, after, occurrence, file, at)


def fastdiv(divisor: int) -> tuple[int, int]:
    """Return multiplier and shift of ggml's division by a constant (``init_fastdiv_values``)."""
    shift = max(0, (divisor - 1).bit_length())
    return ((1 << 32) * ((1 << shift) - divisor) // divisor + 1) & 0xFFFFFFFF, shift


def floats(generator: np.random.Generator, *shape: int) -> Array:
    """Return numbers between -1 and 1."""
    return generator.uniform(-1, 1, shape).astype(np.float32)


def wide(array: Array) -> Array:
    """Return an array in 64-bit floats."""
    return array.astype(np.float64)

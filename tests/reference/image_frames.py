"""Helpers that run single image instructions: frames without a program, sites, values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from vkgroup.base.sampler import Sampler
from vkgroup.reference.interpreter.operations.accessor import LaneSet
from vkgroup.reference.interpreter.operations.images import IMAGES, ImageMemory
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import CauseTable, Value, single
from vkgroup.spirv import ScalarType, Type, VectorType

FLOAT, INT, UINT = ScalarType("float", 32), ScalarType("int", 32), ScalarType("uint", 32)
VEC4 = VectorType(FLOAT, 4)

#: Bits of the mask of image operands.
BIAS, LOD, GRAD, CONST_OFFSET, OFFSET, CONST_OFFSETS, SAMPLE, MIN_LOD = (1 << bit for bit in range(8))


class Events(list[Any]):
    """Keeps what happened: kind, the invocations, the message."""

    def add(self, kind: str, position: int, lanes: Any, where: Any, message: str, **_: Any) -> None:
        self.append((kind, lanes[where].tolist(), message))


def frame_of(count: int, *resources: Any) -> Frame:
    """Make a frame of `count` invocations with these resources, numbered from 0."""
    machine = SimpleNamespace(
        has_derivatives=False,
        count=count,
        regs=[],
        resources=list(resources),
        events=Events(),
        first=0,
        control=None,
        soft_control=None,
        helpers=None,
        helpers_of=lambda lanes: None,
    )
    return Frame(machine, LaneSet.all(count))  # type: ignore[arg-type]


def vec(*components: Any, dtype: Any = np.float32) -> Value:
    """Make a vector, one argument a component: a number, or one for each invocation."""
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(entry, dtype)) for entry in components))
    return single(np.stack(arrays))


def ivec(*components: Any) -> Value:
    return vec(*components, dtype=np.int32)


def number(value: Any, dtype: Any = np.float32) -> Value:
    """Make a scalar: one number, or one for each invocation."""
    return single(np.atleast_1d(np.asarray(value, dtype)))


def run(frame: Frame, name: str, kind: Type | None, *operands: Value, mask: int | None = None) -> Value:
    """Execute one instruction."""
    literals = () if mask is None else (mask,)
    types = (None,) * len(operands)
    site = Site(name, kind, types, types, literals, (), 0, CauseTable())
    return IMAGES[name](site)(frame, *operands)  # type: ignore[return-value]


IMAGE = number(0, np.int32)
SAMPLED = single(np.array([[0], [0]], np.int32))


def sample(image: ImageMemory, sampler: Sampler, s: np.ndarray, *more: Any, mask: int = LOD) -> np.ndarray:
    """Sample at coordinates (axes, n) with an explicit level of detail; gives (4, n), all defined."""
    coordinate = vec(*s) if len(s) > 1 else number(s[0])
    result = run(
        frame_of(s.shape[1], (image, sampler)),
        "OpImageSampleExplicitLod",
        VEC4,
        SAMPLED,
        coordinate,
        *more,
        mask=mask,
    )
    assert result.cause is None
    return np.broadcast_to(result.data, (4, s.shape[1]))

"""Compute shaders of a user as a benchmark: the same inputs for all, compared before they are timed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.base.lifetime import Closeable
from vkgroup.bench.definition import Arrays, BenchmarkCase, Data, Definition
from vkgroup.bench.host import first_error
from vkgroup.bench.plans import WALL_CLOCK
from vkgroup.bench.row import TIMESTAMPS
from vkgroup.check.equality import Equality, compare_shaders
from vkgroup.check.inputs import Key
from vkgroup.check.request import CheckRequest
from vkgroup.dispatch import Buffer, Copy, Device
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spirv import Module

Place = tuple[int, int]
"""Set and binding."""

_TIMEOUT = 120.0


@dataclass(frozen=True, eq=False)
class UserShader:
    """A compute shader with everything that its dispatch needs.

    `source`: the module with the lines of its source, for findings.
    `bindings`: arrays by set and binding; a list for an array of descriptors.
    `specialization`: by id or name.
    """

    name: str
    module: Module
    source: Module
    groups: tuple[int, ...]
    bindings: Mapping[Key, Any]
    push: Mapping[str, Any] | None = None
    specialization: Mapping[int | str, Any] | None = None
    entry_point: str | None = None
    subgroup_size: int | None = None
    full_subgroups: bool = False

    @property
    def written(self) -> dict[str, Place]:
        """The buffers that it may write, by name."""
        entries = (entry for entry in self.module.reflection.bindings if entry.writable)
        return {f"{entry.set}.{entry.binding}": entry.place for entry in entries}


class UserShaderCandidate:
    """A shader that is timed by the device's timestamps, or by the host's clock if the device has none.

    `restores`: whether its buffers get their first contents again before each run.
    """

    def __init__(self, device: Device, shader: UserShader, restores: bool) -> None:
        self._device, self._shader, self._restores = device, shader, restores
        self.clock = TIMESTAMPS if device.capabilities.timestamps.valid_bits else WALL_CLOCK

    def prepare(self, data: Data) -> PreparedUserShader:
        """Bind the inputs; those of a set are the same for each shader."""
        return PreparedUserShader(self._device, self._shader, self.clock == TIMESTAMPS, self._restores)


class PreparedUserShader(Closeable):
    """A shader with its inputs on the device."""

    def __init__(self, device: Device, shader: UserShader, stamped: bool, restores: bool) -> None:
        self._shader, self._stamped, self._restores = shader, stamped, restores
        with ExitStack() as stack:
            resources = dict(shader.bindings)
            self._outputs: dict[str, Buffer] = {}
            copies = []
            for name, place in shader.written.items():
                if not isinstance(resources[place], np.ndarray) or not _is_buffer(shader.module, place):
                    raise Unsupported(
                        f"{shader.name} writes binding {name}, which is no single buffer: only buffers can be"
                        " given their first contents again before a run.",
                        ["bench of shaders that write images or arrays of buffers"],
                    )
                first = stack.enter_context(device.buffer(resources[place]))
                self._outputs[name] = stack.enter_context(device.buffer(resources[place]))
                resources[place] = self._outputs[name]
                copies.append(Copy(first, self._outputs[name]))
            pipeline = stack.enter_context(
                device.pipeline(
                    shader.module,
                    entry_point=shader.entry_point,
                    specialization=shader.specialization,
                    subgroup_size=shader.subgroup_size,
                    full_subgroups=shader.full_subgroups,
                )
            )
            self._work = stack.enter_context(pipeline.bind(resources))
            self._restore = stack.enter_context(device.sequence(copies)) if copies else None
            self._stack = stack.pop_all()

    def overwrite_outputs(self) -> None:
        """Give the buffers their first contents."""
        if self._restore is not None:
            self._restore.run(timeout=_TIMEOUT)

    def time(self) -> float:
        """Run once; return the time in seconds."""
        if self._restores:
            self.overwrite_outputs()
        groups, push = self._shader.groups, self._shader.push
        if self._stamped:
            return self._work.timed(groups, push, _TIMEOUT) or 0.0
        start = time.perf_counter()
        self._work.dispatch(groups, push, _TIMEOUT)
        return time.perf_counter() - start

    def outputs(self) -> Arrays:
        """Return the contents of the buffers that the shader may write."""
        return {name: _plain(buffer.read()) for name, buffer in self._outputs.items()}

    def close(self) -> None:
        """Free everything."""
        self._stack.close()


def _is_buffer(module: Module, place: Place) -> bool:
    return any(entry.place == place and "buffer" in entry.kind for entry in module.reflection.bindings)


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of numbers; of a block with members, its bytes."""
    return array.reshape(-1).view(np.uint8) if array.dtype.names else array


@dataclass(frozen=True)
class ComparedShader:
    """The comparison of a shader with the first one on the reference device.

    `largest`: the largest difference of floats on the device, divided by the largest of these floats.
    """

    name: str
    equality: Equality
    largest: float

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs, except by what Vulkan permits."""
        return not (self.equality.interface or self.equality.difference or self.equality.no_verdict)


@dataclass(frozen=True)
class ShaderComparison:
    """Whether shaders have the same outputs.

    `expected`: the outputs of the first on the device; empty if those of another have other bits.
    `restores`: whether a run changes its own inputs.
    `others`: on the reference device, those whose outputs have other bits.
    """

    expected: Arrays
    restores: bool
    others: tuple[ComparedShader, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs, except by what Vulkan permits."""
        return all(other.is_equal for other in self.others)


def compared(device: Device, shaders: Sequence[UserShader]) -> ShaderComparison:
    """Run each shader twice on the device, and compare the outputs with those of the first.

    Where bits differ, the reference device compares the two shaders: within rounding, and without numbers
    that are undefined or depend on the order of atomics.
    """
    first, *others = shaders
    expected, restores = _outputs(device, first)
    compared_others = []
    for other in others:
        outputs, is_changed = _outputs(device, other)
        restores |= is_changed
        if first.written != other.written:
            raise InvalidInput(
                f"{first.name} writes binding {', '.join(first.written) or 'none'}, and {other.name}"
                f" {', '.join(other.written) or 'none'}: they do not do the same."
            )
        if first_error(Data({}, expected), outputs) is not None:
            size = first.subgroup_size or device.info.subgroup_size
            equality = compare_shaders(_request(first), _request(other), [(size, size)])
            largest = _largest_difference(expected, outputs)
            compared_others.append(ComparedShader(other.name, equality, largest))
    return ShaderComparison({} if compared_others else expected, restores, tuple(compared_others))


def _largest_difference(first: Arrays, second: Arrays) -> float:
    """Return the largest difference of finite floats, divided by the largest of them in this output."""
    largest = 0.0
    for name, one in first.items():
        other = second[name]
        if one.dtype.kind == "f" and one.shape == other.shape and (known := np.isfinite(one + other)).any():
            gap = np.abs(one[known].astype(np.float64) - other[known])
            largest = max(largest, float(gap.max() / max(np.abs(one[known]).max(), np.finfo(one.dtype).tiny)))
    return largest


def _outputs(device: Device, shader: UserShader) -> tuple[Arrays, bool]:
    """Return the outputs of a shader, and whether a second run changes them."""
    stamped = bool(device.capabilities.timestamps.valid_bits)
    with PreparedUserShader(device, shader, stamped, restores=False) as prepared:
        prepared.time()
        first = {name: array.copy() for name, array in prepared.outputs().items()}
        prepared.time()
        again = prepared.outputs()
    return first, any(first[name].tobytes() != np.asarray(again[name]).tobytes() for name in first)


def _request(shader: UserShader) -> CheckRequest:
    return CheckRequest(
        shader.source,
        groups=shader.groups,
        inputs=shader.bindings,
        push=shader.push,
        specialization=shader.specialization or {},
        entry_point=shader.entry_point,
        name=shader.name,
    )


def definition_of(device: Device, shaders: Sequence[UserShader], comparison: ShaderComparison) -> Definition:
    """Return the benchmark of shaders that were compared; its size is the number of invocations."""
    first = shaders[0]
    program = ExecutableShader(first.module, first.entry_point, None)
    invocations = int(np.prod([*first.groups, *program.local_size]))
    arrays = {f"{place}": array for place, array in first.bindings.items() if isinstance(array, np.ndarray)}
    case = BenchmarkCase(
        variants={
            shader.name: partial(UserShaderCandidate, device, shader, comparison.restores)
            for shader in shaders
        },
        data=lambda rng: Data(arrays, comparison.expected),
        bytes=0,
        items=invocations,
        pair=(first.name, shaders[1].name),
    )
    return Definition(
        first.name, "time of one dispatch", lambda *_: case, sizes=(invocations,), smoke=(invocations,)
    )

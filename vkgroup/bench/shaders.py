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

_SAME = "the outputs of the first run"
"""The name of what each run of a candidate is verified with."""


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
        return {f"binding {entry.set}.{entry.binding}": entry.place for entry in entries}

    def require_inputs(self) -> None:
        """Raise InvalidInput if a binding has no value."""
        lacking = [entry for entry in self.module.reflection.bindings if entry.place not in self.bindings]
        if lacking:
            names = ", ".join(entry.name or f"{entry.set}.{entry.binding}" for entry in lacking)
            raise InvalidInput(f"{self.name}: {names} has no value; give it in inputs in the file of --with.")


class UserShaderCandidate:
    """A shader that is timed by the device's timestamps, or by the host's clock if the device has none.

    `restores`: whether its buffers get their first contents again before each run.
    `expected`: the outputs of its first run.
    """

    def __init__(self, device: Device, shader: UserShader, restores: bool, expected: Arrays) -> None:
        self._device, self._shader, self._restores = device, shader, restores
        self._expected = expected
        self.clock = TIMESTAMPS if device.capabilities.timestamps.valid_bits else WALL_CLOCK

    def prepare(self, data: Data) -> PreparedUserShader:
        """Bind the inputs; those of a set are the same for each shader."""
        is_stamped = self.clock == TIMESTAMPS
        return PreparedUserShader(self._device, self._shader, is_stamped, self._restores, self._expected)


class PreparedUserShader(Closeable):
    """A shader with its inputs on the device."""

    def __init__(
        self,
        device: Device,
        shader: UserShader,
        stamped: bool,
        restores: bool = False,
        expected: Arrays | None = None,
    ) -> None:
        self._shader, self._stamped, self._restores = shader, stamped, restores
        self._expected = expected or {}
        with ExitStack() as stack:
            resources = dict(shader.bindings)
            self._outputs: dict[str, Buffer] = {}
            copies = []
            for name, place in shader.written.items():
                if not isinstance(resources[place], np.ndarray) or not _is_buffer(shader.module, place):
                    raise Unsupported(
                        f"{shader.name} writes {name}, which is no single buffer: only buffers can be"
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
        """Return whether each output is that of the first run."""
        return {_SAME: np.array(_same_bits(self.contents(), self._expected))}

    def contents(self) -> Arrays:
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


def _same_bits(one: Arrays, other: Arrays) -> bool:
    """Whether the outputs have the same bits."""
    return all(array.tobytes() == other[name].tobytes() for name, array in one.items())


@dataclass(frozen=True)
class ComparedShader:
    """The comparison of a shader with the first one on the reference device.

    `largest`: the largest difference of floats on the device, divided by the largest of these floats.
    `wrong`: the first output whose values differ on the device, although the reference device gives equal
        ones; empty without one.
    """

    name: str
    equality: Equality
    largest: float
    wrong: str

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs, except by what Vulkan permits."""
        found = self.equality
        return not (found.interface or found.difference or found.no_verdict or self.wrong)


@dataclass(frozen=True)
class ShaderComparison:
    """Whether shaders have the same outputs.

    `outputs`: those of each on the device, by its name.
    `restores`: whether a run changes its own inputs.
    `others`: on the reference device, those whose outputs have other bits.
    """

    outputs: Mapping[str, Arrays]
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
    if not first.written:
        raise InvalidInput(f"{first.name} writes no buffer, so there is nothing to compare.")
    for shader in shaders:
        shader.require_inputs()
    expected, restores = _outputs(device, first)
    own = {first.name: expected}
    compared_others = []
    for other in others:
        outputs, is_changed = _outputs(device, other)
        restores |= is_changed
        own[other.name] = outputs
        if first.written != other.written:
            raise InvalidInput(
                f"{first.name} writes {', '.join(first.written)}, and {other.name}"
                f" {', '.join(other.written) or 'nothing'}: they do not do the same."
            )
        if not _same_bits(expected, outputs):
            size = first.subgroup_size or device.info.subgroup_size
            equality = compare_shaders(_request(first), _request(other), [(size, size)])
            largest = _largest_difference(expected, outputs)
            wrong = "" if equality.difference else _unexplained(equality, expected, outputs)
            compared_others.append(ComparedShader(other.name, equality, largest, wrong))
    return ShaderComparison(own, restores, tuple(compared_others))


def _unexplained(equality: Equality, first: Arrays, second: Arrays) -> str:
    """Return what differs on the device and is neither rounded, undefined nor ordered by atomics."""
    counts = equality.counts
    if counts.get("undefined") or counts.get("ordered"):
        return ""
    for name, one in first.items():
        # Floats may be rounded in another way on the device; zeros of both signs have one value.
        may_round = one.dtype.kind == "f" and bool(counts.get("rounded"))
        if not may_round and (error := first_error(Data({}, {name: one}), {name: second[name]})) is not None:
            return error
    return ""


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
    with PreparedUserShader(device, shader, stamped) as prepared:
        prepared.time()
        first = {name: array.copy() for name, array in prepared.contents().items()}
        prepared.time()
        again = {name: array.copy() for name, array in prepared.contents().items()}
        prepared.overwrite_outputs()
        prepared.time()
        third = prepared.contents()
    if not _same_bits(first, third):
        raise InvalidInput(
            f"{shader.name}: two runs with the same inputs give other outputs, for example by the order of"
            " atomics, so its results cannot be verified beside its times."
        )
    return first, not _same_bits(first, again)


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
            shader.name: partial(
                UserShaderCandidate, device, shader, comparison.restores, comparison.outputs[shader.name]
            )
            for shader in shaders
        },
        data=lambda rng: Data(arrays, {_SAME: np.array(True)}),
        bytes=0,
        items=invocations,
        pair=(first.name, shaders[1].name),
    )
    return Definition(
        first.name, "time of one dispatch", lambda *_: case, sizes=(invocations,), smoke=(invocations,)
    )

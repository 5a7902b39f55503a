"""Repeating a step from its files, on any device."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from vkgroup.dispatch import Copy, Device, Dispatch, DrawState, Fill, Image
from vkgroup.dispatch.results import ByBinding
from vkgroup.outputs.reproduction import recipe
from vkgroup.outputs.reproduction.shaders import read_module
from vkgroup.outputs.reproduction.values import Array, Decoder, Json, contents, load

_CONTROL = ("entry_point", "specialization", "subgroup_size", "full_subgroups", "varying_subgroup_size")


@dataclass(frozen=True)
class RepeatedOutput:
    """One output of a step."""

    #: `name`, `file`: as in the folder.
    name: str
    file: str
    #: `before`, `now`: its content when the folder was made, and now.
    before: Array
    now: Array
    #: Elements that the specifications define for every order of atomics; None if the device cannot
    #: determine them.
    defined: Array | None = None

    @property
    def differing(self) -> int:
        """Number of elements with different bits."""
        if self.before.shape != self.now.shape or self.before.dtype != self.now.dtype:
            return max(self.before.size, self.now.size)
        one, other = (np.ascontiguousarray(array).reshape(-1) for array in (self.before, self.now))
        return int((one.view(f"V{one.itemsize}") != other.view(f"V{other.itemsize}")).sum())


def repeat(
    device: Device, folder: Path, step: Json, *, timeout: float, as_arrays: bool = False
) -> list[RepeatedOutput]:
    """Repeat a step, and return its outputs.

    `step`: in the form of `recipe.AnyStep`.
    `as_arrays`: whether buffers become arrays; then the reference device reports which elements are defined.
    Outputs in memory that cannot be an array are left out.
    """
    typed: recipe.AnyStep = msgspec.convert(step, recipe.AnyStep)
    with ExitStack() as stack:
        decoder = Decoder(folder, device, partial(read_module, folder), stack, as_arrays=as_arrays)
        run = _Repetition(device, decoder, stack, timeout)
        match typed:
            case recipe.DispatchStep():
                results, defined = run.dispatch(typed.arguments)
            case recipe.SequenceStep():
                results, defined = run.sequence(typed.arguments)
            case recipe.DrawStep():
                results, defined = run.draw(decoder.arguments(typed.arguments))
            case recipe.TraceStep():
                traced = device.trace(**decoder.arguments(typed.arguments), timeout=timeout)
                results, defined = traced, traced.ordered
        outputs = []
        for entry in typed.outputs:
            now = _now(entry, decoder, results)
            if now is None:
                continue
            known = None if defined is None else _look_up(defined, entry)
            outputs.append(RepeatedOutput(entry.name, entry.file, load(folder, entry.file), now, known))
        return outputs


def _now(entry: recipe.RecordedOutput, decoder: Decoder, results: Mapping[Any, Any]) -> Array | None:
    """Return the current content of an output; None if it cannot be read."""
    if entry.memory is not None:
        memory = decoder.memory.get(entry.memory)
        if memory is not None:
            return memory.read() if isinstance(memory, Image) else contents(memory)
        return _look_up(results, entry)
    found = results[decoder.decode(entry.result)]
    return np.asarray(found[entry.part] if isinstance(found, list) else found)


def _look_up(results: Mapping[Any, Any], entry: recipe.RecordedOutput) -> Array | None:
    """Return the array of a binding, found by its name or its number; None if there is none."""
    for key in (entry.name, *([int(entry.name)] if entry.name.isdecimal() else [])):
        try:
            return np.asarray(results[key])
        except (KeyError, TypeError, ValueError):
            continue
    return None


Results = tuple[Mapping[Any, Any], Mapping[Any, Any] | None]
"""Results by binding, and which elements are defined."""


@dataclass(frozen=True)
class _Repetition:
    """Executes a step on a device; the stack frees what it makes."""

    device: Device
    decoder: Decoder
    stack: ExitStack
    timeout: float

    def draw(self, values: dict[str, Any]) -> Results:
        """Execute a draw."""
        names = [field.name for field in fields(DrawState) if field.name in values]
        values["state"] = DrawState(**{name: values.pop(name) for name in names})
        drawn = self.device.draw(**values, timeout=self.timeout)
        return drawn, drawn.ordered

    def _bound(self, arguments: recipe.PipelineArguments) -> Any:
        values = self.decoder.arguments(arguments)
        control = {name: values[name] for name in _CONTROL if name in values}
        pipeline = self.stack.enter_context(self.device.pipeline(values["module"], **control))
        return self.stack.enter_context(pipeline.bind(values["bindings"]))

    def dispatch(self, arguments: recipe.DispatchArguments) -> Results:
        """Execute the dispatches of the recorded submission."""
        bound = self._bound(arguments)
        push, offset = self.decoder.decode(arguments.push), arguments.offset
        where = self.decoder.decode(arguments.indirect)
        if isinstance(where, np.ndarray):
            counts = where.reshape(-1).view(np.uint32)[offset // 4 :][:3]
            bound.dispatch(tuple(int(count) for count in counts), push, self.timeout)
        elif where is not None:
            bound.dispatch_indirect(where, offset, push, self.timeout)
        else:
            groups = self.decoder.decode(arguments.groups)
            bound.timed(groups, push, self.timeout, repeat=arguments.repeat)
        places, defined = bound.result_keys(), bound.defined(ordered=True)
        return ByBinding(bound.results(), places), None if defined is None else ByBinding(defined, places)

    def sequence(self, arguments: recipe.SequenceArguments) -> Results:
        """Run a sequence of dispatches, fills and copies."""
        bounds = [self._bound(one) for one in arguments.bounds]

        def step_of(part: Any) -> Any:
            values = self.decoder.arguments(part)
            if isinstance(part, recipe.SequenceDispatch):
                return Dispatch(bounds[values.pop("bound")], **values)
            return Fill(**values) if isinstance(part, recipe.SequenceFill) else Copy(**values)

        stages = [tuple(map(step_of, stage)) for stage in arguments.steps]
        sequence = self.stack.enter_context(self.device.sequence(stages))
        sequence.run(timeout=self.timeout)
        results: dict[Any, Any] = {}
        places: dict[Any, Any] = {}
        for bound in bounds:
            results.update(bound.results())
            places.update(bound.result_keys())
        return ByBinding(results, places), None

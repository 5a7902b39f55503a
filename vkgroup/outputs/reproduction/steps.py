"""Repeating a step from its files, on any device."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidInput
from vkgroup.dispatch import Copy, Device, Dispatch, DrawState, Fill, Image
from vkgroup.dispatch.results import ByBinding
from vkgroup.outputs.reproduction.shaders import read_module
from vkgroup.outputs.reproduction.values import Array, Decoder, Json, contents, load

_CONTROL = ("entry_point", "specialization", "subgroup_size", "full_subgroups", "varying_subgroup_size")


@dataclass(frozen=True)
class Output:
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
) -> list[Output]:
    """Repeat a step, and return its outputs.

    `as_arrays`: whether buffers become arrays; then the reference device reports which elements are defined.
    Outputs in memory that cannot be an array are left out.
    """
    with ExitStack() as stack:
        decoder = Decoder(folder, device, partial(read_module, folder), stack, as_arrays=as_arrays)
        arguments = step["arguments"]
        call = {"draw": _all_at_once, "trace": _all_at_once, "dispatch": _dispatch, "sequence": _sequence}
        if step["call"] not in call:
            raise InvalidInput(f"{folder}: no step is called {step['call']!r}; make the folder again.")
        results, defined = call[step["call"]](device, step["call"], decoder, arguments, stack, timeout)
        outputs = []
        for entry in step["outputs"]:
            now = _now(entry, decoder, results)
            if now is None:
                continue
            known = None if defined is None else _look_up(defined, entry)
            outputs.append(Output(entry["name"], entry["file"], load(folder, entry["file"]), now, known))
        return outputs


def _now(entry: Json, decoder: Decoder, results: Mapping[Any, Any]) -> Array | None:
    """Return the current content of an output; None if it cannot be read."""
    if "memory" in entry:
        memory = decoder.memory.get(entry["memory"])
        if memory is not None:
            return memory.read() if isinstance(memory, Image) else contents(memory)
        return _look_up(results, entry)
    found = results[decoder.decode(entry["result"])]
    return np.asarray(found[entry["part"]] if isinstance(found, list) else found)


def _look_up(results: Mapping[Any, Any], entry: Json) -> Array | None:
    """Return the array of a binding, found by its name or its number; None if there is none."""
    for key in (entry["name"], *([int(entry["name"])] if entry["name"].isdecimal() else [])):
        try:
            return np.asarray(results[key])
        except (KeyError, TypeError, ValueError):
            continue
    return None


Found = tuple[Mapping[Any, Any], Mapping[Any, Any] | None]


def _all_at_once(
    device: Device, call: str, decoder: Decoder, arguments: Json, stack: ExitStack, timeout: float
) -> Found:
    """Execute a draw or a trace."""
    values = {name: decoder.decode(value) for name, value in arguments.items()}
    if call == "draw":
        names = [field.name for field in fields(DrawState) if field.name in values]
        values["state"] = DrawState(**{name: values.pop(name) for name in names})
    found = getattr(device, call)(**values, timeout=timeout)
    return found, found.ordered


def _bound(device: Device, decoder: Decoder, arguments: Json, stack: ExitStack) -> Any:
    control = {name: decoder.decode(arguments[name]) for name in _CONTROL if name in arguments}
    module = decoder.decode(arguments["module"])
    pipeline = stack.enter_context(device.pipeline(module, **control))
    return stack.enter_context(pipeline.bind(decoder.decode(arguments["bindings"])))


def _dispatch(
    device: Device, call: str, decoder: Decoder, arguments: Json, stack: ExitStack, timeout: float
) -> Found:
    """Execute the dispatches of the recorded submission."""
    bound = _bound(device, decoder, arguments, stack)
    push = decoder.decode(arguments.get("push"))
    if "indirect" in arguments:
        where, offset = decoder.decode(arguments["indirect"]), arguments.get("offset", 0)
        if isinstance(where, np.ndarray):
            counts = where.reshape(-1).view(np.uint32)[offset // 4 :][:3]
            bound.dispatch(tuple(int(count) for count in counts), push, timeout)
        else:
            bound.dispatch_indirect(where, offset, push, timeout)
    else:
        groups, times = decoder.decode(arguments["groups"]), arguments.get("repeat", 1)
        bound.timed(groups, push, timeout, repeat=times)
    places, defined = bound.result_keys(), bound.defined(ordered=True)
    return ByBinding(bound.results(), places), None if defined is None else ByBinding(defined, places)


def _sequence(
    device: Device, call: str, decoder: Decoder, arguments: Json, stack: ExitStack, timeout: float
) -> Found:
    """Run a sequence of dispatches, fills and copies."""
    bounds = [_bound(device, decoder, one, stack) for one in arguments["bounds"]]

    def made(step: Json) -> Any:
        if isinstance(step, list):
            return tuple(made(part) for part in step)
        for name, kind in (("fill", Fill), ("copy", Copy)):
            if name in step:
                return kind(**{key: decoder.decode(part) for key, part in step[name].items()})
        groups, push = decoder.decode(step["groups"]), decoder.decode(step["push"])
        return Dispatch(bounds[step["bound"]], groups, push)

    sequence = stack.enter_context(device.sequence([made(step) for step in arguments["steps"]]))
    sequence.run(timeout=timeout)
    results: dict[Any, Any] = {}
    places: dict[Any, Any] = {}
    for bound in bounds:
        results.update(bound.results())
        places.update(bound.result_keys())
    return ByBinding(results, places), None

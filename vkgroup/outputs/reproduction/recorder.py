"""A device that records every dispatch, draw and trace as a step.

A step contains the call, its arguments and its results: shaders, memory before and after, constants,
numbers. It can be repeated from its files (`vkgroup.outputs.reproduction.steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vkgroup.dispatch import Device, Image, Pipeline, Sequence, Work
from vkgroup.dispatch import Dispatch as SequenceDispatch
from vkgroup.dispatch.commands import Submission
from vkgroup.dispatch.results import RunResult
from vkgroup.outputs.reproduction.values import (
    Array,
    Encoder,
    Json,
    contents,
    has_memory,
    modules_of,
    name_of,
    word,
    written,
)
from vkgroup.spirv import Module

MOST_STEPS = 24
"""Maximum number of recorded steps; further steps of a case are only counted."""

Note = Callable[[list[Json]], None]
"""Called with all steps before and after each step, so that a step that crashes the driver is recorded."""

_STEPS = {"run": "dispatch", "draw": "draw", "trace": "trace"}
"""The step of each method of `Device` that executes in one call."""

_NOT_RECORDED = ("bindings", "state", "timed", "timeout")
"""Arguments that are recorded in another form, or chosen again when a step is repeated."""


class _Wrapper:
    """Has the attributes of another object, except those of its own class."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._wrapped.close()


class DeviceRecorder(_Wrapper):
    """A device, given in place of `device`, that records what it executes.

    `steps`: the steps as JSON.
    `left_out`: number of steps after the first `MOST_STEPS`.
    """

    def __init__(self, device: Device, encoder: Encoder, note: Note) -> None:
        super().__init__(device)
        self.steps: list[Json] = []
        self.left_out = 0
        self._encoder, self._note = encoder, note

    # --- calls that execute at once -----------------------------------------------------------------------

    def run(self, module: Any, groups: Any, bindings: Mapping[Any, Any], **options: Any) -> RunResult:
        """Run a compute shader as `Device.run` does."""
        return self._call("run", {"module": module, "groups": groups, "bindings": bindings, **options})

    def draw(
        self, shader: Any, size: Any, bindings: Mapping[Any, Any] | None = None, **options: Any
    ) -> RunResult:
        """Draw as `Device.draw` does."""
        return self._call("draw", {"shader": shader, "size": size, "bindings": bindings or {}, **options})

    def trace(self, raygen: Any, size: Any, bindings: Mapping[Any, Any], **options: Any) -> RunResult:
        """Trace rays as `Device.trace` does."""
        return self._call("trace", {"raygen": raygen, "size": size, "bindings": bindings, **options})

    def _call(self, method: str, given: Mapping[str, Any]) -> RunResult:
        step = self.begin_call(method, given)
        result: RunResult = getattr(self._wrapped, method)(**given)
        self.end(step, result, given)
        return result

    def begin_call(self, method: str, given: Mapping[str, Any]) -> Json | None:
        """Record a call of a method of `Device` before it executes; None after `MOST_STEPS` steps."""
        return self.begin(_STEPS[method], lambda: self.arguments(given))

    # --- pipelines and sequences --------------------------------------------------------------------------

    def pipeline(self, module: Module, **control: Any) -> PipelineRecorder:
        """Make a compute pipeline whose dispatches are recorded."""
        pipeline = self._wrapped.pipeline(module, **control)
        return PipelineRecorder(self, pipeline, {"module": module, **control})

    def sequence(self, steps: Iterable[Any], *options: Any, **named: Any) -> SequenceRecorder:
        """Make a sequence whose runs are recorded."""
        given = list(steps)
        plain = [tuple(map(_plain, one)) if isinstance(one, tuple) else _plain(one) for one in given]
        return SequenceRecorder(self, self._wrapped.sequence(plain, *options, **named), given)

    def acceleration_structure(self, parts: Any) -> Any:
        """Build an acceleration structure, and keep its parts for the record."""
        listed = parts if isinstance(parts, list | tuple) or not hasattr(parts, "__iter__") else list(parts)
        structure = self._wrapped.acceleration_structure(listed)
        self._encoder.scenes[id(structure)] = structure, listed
        return structure

    # --- all steps ----------------------------------------------------------------------------------------

    def begin(self, call: str, arguments: Callable[[], Json]) -> Json | None:
        """Record a step before it executes; None after `MOST_STEPS` steps.

        `arguments` returns its arguments, whose files have the number of the step.
        """
        if len(self.steps) == MOST_STEPS:
            self.left_out += 1
            return None
        step: Json = {"call": call, "arguments": {}, "outputs": []}
        self.steps.append(step)
        step["arguments"] = arguments()
        self._note(self.steps)
        return step

    def end(self, step: Json | None, results: Mapping[Any, Any], given: Mapping[str, Any]) -> None:
        """Record the outputs of a step: the returned arrays, and the content of the device's memory."""
        if step is None:
            return
        number = self.steps.index(step)

        def save(name: str, array: Array, **where: Json) -> None:
            file = self._encoder.files.save(f"outputs/step{number}-{name}", array)
            step["outputs"].append({"name": name, "file": file, **where})

        for key, value in results.items():
            parts = value if isinstance(value, list) else [value]
            for n, array in enumerate(parts):
                name = word(key) if len(parts) == 1 else f"{word(key)}-{n}"
                save(name, np.asarray(array), result=self._encoder.encode(key, "key"), part=n)
        for name, memory in written(given).items():
            held = memory.read() if isinstance(memory, Image) else contents(memory)
            save(name, held, memory=self._encoder.number(memory))
        self._note(self.steps)

    def arguments(self, given: Mapping[str, Any]) -> Json:
        """Return arguments by name; files of bindings are named like the shader's variables."""
        values = {**given, **(given["state"].changes() if "state" in given else {})}
        arguments = {
            name: self.encoded(value, name)
            for name, value in values.items()
            if name not in _NOT_RECORDED and value is not None
        }
        if "bindings" in given:
            modules = list(modules_of(given))
            names = {key: self._file(name_of(key, modules)) for key in given["bindings"]}
            arguments["bindings"] = self._encoder.encode_pairs(given["bindings"], names)
        return arguments

    def encoded(self, value: Any, name: str) -> Json:
        """Return the JSON of an argument of the last step."""
        return self._encoder.encode(value, self._file(name))

    def _file(self, name: str) -> str:
        return f"inputs/step{len(self.steps) - 1}-{name}"


class PipelineRecorder(_Wrapper):
    """A compute pipeline whose dispatches are recorded; `made` has the arguments that made it."""

    def __init__(self, recorder: DeviceRecorder, pipeline: Pipeline, made: Mapping[str, Any]) -> None:
        super().__init__(pipeline)
        self._recorder, self._made = recorder, made

    def bind(self, bindings: Mapping[Any, Any]) -> WorkRecorder:
        """Bind arrays, buffers and images as `Pipeline.bind` does."""
        return WorkRecorder(
            self._recorder, self._wrapped.bind(bindings), {**self._made, "bindings": bindings}
        )


class WorkRecorder(_Wrapper):
    """A bound pipeline whose dispatches are recorded.

    `work`: the bound pipeline.
    `given`: the arguments that made it, with ``bindings``.
    """

    def __init__(self, recorder: DeviceRecorder, work: Work, given: Mapping[str, Any]) -> None:
        super().__init__(work)
        self.work, self.given = work, given
        self._recorder = recorder

    def dispatch(self, groups: Any, push: Any = None, *options: Any, **named: Any) -> Submission:
        """Run the pipeline once, as `Work.dispatch` does."""
        step = self._begin(groups=groups, push=push)
        submission = self.work.dispatch(groups, push, *options, **named)
        self._recorder.end(step, self.work.results(), self.given)
        return submission

    def dispatch_indirect(
        self, buffer: Any, offset: int = 0, push: Any = None, *options: Any, **named: Any
    ) -> Submission:
        """Run the pipeline on as many workgroups as a buffer says, as `Work.dispatch_indirect` does."""
        step = self._begin(indirect=buffer, offset=offset, push=push)
        submission = self.work.dispatch_indirect(buffer, offset, push, *options, **named)
        self._recorder.end(step, self.work.results(), self.given)
        return submission

    def timed(
        self, size: Any = None, push: Any = None, timeout: float | None = 10.0, *, repeat: int = 1
    ) -> float | None:
        """Run the pipeline several times, as `Work.timed` does."""
        step = self._begin(groups=size, push=push, repeat=repeat)
        seconds = self.work.timed(size, push, timeout, repeat=repeat)
        self._recorder.end(step, self.work.results(), self.given)
        return seconds

    def _begin(self, **arguments: Any) -> Json | None:
        return self._recorder.begin(
            "dispatch", lambda: {**self.prepared(), **self._recorder.arguments(arguments)}
        )

    def prepared(self) -> Json:
        """Return the pipeline and its bindings with their current content."""
        places, now = self.work.result_keys(), self.work.results()
        current = {
            key: now[place] if (place := places.get(key, key)) in now and not has_memory(value) else value
            for key, value in self.given["bindings"].items()
        }
        return self._recorder.arguments({**self.given, "bindings": current})


class SequenceRecorder(_Wrapper):
    """A sequence whose runs are recorded."""

    def __init__(self, recorder: DeviceRecorder, sequence: Sequence, steps: list[Any]) -> None:
        super().__init__(sequence)
        self._recorder, self._steps = recorder, steps

    def run(self, *options: Any, **named: Any) -> Submission:
        """Run the sequence, as `Sequence.run` does."""
        bounds: dict[int, WorkRecorder] = {}

        def arguments() -> Json:
            stages = (one if isinstance(one, tuple) else (one,) for one in self._steps)
            parts = [[self._part(part, bounds) for part in stage] for stage in stages]
            return {"steps": parts, "bounds": [bound.prepared() for bound in bounds.values()]}

        step = self._recorder.begin("sequence", arguments)
        submission: Submission = self._wrapped.run(*options, **named)
        for bound in bounds.values():
            self._recorder.end(step, bound.work.results(), bound.given)
        return submission

    def _part(self, one: Any, bounds: dict[int, WorkRecorder]) -> Json:
        """Return a dispatch, fill or copy of a sequence."""
        encoded, call = self._recorder.encoded, type(one).__name__.lower()
        if not isinstance(one, SequenceDispatch):
            return {"call": call} | {key: encoded(part, f"{call}-{key}") for key, part in vars(one).items()}
        assert isinstance(one.work, WorkRecorder)
        bounds.setdefault(id(one.work), one.work)
        number = list(bounds).index(id(one.work))
        values = {"groups": encoded(one.groups, "groups"), "push": encoded(one.push, "push")}
        return {"call": call, "bound": number, **values}


def _plain(step: Any) -> Any:
    """Return a step of a sequence as the device takes it."""
    if isinstance(step, SequenceDispatch) and isinstance(step.work, WorkRecorder):
        return replace(step, work=step.work.work)
    return step

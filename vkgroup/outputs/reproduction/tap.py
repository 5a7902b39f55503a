"""Recording of a device: every dispatch, draw and trace is recorded as a step.

A step contains the call, its arguments and its results: shaders, memory before and after, constants,
numbers. It can be repeated from its files (`vkgroup.outputs.reproduction.steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vkgroup.dispatch import Device, Image, Pipeline, Work
from vkgroup.dispatch import Dispatch as SequenceDispatch
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


class Tap:
    """Records the steps of one device from its creation until `close`.

    `steps`: the steps as JSON.
    `left_out`: number of steps after the first `MOST_STEPS`.
    """

    def __init__(self, device: Device, encoder: Encoder, note: Note) -> None:
        self.steps: list[Json] = []
        self.left_out = 0
        self._device, self._encoder, self._note = device, encoder, note
        self._original = {
            name: getattr(device, name)
            for name in ("pipeline", "draw", "trace", "sequence", "acceleration_structure")
        }
        device.__dict__.update(
            pipeline=self._pipeline,
            draw=self._call("draw"),
            trace=self._call("trace"),
            sequence=self._sequence,
            acceleration_structure=self._structure,
        )
        # Pipelines that are already cached would not be recorded.
        device._pipelines.clear()

    def close(self) -> None:
        """Stop recording."""
        for name in self._original:
            self._device.__dict__.pop(name)
        self._device._pipelines.clear()

    # --- draws and traces ---------------------------------------------------------------------------------

    def _call(self, method: str) -> Callable[..., Any]:
        """Return a recording replacement for a method that draws or traces in one call."""
        first = {"draw": ("shader", "size", "bindings"), "trace": ("raygen", "size", "bindings")}[method]

        def call(*positional: Any, **named: Any) -> Any:
            given = {**dict(zip(first, positional, strict=False)), **named}
            if "state" in given:
                given |= given.pop("state").changes()
            given.setdefault("bindings", {})
            if (step := self._begin(method)) is None:
                return self._original[method](*positional, **named)
            step["arguments"] = self._arguments(given)
            self._note(self.steps)
            found = self._original[method](*positional, **named)
            self._end(step, found, given)
            return found

        return call

    def _arguments(self, given: Mapping[str, Any]) -> Json:
        """Return arguments by name, without time limits, which are set when the step is repeated."""
        found = {
            name: self._encoder.encode(value, self._name(name))
            for name, value in given.items()
            if name not in ("timeout", "bindings") and value is not None
        }
        if given.get("bindings"):
            found["bindings"] = self._bindings(given["bindings"], list(modules_of(given)))
        return found

    def _bindings(self, bindings: Mapping[Any, Any], modules: list[Module]) -> Json:
        """Return bindings; their files are named like the shader's variables."""
        pairs = []
        for key, value in bindings.items():
            name = self._name(name_of(key, modules))
            pairs.append([self._encoder.encode(key, name), self._encoder.encode(value, name)])
        return {"mapping": pairs}

    # --- dispatches ---------------------------------------------------------------------------------------

    def _pipeline(self, module: Any, **control: Any) -> Pipeline:
        pipeline: Pipeline = self._original["pipeline"](module, **control)
        bind = pipeline.bind

        def bind_and_listen(bindings: Mapping[Any, Any]) -> Work:
            bound = bind(bindings)
            self._listen(bound, {"module": module, **control}, bindings)
            return bound

        pipeline.__dict__["bind"] = bind_and_listen
        return pipeline

    def _listen(self, bound: Work, made: Mapping[str, Any], bindings: Mapping[Any, Any]) -> None:
        """Record the dispatches of a bound pipeline."""
        bound.__dict__["of_tap"] = made, bindings

        def listen(method: str) -> None:
            original = getattr(bound, method)

            def call(what: Any, *positional: Any, **named: Any) -> Any:
                if (step := self._begin("dispatch")) is None:
                    return original(what, *positional, **named)
                arguments = self._prepared(bound)
                names: tuple[str, ...] = ("push", "timeout")
                if method == "dispatch_indirect":
                    names = ("offset", *names)
                    arguments["indirect"] = self._encoder.encode(what, self._name("groups"))
                else:
                    arguments["groups"] = self._encoder.encode(what, "groups")
                rest = {**dict(zip(names, positional, strict=False)), **named}
                step["arguments"] = arguments | self._arguments(rest)
                self._note(self.steps)
                found = original(what, *positional, **named)
                self._end(step, bound.results(), {**made, "bindings": bindings})
                return found

            bound.__dict__[method] = call

        for method in ("dispatch", "dispatch_indirect", "timed"):
            listen(method)

    def _prepared(self, bound: Work) -> dict[str, Json]:
        """Return the pipeline of a dispatch, and its bindings with their current content."""
        made, bindings = bound.__dict__["of_tap"]
        places, now = bound.result_keys(), bound.results()
        current = {
            key: now[place] if (place := places.get(key, key)) in now and not has_memory(value) else value
            for key, value in bindings.items()
        }
        found: dict[str, Json] = self._arguments({**made, "bindings": current})
        return found

    def _sequence(self, steps: Any) -> Any:
        given = list(steps)
        sequence = self._original["sequence"](given)
        run = sequence.run

        def run_and_listen(*positional: Any, **named: Any) -> Any:
            if (step := self._begin("sequence")) is None:
                return run(*positional, **named)
            bounds: dict[int, Work] = {}
            step["arguments"] = {"steps": [self._step_of(one, bounds) for one in given]}
            step["arguments"]["bounds"] = [self._prepared(bound) for bound in bounds.values()]
            self._note(self.steps)
            found = run(*positional, **named)
            for bound in bounds.values():
                made, bindings = bound.__dict__["of_tap"]
                self._end(step, bound.results(), {**made, "bindings": bindings})
            return found

        sequence.__dict__["run"] = run_and_listen
        return sequence

    def _step_of(self, one: Any, bounds: dict[int, Work]) -> Json:
        """Return a dispatch, fill or copy of a sequence, or several side by side."""
        if isinstance(one, tuple):
            return [self._step_of(part, bounds) for part in one]
        if not isinstance(one, SequenceDispatch):
            name = type(one).__name__.lower()
            return {name: {key: self._encoder.encode(part, self._name(f"{name}-{key}"))
                           for key, part in vars(one).items()}}  # fmt: skip
        bounds.setdefault(id(one.work), one.work)
        return {
            "bound": list(bounds).index(id(one.work)),
            "groups": self._encoder.encode(one.groups, "groups"),
            "push": self._encoder.encode(one.push, self._name("push")),
        }

    # --- all steps ----------------------------------------------------------------------------------------

    def _structure(self, parts: Any) -> Any:
        listed = parts if isinstance(parts, list | tuple) or not hasattr(parts, "__iter__") else list(parts)
        made = self._original["acceleration_structure"](listed)
        self._encoder.scenes[id(made)] = made, listed
        return made

    def _begin(self, call: str) -> dict[str, Json] | None:
        """Begin a step; None after `MOST_STEPS` steps."""
        if len(self.steps) == MOST_STEPS:
            self.left_out += 1
            return None
        step: dict[str, Json] = {"call": call, "arguments": {}, "outputs": []}
        self.steps.append(step)
        return step

    def _name(self, what: str) -> str:
        return f"inputs/step{len(self.steps) - 1}-{what}"

    def _end(self, step: dict[str, Json], results: Mapping[Any, Any], given: Mapping[str, Any]) -> None:
        """Record the outputs of a step: the returned arrays, and the content of the device's memory."""
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

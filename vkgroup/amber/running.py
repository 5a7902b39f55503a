"""Execution of an Amber script on a device."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from vkgroup.amber.compiling import compile_attached
from vkgroup.amber.drawing import grid, rectangle, vertex_arrays
from vkgroup.amber.expectations import check_buffers, check_pixels, check_values
from vkgroup.amber.outcome import ScriptOutcome, ScriptStatus
from vkgroup.amber.resources import ScriptMemory
from vkgroup.amber.script import (
    AttachedShader,
    Command,
    Script,
    ScriptPipeline,
    SubgroupControl,
)
from vkgroup.base.errors import (
    CompileError,
    CompilerUnavailable,
    DeviceLost,
    DispatchTimeout,
    InvalidInput,
    OutOfMemory,
    Unsupported,
    VkgroupError,
)
from vkgroup.dispatch.attachments import color_outputs
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.draw_state import DrawState
from vkgroup.reference.events import Event
from vkgroup.spirv import Module

_TOPOLOGIES = {
    "POINT_LIST": "points",
    "LINE_LIST": "lines",
    "LINE_STRIP": "line_strip",
    "TRIANGLE_LIST": "triangles",
    "TRIANGLE_STRIP": "triangle_strip",
    "TRIANGLE_FAN": "triangle_fan",
    "LINE_LIST_WITH_ADJACENCY": "lines_adjacency",
    "LINE_STRIP_WITH_ADJACENCY": "line_strip_adjacency",
    "TRIANGLE_LIST_WITH_ADJACENCY": "triangles_adjacency",
    "TRIANGLE_STRIP_WITH_ADJACENCY": "triangle_strip_adjacency",
    "PATCH_LIST": "patches",
}


def run_script(device: Device, script: Script, timeout: float | None = 10.0) -> ScriptOutcome:
    """Run all commands of a script on a device.

    Parameters
    ----------
    device : an open device. After a timeout, or if it was lost, it must be opened again.
    timeout : seconds for each dispatch or draw.

    Returns
    -------
    The outcome. The first expectation that is not met ends the script. On the reference device it is
    `ScriptStatus.INVALID` if a shader used an undefined value, had a race or an access out of bounds. The
    reason of a pass is the first expectation that compared an undefined value; empty if none did.

    Raises
    ------
    InvalidInput
        A command does not fit the script's buffers; the message begins with file and line.
    """
    start = time.monotonic()
    run = ScriptRun(device, script, timeout)
    try:
        status, reason = run.all()
    finally:
        run.close()
    return ScriptOutcome(status, reason, time.monotonic() - start)


class _Failed(Exception):
    """An expectation was not met."""


class ScriptRun(ScriptMemory):
    """A script on a device: the memory of its buffers and images, and the events so far."""

    def __init__(self, device: Device, script: Script, timeout: float | None) -> None:
        super().__init__(device, script)
        self.timeout = timeout
        self.events: list[Event] = []
        self._modules: dict[AttachedShader, Module] = {}
        self.undefined = ""  # the first comparison of an undefined value, in a sentence
        self.line = 0

    def all(self) -> tuple[ScriptStatus, str]:
        """Run all commands; return the status and the reason."""
        try:
            for command in _unrolled(self.script.commands):
                self.line = command.line
                self._perform(command)
        except _Failed as error:
            status = ScriptStatus.INVALID if self.events else ScriptStatus.FAIL
            return status, self._at(f"{error}{self._first_event()}")
        except CompileError as error:
            text = str(error.diagnostics[0]) if error.diagnostics else str(error)
            return ScriptStatus.ERROR, text
        except (Unsupported, CompilerUnavailable, OutOfMemory) as error:
            return ScriptStatus.NOT_SUPPORTED, self._at(str(error))
        except (DispatchTimeout, DeviceLost) as error:
            is_own = self.device.info.is_reference
            return ScriptStatus.ERROR if is_own else ScriptStatus.FAIL, self._at(str(error))
        except InvalidInput as error:
            raise InvalidInput(f"{self.script.file}:{self.line}: {error}") from error
        except VkgroupError as error:
            return ScriptStatus.ERROR, self._at(str(error))
        return ScriptStatus.PASS, self.undefined

    def _at(self, text: str) -> str:
        return f"{self.script.file}:{self.line}: {text}" if self.line else f"{self.script.file}: {text}"

    def _first_event(self) -> str:
        """Return the first error of a shader that was seen, for the end of a sentence."""
        return f" (the shader has an error: {self.events[0].message})" if self.events else ""

    def _perform(self, command: Command) -> None:
        given = command.arguments
        if command.word == "RUN":
            pipeline = self.script.pipelines[given["pipeline"]]
            (self.dispatch if pipeline.kind == "compute" else self.draw)(pipeline, given)
        elif command.word == "EXPECT":
            self._expect(given)
        elif command.word == "COPY":
            self.copy(given["source"], given["target"])
        elif command.word == "WRITE":
            memory = self.memory(given["buffer"])
            assert isinstance(memory, Buffer)
            memory.write(given["data"], given["offset"])
        elif command.word == "CLEAR":
            self._clear(self.script.pipelines[given["pipeline"]])
        elif command.word == "CLEAR_COLOR":
            self.script.pipelines[given["pipeline"]].clear = given["value"]
        else:
            self.script.pipelines[given["pipeline"]].clear_depth = given["value"]

    def _expect(self, given: dict[str, Any]) -> None:
        contents = self.contents(given["buffer"])
        contents.type = given.get("type", contents.type)
        if "other" in given:
            comparison = check_buffers(contents, self.contents(given["other"]), given)
        elif "position" in given:
            comparison = check_pixels(contents, given)
        else:
            comparison = check_values(contents, given)
        if comparison.difference:
            raise _Failed(f"{given['buffer']}: {comparison.difference}")
        if comparison.undefined and not self.undefined:
            self.undefined = self._at(f"{given['buffer']}: {comparison.undefined}{self._first_event()}")

    def module(self, attached: AttachedShader) -> Module:
        """Return the module of a shader."""
        if attached not in self._modules:
            self._modules[attached] = compile_attached(self.script, attached)
        return self._modules[attached]

    def options(self, pipeline: ScriptPipeline) -> dict[str, Any]:
        """Return push constants, specialization constants, and the time limit."""
        constants = {
            number: value for each in pipeline.shaders.values() for number, value in each.specialization
        }
        options: dict[str, Any] = {"specialization": constants, "timeout": self.timeout}
        if pipeline.push is not None:
            options["push"] = self.contents(pipeline.push).data.tobytes()
        return options

    def control(self, pipeline: ScriptPipeline) -> dict[str, Any]:
        """Return how the subgroups of the only controlled shader are required."""
        names = [each.shader.name for each in pipeline.shaders.values()]
        controls = [control for name, control in pipeline.subgroups.items() if name in names]
        control = controls[0] if controls else SubgroupControl()
        if len(controls) > 1 and any(each != control for each in controls):
            raise Unsupported("SUBGROUP of several shaders is not supported", ["SUBGROUP"])
        size = control.size
        if isinstance(size, str):
            limits = self.device.capabilities.size_control
            size = limits.max_size if size == "MAX" else limits.min_size
        return {
            "full_subgroups": control.full,
            "varying_subgroup_size": control.varying,
            "subgroup_size": size,
        }

    def dispatch(self, pipeline: ScriptPipeline, given: dict[str, Any]) -> None:
        """Run a compute pipeline."""
        if "compute" not in pipeline.shaders:
            raise InvalidInput(f"{pipeline.name} has no compute shader.")
        attached = pipeline.shaders["compute"]
        module = self.module(attached)
        result = self.device.run(
            module,
            given["groups"],
            self.bindings(pipeline.bindings, [module]),
            entry_point=attached.entry_point,
            **self.options(pipeline),
            **self.control(pipeline),
        )
        self.events += result.events

    def draw(self, pipeline: ScriptPipeline, given: dict[str, Any]) -> None:
        """Draw with a graphics pipeline."""
        modules = {stage: self.module(each) for stage, each in pipeline.shaders.items()}
        if not {"vertex", "fragment"} <= modules.keys():
            raise Unsupported("a pipeline without a vertex or a fragment shader", ["a pipeline without it"])
        tessellation = [
            modules[name] for name in ("tessellation_control", "tessellation_evaluation") if name in modules
        ]
        vertices = self._vertices(pipeline, modules["vertex"], given)
        depth, colors = pipeline.depth_state, self._colors(pipeline, modules["fragment"])
        samples = {self.script.buffers[name].samples for name in pipeline.colors.values()} or {1}
        topology = _TOPOLOGIES.get(given.get("topology", ""), vertices.pop("topology", None))
        state = DrawState(
            topology=topology,
            patch_vertices=pipeline.patch_vertices,
            depth_compare=depth.get("COMPARE_OP", "less"),
            depth_write=depth.get("WRITE", False),
            samples=max(samples),
        )
        result = self.device.draw(
            modules["fragment"],
            pipeline.size,
            self.bindings(pipeline.bindings, list(modules.values())),
            state=state,
            vertex=modules["vertex"],
            tessellation=tuple(tessellation) or None,  # type: ignore[arg-type]
            geometry=modules.get("geometry"),
            colors=colors,
            depth=self.memory(pipeline.depth) if pipeline.depth and depth.get("TEST") else None,
            **vertices,
            **self.options(pipeline),
            **self.control(pipeline),
        )
        self.events += result.events

    def _vertices(self, pipeline: ScriptPipeline, vertex: Module, given: dict[str, Any]) -> dict[str, Any]:
        """Return the vertices, the count, the indices and the instances of a draw."""
        inputs = vertex.reflection.entry_point(None).variables.inputs
        if "rectangle" in given:
            make = grid if "cells" in given else rectangle
            array = make(given, pipeline.size)
            wanted = [item.location for item in inputs]
            topology = "triangles" if "cells" in given else "triangle_strip"
            if "tessellation_control" in pipeline.shaders:
                topology = "patches"
            return {"vertices": {0: array} if 0 in wanted else {}, "count": len(array), "topology": topology}
        first = given.get("start_idx", 0)
        if first and "VertexIndex" in vertex.reflection.entry_point(None).variables.input_built_ins:
            raise Unsupported("START_IDX with gl_VertexIndex is not supported", ["START_IDX"])
        if given.get("start_instance"):
            raise Unsupported("START_INSTANCE is not supported", ["START_INSTANCE"])
        contents = {location: self.contents(name) for location, name in pipeline.vertices.items()}
        arrays, indices = vertex_arrays(contents, inputs), None
        if given["indexed"]:
            if pipeline.indices is None:
                raise InvalidInput(f"{pipeline.name} has no INDEX_DATA.")
            held = self.contents(pipeline.indices)
            indices = held.type.values(held.data).reshape(-1)[first:]
        else:
            arrays = {location: array[first:] for location, array in arrays.items()}
        return {
            "vertices": arrays,
            "indices": indices,
            "count": given.get("count"),
            "instances": given.get("instance_count", 1),
        }

    def _colors(self, pipeline: ScriptPipeline, fragment: Module) -> dict[int, Any]:
        """Return the image of each output that has one; of several samples, the image it is resolved to."""
        colors: dict[int, Any] = {}
        resolves = iter(pipeline.resolves)
        for location, name in sorted(pipeline.colors.items()):
            buffer = self.script.buffers[name]
            target = next(resolves, None) if buffer.samples > 1 else name
            if buffer.samples > 1 and any(pipeline.clear):
                raise Unsupported("CLEAR_COLOR of several samples is not supported", ["CLEAR_COLOR"])
            format_ = buffer.type.format
            colors[location] = format_.name if target is None and format_ else self.memory(target or name)
        outputs = {item.location for item in color_outputs(fragment.reflection.entry_point(None))}
        return {location: color for location, color in colors.items() if location in outputs}

    def _clear(self, pipeline: ScriptPipeline) -> None:
        for name in pipeline.colors.values():
            if self.script.buffers[name].samples == 1:
                self.fill(name, pipeline.clear)
        if pipeline.depth is not None:
            self.fill(pipeline.depth, (pipeline.clear_depth,) * 4)


def _unrolled(commands: Sequence[Command]) -> Iterator[Command]:
    """Yield the commands in the order in which they run."""
    for command in commands:
        if command.word != "REPEAT":
            yield command
            continue
        for _ in range(command.arguments["count"]):
            yield from _unrolled(command.arguments["commands"])

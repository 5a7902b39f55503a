"""Execution of an Amber script on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from vkgroup.amber.compiling import compile_attached
from vkgroup.amber.drawing import grid, rectangle, vertex_arrays
from vkgroup.amber.expectations import difference, undefined
from vkgroup.amber.outcome import ScriptOutcome, ScriptStatus
from vkgroup.amber.resources import ScriptMemory
from vkgroup.amber.script import AttachedShader, Script, ScriptCommand, ScriptPipeline, SubgroupControl
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
from vkgroup.base.phases import CodeOwner, phase
from vkgroup.dispatch.attachments import color_outputs
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.draw_state import DrawState
from vkgroup.reference.events import Event
from vkgroup.spirv import Module


def run_script(device: Device, script: Script, timeout: float | None = 10.0) -> ScriptOutcome:
    """Run all commands of a script on a device.

    Parameters
    ----------
    device : an open device; if the outcome says that it is lost, it must be opened again.
    timeout : seconds for each dispatch or draw.

    Returns
    -------
    The outcome. The first expectation that is not met ends the script. On the reference device it is
    `ScriptStatus.INVALID` if a shader used an undefined value, had a race or an access out of bounds. The
    reason of a pass is the first expectation that compared an undefined value; empty if none did. A script of
    vkgroup is not supported by devices with other subgroup sizes than that of its expected values.
    """
    if script.size not in (None, size := device.capabilities.subgroup.size):
        reason = f"its expected values are for subgroups of {script.size}, and the device has {size}"
        return ScriptOutcome(ScriptStatus.NOT_SUPPORTED, f"{script.file}: {reason}")
    return ScriptRun(device, script, timeout).run()


class _Failed(Exception):
    """An expectation was not met."""


Observer = Callable[["ScriptRun", ScriptPipeline, dict[str, Any]], None]
"""Called before a pipeline runs, with the arguments of the command."""


class ScriptRun:
    """A script on a device.

    `observer`: called before each dispatch and draw.
    `debug`: whether modules have line numbers and the source.

    Attributes: `memory`: the buffers and images.
    `line`: that of the command.
    `events`: the errors of shaders so far, on the reference device.
    """

    def __init__(
        self,
        device: Device,
        script: Script,
        timeout: float | None,
        observer: Observer | None = None,
        *,
        debug: bool = False,
    ) -> None:
        self.device, self.script, self.timeout = device, script, timeout
        self.memory = ScriptMemory(device, script)
        self.events: list[Event] = []
        self.line = 0
        self._observer, self._debug = observer, debug
        self._modules: dict[AttachedShader, Module] = {}
        self._undefined = ""  # the first comparison of an undefined value, in a sentence
        self._colors: dict[str, tuple[float, ...]] = {}  # the clear color of a pipeline
        self._depths: dict[str, float] = {}  # its clear depth
        self._drawn: set[str] = set()  # the buffers of several samples that were drawn to

    def run(self) -> ScriptOutcome:
        """Run all commands, and free the memory."""
        status = ScriptStatus.PASS
        try:
            with phase("running the script", CodeOwner.EXECUTION):
                for command in _unrolled(self.script.commands):
                    self.line = command.line
                    self._perform(command)
            return ScriptOutcome(status, self._undefined)
        except _Failed as error:
            status, reason = ScriptStatus.INVALID if self.events else ScriptStatus.FAIL, str(error)
        except CompileError as error:
            return ScriptOutcome(ScriptStatus.ERROR, str([*error.diagnostics, error][0]))
        except (Unsupported, CompilerUnavailable, OutOfMemory) as error:
            status, reason = ScriptStatus.NOT_SUPPORTED, str(error)
        except VkgroupError as error:
            is_of_device = isinstance(error, DispatchTimeout | DeviceLost)
            is_failure = is_of_device and not self.device.info.is_reference
            status, reason = ScriptStatus.FAIL if is_failure else ScriptStatus.ERROR, str(error)
        finally:
            self.memory.close()
        return ScriptOutcome(status, self._at(reason), lost=self.device.lost)

    def _at(self, text: str) -> str:
        """Return a sentence with file and line, and the first error of a shader that was seen."""
        seen = f" (the shader has an error: {self.events[0].message})" if self.events else ""
        return f"{self.script.file}:{self.line}: {text}{seen}"

    def _perform(self, command: ScriptCommand) -> None:
        given, memory = command.arguments, self.memory
        if command.word == "EXPECT":
            self._expect(given)
        elif command.word == "COPY":
            memory.copy(given["source"], given["target"])
        elif command.word == "WRITE":
            buffer = memory.of(given["buffer"])
            assert isinstance(buffer, Buffer)
            buffer.write(given["data"], given["offset"])
        else:
            self._with_pipeline(command.word, self.script.pipelines[given["pipeline"]], given)

    def _with_pipeline(self, word: str, pipeline: ScriptPipeline, given: dict[str, Any]) -> None:
        if word == "CLEAR_COLOR":
            self._colors[pipeline.name] = given["value"]
        elif word == "CLEAR_DEPTH":
            self._depths[pipeline.name] = given["value"]
        elif word == "CLEAR":
            for name in pipeline.colors.values():
                self._drawn.discard(name)
                if self.script.buffers[name].samples == 1:
                    self.memory.fill(name, self._colors.get(pipeline.name, (0.0,) * 4))
            if pipeline.depth is not None:
                self.memory.fill(pipeline.depth, (self._depths.get(pipeline.name, 1.0),) * 4)
        else:
            if self._observer is not None:
                self._observer(self, pipeline, given)
            if pipeline.kind == "compute":
                self._dispatch(pipeline, given)
            else:
                self._draw(pipeline, given)

    def _expect(self, given: dict[str, Any]) -> None:
        contents = self.memory.contents(given["buffer"])
        contents.type = given.get("type", contents.type)
        other = self.memory.contents(given["other"]) if "other" in given else None
        if text := difference(contents, other, given):
            raise _Failed(f"{given['buffer']}: {text}")
        if not self._undefined and (text := undefined(contents, other, given)):
            self._undefined = self._at(f"{given['buffer']}: {text}")

    def module(self, attached: AttachedShader) -> Module:
        """Return the module of a shader."""
        if attached not in self._modules:
            self._modules[attached] = compile_attached(self.script, attached, debug=self._debug)
        return self._modules[attached]

    def options(self, pipeline: ScriptPipeline) -> dict[str, Any]:
        """Return the constants, the requirements on subgroups, and the time limit of a pipeline."""
        names = [each.shader.name for each in pipeline.shaders.values()]
        controls = [control for name, control in pipeline.subgroups.items() if name in names]
        control = controls[0] if controls else SubgroupControl()
        if any(each != control for each in controls):
            raise Unsupported("SUBGROUP that differs between shaders is not supported", ["SUBGROUP"])
        size, limits = control.size, self.device.capabilities.size_control
        if isinstance(size, str):
            size = limits.max_size if size == "MAX" else limits.min_size
        options = {
            "specialization": self._constants(pipeline),
            "full_subgroups": control.full,
            "varying_subgroup_size": control.varying,
            "subgroup_size": size,
            "timeout": self.timeout,
        }
        if pipeline.push is not None:
            blocks = [self.module(each).reflection.push_constants for each in pipeline.shaders.values()]
            # A range may be greater than the block in it.
            size = max(block.size if block else 0 for block in blocks)
            options["push"] = self.memory.contents(pipeline.push).data[:size].tobytes()
        return options

    def _constants(self, pipeline: ScriptPipeline) -> dict[int | str, Any]:
        """Return the values of the specialization constants that the modules have, by id."""
        values: dict[int | str, Any] = {}
        for attached in pipeline.shaders.values():
            given = dict(attached.specialization)
            for constant in self.module(attached).reflection.specialization_constants:
                if (data := given.get(constant.id)) is None:
                    continue
                dtype = np.dtype(np.uint32) if constant.type.kind == "bool" else constant.type.dtype
                if len(data) != dtype.itemsize:
                    raise _unsupported(
                        f"SPECIALIZE {constant.id} with a type of another size than the constant's"
                    )
                value = np.frombuffer(data, dtype)[0].item()
                value = bool(value) if constant.type.kind == "bool" else value
                if values.setdefault(constant.id, value) != value:
                    raise _unsupported("one specialization constant with two values in a pipeline")
        return values

    def _dispatch(self, pipeline: ScriptPipeline, given: dict[str, Any]) -> None:
        """Run a compute pipeline."""
        if "compute" not in pipeline.shaders:
            raise InvalidInput(f"{pipeline.name} has no compute shader.")
        attached = pipeline.shaders["compute"]
        module = self.module(attached)
        result = self.device.run(
            module,
            given["groups"],
            self.memory.bindings(pipeline.bindings, [module]),
            entry_point=attached.entry_point,
            **self.options(pipeline),
        )
        self.events += result.events

    def _draw(self, pipeline: ScriptPipeline, given: dict[str, Any]) -> None:
        """Draw with a graphics pipeline."""
        modules = {stage: self.module(each) for stage, each in pipeline.shaders.items()}
        if not {"vertex", "fragment"} <= modules.keys():
            raise _unsupported("a graphics pipeline without a vertex or a fragment shader")
        if any(len(module.reflection.entry_points) > 1 for module in modules.values()):
            raise _unsupported("a module with several entry points in a graphics pipeline")
        control, evaluation = (modules.get(f"tessellation_{name}") for name in ("control", "evaluation"))
        depth = pipeline.depth_state
        topology, vertices = self._vertices(pipeline, modules["vertex"], given)
        samples = {self.script.buffers[name].samples for name in pipeline.colors.values()} or {1}
        state = DrawState(
            topology="patches" if control else topology,
            patch_vertices=pipeline.patch_vertices,
            depth_compare=depth.get("COMPARE_OP", "less"),
            depth_write=depth.get("WRITE", False),
            samples=max(samples),
        )
        result = self.device.draw(
            modules["fragment"],
            pipeline.size,
            self.memory.bindings(pipeline.bindings, list(modules.values())),
            state=state,
            vertex=modules["vertex"],
            tessellation=(control, evaluation) if control and evaluation else None,
            geometry=modules.get("geometry"),
            colors=self._attachments(pipeline, modules["fragment"]),
            depth=self.memory.of(pipeline.depth) if pipeline.depth and depth.get("TEST") else None,
            **vertices,
            **self.options(pipeline),
        )
        self.events += result.events

    def _vertices(
        self, pipeline: ScriptPipeline, vertex: Module, given: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Return the topology, and the vertices, the count, the indices and the instances of a draw."""
        variables = vertex.reflection.entry_point(None).variables
        if "rectangle" in given:
            is_grid = "cells" in given
            array = (grid if is_grid else rectangle)(given, pipeline.size)
            has_position = any(item.location == 0 for item in variables.inputs)
            vertices = {"vertices": {0: array} if has_position else {}, "count": len(array)}
            return "triangles" if is_grid else "triangle_strip", vertices
        first, indices = given.get("start_idx", 0), None
        if first and "VertexIndex" in variables.input_built_ins:
            raise Unsupported("START_IDX with gl_VertexIndex is not supported", ["START_IDX"])
        if given.get("start_instance"):
            raise Unsupported("START_INSTANCE is not supported", ["START_INSTANCE"])
        contents = {location: self.memory.contents(name) for location, name in pipeline.vertices.items()}
        arrays = vertex_arrays(contents, variables.inputs)
        if given["indexed"]:
            if pipeline.indices is None:
                raise InvalidInput(f"{pipeline.name} has no INDEX_DATA.")
            held = self.memory.contents(pipeline.indices)
            indices = held.type.values(held.data).reshape(-1)[first:][: given.get("count")]
        else:
            arrays = {location: array[first:] for location, array in arrays.items()}
        count, instances = given.get("count"), given.get("instance_count", 1)
        return given["topology"], {
            "vertices": arrays, "indices": indices, "count": count, "instances": instances
        }  # fmt: skip

    def _attachments(self, pipeline: ScriptPipeline, fragment: Module) -> dict[int, Any]:
        """Return the image of each output that has one; of several samples, the image it is resolved to."""
        outputs = {item.location for item in color_outputs(fragment.reflection.entry_point(None))}
        colors: dict[int, Any] = {}
        resolves = iter(pipeline.resolves)
        for location, name in sorted(pipeline.colors.items()):
            buffer = self.script.buffers[name]
            target = next(resolves, None) if buffer.samples > 1 else name
            if buffer.samples > 1 and any(self._colors.get(pipeline.name, ())):
                raise Unsupported("CLEAR_COLOR of several samples is not supported", ["CLEAR_COLOR"])
            if name in self._drawn:
                raise Unsupported("two draws to several samples are not supported", ["SAMPLES"])
            if buffer.samples > 1:
                self._drawn.add(name)
            format_ = buffer.type.format
            if location in outputs:
                new = target is None and format_ is not None
                colors[location] = format_.name if new and format_ else self.memory.of(target or name)
        return colors


def _unsupported(what: str) -> Unsupported:
    return Unsupported(f"{what} is not supported", [what])


def _unrolled(commands: Sequence[ScriptCommand]) -> Iterator[ScriptCommand]:
    """Yield the commands in the order in which they run."""
    for command in commands:
        if command.word != "REPEAT":
            yield command
            continue
        for _ in range(command.arguments["count"]):
            yield from _unrolled(command.arguments["commands"])

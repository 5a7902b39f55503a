"""State of a context: programs, binding points, and values for queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.base.sampler import Sampler
from vkgroup.device.gl_limits import Limit, gl_limits
from vkgroup.device.requirements import thread_group_state
from vkgroup.dispatch import Buffer, Device
from vkgroup.gl.executable import KINDS, BindingPoints, LinkedProgram, Source, check_kind
from vkgroup.gl.program import Program, ProgramPipeline, require_program
from vkgroup.gl.tokens import (
    STAGES,
    THREAD_GROUP_TOKENS,
    TOKENS,
    InvalidEnum,
    InvalidOperation,
    InvalidValue,
    Name,
    name_of,
)


class State:
    """The state that commands use: the part of `Context` without commands."""

    def __init__(self, device: Device) -> None:
        if not isinstance(device, Device):
            raise InvalidDispatch(f"A context needs an open device (vkgroup.open()), not {device!r}.")
        self.device = device
        self._limits = gl_limits(device.capabilities)
        self._points = BindingPoints(device, self._limits)
        self._program: Program | None = None
        self._pipeline: ProgramPipeline | None = None
        self._indirect: Buffer | None = None

    # --- programs -------------------------------------------------------------------------------------

    def create_program(self) -> Program:
        """Create a program without shaders (CreateProgram)."""
        return Program(self.device)

    def program(
        self,
        *,
        separable: bool = False,
        compute: Source | Sequence[Source] = (),
        vertex: Source | Sequence[Source] = (),
        fragment: Source | Sequence[Source] = (),
        **options: Any,
    ) -> Program:
        """Create a program from shaders, compiled and linked.

        Parameters
        ----------
        separable : whether it may become part of a program pipeline (PROGRAM_SEPARABLE).
        compute, vertex, fragment : a shader or several: texts, files, or modules of the GL dialect.
        **options : as for `vkgroup.compiler.compile_source`.

        Raises
        ------
        CompileError
            A shader does not compile, or the program does not link.
        Unsupported
            The device lacks something that the program needs.
        """
        program = self.create_program()
        program.separable = separable
        for stage, sources in (("compute", compute), ("vertex", vertex), ("fragment", fragment)):
            several = sources if isinstance(sources, list | tuple) else (sources,)
            if several:
                program.attach(stage, *several)
        program.link(**options)
        return program

    def create_pipeline(self) -> ProgramPipeline:
        """Create a program pipeline object without programs (GenProgramPipelines)."""
        return ProgramPipeline()

    def use(self, program: Program | None) -> None:
        """Make a program current for all stages (UseProgram); None leaves the choice to the pipeline.

        Raises
        ------
        InvalidOperation
            The program has not been linked successfully, or belongs to another device, or is not a program.
        """
        if program is not None:
            require_program(program)
        if program is not None and program.device is not self.device:
            raise InvalidOperation("The program was created for another device; create one in this context.")
        if program is not None and not program.linked:
            raise InvalidOperation("The program has not been linked successfully; link it first.")
        self._program = program

    def bind_pipeline(self, pipeline: ProgramPipeline | None) -> None:
        """Make a program pipeline current (BindProgramPipeline), for use while no program is in use.

        Raises
        ------
        InvalidOperation
            It is not a pipeline.
        """
        if pipeline is not None and not isinstance(pipeline, ProgramPipeline):
            raise InvalidOperation(f"A pipeline must be a result of create_pipeline(), not {pipeline!r}.")
        self._pipeline = pipeline

    def active(self, stage: str) -> Program | None:
        """Return the active program of a stage; None where there is none.

        The program in use is current for every stage; without one, the pipeline's program of the stage is.
        A current program is active if it has an executable for the stage (ARB_compute_shader, issue 7).
        """
        current = self._program
        if current is None and self._pipeline is not None:
            current = self._pipeline.program(stage)
        executable = None if current is None else current.executable
        return current if executable is not None and stage in executable.modules else None

    def _executable(self, stage: str) -> LinkedProgram | None:
        program = self.active(stage)
        return None if program is None else program.executable

    # --- binding --------------------------------------------------------------------------------------

    def bind(
        self, kind: str, point: int | str, value: Any, *, sampler: Sampler | None = None, **options: Any
    ) -> Any:
        """Bind a buffer or an image to a binding point (BindBufferBase, BindImageTexture, BindTexture).

        Parameters
        ----------
        kind : ``"shader_storage"``, ``"uniform"``, ``"atomic_counter"``, ``"image"`` or ``"texture"``.
        point : the binding point: an index, or an image or texture unit. Or the name of a block, image or
            sampler of the program that is active for the compute stage, else for the fragment or the vertex
            stage: the point that it uses.
        value : a `Buffer` or `Image`; an array, from which one is created; None unbinds the point.
        sampler : sampler of a texture; None reads the nearest texel.
        **options : for an image created from an array, as for `Device.image`; by default the declaration of
            the program, if `point` is a name.

        Returns
        -------
        The bound buffer or image; None if nothing is bound.

        Raises
        ------
        InvalidEnum, InvalidValue
            There are no such binding points, or fewer of them.
        InvalidOperation
            The resource does not fit the kind or is closed, or no active program has this name.
        """
        resource = None
        if isinstance(point, str):
            executable = next(filter(None, map(self._executable, ("compute", "fragment", "vertex"))), None)
            if executable is None:
                raise InvalidOperation(f"The name {point!r} needs a program in use; use one first.")
            check_kind(kind)
            resource, index = executable.resource(point, (KINDS[kind],))
            point = executable.points_of(resource)[index]
        return self._points.bind(kind, point, value, resource, sampler, options)

    def bound(self, kind: str, point: int) -> Any:
        """Return the buffer or image at a binding point; None where nothing is bound."""
        return self._points.get(kind, point)

    def bind_dispatch_indirect(self, buffer: Buffer | None) -> None:
        """Bind the buffer of `dispatch_compute_indirect` (BindBuffer of DISPATCH_INDIRECT_BUFFER).

        Raises
        ------
        InvalidOperation
            It is not an open buffer of the context's device.
        """
        if buffer is not None and (not isinstance(buffer, Buffer) or buffer.closed):
            raise InvalidOperation(
                f"DISPATCH_INDIRECT_BUFFER needs an open Buffer (device.buffer(array)), not {buffer!r}."
            )
        if buffer is not None and not self.device.owns(buffer):
            raise InvalidOperation("The buffer belongs to another device; create one on this device.")
        self._indirect = buffer

    def problems(self) -> list[str]:
        """Return the reasons why commands would raise INVALID_OPERATION (ValidateProgram); empty if none.

        The rules are the same for draws and compute dispatches, and apply to all stages (OpenGL 4.2, 2.11.12;
        ARB_compute_shader, issue 11).
        """
        executables = map(self._executable, STAGES.values())
        active = {id(executable): executable for executable in executables if executable is not None}
        samplers = [
            (executable, resource)
            for executable in active.values()
            for resource in executable.interface.resources
            if resource.kind == "sampler"
        ]
        messages = []
        units = 0
        kinds: dict[int, tuple[str, str]] = {}
        for executable, resource in samplers:
            for unit in executable.points_of(resource):
                units += 1
                kind, name = kinds.setdefault(unit, (resource.type, resource.name))
                if kind != resource.type:
                    messages.append(
                        f"texture unit {unit} is used by {name!r}, a {kind}, and by {resource.name!r}, a"
                        f" {resource.type}"
                    )
        most = self._limits["MAX_COMBINED_TEXTURE_IMAGE_UNITS"].number
        if units > most:
            messages.append(f"MAX_COMBINED_TEXTURE_IMAGE_UNITS is {most}, and {units} samplers are active")
        if self._program is None and self._pipeline is not None:
            messages += self._pipeline.problems()
        return messages

    # --- queries --------------------------------------------------------------------------------------

    def limits(self) -> dict[str, Limit]:
        """Return every limit of ARB_compute_shader by name, with its minimum and the device's value."""
        return dict(self._limits)

    def get(self, name: Name, index: int | None = None) -> Any:
        """Return a value by OpenGL's name (GetIntegerv, GetIntegeri_v).

        Parameters
        ----------
        name : a limit, ``"DISPATCH_INDIRECT_BUFFER_BINDING"``, ``"CURRENT_PROGRAM"`` or
            ``"PROGRAM_PIPELINE_BINDING"``; these three return the object, None if nothing is bound.
            ``"WARP_SIZE_NV"``, ``"WARPS_PER_SM_NV"`` or ``"SM_COUNT_NV"`` (NV_shader_thread_group).
            For names of these extensions also the value, such as 0x90EF.
        index : 0, 1 or 2 of a limit with three dimensions; None returns all three.

        Raises
        ------
        InvalidEnum
            There is no such value, or it has no index.
        InvalidValue
            The index is not 0, 1 or 2.
        Unsupported
            The device has no SM built-ins, so it does not report the number of warps or SMs.
        """
        limits = {limit.name: limit.token for limit in self._limits.values()}
        name = name_of(name, {**TOKENS, **THREAD_GROUP_TOKENS, **limits})
        values: dict[str, Any] = {
            "DISPATCH_INDIRECT_BUFFER_BINDING": self._indirect,
            "CURRENT_PROGRAM": self._program,
            "PROGRAM_PIPELINE_BINDING": self._pipeline,
            **thread_group_state(self.device.capabilities),
            **{limit.name: limit.value for limit in self._limits.values()},
        }
        if name not in values:
            raise InvalidEnum(f"A context has no value {name!r}.")
        value = values[name]
        if value is None and name in THREAD_GROUP_TOKENS:
            raise Unsupported(
                f"The device does not report {name}: it lacks shaderSMBuiltins.", ["shaderSMBuiltins"]
            )
        if index is None:
            return value
        if not isinstance(value, tuple):
            raise InvalidEnum(f"{name} has no index.")
        if not isinstance(index, int | np.integer) or index not in (0, 1, 2):
            raise InvalidValue(f"The index of a dimension must be 0, 1 or 2, not {index!r}.")
        return value[index]

"""Program objects and program pipelines: attaching shaders, linking, and queries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from vkgroup.base.errors import CompileError, InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.gl.executable import LinkedProgram, Source, build
from vkgroup.gl.tokens import (
    STAGES,
    TOKENS,
    InvalidEnum,
    InvalidOperation,
    InvalidValue,
    Name,
    name_of,
    stages_of,
)
from vkgroup.spec.stages import PRIMITIVE_STAGES
from vkgroup.spirv import Module

_BLOCKS = ("uniform_block", "storage_block")


@dataclass(frozen=True)
class Block:
    """An active uniform block, shader storage block, or atomic counter buffer."""

    name: str  # name of the block; empty for counter buffers, which have no name
    binding: int  # the binding point that it uses
    size: int  # minimum bytes of a buffer for it, without a runtime array at its end
    stages: tuple[str, ...]  # the stages that refer to it; see `referenced_by`
    counters: tuple[str, ...] = ()  # the names of a counter buffer's counters

    def referenced_by(self, stage: str) -> bool:
        """Whether a stage refers to it: ``…_REFERENCED_BY_COMPUTE_SHADER`` and similar."""
        return stage in self.stages


class Program:
    """A program object, created by `Context.program` or `Context.create_program`.

    Uniforms are set and read by name: ``program["scale"] = 2.0``, ``program["lights[1].color"]``. A matrix is
    an array of its columns. The value of a sampler or image is the number of its unit.

    Attributes
    ----------
    linked : whether the last `link` succeeded (LINK_STATUS).
    info_log : the messages of the last `link`.
    separable : whether it may become part of a program pipeline (PROGRAM_SEPARABLE); read by `link`.
    links : number of successful links.
    executable : the result of the last successful link; None without one.
    device : the device that it was made for.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._shaders: dict[str, list[Source]] = {}
        self.executable: LinkedProgram | None = None
        self.linked, self.info_log, self.separable, self.links = False, "", False, 0
        self.linked_separable = False

    # --- making ---------------------------------------------------------------------------------------

    def attach(self, stage: str, *sources: Source) -> None:
        """Attach shaders of a stage; `link` compiles them.

        Parameters
        ----------
        stage : ``"compute"``, ``"vertex"``, ``"fragment"``, …
        sources : texts, files, or modules compiled with ``dialect="gl"``. One of them has `main`.

        Raises
        ------
        InvalidEnum
            There is no such stage.
        InvalidDispatch
            A source is not a text, file or module.
        """
        if stage not in STAGES.values():
            raise InvalidEnum(f"There is no stage {stage!r}; choose from: {', '.join(STAGES.values())}.")
        for source in sources:
            if not isinstance(source, str | os.PathLike | Module):
                raise InvalidDispatch(f"A shader must be text, a pathlib.Path or a Module, not {source!r}.")
        self._shaders.setdefault(stage, []).extend(sources)

    def link(self, **options: Any) -> None:
        """Compile and link the attached shaders (LinkProgram).

        All uniforms get the values of their initialisers. If linking fails while the program is in use,
        commands still run the previous executable, but its values can no longer be queried or set.

        Parameters
        ----------
        **options : as for `vkgroup.compiler.compile_source`.

        Raises
        ------
        CompileError
            A shader does not compile, or the program does not link.
        Unsupported
            The device lacks something that the program needs.
        """
        self.linked = False
        try:
            modules, interface = build(self.device, self._shaders, options)
        except CompileError as error:
            self.info_log = str(error)
            raise
        self.executable = LinkedProgram(self.device, modules, interface)
        self.linked, self.info_log, self.links = True, "", self.links + 1
        self.linked_separable = self.separable

    def _require_linked(self) -> LinkedProgram:
        if not self.linked or self.executable is None:
            raise InvalidOperation("The program has not been linked successfully; link it first.")
        return self.executable

    # --- uniforms and binding points ------------------------------------------------------------------

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a uniform (Uniform…).

        Raises
        ------
        InvalidOperation
            The program is not linked, there is no such uniform, or the value does not fit its type.
        """
        self._require_linked()[name] = value

    def __getitem__(self, name: str) -> Any:
        """Return the value of a uniform (GetUniform…); raises `InvalidOperation` if there is none."""
        return self._require_linked()[name]

    @property
    def uniforms(self) -> dict[str, str]:
        """The active uniforms, samplers and images by name, with GLSL's types."""
        interface = self._require_linked().interface
        uniforms = {entry.name: _array(entry.type, entry.length) for entry in interface.uniforms}
        opaque = [entry for entry in interface.resources if entry.kind in ("sampler", "image")]
        return uniforms | {entry.name: _array(entry.type, entry.length) for entry in opaque}

    def location(self, name: str) -> int:
        """Return the location of a uniform outside of blocks (GetUniformLocation); -1 if there is none."""
        try:
            uniform, index = self._require_linked().interface.uniform(name)
        except KeyError:
            return -1
        return uniform.location + index

    def binding(self, name: str) -> int:
        """Return the binding point of a uniform block or shader storage block."""
        executable = self._require_linked()
        resource, index = executable.resource(name, _BLOCKS)
        return executable.points_of(resource)[index]

    def set_binding(self, name: str, point: int) -> None:
        """Set the binding point of a block (UniformBlockBinding, ShaderStorageBlockBinding).

        Parameters
        ----------
        name : name of the block; for an array of blocks with its element, ``"Data[1]"``.
        point : the binding point.

        Raises
        ------
        InvalidOperation
            The program is not linked, or has no such block.
        InvalidValue
            The point is negative.
        """
        executable = self._require_linked()
        resource, index = executable.resource(name, _BLOCKS)
        if not isinstance(point, int | np.integer) or isinstance(point, bool) or point < 0:
            raise InvalidValue(f"A binding point must be a nonnegative integer, not {point!r}.")
        executable.points[resource.name][index] = int(point)

    # --- queries --------------------------------------------------------------------------------------

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of the linked program."""
        return tuple(self._require_linked().modules)

    @property
    def work_group_size(self) -> tuple[int, int, int]:
        """The size of a workgroup (COMPUTE_WORK_GROUP_SIZE).

        Raises
        ------
        InvalidOperation
            The program has not been linked successfully, or has no compute shader.
        """
        size = self._require_linked().interface.local_size
        if size is None:
            raise InvalidOperation("The program has no compute shader, and so no COMPUTE_WORK_GROUP_SIZE.")
        return size

    @property
    def uniform_blocks(self) -> Mapping[str, Block]:
        """The active uniform blocks by name (GetActiveUniformBlockiv)."""
        return self._blocks("uniform_block")

    @property
    def storage_blocks(self) -> Mapping[str, Block]:
        """The active shader storage blocks by name."""
        return self._blocks("storage_block")

    def _blocks(self, kind: str) -> dict[str, Block]:
        executable = self._require_linked()
        blocks = {}
        for resource in executable.interface.resources:
            if resource.kind == kind:
                for index, point in enumerate(executable.points_of(resource)):
                    name = resource.name if resource.length is None else f"{resource.name}[{index}]"
                    blocks[name] = Block(name, point, resource.size, resource.stages)
        return blocks

    @property
    def atomic_counter_buffers(self) -> tuple[Block, ...]:
        """The active atomic counter buffers (GetActiveAtomicCounterBufferiv), by binding point."""
        interface = self._require_linked().interface
        return tuple(
            Block(
                name="",
                binding=entry.gl_binding,
                size=entry.size,
                stages=entry.stages,
                counters=tuple(item.name for item in interface.counters if item.binding == entry.gl_binding),
            )
            for entry in interface.resources
            if entry.kind == "atomic_counter_buffer"
        )

    def get(self, name: Name) -> Any:
        """Return a value by OpenGL's name (GetProgramiv).

        Parameters
        ----------
        name : ``"LINK_STATUS"``, ``"PROGRAM_SEPARABLE"``, ``"ATTACHED_SHADERS"``,
            ``"ACTIVE_UNIFORM_BLOCKS"``, ``"ACTIVE_ATOMIC_COUNTER_BUFFERS"`` or ``"COMPUTE_WORK_GROUP_SIZE"``;
            of the last also the value, 0x8267.

        Raises
        ------
        InvalidEnum
            There is no such value.
        InvalidOperation
            As for `work_group_size`.
        """
        match name_of(name, TOKENS):
            case "LINK_STATUS":
                return self.linked
            case "PROGRAM_SEPARABLE":
                return self.separable
            case "ATTACHED_SHADERS":
                return sum(map(len, self._shaders.values()))
            case "ACTIVE_UNIFORM_BLOCKS":
                return len(self.uniform_blocks) if self.linked else 0
            case "ACTIVE_ATOMIC_COUNTER_BUFFERS":
                return len(self.atomic_counter_buffers) if self.linked else 0
            case "COMPUTE_WORK_GROUP_SIZE":
                return self.work_group_size
        raise InvalidEnum(f"A program has no value {name!r}.")

    def __repr__(self) -> str:
        stages = ", ".join(self._shaders) or "no shaders"
        return f"<vkgroup GL Program: {stages}, {'linked' if self.linked else 'not linked'}>"


def require_program(given: Any) -> None:
    """Raise `InvalidOperation` if a value is not a `Program`."""
    if not isinstance(given, Program):
        raise InvalidOperation(f"A program must be a result of program() or create_program(), not {given!r}.")


def _array(kind: str, length: int | None) -> str:
    return kind if length is None else f"{kind}[{length}]"


class ProgramPipeline:
    """A program pipeline object, created by `Context.create_pipeline`."""

    def __init__(self) -> None:
        self._programs: dict[str, tuple[Program, int]] = {}

    def use_stages(self, stages: Name | Iterable[Name], program: Program | None) -> None:
        """Make a program current for some stages (UseProgramStages).

        Parameters
        ----------
        stages : ``"COMPUTE_SHADER_BIT"``, ``"VERTEX_SHADER_BIT"``, …, or several of them;
            ``"ALL_SHADER_BITS"``: all stages. Or OpenGL's bits as a number.
        program : linked as separable; None leaves the stages without a program.

        Raises
        ------
        InvalidValue
            A name is not that of a stage.
        InvalidOperation
            The program is not linked, or was not linked as separable (ARB_compute_shader, issue 7).
        """
        names = stages_of(stages)
        if program is None:
            for stage in names:
                self._programs.pop(stage, None)
            return
        require_program(program)
        if not program.linked:
            raise InvalidOperation("The program has not been linked successfully; link it first.")
        if not program.linked_separable:
            raise InvalidOperation(
                "Only separable programs can be part of a pipeline; link with separable=True."
            )
        for stage in names:
            self._programs[stage] = program, program.links

    def program(self, stage: str) -> Program | None:
        """Return the current program of a stage (GetProgramPipelineiv); None where there is none."""
        program = self._programs.get(stage)
        return None if program is None else program[0]

    @property
    def compute_shader(self) -> Program | None:
        """The current program of the compute stage (COMPUTE_SHADER); None where there is none."""
        return self.program("compute")

    def problems(self) -> list[str]:
        """Return the errors of commands that run shaders now (OpenGL 4.2, 2.11.12, "Validation")."""
        relinked = [
            f"the program of the {stage} stage has been linked anew, not as separable, since it became"
            " part of the pipeline"
            for stage, (program, links) in self._programs.items()
            if program.links != links and not program.linked_separable
        ]
        # A compute program between drawing stages has no effect on this rule (ARB_compute_shader, 2.11.12).
        active = [(stage, program) for stage in PRIMITIVE_STAGES if (program := self._active(stage))]
        interleaved = [
            f"another program is active for the {middle} stage than around it, for {first} and {last}"
            for (first, one), (middle, other), (last, same) in combinations(active, 3)
            if one is same and other is not one
        ]
        return relinked + interleaved

    def _active(self, stage: str) -> Program | None:
        """Return the current program of a stage if it has an executable for it."""
        program = self.program(stage)
        executable = None if program is None else program.executable
        return program if executable is not None and stage in executable.modules else None

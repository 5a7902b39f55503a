"""Request of a check: the shader, its inputs, what its host guarantees, where and how it runs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from vkgroup.base.choices import CHECK_SIZES, CHECK_STEP_LIMIT, CHECK_TIMEOUT
from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.base.files import printable, read_bytes
from vkgroup.check.findings import Allowance
from vkgroup.check.inputs import SPECIALIZED, GeneratedNumber, Key, SpecializationValue
from vkgroup.compiler import TargetEnvironment, assemble, compile_file, validate
from vkgroup.compiler.front_ends import compiler_of
from vkgroup.device import DeviceInfo
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.program.form import DERIVATIVE_GROUPS
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spirv import EntryPoint, Module, grammar

_SIZES = {0: (), 1: (128,), 2: (8, 8), 3: (4, 4, 4)}
"""Generated local sizes by the number of dimensions that have one."""


@dataclass(frozen=True)
class Guarantees:
    """What the host of a shader guarantees about subgroups.

    Attributes
    ----------
    full_subgroups : every subgroup is full (VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT). The
        local size in x is then a multiple of the subgroup size
        (VUID-VkPipelineShaderStageCreateInfo-pNext-02757 and 02759).
    linear_lanes : invocations are assigned to subgroups and lanes in the order of gl_LocalInvocationIndex.
        Vulkan has no feature that guarantees it, also not with full subgroups (Vulkan 1.3,
        SubgroupLocalInvocationId).
    size_control : the host may require a subgroup size
        (VkPipelineShaderStageRequiredSubgroupSizeCreateInfo). Without it, each device chooses one.
    reconvergence : ``"declared"``: invocations that part meet again where the module declares it.
        ``"maximal"``: as SPV_KHR_maximal_reconvergence says, on every device of the host.
    progress : the workgroups that make progress while others wait: ``"occupancy"``: those that have started.
        ``"one"``: only one. ``"fair"``: all.
    """

    full_subgroups: bool = False
    linear_lanes: bool = False
    size_control: bool = True
    reconvergence: str = "declared"
    progress: str = "occupancy"

    def allows(self, size: int, local_size: tuple[int, int, int]) -> bool:
        """Return whether the host can run the shader at a subgroup size."""
        return not self.full_subgroups or local_size[0] % size == 0

    def lacking(self, program: ExecutableShader, size: int) -> str:
        """Return why a shader cannot be executed at a subgroup size; empty if it can."""
        if size < QUAD_SIZE and program.needs_quads:
            return "quads need subgroups of at least 4 invocations"
        if not program.holds_matrices(size):
            return "the elements of a cooperative matrix do not divide evenly among so many lanes"
        if not self.allows(size, program.local_size):
            x = program.local_size[0]
            return f"full subgroups need a local size in x that is a multiple (it is {x})"
        return ""

    def require_size(self, sizes: Iterable[int], local_size: tuple[int, int, int]) -> None:
        """Raise InvalidInput if the host can run the shader at none of the sizes."""
        if not any(self.allows(size, local_size) for size in sizes):
            raise InvalidInput(
                f"Full subgroups need a local size in x that is a multiple of the subgroup size. It is"
                f" {local_size[0]}: choose a subgroup size that divides it, or leave out --full-subgroups."
            )

    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each guarantee that restricts the runs."""
        if self.full_subgroups:
            yield "full subgroups: only sizes that divide the local size in x were run"
        if self.linear_lanes:
            yield "linear lanes: no run had shuffled lanes"
        if not self.size_control:
            yield "no size control: no run required a subgroup size of a device"
        if self.reconvergence == "maximal":
            yield "maximal reconvergence, also where the shader does not declare it"
        if self.progress == "fair":
            yield "fair progress: workgroups may wait for others that have not started"


def generated_size(entry: EntryPoint, module: Module, given: Collection[int | str]) -> dict[int | str, int]:
    """Return values for specialization constants of the local size that have no default in the source.

    The compiler gives 1 to ``layout(local_size_x_id = 0)`` without a constant of that id.
    """
    size = entry.local_size
    if size is None or size.resolve() != (1, 1, 1):
        return {}
    declared = {part.id for part in module.reflection.specialization_constants if part.name}
    ids = [part.specialization.id for part in size.constants if part.specialization is not None]
    ids = [number for number in dict.fromkeys(ids) if number not in declared]
    if any(number in given for number in ids):
        return {}
    sizes: dict[int | str, int] = {}
    sizes.update(zip(ids, _SIZES[len(ids)], strict=True))
    return sizes


def unset_constants(
    module: Module, generated: Mapping[int | str, int], *, is_complete: bool
) -> tuple[GeneratedNumber, ...]:
    """Return the specialization constants that a search may set.

    They are those of the local size in `generated`, and numbers whose default 0 only says that the host sets
    them. If the host is known, which `is_complete` says, these have their defaults there, too.
    """
    found: dict[int, GeneratedNumber] = {}
    for entry in module.reflection.specialization_constants:
        is_generated = entry.id in generated
        is_free = is_generated or not (entry.default or is_complete)
        if is_free and entry.type.kind != "bool" and entry.id not in found:
            name = entry.name or f"{'local size' if is_generated else 'constant'} {entry.id}"
            key, value = ((SPECIALIZED, entry.id), name), generated.get(entry.id, 0)
            found[entry.id] = GeneratedNumber(key, value, entry.type.dtype, -1, f"--spec {entry.id}=V")
    return tuple(found.values())


def default_constants(module: Module, given: Collection[int | str]) -> tuple[GeneratedNumber, ...]:
    """Return the specialization constants with a default in the source that are not given."""
    found: dict[int, GeneratedNumber] = {}
    for entry in module.reflection.specialization_constants:
        is_set = entry.name and entry.default and entry.type.kind in ("int", "uint")
        if is_set and entry.id not in found and not {entry.id, entry.name} & set(given):
            key, value = ((SPECIALIZED, entry.id), entry.name), int(entry.default)
            option = f"--spec {entry.name}=V"
            found[entry.id] = GeneratedNumber(key, value, entry.type.dtype, -1, option, is_default=True)
    return tuple(found.values())


_SIZE_MODES = {"SubgroupSizeHalfQCOM": "half the largest", "SubgroupSizeFullQCOM": "the largest"}
"""Subgroup sizes that a shader asks for (SPV_QCOM_subgroup_size), by execution mode."""


def sizes_of_modes(entry: EntryPoint) -> list[str]:
    """Return a note if execution modes of the shader limit the subgroup sizes of a device."""
    return [
        f"{mode}: subgroups have {size} size of the device; give it with --subgroup-size"
        for mode, size in _SIZE_MODES.items()
        if mode in entry.execution_modes
    ]


def undeclared_size(
    entry: EntryPoint,
    module: Module,
    given: Collection[int | str],
    chosen: Mapping[int | str, int],
) -> list[str]:
    """Return a note if the local size seems to be the default of the compiler.

    `given`: the specialization constants that have a value, by id or name. `chosen`: values of
    `generated_size` by id, as they were used.
    """
    size = entry.local_size
    if size is None or size.resolve() != (1, 1, 1):
        return []
    used = "1×1×1 was used. If the host sets"
    constants = [part.specialization for part in size.constants if part.specialization is not None]
    if constants and not any(key in given for part in constants for key in (part.id, part.name)):
        values = " ".join(dict.fromkeys(f"--spec {part.id}=V" for part in constants))
        if chosen:
            listed = ", ".join(f"id {number} = {value}" for number, value in chosen.items())
            return [f"the local size has no default in the source: {listed} was chosen; give {values}."]
        return [f"the local size has its default: {used} its specialization constants, give {values}."]
    declared = any(
        word in (module.debug_source or "") for word in ("local_size", "numthreads", "workgroup_size")
    )
    if size.source != "LocalSize" or declared:
        return []
    return [f"the shader declares no local size: {used} one, give --local-size X,Y,Z."]


def values_of(module: Module) -> tuple[SpecializationValue, ...]:
    """Return the values of a specialized module: its defaults by id, with a name where there is one."""
    values: dict[int, SpecializationValue] = {}
    for entry in module.reflection.specialization_constants:
        if entry.id not in values or (entry.name and not values[entry.id].name):
            values[entry.id] = SpecializationValue(entry.id, entry.name, entry.default)
    return tuple(values.values())


@dataclass(frozen=True)
class CheckRequest:
    """One check. The fields are the parameters of `vkgroup.check.checking.check`."""

    shader: Module | str | os.PathLike[str]
    sizes: Sequence[int] | None = None
    groups: Sequence[int] | None = None
    inputs: Mapping[Key, Any] | None = None
    outputs: Sequence[Key] = ()
    push: Mapping[str, Any] | None = None
    specialization: Mapping[int | str, Any] = field(default_factory=dict)
    entry_point: str | None = None
    defines: Mapping[str, str | int] = field(default_factory=dict)
    target: TargetEnvironment | str | None = None
    seed: int = 0
    devices: Sequence[DeviceInfo] = ()
    #: Whether a device whose driver executes nothing is left out, and named; otherwise NoDevice is raised.
    skip_idle_devices: bool = False
    timeout: float = CHECK_TIMEOUT
    step_limit: int = CHECK_STEP_LIMIT
    host: Guarantees = field(default_factory=Guarantees)
    name: str | None = None
    command: str = ""
    compiler: str = ""
    size: Sequence[int] | None = None
    sources: Path | None = None
    barriers: bool = False
    allow: Sequence[Allowance] = ()
    traces: bool = False

    @cached_property
    def module(self) -> Module:
        """The module: compiled with debug lines and without optimisation, or read as SPIR-V.

        Raises InvalidInput if the file cannot be read; CompileError or InvalidModule if it is wrong.
        """
        if isinstance(self.shader, Module):
            return self.shader
        path = Path(self.shader)
        if path.suffix not in (".spv", ".spvasm"):
            return compile_file(
                path,
                debug=True,
                target=self.target,
                entry_point=self.entry_point or "main",
                defines=self.defines,
                robustness=False,  # of WGSL; they would hide what a check looks for
                workgroup_zeros=False,
            )
        try:
            data = read_bytes(path)
        except OSError as error:
            raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
        if path.suffix == ".spvasm":
            module = assemble(data.decode("utf-8", "replace"), self.target, name=str(path))
        else:
            module = Module.from_bytes(data)
        validate(module, self.target)
        return module

    @property
    def entry(self) -> EntryPoint:
        """The entry point to check."""
        return self.module.reflection.entry_point(self.entry_point)

    @property
    def has_constant_size(self) -> bool:
        """Whether the local size is a specialization constant.

        Then the host sets constants when it makes the pipeline, and the defaults may not fit each other.
        """
        size = self.entry.local_size
        return size is not None and any(part.specialization is not None for part in size.constants)

    @cached_property
    def given_members(self) -> frozenset[int]:
        """The indices of the push constants that are given."""
        block, given = self.module.reflection.push_constants, self.push or {}
        members = block.members if block is not None else ()
        return frozenset(number for number, member in enumerate(members) if member.name in given)

    @property
    def title(self) -> str:
        """The shader's name in the report."""
        return printable(self.name or ("shader" if isinstance(self.shader, Module) else str(self.shader)))

    @property
    def compiler_name(self) -> str:
        """The compiler that made the module, with its version; empty if it is not known."""
        return self.compiler or ("" if isinstance(self.shader, Module) else compiler_of(Path(self.shader)))

    @property
    def run_sizes(self) -> list[int]:
        """The subgroup sizes to run, in ascending order: the given ones, or those that the shader allows."""
        if self.sizes is not None:
            return sorted(set(self.sizes) - {0})
        needs_quads = self.entry.stage == "fragment" or DERIVATIVE_GROUPS.keys() & self.entry.execution_modes
        sizes = {*CHECK_SIZES, *(device.subgroup_size for device in self.devices)} - {0}
        return sorted(size for size in sizes if not needs_quads or size >= QUAD_SIZE)


def require_no_addresses(module: Module) -> None:
    """Raise Unsupported if the shader accesses memory by address (GL_EXT_buffer_reference).

    Only the host knows the memory that an address points to. The address may be a uint64_t or a uvec2, so it
    is the access that tells, and not the type of an input.
    """
    pointers = {
        entry.result_id
        for entry in module.instructions
        if entry.name == "OpTypePointer"
        and grammar().enumerant("StorageClass", entry.operands[0]) == "PhysicalStorageBuffer"
    }
    for entry in module.instructions:
        if entry.result_type in pointers and entry.name != "OpUndef":
            raise Unsupported(
                "The shader accesses memory by address (a buffer reference), and check cannot generate the"
                " memory that an address points to. Bind it as a buffer, or run the shader with your own"
                " memory in Python (vkgroup.open, Buffer.address).",
                ["bufferDeviceAddress"],
            )

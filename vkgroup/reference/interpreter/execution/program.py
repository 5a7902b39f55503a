"""Executable programs: the function of every instruction, and initial values of the variables of a slice."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from vkgroup.base.errors import InvalidModule, OutOfMemory, Unsupported
from vkgroup.reference.interpreter.operations.accessor import Slice
from vkgroup.reference.interpreter.operations.lanewise import LANEWISE
from vkgroup.reference.interpreter.operations.state import SliceState, Step
from vkgroup.reference.interpreter.operations.steps import Instrument, StepMaker
from vkgroup.reference.interpreter.program.flow import post_dominators
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.interface import StageInputs, with_declared_types
from vkgroup.reference.interpreter.program.layout import numbers
from vkgroup.reference.interpreter.program.segments import Op, Segment, Terminator
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.program.waiting import waiting_loops
from vkgroup.reference.interpreter.values.value import Data, Value, single, undefined
from vkgroup.reference.registry import reference_of
from vkgroup.spec.operations import BUILTIN_VARIABLES
from vkgroup.spirv import CooperativeMatrixType, Module, ScalarType

SM_COUNT, WARPS_PER_SM = 4, 64
"""Values of built-ins of NV_shader_sm_builtins, which the reference device executes but does not declare."""

OF_STAGES = {
    "compute": frozenset[str](),
    "vertex": frozenset({"VertexIndex", "InstanceIndex", "BaseVertex", "BaseInstance", "DrawIndex"}),
    "fragment": frozenset(
        {
            "FragCoord",
            "FrontFacing",
            "HelperInvocation",
            "SampleId",
            "SamplePosition",
            "SampleMask",
            "PrimitiveId",
            "PointCoord",
            "Layer",
            "ViewportIndex",
        }
    ),
}
"""By stage: the built-in variables that a draw sets."""


def _three(number: Data, extent: tuple[int, int, int]) -> Data:
    x, y, _ = extent
    return np.stack([number % x, number // x % y, number // (x * y)]).astype(np.uint32)


def _uniform(*numbers: int) -> Data:
    return np.array(numbers, np.uint32)[:, None]


def _workgroup_id(slice_: Slice) -> Data:
    return _three(slice_.first_workgroup + slice_.workgroup, slice_.arrangement.groups)


def _local_id(slice_: Slice) -> Data:
    return _three(slice_.local_index, slice_.arrangement.local_size)


def _global_id(slice_: Slice) -> Data:
    size = np.array(slice_.arrangement.local_size, np.uint32)[:, None]
    return _workgroup_id(slice_) * size + _local_id(slice_)


def _sm_id(slice_: Slice) -> Data:
    return ((slice_.first_workgroup + slice_.workgroup) % SM_COUNT).astype(np.uint32)


_PLAIN: dict[str, Callable[[Slice], Data]] = {
    "NumWorkgroups": lambda slice_: _uniform(*slice_.arrangement.groups),
    "WorkgroupSize": lambda slice_: _uniform(*slice_.arrangement.local_size),
    "WorkgroupId": _workgroup_id,
    "LocalInvocationId": _local_id,
    "GlobalInvocationId": _global_id,
    "LocalInvocationIndex": lambda slice_: slice_.local_index.astype(np.uint32),
    "DeviceIndex": lambda slice_: np.zeros(1, np.uint32),
    "ViewIndex": lambda slice_: np.zeros(1, np.uint32),
    "NumSubgroups": lambda slice_: np.array([slice_.arrangement.subgroups], np.uint32),
    "SMCountNV": lambda slice_: _uniform(SM_COUNT)[0],
    "WarpsPerSMNV": lambda slice_: _uniform(WARPS_PER_SM)[0],
    "SMIDNV": _sm_id,
    "WarpIDNV": lambda slice_: (slice_.row % WARPS_PER_SM).astype(np.uint32),
    "SubgroupId": lambda slice_: (slice_.row % slice_.arrangement.subgroups).astype(np.uint32),
}

#: The grammar lists the names of SPV_KHR_shader_ballot as aliases.
_FROM_SEMANTICS = {
    variable.builtin.removesuffix("KHR"): variable
    for variable in BUILTIN_VARIABLES.values()
    if variable.builtin not in _PLAIN
}


def check_built_in(name: str, stage: str = "compute") -> None:
    """Raise `Unsupported` for a built-in variable that the reference device lacks."""
    known = name in _PLAIN or name.removesuffix("KHR") in _FROM_SEMANTICS
    if not known and name not in OF_STAGES[stage]:
        raise Unsupported(f"The reference device does not support the built-in variable {name}.", [name])


def built_in(name: str, slice_: Slice) -> Value:
    """Return a built-in variable's value in all invocations of a slice."""
    if name in _PLAIN:
        return single(_PLAIN[name](slice_))
    variable = _FROM_SEMANTICS[name.removesuffix("KHR")]
    subgroups = slice_.subgroups_of(slice_.lanes)
    # Inactive lanes hold zeros; `collect` omits them.
    value = reference_of(variable.name)(subgroups.active).value
    dims = (4,) if variable.type.name == "uvec4" else ()
    return single(subgroups.collect(np.ascontiguousarray(value), dims))


def initialise(machine: SliceState, program: ProgramForm, inputs: StageInputs) -> None:
    """Write the initial values of all variables of the module."""
    machine.helpers, machine.interpolate = inputs.helpers, inputs.interpolate
    variables, lanes = program.variables, machine.lanes
    for name, cell in program.built_ins.items():
        value = inputs.built_ins.get(name) or built_in(name, machine)
        # A module may declare integers of either signedness.
        machine.cells[cell].write(with_declared_types(value, program.cells[cell]), lanes)
    for cell, value in inputs.variables.items():
        machine.cells[cell].write(value, lanes)
    for cell in variables.private_cells:
        slot = variables.initializers.get(cell)
        if slot is not None:
            initial = program.constants[slot]
        else:
            initial = undefined(variables.cell_types[cell], variables.private_causes[cell])
        machine.cells[cell].write(initial, lanes)
    for identifier, slot in variables.shared_initializers.items():
        _fill_shared(machine, program, identifier, program.constants[slot])
    if machine.order is not None:
        for memory in machine.shared.values():
            memory.record_accesses(machine.order)


def _fill_shared(machine: SliceState, program: ProgramForm, identifier: int, value: Value) -> None:
    """Write the initial value of a shared variable in every workgroup."""
    _, laid_out, size = program.shared[identifier]
    memory = machine.shared[identifier]
    starts = np.arange(machine.workgroups) * size
    for part, data in zip(numbers(laid_out), value.leaves, strict=True):
        offset = part.offsets[..., None] + starts
        stored = data.astype(np.uint32) if part.is_bool else data
        dtype = part.scalar.dtype if isinstance(part.scalar, ScalarType) else stored.dtype
        positions = offset[..., None] + np.arange(dtype.itemsize)
        spread = np.ascontiguousarray(np.broadcast_to(stored.astype(dtype), offset.shape))
        memory.data[positions] = spread[..., None].view(np.uint8)
        memory.mark(offset, dtype.itemsize, None)


@dataclass(frozen=True, slots=True)
class Code:
    """A segment with the functions of its instructions."""

    #: The function of each instruction, and the slots that nothing reads after it.
    steps: tuple[tuple[Step, tuple[int, ...]], ...]
    #: For each instruction its position, and the slot that a trace shows; -1 for none.
    shown: tuple[tuple[int, int], ...]
    #: `imports`, `exports`: slots to load before, and to store after.
    imports: tuple[int, ...]
    exports: tuple[int, ...]
    temporaries: tuple[int, ...]  # slots to clear at the end
    #: `ending`, `site`: the terminator, and its static facts.
    ending: Terminator
    site: Site


class ExecutableShader(ProgramForm):
    """A compute, vertex or fragment shader, ready to execute.

    `module`: with an entry point of one of these stages.
    `entry_point`: its name; None takes the only one.
    `specialization`: values by specialization id.
    `instrument`: wraps the function of each lane-wise and group instruction; None leaves it as it is.
    `whole`: whether to make the code of all segments now, which reports all that is not supported. Otherwise
        each is made when it is first executed.

    Raises
    ------
    Unsupported
        The module needs a feature that the reference device lacks; names the instruction.
    InvalidModule
        The module is invalid.
    OutOfMemory
        The host has no memory for the initial values of the variables.
    """

    def __init__(
        self,
        module: Module,
        entry_point: str | None = None,
        specialization: Mapping[int, Any] | None = None,
        instrument: Instrument | None = None,
        *,
        whole: bool = True,
    ) -> None:
        super().__init__(module, entry_point, specialization or {}, LANEWISE)
        for name in self.built_ins:
            check_built_in(name, self.stage)
        self._waiting: dict[str | None, frozenset[int]] = {}
        self._maker = StepMaker(self, instrument)
        self._codes: list[Code | None] = [None] * len(self.segments)
        for number in range(len(self.segments)) if whole else ():
            self.code(number)

    def instrumented(self, instrument: Instrument, positions: Container[int] | None = None) -> Self:
        """Return this program with another instrument.

        `positions`: of the instructions that it wraps; the others stay as they are. None for all.
        """
        made = copy(self)
        made._maker = StepMaker(made, instrument)
        made._codes = [
            None
            if positions is None or any(op.instruction.position in positions for op in segment.ops)
            else code
            for segment, code in zip(self.segments, self._codes, strict=True)
        ]
        return made

    def code(self, number: int) -> Code:
        """Return the code of a segment by number."""
        code = self._codes[number]
        if code is None:
            try:
                code = self._codes[number] = self._code(self.segments[number], self._maker)
            except MemoryError as error:
                raise OutOfMemory(f"The variables need more memory than the host has: {error}.") from None
        return code

    @cached_property
    def post_dominators(self) -> list[int]:
        """The immediate post-dominator of each segment."""
        edges = (segment.terminator.edges for segment in self.segments)
        return post_dominators([[edge.target.number for edge in each] for each in edges])

    def waiting_loops(self, unit: str | None = None) -> frozenset[int]:
        """Return the headers of loops that may wait for others; `unit`: see the function of this name."""
        if unit not in self._waiting:
            self._waiting[unit] = waiting_loops(self.segments, self.bindings, unit)
        return self._waiting[unit]

    @cached_property
    def needs_full_subgroups(self) -> bool:
        """Whether invocations that are missing in a subgroup would leave an operation without its elements.

        They hold the elements of cooperative matrices.
        """
        return any(entry.name == "OpTypeCooperativeMatrixKHR" for entry in self.module.instructions)

    def holds_matrices(self, size: int) -> bool:
        """Return whether the elements of each cooperative matrix divide evenly among so many lanes."""
        kinds = (kind for kind in self.declared.types.values() if isinstance(kind, CooperativeMatrixType))
        return all(kind.rows * kind.columns % size == 0 for kind in kinds)

    @cached_property
    def usual_size(self) -> int:
        """The subgroup size 32, or the largest one below that its cooperative matrices allow."""
        return next(size for size in (32, 16, 8, 4, 2, 1) if self.holds_matrices(size))

    def has_full_subgroups(self, size: int) -> bool:
        """Whether subgroups of a size are full in every pipeline.

        Vulkan 1.4.360, Full Subgroups: those of SPIR-V 1.6, if the size divides the workgroup in x.
        """
        by_version = self.module.version >= (1, 6) and self.local_size[0] % size == 0
        return self.needs_full_subgroups or by_version

    def _code(self, segment: Segment, maker: StepMaker) -> Code:
        life = self.liveness.segments[segment.number]
        steps = tuple((maker.step(op), frees) for op, frees in zip(segment.ops, life.frees, strict=True))
        shown = tuple((op.instruction.position, _shown_slot(op)) for op in segment.ops)
        temporaries = tuple({*life.imports, *(op.result for op in segment.ops)} - {-1})
        ending = segment.terminator
        if any(edge.target.number < 0 for edge in ending.edges):
            raise InvalidModule("a branch targets a block that is not reachable in structured order")
        position = ending.instruction.position if ending.instruction is not None else -1
        site = Site(ending.kind, None, (), (), (), (), position, self.causes)
        return Code(steps, shown, life.imports, life.exports, temporaries, ending, site)


def _shown_slot(op: Op) -> int:
    if op.part not in ("", "transpose", "end"):
        return -1
    if op.instruction.name == "OpStore":
        return op.arguments[1] if op.arguments[1] is not None else -1
    return op.result

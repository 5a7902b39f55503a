"""Program form: one list of segments, with numbered variables and constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.reference.interpreter.program.flow import Liveness, find_liveness
from vkgroup.reference.interpreter.program.inliner import Inliner
from vkgroup.reference.interpreter.program.layout import smallest
from vkgroup.reference.interpreter.program.specialization import specialize
from vkgroup.reference.interpreter.program.variables import Lanewise, ModuleFacts, Slots, Variables
from vkgroup.reference.interpreter.values.value import CauseTable, Value
from vkgroup.spec.stages import EXECUTION_MODELS
from vkgroup.spirv import EntryPoint, Module, PointerType

_STAGES = ("compute", "vertex", "fragment")
_DISCARDS = frozenset({"OpKill", "OpTerminateInvocation", "OpDemoteToHelperInvocation"})
DERIVATIVE_GROUPS = {"DerivativeGroupQuadsKHR": "quads", "DerivativeGroupLinearKHR": "linear"}
"""Arrangement of the quads of a compute shader by its execution mode."""

_WITH_QUADS = ("OpDPd", "OpFwidth", "OpGroupNonUniformQuad", "OpImageQueryLod")


class ProgramForm:
    """A compute, vertex or fragment shader as data, from which its operations are made.

    `module`, `entry_point`, `specialization`: as for `ExecutableShader`.
    `lanewise`: the functions of lane-wise instructions, for OpSpecConstantOp.

    Attributes
    ----------
    module : the module, specialization applied.
    entry : the entry point.
    stage : ``"compute"``, ``"vertex"`` or ``"fragment"``.
    local_size : invocations of a workgroup in x, y, z; 1, 1, 1 for other stages.
    causes : the numbers of the causes of undefined values.
    facts : types, constants and functions of the module by id.
    variables : its variables; the attributes `cells` to `bindings` are copies.
    can_discard : whether a fragment shader has instructions that discard fragments.
    needs_quads : whether a fragment shader needs helper invocations: it requires full quads, or has
    derivatives or quad operations. derivative_group : ``"quads"`` or ``"linear"``: how a compute shader's
    invocations form quads; or "". helpers_take_part : whether helper invocations certainly take part in every
    group operation. segments : the segments in the order of their numbers. slots : the number of slots.
    constants : value of each constant by slot. liveness : the life of every slot.
    """

    def __init__(
        self,
        module: Module,
        entry_point: str | None,
        specialization: Mapping[int, Any],
        lanewise: Lanewise,
    ) -> None:
        self.module = specialize(module, specialization)
        self.entry: EntryPoint = self.module.reflection.entry_point(entry_point)
        self.stage = self.entry.stage
        if self.stage not in _STAGES or (self.stage == "compute" and self.entry.local_size is None):
            raise Unsupported(
                f"The reference device runs compute, vertex and fragment shaders; {self.entry.name!r} is a"
                f" {self.stage} shader.",
                [self.stage],
            )
        self.local_size = self.entry.local_size.resolve() if self.entry.local_size else (1, 1, 1)
        self.causes = CauseTable()
        self.facts = ModuleFacts(self.module, self.causes, lanewise)
        self.declared = self.facts.declared
        modes = self.entry.execution_modes
        names = {entry.name for entry in self.module.instructions}
        self.needs_quads = "RequireFullQuadsKHR" in modes or any(
            name.startswith(_WITH_QUADS) or name.endswith("ImplicitLod") for name in names
        )
        self.derivative_group = next((form for mode, form in DERIVATIVE_GROUPS.items() if mode in modes), "")
        self.can_discard = not names.isdisjoint(_DISCARDS)
        self.helpers_take_part = self.needs_quads and "MaximallyReconvergesKHR" in modes
        slots = Slots()
        self.constants: dict[int, Value] = {
            slots.of_constant(identifier): value for identifier, value in self.facts.constants.items()
        }
        self.variables = Variables(self.facts, self.entry, slots, self.causes)
        self.segments = Inliner(self.facts, self.variables, slots).inline(self._entry_function())
        self.slots = slots.count
        self.cells, self.cell_types = self.variables.cells, self.variables.cell_types
        self.built_ins, self.ports = self.variables.built_ins, self.variables.ports
        self.shared, self.bindings = self.variables.shared, self.variables.bindings
        self.liveness: Liveness = find_liveness(self.segments, frozenset(self.constants))
        #: The slots that something reads.
        self.used_slots = frozenset[int]().union(
            *(op.uses for segment in self.segments for op in segment.ops),
            *(segment.terminator.uses for segment in self.segments),
        )

    def _entry_function(self) -> int:
        for declaration in self.declared.entry_points:
            stage = EXECUTION_MODELS[declaration.execution_model].name
            if declaration.name == self.entry.name and stage == self.stage:
                return declaration.id
        raise InvalidModule(f"there is no entry point {self.entry.name!r}")

    @property
    def has_small_addresses(self) -> bool:
        """Whether physical addresses may point to numbers of less than 32 bits."""
        return any(
            isinstance(kind, PointerType)
            and kind.storage_class == "PhysicalStorageBuffer"
            and kind.pointee is not None
            and smallest(kind.pointee) < 4
            for kind in self.declared.types.values()
        )

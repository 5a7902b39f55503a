"""Program form: functions inlined to one list of segments, with numbered variables and constants.

Segments are numbered in structured order, those of a called function between the parts of its caller. So
invocations that wait at the lowest segment always run next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.reference.interpreter.program.flow import (
    BasicBlock,
    Liveness,
    ModuleFunction,
    find_liveness,
    switch_targets,
)
from vkgroup.reference.interpreter.program.layout import smallest
from vkgroup.reference.interpreter.program.pointers import FunctionNames, Pointers
from vkgroup.reference.interpreter.program.segments import (
    Edge,
    Label,
    Op,
    PointerChain,
    Root,
    Segment,
    Terminator,
)
from vkgroup.reference.interpreter.program.site import followed_operands, value_operands
from vkgroup.reference.interpreter.program.specialization import specialize
from vkgroup.reference.interpreter.program.variables import Lanewise, ModuleFacts, Slots, Variables
from vkgroup.reference.interpreter.values.value import CauseTable, Value
from vkgroup.spec.stages import EXECUTION_MODELS
from vkgroup.spirv import EntryPoint, Instruction, Module, PointerType, ScalarType, grammar
from vkgroup.spirv.chains import CHAINS

_MOST_SEGMENTS = 100_000
_DEEPEST_CALL = 256
"""Maximum number of calls inside each other; Python's limit of recursion is a thousand frames."""
_ENDS = {"OpUnreachable": "unreachable", "OpAbortKHR": "abort"}
_ENDS |= dict.fromkeys(("OpKill", "OpTerminateInvocation"), "discard")
"""Kinds of terminators of an invocation."""
_BARRIERS = ("OpControlBarrier", "OpControlBarrierArriveEXT", "OpControlBarrierWaitEXT")
"""Instructions that all invocations of a group execute together."""
_SUBGROUP_SCOPE = 3

_STAGES = ("compute", "vertex", "fragment")
_DISCARDS = frozenset({"OpKill", "OpTerminateInvocation", "OpDemoteToHelperInvocation"})
DERIVATIVE_GROUPS = {"DerivativeGroupQuadsKHR": "quads", "DerivativeGroupLinearKHR": "linear"}
"""Arrangement of the quads of a compute shader by its execution mode."""

_WITH_QUADS = ("OpDPd", "OpFwidth", "OpGroupNonUniformQuad", "OpImageQueryLod")


class _Scope(FunctionNames):
    """Slot, pointer or label of each id in one inlined function."""

    def __init__(self, function: ModuleFunction) -> None:
        super().__init__()
        self.labels = {block.label: Label() for block in function.blocks}
        self.phis = {block.label: block.phis for block in function.blocks}


class Inliner:
    """Converts an entry point's function, and the functions that it calls, to segments."""

    def __init__(self, facts: ModuleFacts, variables: Variables, slots: Slots) -> None:
        self._facts, self._variables, self._slots = facts, variables, slots
        self._pointers = Pointers(facts, variables, slots)
        self._segments: list[Segment] = []
        self._calls: list[int] = []

    def inline(self, entry: int) -> list[Segment]:
        """Return the segments of a whole entry point."""
        function = self._function(entry)
        self._emit(function, _Scope(function), None, -1)
        return self._segments

    def _function(self, identifier: int) -> ModuleFunction:
        function = self._facts.functions.get(identifier)
        if function is None or not function.blocks:
            raise InvalidModule(f"%{identifier} is called but has no body")
        return function

    def _segment(self, label: Label | None = None) -> Segment:
        if len(self._segments) >= _MOST_SEGMENTS:
            raise Unsupported(
                f"With its functions inlined the shader has over {_MOST_SEGMENTS} blocks.", ["program size"]
            )
        segment = Segment(len(self._segments))
        if label is not None:
            label.number = segment.number
        self._segments.append(segment)
        return segment

    def _emit(self, function: ModuleFunction, scope: _Scope, back: Label | None, result: int) -> None:
        """Add a function's segments; returns branch to `back` and write their value to slot `result`."""
        if function.id in self._calls:
            raise InvalidModule("a function calls itself, which SPIR-V forbids")
        if len(self._calls) > _DEEPEST_CALL:
            raise Unsupported(
                f"The shader's functions call each other over {_DEEPEST_CALL} levels deep, which is the limit"
                " of the reference device. Call fewer functions inside each other.",
                ["call depth"],
            )
        self._calls.append(function.id)
        for block in function.blocks:
            for entry in (*block.phis, *block.body):
                if grammar().instruction(entry.opcode) is None:
                    raise Unsupported(
                        f"The reference device does not support the instruction with opcode {entry.opcode}.",
                        [f"opcode {entry.opcode}"],
                    )
                if entry.result_id and not self._pointers.is_known(entry):
                    scope.slots[entry.result_id] = self._slots.new()
        for block in function.blocks:
            segment = self._segment(scope.labels[block.label])
            segment.loop_merge = scope.labels[block.merge] if block.continue_target else None
            segment.position = block.instructions[0].position
            segment = self._emit_body(block, segment, scope)
            if block.merge and not block.continue_target:
                segment.merge = scope.labels[block.merge]
            segment.terminator = self._terminator(block, segment, scope, back, result)
        self._calls.pop()

    def _emit_body(self, block: BasicBlock, segment: Segment, scope: _Scope) -> Segment:
        """Add a block's instructions; return the segment that its terminator ends."""
        for entry in block.body:
            if self._facts.is_non_semantic(entry):
                continue
            if entry.name == "OpFunctionCall":
                segment = self._call(entry, segment, scope)
            elif entry.name in CHAINS:
                self._pointers.add_chain(entry, scope, segment)
            elif entry.name == "OpVariable":
                segment.ops.append(self._variable(entry, scope))
            elif entry.name == "OpCopyObject" and self._pointers.is_known(entry):
                scope.pointers[entry.result_id] = self._pointers.chain(entry.operands[0], scope)
            elif entry.name in _BARRIERS and self._scope_of(entry) != _SUBGROUP_SCOPE:
                following = Label()
                segment.terminator = Terminator("jump", edges=(Edge(following),))
                segment = self._segment(following)
                segment.is_barrier = True
                segment.ops.append(self._op(entry, scope, segment))
            else:
                segment.ops.append(self._op(entry, scope, segment))
        return segment

    def _scope_of(self, barrier: Instruction) -> int:
        value = self._facts.constants.get(barrier.operands[0])
        return int(value.data[0]) if value is not None else 2

    def _call(self, entry: Instruction, segment: Segment, scope: _Scope) -> Segment:
        function = self._function(entry.operands[0])
        inner = _Scope(function)
        for parameter, argument in zip(function.parameters, entry.operands[1:], strict=True):
            known = self._pointers.find(argument, scope)
            if known is not None:
                inner.pointers[parameter] = known
            else:
                inner.slots[parameter] = self._slots.of(argument, scope.slots)
        back = Label()
        first = inner.labels[function.blocks[0].label]
        segment.terminator = Terminator("jump", edges=(Edge(first),))
        segment.merge = back
        self._emit(function, inner, back, scope.slots.get(entry.result_id, -1))
        return self._segment(back)

    # --- operands -------------------------------------------------------------------------------------

    def _variable(self, entry: Instruction, scope: _Scope) -> Op:
        kind = self._facts.types.get(entry.result_id)
        assert isinstance(kind, PointerType)
        if kind.pointee is None:
            raise InvalidModule(f"%{entry.result_id} points to an undeclared type")
        cell = self._variables.new_cell(kind.pointee)
        chain = PointerChain(Root("cell", cell, kind.pointee, kind.storage_class))
        scope.pointers[entry.result_id] = chain
        initial = tuple(self._slots.of(operand, scope.slots) for operand in entry.operands[1:])
        return Op(entry, -1, initial, (chain,), cell)

    def _op(self, entry: Instruction, scope: _Scope, segment: Segment) -> Op:
        arguments: list[int | None] = []
        chains = []
        followed = followed_operands(entry)
        for number, identifier in enumerate(value_operands(entry)):
            if number in followed:
                arguments.append(None)
                chains.append(self._pointers.chain(identifier, scope))
            elif identifier in self._facts.functions:
                raise Unsupported(f"The reference device does not support {entry.name}.", [entry.name])
            else:
                arguments.append(self._pointers.value(identifier, scope, segment, entry))
        result = scope.slots.get(entry.result_id, -1)
        if entry.name == "OpImageTexelPointer":
            kind = self._facts.types.get(entry.result_id)
            assert isinstance(kind, PointerType)
            assert kind.pointee is not None
            root = Root("texel", self._slots.new(), kind.pointee, kind.storage_class)
            scope.pointers[entry.result_id] = PointerChain(root)
            result = root.number
        return Op(entry, result, tuple(arguments), tuple(chains))

    # --- terminators ----------------------------------------------------------------------------------

    def _edge(self, block: BasicBlock, segment: Segment, label: int, scope: _Scope) -> Edge:
        if label not in scope.labels:
            raise InvalidModule(f"a branch targets %{label}, which is not a block of the function")
        copies = []
        for phi in scope.phis[label]:
            pairs = dict(zip(phi.operands[1::2], phi.operands[::2], strict=True))
            if block.label not in pairs:
                raise InvalidModule(f"the phi %{phi.result_id} has no value from %{block.label}")
            source = self._pointers.value(pairs[block.label], scope, segment, phi)
            copies.append((scope.slots[phi.result_id], source))
        return Edge(scope.labels[label], tuple(copies))

    def _terminator(
        self, block: BasicBlock, segment: Segment, scope: _Scope, back: Label | None, result: int
    ) -> Terminator:
        entry = block.terminator
        words = entry.operands
        if entry.name == "OpBranch":
            return Terminator("jump", entry, edges=(self._edge(block, segment, words[0], scope),))
        if entry.name == "OpBranchConditional":
            edges = tuple(self._edge(block, segment, label, scope) for label in words[1:3])
            return Terminator("branch", entry, self._slots.of(words[0], scope.slots), edges)
        if entry.name == "OpSwitch":
            return self._switch(block, segment, scope)
        if entry.name in ("OpReturn", "OpReturnValue") and back is not None:
            copies: tuple[tuple[int, int], ...] = ()
            if entry.name == "OpReturnValue" and result >= 0:
                copies = ((result, self._pointers.value(words[0], scope, segment, entry)),)
            return Terminator("jump", entry, edges=(Edge(back, copies),))
        if entry.name == "OpReturn":
            return Terminator("exit", entry)
        if entry.name in _ENDS:
            return Terminator(_ENDS[entry.name], entry)
        raise Unsupported(f"The reference device does not support {entry.name}.", [entry.name])

    def _switch(self, block: BasicBlock, segment: Segment, scope: _Scope) -> Terminator:
        entry = block.terminator
        kind = self._facts.types.get(entry.operands[0])
        bits = kind.bits if isinstance(kind, ScalarType) else 32
        targets = switch_targets(entry.operands, -(-bits // 32))
        edges = [self._edge(block, segment, label, scope) for label in targets.values()]
        edges.append(self._edge(block, segment, entry.operands[1], scope))
        mask = (1 << bits) - 1
        literals = tuple(literal & mask for literal in targets)
        return Terminator(
            "switch", entry, self._slots.of(entry.operands[0], scope.slots), tuple(edges), literals
        )


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

"""Functions inlined to one list of segments.

Segments are numbered in structured order, those of a called function between the parts of its caller. So
invocations that wait at the lowest segment always run next.
"""

from __future__ import annotations

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.reference.interpreter.program.flow import BasicBlock, ModuleFunction, switch_targets
from vkgroup.reference.interpreter.program.matrix_rules import TRANSPOSE, check_matrix_instruction
from vkgroup.reference.interpreter.program.pointers import FunctionValues, Pointers
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
from vkgroup.reference.interpreter.program.variables import ModuleFacts, Slots, Variables
from vkgroup.spirv import CooperativeMatrixType, Instruction, PointerType, ScalarType, call_of, grammar
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
_REDUCE, _PER_ELEMENT = "OpCooperativeMatrixReduceEXT", "OpCooperativeMatrixPerElementOpEXT"
"""Instructions that call a function many times."""
_PARAMETERS = {_REDUCE: ("first", "second"), _PER_ELEMENT: ("row", "column", "element")}
"""The parts that give their functions' first arguments."""


class _Scope(FunctionValues):
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
            check_matrix_instruction(self._facts, entry)
            if entry.name == "OpFunctionCall":
                segment = self._call(entry, segment, scope)
            elif entry.name in _PARAMETERS:
                segment = self._call_for_elements(entry, segment, scope)
            elif TRANSPOSE in self._facts.declared.decorations.get(entry.result_id, {}):
                op = self._op(entry, scope, segment)
                converted = self._slots.new()
                segment.ops += [
                    Op(entry, converted, op.arguments),
                    Op(entry, op.result, (converted,), part="transpose"),
                ]
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
            self._pass(inner, parameter, argument, scope)
        back = Label()
        first = inner.labels[function.blocks[0].label]
        segment.terminator = Terminator("jump", edges=(Edge(first),))
        segment.merge = back
        self._emit(function, inner, back, scope.slots.get(entry.result_id, -1))
        return self._segment(back)

    def _part(self, segment: Segment, entry: Instruction, name: str, *arguments: int) -> int:
        """Add a part of an instruction to a segment; return the slot of its result."""
        result = self._slots.new()
        segment.ops.append(Op(entry, result, arguments, part=name))
        return result

    def _call_for_elements(self, entry: Instruction, segment: Segment, scope: _Scope) -> Segment:
        """Add a loop that calls a function for elements of a matrix, or for pairs of them.

        `work` has the elements, `count` the calls so far; both are copied from round to round.
        """
        call = call_of(entry)
        assert call is not None
        function = self._function(call.function)
        inner = _Scope(function)
        matrix, work, count = self._slot(entry.operands[0], scope), self._slots.new(), self._slots.new()
        head_label, body_label, back, end_label = Label(), Label(), Label(), Label()
        initial = self._part(segment, entry, "begin", matrix), self._part(segment, entry, "zero")
        segment.terminator = Terminator(
            "jump", edges=(Edge(head_label, ((work, initial[0]), (count, initial[1]))),)
        )
        head = self._segment(head_label)
        head.loop_merge, head.position = end_label, entry.position
        more = self._part(head, entry, "more", count)
        head.terminator = Terminator("branch", entry, more, (Edge(body_label), Edge(end_label)))
        body = self._segment(body_label)
        parts = _PARAMETERS[entry.name]
        for number, (parameter, argument) in enumerate(zip(function.parameters, call.arguments, strict=True)):
            if number < 2:
                inner.slots[parameter] = self._part(body, entry, parts[number], work, count)
            elif isinstance(self._facts.types.get(argument), CooperativeMatrixType):
                source = self._slot(argument, scope)
                inner.slots[parameter] = self._part(body, entry, "element", source, count)
            else:
                self._pass(inner, parameter, argument, scope)
        body.terminator = Terminator("jump", edges=(Edge(inner.labels[function.blocks[0].label]),))
        body.merge = back
        returned = self._slots.new()
        self._emit(function, inner, back, returned)
        after = self._segment(back)
        done = self._part(after, entry, "put", work, count, returned)
        following = self._part(after, entry, "next", count)
        after.terminator = Terminator("jump", edges=(Edge(head_label, ((work, done), (count, following))),))
        end = self._segment(end_label)
        after.rejoins = end.rejoins = True
        end.ops.append(Op(entry, scope.slots[entry.result_id], (work,), part="end"))
        return end

    def _pass(self, inner: _Scope, parameter: int, argument: int, scope: _Scope) -> None:
        """Give a parameter of a called function the value or pointer of an argument."""
        known = self._pointers.find(argument, scope)
        if known is not None:
            inner.pointers[parameter] = known
        else:
            inner.slots[parameter] = self._slot(argument, scope)

    # --- operands -------------------------------------------------------------------------------------

    def _slot(self, identifier: int, scope: _Scope) -> int:
        return self._slots.of(identifier, scope.slots)

    def _variable(self, entry: Instruction, scope: _Scope) -> Op:
        kind = self._facts.types.get(entry.result_id)
        assert isinstance(kind, PointerType)
        if kind.pointee is None:
            raise InvalidModule(f"%{entry.result_id} points to an undeclared type")
        cell = self._variables.new_cell(kind.pointee)
        chain = PointerChain(Root("cell", cell, kind.pointee, kind.storage_class))
        scope.pointers[entry.result_id] = chain
        initial = tuple(self._slot(operand, scope) for operand in entry.operands[1:])
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
            return Terminator("branch", entry, self._slot(words[0], scope), edges)
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
        return Terminator("switch", entry, self._slot(entry.operands[0], scope), tuple(edges), literals)

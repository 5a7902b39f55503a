"""A module made ready to execute: functions inlined, blocks numbered, every instruction looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from vkgroup.dispatch.events import Cause
from vkgroup.errors import InvalidModule, Unsupported
from vkgroup.reference.interpreter.chains import Chain, Root
from vkgroup.reference.interpreter.constants import read_constants, specialize
from vkgroup.reference.interpreter.functions import read_functions
from vkgroup.reference.interpreter.inline import Inliner, Segment
from vkgroup.reference.interpreter.interface import Port, ports_of
from vkgroup.reference.interpreter.layout import Placed, laid_out, smallest
from vkgroup.reference.interpreter.liveness import Liveness, find_liveness
from vkgroup.reference.interpreter.postdominators import post_dominators
from vkgroup.reference.interpreter.site import CauseTable, Site
from vkgroup.reference.interpreter.values import Leaf, Value, leaves_of
from vkgroup.spec.stages import EXECUTION_MODELS
from vkgroup.spirv import (
    CooperativeMatrixType,
    EntryPoint,
    Instruction,
    Module,
    PointerType,
    StructType,
    Type,
)
from vkgroup.spirv.declarations import Declarations

_ROOTS = {
    "StorageBuffer": "buffer",
    "Uniform": "buffer",
    "UniformConstant": "resource",
    "PushConstant": "push",
    "Workgroup": "shared",
    "Private": "cell",
    "Input": "cell",
    "Output": "cell",
}
_INTERFACE = ("Input", "Output")
_STAGES = ("compute", "vertex", "fragment")

Instrument = Callable[[Site, Callable[..., Any]], Callable[..., Any]]


class Program:
    """A compute, vertex or fragment shader, ready to execute.

    Parameters
    ----------
    module : with an entry point of one of these stages.
    entry_point : its name; None takes the only one.
    specialization : values by specialization id.
    instrument : wraps the function of each lane-wise and group instruction; None leaves it as it is.

    Attributes
    ----------
    module : the module, specialization applied.
    entry : the entry point.
    stage : ``"compute"``, ``"vertex"`` or ``"fragment"``.
    local_size : invocations of a workgroup in x, y, z; 1, 1, 1 for the others.
    ports : inputs by location, and all outputs, of a stage of a draw.
    can_discard : whether a fragment shader has instructions that discard fragments.
    needs_quads : whether a fragment shader demands full quads, or has derivatives or quad operations
        anywhere, so that helper invocations must be there.
    derivative_group : ``"quads"`` or ``"linear"``: how a compute shader's invocations form quads; or "".
    helpers_take_part : whether helper invocations certainly take part in every group operation.
    segments : the blocks in the order of their numbers.
    constants : value by slot, of what never changes.
    cells : the arrays of each variable that invocations have for themselves.
    built_ins : cell by name of the SPIR-V BuiltIn.
    initializers : slot of the constant that a private variable starts as, by cell.
    shared : the shared variables by id: name and type with layout, size in bytes.
    shared_positions : where each is declared in the module.
    bindings : (set, binding) of each buffer and resource variable by id.
    causes : the numbers of what leaves values undefined.

    Raises
    ------
    Unsupported
        The module needs what the reference device lacks; names the instruction.
    InvalidModule
        The module contradicts itself.
    """

    def __init__(
        self,
        module: Module,
        entry_point: str | None = None,
        specialization: Mapping[int, Any] | None = None,
        instrument: Instrument | None = None,
    ) -> None:
        self.instrument: Instrument = instrument or (lambda site, function: function)
        self.module = specialize(module, specialization or {})
        self.entry: EntryPoint = self.module.reflection.entry_point(entry_point)
        self.stage = self.entry.stage
        if self.stage not in _STAGES or (self.stage == "compute" and self.entry.local_size is None):
            raise Unsupported(
                f"The reference device runs compute, vertex and fragment shaders; {self.entry.name!r} is for"
                f" {self.stage}.",
                [self.stage],
            )
        self.local_size = self.entry.local_size.resolve() if self.entry.local_size else (1, 1, 1)
        self.causes = CauseTable()
        self.declared = Declarations(self.module)
        global_instructions, self.functions = read_functions(self.module)
        self._type_ids = {entry.result_id: entry.result_type for entry in self.module.instructions}
        self._pointees = {
            entry.result_id: entry.operands[1]
            for entry in global_instructions
            if entry.name == "OpTypePointer"
        }
        modes = self.entry.execution_modes
        self.needs_quads = "RequireFullQuadsKHR" in modes or any(
            _needs_quads(entry.name) for entry in self.module.instructions
        )
        self.derivative_group = next((way for mode, way in _DERIVATIVE_GROUPS.items() if mode in modes), "")
        self.can_discard = any(entry.name in _DISCARDS for entry in self.module.instructions)
        self.helpers_take_part = self.needs_quads and "MaximallyReconvergesKHR" in modes
        self.kinds = _kinds(self.module, self.declared)
        self._values = read_constants(global_instructions, self.declared, self.kinds, self.causes)
        self.extended_sets = _extended_sets(global_instructions)
        self.cells: list[tuple[Leaf, ...]] = []
        self.built_ins: dict[str, int] = {}
        self.ports: dict[str, list[Port]] = {"Input": [], "Output": []}
        self.initializers: dict[int, int] = {}
        self.private_cells: list[int] = []
        self.private_causes: dict[int, int] = {}
        self.cell_types: dict[int, Type] = {}
        self.shared: dict[int, tuple[str, Placed, int]] = {}
        self.shared_initializers: dict[int, int] = {}
        self.shared_positions: dict[int, int] = {}
        self.bindings: dict[int, tuple[int, int]] = {}
        self._is_buffer: dict[int, bool] = {}
        self.placed: dict[int, Placed] = {}
        inliner = Inliner(self)
        self.constants: dict[int, Value] = {}
        for identifier, value in self._values.items():
            self.constants[inliner.global_slot(identifier)] = value
        self._declare_variables(global_instructions, inliner)
        self.segments: list[Segment] = inliner.inline(self._entry_function())
        self.slots = inliner.slots
        self.liveness: Liveness = find_liveness(self.segments, frozenset(self.constants))
        # Imported here because the functions of instructions are made for a program.
        from vkgroup.reference.interpreter.prepare import prepare

        self.code = prepare(self)

    def _entry_function(self) -> int:
        for declaration in self.declared.entry_points:
            stage = EXECUTION_MODELS[declaration.execution_model].name
            if declaration.name == self.entry.name and stage == self.stage:
                return declaration.id
        raise InvalidModule(f"there is no entry point {self.entry.name!r}")

    @cached_property
    def post_dominators(self) -> list[int]:
        """For each segment the one where all ways from it meet."""
        return post_dominators(self.segments)

    def type_of(self, identifier: int) -> Type | None:
        """Return the type of a value's id; None for what is no value."""
        return self.kinds.get(identifier)

    def value_of(self, identifier: int) -> Value | None:
        """Return a constant's value; None for any other id."""
        return self._values.get(identifier)

    def says_nothing(self, entry: Instruction) -> bool:
        """Whether an instruction may be left out: one of a set for tools (SPV_KHR_non_semantic_info)."""
        return entry.name == "OpExtInst" and self.extended_sets[entry.operands[0]].startswith("NonSemantic.")

    def element_stride(self, pointer: int) -> int:
        """Return the bytes between elements for OpPtrAccessChain: ArrayStride of the pointer's own type."""
        kind = self.kinds.get(pointer)
        size = kind.pointee.size if isinstance(kind, PointerType) and kind.pointee is not None else None
        stride = self.declared.decoration(self._type_ids[pointer], "ArrayStride") or size
        if stride is None:
            raise Unsupported("OpPtrAccessChain of a type without size.", ["variablePointers"])
        return stride

    def new_cell(self, kind: Type) -> int:
        """Add a variable that every invocation has for itself; return its number."""
        try:
            self.cells.append(leaves_of(kind))
        except TypeError:
            name = kind.glsl
            raise Unsupported(
                f"Variables of type {name} are not known to the reference device.", [name]
            ) from None
        self.cell_types[len(self.cells) - 1] = kind
        return len(self.cells) - 1

    def is_buffer(self, identifier: int) -> bool:
        """Whether a variable with a binding is memory, and no image or sampler."""
        return self._is_buffer[identifier]

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

    def granule(self, identifier: int) -> int:
        """Return the bytes of the smallest number in the type of a buffer or a shared variable."""
        return min(smallest(self.placed[identifier].type), self._smallest_element)

    @cached_property
    def _smallest_element(self) -> int:
        """Bytes of the smallest element of a cooperative matrix; less than what memory is made of perhaps."""
        kinds = self.declared.types.values()
        matrices = [kind.component for kind in kinds if isinstance(kind, CooperativeMatrixType)]
        return min((component.size or 8 for component in matrices), default=8)

    # --- variables of the module ----------------------------------------------------------------------

    def _declare_variables(self, instructions: list[Instruction], inliner: Inliner) -> None:
        for entry in instructions:
            if entry.name != "OpVariable":
                continue
            pointer = self.declared.type(entry.result_type)
            assert isinstance(pointer, PointerType)
            if pointer.pointee is None:
                raise InvalidModule(f"%{entry.result_id} points to a type that is not known")
            chain = self._declare(entry, pointer.storage_class, pointer.pointee, inliner)
            if chain is not None:
                inliner.pointers[entry.result_id] = chain

    def _declare(self, entry: Instruction, storage_class: str, kind: Type, inliner: Inliner) -> Chain | None:
        identifier = entry.result_id
        root = _ROOTS.get(storage_class)
        if root is None or (storage_class in _INTERFACE and identifier not in self.entry.interface):
            return None
        number = identifier
        self.placed[identifier] = Placed(kind)
        if root == "cell":
            number = self._declare_cell(entry, storage_class, kind, inliner)
        elif root == "shared":
            self._declare_shared(entry, kind, inliner)
        elif root in ("buffer", "resource"):
            declared = self.declared
            self._is_buffer[identifier] = root == "buffer"
            self.bindings[identifier] = (
                declared.decoration(identifier, "DescriptorSet") or 0,
                declared.decoration(identifier, "Binding") or 0,
            )
        return Chain(Root(root, number, kind, storage_class))

    def _declare_cell(self, entry: Instruction, storage_class: str, kind: Type, inliner: Inliner) -> int:
        number = self.new_cell(kind)
        if storage_class in _INTERFACE:
            self._declare_ports(entry, storage_class, kind, number)
        if storage_class == "Input":
            return number
        self.private_cells.append(number)
        name = self.declared.names.get(entry.result_id, "a variable")
        cause = Cause("uninitialised", f"{name} has no value yet", entry.position)
        self.private_causes[number] = self.causes.number(cause)
        if len(entry.operands) > 1:
            self.initializers[number] = inliner.global_slot(entry.operands[1])
        return number

    def _declare_ports(self, entry: Instruction, storage_class: str, kind: Type, cell: int) -> None:
        """Note the interface of a variable, or of each member of a block."""
        declared, identifier = self.declared, entry.result_id
        found = ports_of(declared, identifier, kind, self._pointees[entry.result_type], cell, entry.position)
        if storage_class == "Output":
            self.ports["Output"] += found
            return
        for port in found:
            if not port.built_in and self.stage == "compute":
                raise Unsupported(
                    "A compute shader has no inputs but built-in variables.", ["Input without BuiltIn"]
                )
            if not port.built_in:
                self.ports["Input"].append(port)
            elif isinstance(kind, StructType):
                raise Unsupported("A block of built-in inputs.", [port.built_in])
            else:
                self.built_ins[port.built_in] = cell

    def _declare_shared(self, entry: Instruction, kind: Type, inliner: Inliner) -> None:
        if isinstance(kind, StructType) and any(member.offset is not None for member in kind.members):
            raise Unsupported(
                "Shared variables with an explicit layout are not known to the reference device.",
                ["WorkgroupMemoryExplicitLayoutKHR"],
            )
        placed, size, _ = laid_out(kind)
        self.placed[entry.result_id] = placed
        name = self.declared.names.get(entry.result_id, "shared memory")
        # Whole words, and each workgroup's part aligned for the widest number.
        self.shared[entry.result_id] = (name, placed, -(-size // 16) * 16)
        self.shared_positions[entry.result_id] = entry.position
        if len(entry.operands) > 1:
            self.shared_initializers[entry.result_id] = inliner.global_slot(entry.operands[1])


_DISCARDS = frozenset({"OpKill", "OpTerminateInvocation", "OpDemoteToHelperInvocation"})
_DERIVATIVE_GROUPS = {"DerivativeGroupQuadsKHR": "quads", "DerivativeGroupLinearKHR": "linear"}
_WITH_QUADS = ("OpDPd", "OpFwidth", "OpGroupNonUniformQuad")


def _needs_quads(name: str) -> bool:
    """Whether an instruction works on a whole quad."""
    return name.startswith(_WITH_QUADS) or name.endswith("ImplicitLod") or name == "OpImageQueryLod"


def _kinds(module: Module, declared: Declarations) -> dict[int, Type]:
    """Return the type of every id that has one."""
    types = declared.types
    return {
        entry.result_id: types[entry.result_type]
        for entry in module.instructions
        if entry.result_id and entry.result_type in types
    }


def _extended_sets(instructions: list[Instruction]) -> dict[int, str]:
    """Return the names of extended instruction sets by id."""
    found = {}
    for entry in instructions:
        if entry.name == "OpExtInstImport":
            raw = b"".join(word.to_bytes(4, "little") for word in entry.operands)
            found[entry.result_id] = raw.split(b"\0")[0].decode("utf-8", "replace")
    return found

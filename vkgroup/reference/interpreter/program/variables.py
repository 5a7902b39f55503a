"""Declarations of a program by id: types, constants, functions, variables with their cells and bindings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.reference.events import EventCause
from vkgroup.reference.interpreter.program.flow import read_functions
from vkgroup.reference.interpreter.program.interface import Port, ports_of
from vkgroup.reference.interpreter.program.layout import LaidOutType, end_of, lay_out, smallest
from vkgroup.reference.interpreter.program.segments import PointerChain, Root
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    CauseTable,
    Leaf,
    Value,
    held,
    leaves_of,
    single,
    undefined,
    zeros,
)
from vkgroup.spirv import (
    ArrayType,
    CooperativeMatrixType,
    EntryPoint,
    Instruction,
    Module,
    PointerType,
    ScalarType,
    StructType,
    Type,
    grammar,
)
from vkgroup.spirv.chains import VARIABLES, AccessChain

Lanewise = Mapping[str, Callable[[Site], Callable[..., Value]]]
"""By name of a lane-wise instruction: the factory of its function."""

_WITH_LITERALS = {"OpCompositeExtract": 1, "OpCompositeInsert": 2, "OpVectorShuffle": 2}
"""Operations whose operands end in literals: the number of ids before them."""

_EXTENDED = ("OpExtInst", "OpExtInstWithForwardRefsKHR")
"""Instructions of imported sets; the second is for sets without effect on execution only."""

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


class ModuleFacts:
    """Declarations that instructions refer to by id, read once.

    `module`: the module, specialization applied.
    `causes`: the table in which undefined constants are numbered.
    `lanewise`: the functions of lane-wise instructions, for OpSpecConstantOp.

    Attributes: `declared`: the declarations.
    `global_instructions`: the instructions before the first function.
    `functions`: the functions by id.
    `types`: the type of every id that has one.
    `constants`: the value of every constant and global OpUndef by id; the last axis has length one.
    `capabilities`: the names of the declared capabilities.
    `is_wgsl`: whether the module was made of WGSL, whose rules for accesses hold.
    `copies_bytes`: whether an instruction copies any number of bytes.
    """

    def __init__(self, module: Module, causes: CauseTable, lanewise: Lanewise) -> None:
        self.declared = module.declarations
        self.capabilities = module.reflection.capabilities
        self.global_instructions, self.functions = read_functions(module)
        self._type_ids = {entry.result_id: entry.result_type for entry in module.instructions}
        self._pointee_ids = {
            entry.result_id: entry.operands[1]
            for entry in self.global_instructions
            if entry.name == "OpTypePointer"
        }
        types = self.declared.types
        self.types: dict[int, Type] = {
            entry.result_id: types[entry.result_type]
            for entry in module.instructions
            if entry.result_id and entry.result_type in types
        }
        wgsl = grammar().number("SourceLanguage", "WGSL")
        self.is_wgsl = any(
            entry.name == "OpSource" and entry.operands[0] == wgsl for entry in self.global_instructions
        )
        self.copies_bytes = any(entry.name == "OpCopyMemorySized" for entry in module.instructions)
        self._causes, self._lanewise = causes, lanewise
        self.constants: dict[int, Value] = {}
        for entry in self.global_instructions:
            if entry.name.startswith(("OpConstant", "OpSpecConstant")) or entry.name in _UNDEFINED:
                value = self._constant(entry)
                if value is not None:
                    self.constants[entry.result_id] = value

    def pointee_id(self, pointer_type: int) -> int:
        """Return the id of the type that a pointer type points to."""
        return self._pointee_ids[pointer_type]

    def is_non_semantic(self, entry: Instruction) -> bool:
        """Return whether an instruction has no effect on execution (SPV_KHR_non_semantic_info)."""
        return entry.name in _EXTENDED and self.declared.extended_sets[entry.operands[0]].startswith(
            "NonSemantic."
        )

    def element_stride(self, chain: AccessChain) -> int:
        """Return the bytes between the elements of an access chain: ArrayStride of the base's own type.

        Shared memory without an explicit layout has that of `lay_out`.
        """
        kind = self.types.get(chain.base)
        assert isinstance(kind, PointerType)
        pointee = self.declared.type(chain.base_type) if chain.base_type else kind.pointee
        size = None if pointee is None else pointee.size
        stride = self.declared.decoration(self._type_ids[chain.base], "ArrayStride") or size
        if stride is None and pointee is not None and kind.storage_class == "Workgroup":
            _, stride, _ = lay_out(pointee)
        if stride is None:
            raise Unsupported("OpPtrAccessChain of a type without a size.", ["variablePointers"])
        return stride

    # --- constants ------------------------------------------------------------------------------------

    def _constant(self, entry: Instruction) -> Value | None:
        """Return the value of a constant; None for an instruction that the interpreter does not need."""
        kind = self.declared.type(entry.result_type)
        name = entry.name
        if name in ("OpConstantTrue", "OpSpecConstantTrue", "OpConstantFalse", "OpSpecConstantFalse"):
            return single(np.array([name.endswith("True")]))
        if name in ("OpConstant", "OpSpecConstant"):
            assert isinstance(kind, ScalarType)
            return single(_number(entry.operands, kind))
        if name == "OpConstantNull":
            return zeros(kind)
        if name in _UNDEFINED:
            site = Site(name, kind, (), (), (), (), entry.position, self._causes)
            return undefined(kind, site.cause("uninitialised", "an undefined value stands here"))
        if name in ("OpConstantComposite", "OpSpecConstantComposite"):
            return self._evaluate("OpCompositeConstruct", entry, kind, entry.operands)
        if name in ("OpConstantCompositeReplicateEXT", "OpSpecConstantCompositeReplicateEXT"):
            return self._evaluate("OpCompositeConstructReplicateEXT", entry, kind, entry.operands)
        if name in ("OpConstantDataKHR", "OpSpecConstantDataKHR"):
            assert isinstance(kind, ArrayType)
            assert isinstance(kind.element, ScalarType)
            data = np.array(entry.operands, np.uint32).view(held(kind.element).dtype)[: kind.length]
            return Value((data[:, None].copy(),))
        if name != "OpSpecConstantOp":
            return None
        opcode, ids = entry.operands[0], entry.operands[1:]
        name = grammar().name(opcode)
        if name not in self._lanewise:
            raise Unsupported(f"The reference device does not support {name} in OpSpecConstantOp.", [name])
        values = _WITH_LITERALS.get(name, len(ids))
        return self._evaluate(name, entry, kind, ids[:values], ids[values:])

    def _evaluate(
        self, name: str, entry: Instruction, kind: Type, ids: tuple[int, ...], literals: tuple[int, ...] = ()
    ) -> Value:
        """Apply an instruction to constants."""
        for identifier in ids:
            if identifier not in self.constants:
                raise InvalidModule(f"%{identifier} is used as a constant but is not a constant")
        operands = tuple(self.constants[identifier] for identifier in ids)
        types = tuple(self.types.get(identifier) for identifier in ids)
        site = Site(name, kind, types, operands, literals, (), entry.position, self._causes)
        with np.errstate(all="ignore"):
            return self._lanewise[name](site)(*operands)


_UNDEFINED = ("OpUndef", "OpPoisonKHR")
"""Instructions without a value. "Poison" is the undefined value of which two reads may differ."""


def _number(words: tuple[int, ...], kind: ScalarType) -> np.ndarray[Any, Any]:
    bits = sum(word << (32 * index) for index, word in enumerate(words))
    raw = (bits & ((1 << kind.bits) - 1)).to_bytes(kind.bits // 8, "little")
    return np.frombuffer(raw, held(kind).dtype).copy()


class Slots:
    """The numbering of slots.

    `count`: slots so far.
    """

    def __init__(self) -> None:
        self.count = 0
        self._constants: dict[int, int] = {}

    def new(self) -> int:
        """Return the number of a new slot."""
        self.count += 1
        return self.count - 1

    def of_constant(self, identifier: int) -> int:
        """Return the slot of a constant."""
        if identifier not in self._constants:
            self._constants[identifier] = self.new()
        return self._constants[identifier]

    def of(self, identifier: int, own: dict[int, int]) -> int:
        """Return the slot of an id: of the function, with its ids in `own`, or of a constant."""
        slot = own.get(identifier, self._constants.get(identifier))
        if slot is None:
            raise InvalidModule(f"%{identifier} is used but not defined in this function")
        return slot


class Variables:
    """The variables that an entry point can reach.

    `facts`: of the module.
    `entry`: the entry point.
    `slots`: the numbering of slots, for initial values.
    `causes`: the table in which uninitialized variables are numbered.

    Attributes: `pointers`: the pointer of each global variable by id.
    `cells`: the arrays of each variable of an invocation, by number.
    `cell_types`: the type of each.
    `built_ins`: cell by name of the SPIR-V BuiltIn.
    `ports`: inputs by location, and all outputs, of a stage of a draw.
    `initializers`: slot of the initializer of a private variable, by cell.
    `private_cells`: cells of private variables, without inputs.
    `private_causes`: cause of each of these cells before its first write.
    `shared`: the shared variables by id: name, type with layout, size in bytes.
    `blocks`: ids of those with an explicit layout, which all begin at the same byte.
    `shared_initializers`: slot of the initializer of a shared variable, by id.
    `shared_positions`: position of the declaration of each in the module.
    `bindings`: (set, binding) of each buffer and resource variable by id.
    `layouts`: the type of each variable with its layout, by id.
    """

    def __init__(self, facts: ModuleFacts, entry: EntryPoint, slots: Slots, causes: CauseTable) -> None:
        self._facts, self._entry, self._slots, self._causes = facts, entry, slots, causes
        self.pointers: dict[int, PointerChain] = {}
        self.cells: list[tuple[Leaf, ...]] = []
        self.cell_types: dict[int, Type] = {}
        self.built_ins: dict[str, int] = {}
        self.ports: dict[str, list[Port]] = {"Input": [], "Output": []}
        self.initializers: dict[int, int] = {}
        self.private_cells: list[int] = []
        self.private_causes: dict[int, int] = {}
        self.shared: dict[int, tuple[str, LaidOutType, int]] = {}
        self.blocks: list[int] = []
        self.shared_initializers: dict[int, int] = {}
        self.shared_positions: dict[int, int] = {}
        self.bindings: dict[int, tuple[int, int]] = {}
        self.layouts: dict[int, LaidOutType] = {}
        self._buffers: set[int] = set()
        kinds = facts.declared.types.values()
        matrices = [kind.component for kind in kinds if isinstance(kind, CooperativeMatrixType)]
        #: Bytes of the smallest element of a cooperative matrix; memory may be declared with wider numbers.
        self._smallest_element = min((component.size or 8 for component in matrices), default=8)
        if any(isinstance(kind, PointerType) and kind.is_untyped for kind in kinds):
            # Any access may see the memory as any type.
            self._smallest_element = min(kind.size or 8 for kind in kinds if isinstance(kind, ScalarType))
            if facts.copies_bytes:
                self._smallest_element = 1
        for instruction in facts.global_instructions:
            if instruction.name in VARIABLES:
                self._declare(instruction)
        size = max((self.shared[block][2] for block in self.blocks), default=0)
        name = " and ".join(self.shared[block][0] for block in self.blocks)
        for block in self.blocks:
            self.shared[block] = name, self.shared[block][1], size

    def new_cell(self, kind: Type) -> int:
        """Add a variable of each invocation; return its number."""
        try:
            self.cells.append(leaves_of(kind))
        except TypeError:
            name = kind.glsl
            raise Unsupported(
                f"The reference device does not support variables of type {name}.", [name]
            ) from None
        self.cell_types[len(self.cells) - 1] = kind
        return len(self.cells) - 1

    def is_buffer(self, identifier: int) -> bool:
        """Return whether a variable with a binding is a buffer, not an image or a sampler."""
        return identifier in self._buffers

    def granule(self, identifier: int) -> int:
        """Return the bytes of the smallest number in the type of a buffer or in shared memory."""
        views = self.blocks if identifier in self.blocks else [identifier]
        return min(self._smallest_element, *(smallest(self.layouts[view].type) for view in views))

    # --- declarations ---------------------------------------------------------------------------------

    def _declare(self, entry: Instruction) -> None:
        pointer = self._facts.declared.type(entry.result_type)
        assert isinstance(pointer, PointerType)
        kind, storage_class, identifier = pointer.pointee, pointer.storage_class, entry.result_id
        if entry.name == "OpUntypedVariableKHR":
            kind = self._facts.declared.type(entry.operands[1]) if len(entry.operands) > 1 else None
            entry = entry._replace(operands=(entry.operands[0], *entry.operands[2:]))
        if kind is None:
            raise InvalidModule(f"%{identifier} points to an undeclared type")
        root = _ROOTS.get(storage_class)
        if root is None or (storage_class in _INTERFACE and identifier not in self._entry.interface):
            return
        number = identifier
        self.layouts[identifier] = LaidOutType(kind)
        if root == "cell":
            number = self._declare_cell(entry, storage_class, kind)
        elif root == "shared":
            self._declare_shared(entry, kind)
        elif root in ("buffer", "resource"):
            self._declare_binding(identifier, is_buffer=root == "buffer")
        start = Root(root, number, kind, storage_class)
        self.pointers[identifier] = PointerChain(start, is_untyped=pointer.is_untyped)

    def _declare_binding(self, identifier: int, *, is_buffer: bool) -> None:
        declared = self._facts.declared
        if is_buffer:
            self._buffers.add(identifier)
        self.bindings[identifier] = (
            declared.decoration(identifier, "DescriptorSet") or 0,
            declared.decoration(identifier, "Binding") or 0,
        )

    def _declare_cell(self, entry: Instruction, storage_class: str, kind: Type) -> int:
        number = self.new_cell(kind)
        if storage_class in _INTERFACE:
            self._declare_ports(entry, storage_class, kind, number)
        if storage_class == "Input":
            return number
        self.private_cells.append(number)
        name = self._facts.declared.names.get(entry.result_id, "a variable")
        cause = EventCause("uninitialised", f"{name} has no value yet", entry.position)
        self.private_causes[number] = self._causes.number(cause)
        if len(entry.operands) > 1:
            self.initializers[number] = self._slots.of_constant(entry.operands[1])
        return number

    def _declare_ports(self, entry: Instruction, storage_class: str, kind: Type, cell: int) -> None:
        """Record the interface of a variable, or of each member of a block."""
        pointee = self._facts.pointee_id(entry.result_type)
        ports = ports_of(self._facts.declared, entry.result_id, kind, pointee, cell, entry.position)
        if storage_class == "Output":
            self.ports["Output"] += ports
            return
        for port in ports:
            if not port.built_in and self._entry.stage == "compute":
                raise Unsupported(
                    "A compute shader has no inputs except built-in variables.", ["Input without BuiltIn"]
                )
            if not port.built_in:
                self.ports["Input"].append(port)
            elif isinstance(kind, StructType):
                raise Unsupported("A block of built-in inputs.", [port.built_in])
            else:
                self.built_ins[port.built_in] = cell

    def _declare_shared(self, entry: Instruction, kind: Type) -> None:
        if isinstance(kind, StructType) and any(member.offset is not None for member in kind.members):
            # "all such variables are aliased" (SPV_KHR_workgroup_memory_explicit_layout, "Aliased").
            self.blocks.append(entry.result_id)
            laid_out = LaidOutType(kind)
            size = end_of(laid_out)
        else:
            laid_out, size, _ = lay_out(kind)
        self.layouts[entry.result_id] = laid_out
        block = kind.name if isinstance(kind, StructType) else ""
        name = self._facts.declared.names.get(entry.result_id) or block or "shared memory"
        # A multiple of whole words, so that each workgroup's part is aligned for the widest number.
        self.shared[entry.result_id] = (name, laid_out, -(-size // 16) * 16)
        self.shared_positions[entry.result_id] = entry.position
        if len(entry.operands) > 1:
            self.shared_initializers[entry.result_id] = self._slots.of_constant(entry.operands[1])

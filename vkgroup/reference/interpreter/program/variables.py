"""Variables of a program: cells of invocations, shared memory, bindings, and the interface of its stage."""

from __future__ import annotations

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.reference.events import EventCause
from vkgroup.reference.interpreter.program.interface import Port, ports_of
from vkgroup.reference.interpreter.program.layout import LaidOutType, lay_out, smallest
from vkgroup.reference.interpreter.program.module_facts import ModuleFacts
from vkgroup.reference.interpreter.program.segments import PointerChain, Root
from vkgroup.reference.interpreter.values.value import CauseTable, Leaf, leaves_of
from vkgroup.spirv import CooperativeMatrixType, EntryPoint, Instruction, PointerType, StructType, Type


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
        self.shared_initializers: dict[int, int] = {}
        self.shared_positions: dict[int, int] = {}
        self.bindings: dict[int, tuple[int, int]] = {}
        self.layouts: dict[int, LaidOutType] = {}
        self._buffers: set[int] = set()
        kinds = facts.declared.types.values()
        matrices = [kind.component for kind in kinds if isinstance(kind, CooperativeMatrixType)]
        #: Bytes of the smallest element of a cooperative matrix; memory may be declared with wider numbers.
        self._smallest_element = min((component.size or 8 for component in matrices), default=8)
        for instruction in facts.global_instructions:
            if instruction.name == "OpVariable":
                self._declare(instruction)

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
        """Return the bytes of the smallest number in the type of a buffer or a shared variable."""
        return min(smallest(self.layouts[identifier].type), self._smallest_element)

    # --- declarations ---------------------------------------------------------------------------------

    def _declare(self, entry: Instruction) -> None:
        pointer = self._facts.declared.type(entry.result_type)
        assert isinstance(pointer, PointerType)
        kind, storage_class, identifier = pointer.pointee, pointer.storage_class, entry.result_id
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
        self.pointers[identifier] = PointerChain(Root(root, number, kind, storage_class))

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
            raise Unsupported(
                "The reference device does not support shared variables with an explicit layout.",
                ["WorkgroupMemoryExplicitLayoutKHR"],
            )
        laid_out, size, _ = lay_out(kind)
        self.layouts[entry.result_id] = laid_out
        name = self._facts.declared.names.get(entry.result_id, "shared memory")
        # A multiple of whole words, so that each workgroup's part is aligned for the widest number.
        self.shared[entry.result_id] = (name, laid_out, -(-size // 16) * 16)
        self.shared_positions[entry.result_id] = entry.position
        if len(entry.operands) > 1:
            self.shared_initializers[entry.result_id] = self._slots.of_constant(entry.operands[1])

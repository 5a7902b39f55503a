"""Modules and their reflection: entry points, bindings, push and specialization constants, capabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from vkgroup.base.errors import InvalidModule
from vkgroup.spirv.binary import Binary
from vkgroup.spirv.constants import Constant, SpecializationConstant, Value
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.instruction_uses import RayInterface, SubgroupUse, find_rays, find_subgroup_uses
from vkgroup.spirv.interface import EntryPoint, read_entry_point
from vkgroup.spirv.resources import (
    Binding,
    PushConstants,
    SharedVariable,
    find_bindings,
    find_push_constants,
    find_shared_variables,
    shared_size,
)
from vkgroup.spirv.types import ArrayType, Type


@dataclass(frozen=True)
class Reflection:
    """What a module declares."""

    # `entry_points`, `bindings`, `push_constants`, `specialization_constants`: see their types; bindings are
    # ordered by set and binding, specialization constants by id
    entry_points: tuple[EntryPoint, ...]
    bindings: tuple[Binding, ...]
    push_constants: PushConstants | None
    specialization_constants: tuple[SpecializationConstant, ...]
    # `capabilities`, `extensions`: SPIR-V's names
    capabilities: frozenset[str]
    extensions: frozenset[str]
    extended_instruction_sets: frozenset[str]  # for example ``"GLSL.std.450"``
    memory_model: tuple[str, str]  # addressing and memory model, for example ``("Logical", "GLSL450")``
    subgroup_uses: frozenset[SubgroupUse]  # the subgroup operations, with their types
    array_lengths: tuple[Constant, ...]  # lengths of arrays that specialization can change
    # the ones that count descriptors, or outputs of a fragment shader
    interface_lengths: tuple[Constant, ...]
    shared_variables: tuple[SharedVariable, ...]  # the variables in shared memory, in order
    rays: RayInterface  # the traces, calls and ray data of a stage of ray tracing
    source: str | None  # the source text in the module; None where it has none

    @property
    def workgroup_memory(self) -> int:
        """Bytes of shared memory with specialization constants at their defaults, as in `shared_memory`."""
        return self.shared_memory({})

    def shared_memory(self, specialization: Mapping[int, Value]) -> int:
        """Return the bytes of shared memory under values by specialization id; -1 where a type has none."""
        return shared_size(self.shared_variables, specialization)

    def entry_point(self, name: str | None = None) -> EntryPoint:
        """Return the entry point called `name`, or the only one.

        Raises InvalidModule: no entry point has that name, or several do; without a name, the module does not
        have exactly one.
        """
        matching = [entry for entry in self.entry_points if name in (None, entry.name)]
        if len(matching) == 1:
            return matching[0]
        names = ", ".join(entry.name for entry in self.entry_points) or "none"
        wanted = "a single entry point" if name is None else f"one entry point {name!r}"
        raise InvalidModule(f"the module does not have {wanted}; it has: {names}")

    def binding(self, key: str | int | tuple[int, int]) -> Binding:
        """Return a binding by name, by number in set 0, or by (set, number); raises KeyError."""
        for binding in self.bindings:
            number = (binding.set, binding.binding)
            if key in (binding.name, number) or (isinstance(key, int) and number == (0, key)):
                return binding
        raise KeyError(key)


def _lengths(declared: Declarations, types: Iterable[Type]) -> tuple[Constant, ...]:
    """Return the lengths of arrays that specialization can change."""
    identifiers = (kind.length_constant for kind in types if isinstance(kind, ArrayType))
    return tuple(declared.constant(identifier) for identifier in identifiers if identifier is not None)


def _interface_arrays(declared: Declarations) -> Iterator[ArrayType]:
    """Yield the arrays whose elements are descriptors, or outputs of a fragment shader."""
    drawn = any(entry.execution_model == "Fragment" for entry in declared.entry_points)
    for variable in declared.variables:
        output = drawn and variable.storage_class == "Output"
        kind = variable.type
        while isinstance(kind, ArrayType):
            if output or declared.decoration(variable.id, "Binding") is not None:
                yield kind
            kind = kind.element


class Module(Binary):
    """An immutable SPIR-V module, equal to another of the same words.

    It is made by `from_bytes`, which checks the header and that the instructions fill the words exactly.
    `vkgroup.compiler.validate` checks the rest.
    """

    @cached_property
    def reflection(self) -> Reflection:
        """The declarations: entry points, bindings, constants, capabilities.

        Raises InvalidModule: the declarations refer to ids that do not exist, or have too few words.
        """
        declared = Declarations(self)
        return Reflection(
            entry_points=tuple(read_entry_point(declared, entry) for entry in declared.entry_points),
            bindings=find_bindings(self, declared),
            push_constants=find_push_constants(declared),
            specialization_constants=tuple(
                sorted(declared.specialization_constants, key=lambda constant: constant.id)
            ),
            capabilities=frozenset(declared.capabilities),
            extensions=frozenset(declared.extensions),
            extended_instruction_sets=frozenset(declared.extended_instruction_sets),
            memory_model=declared.memory_model,
            subgroup_uses=find_subgroup_uses(self, declared),
            array_lengths=_lengths(declared, declared.types.values()),
            interface_lengths=_lengths(declared, _interface_arrays(declared)),
            shared_variables=find_shared_variables(declared),
            rays=find_rays(self, declared),
            source=next((text for text in declared.sources if text), None),
        )

    @property
    def debug_source(self) -> str | None:
        """The source text in the module (`OpSource`); None where it has none."""
        return self.reflection.source

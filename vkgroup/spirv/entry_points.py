"""Entry points: stage, execution modes, size of the workgroup, inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vkgroup.errors import InvalidModule
from vkgroup.spec.stages import EXECUTION_MODELS
from vkgroup.spirv.annotations import EntryPointDeclaration
from vkgroup.spirv.constants import Constant, Value
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.interface import Interface, interface_of
from vkgroup.spirv.types import ScalarType


@dataclass(frozen=True, slots=True)
class LocalSize:
    """The number of invocations of a workgroup in three dimensions.

    Attributes
    ----------
    source : its declaration: ``"LocalSize"`` (literals), ``"LocalSizeId"`` (constants), or
        ``"WorkgroupSize"`` (the built-in constant, which overrides the others).
    constants : the three numbers.
    """

    source: str
    constants: tuple[Constant, Constant, Constant]

    @property
    def is_specializable(self) -> bool:
        """Whether specialization constants change it."""
        return any(constant.is_specializable for constant in self.constants)

    def resolve(self, specialization: Mapping[int, Value] | None = None) -> tuple[int, int, int]:
        """Return the size under values by specialization id; the others keep their defaults."""
        x, y, z = (int(constant.evaluate(specialization)) for constant in self.constants)
        return x, y, z


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A function that a pipeline can start.

    Attributes
    ----------
    name, stage : for example ``"main"`` and ``"compute"``.
    interface : ids of the variables that it names.
    local_size : None for stages without workgroups.
    execution_modes : literals (or ids) of each mode by SPIR-V's name, for example
        ``{"LocalSize": (64, 1, 1), "MaximallyReconvergesKHR": ()}``.
    variables : its inputs and outputs.
    """

    name: str
    stage: str
    interface: tuple[int, ...]
    local_size: LocalSize | None
    execution_modes: Mapping[str, tuple[int, ...]]
    variables: Interface


def read_entry_point(declared: Declarations, entry: EntryPointDeclaration) -> EntryPoint:
    """Return an entry point of a module."""
    stage = EXECUTION_MODELS.get(entry.execution_model)
    return EntryPoint(
        name=entry.name,
        stage=stage.name if stage else entry.execution_model,
        interface=entry.interface,
        local_size=_local_size(declared, entry),
        execution_modes=dict(entry.modes),
        variables=interface_of(declared, entry),
    )


def _local_size(declared: Declarations, entry: EntryPointDeclaration) -> LocalSize | None:
    """Return the workgroup's size; the WorkgroupSize built-in overrides the execution modes."""
    if not {"LocalSize", "LocalSizeId"} & entry.modes.keys() and entry.execution_model != "GLCompute":
        return None
    built_in = {name: number for number, name in grammar().enumeration("BuiltIn").items()}["WorkgroupSize"]
    for identifier, decorations in declared.decorations.items():
        if decorations.get("BuiltIn") == (built_in,) and identifier in declared.constants:
            return LocalSize("WorkgroupSize", _three(declared.constants[identifier].operands))
    if "LocalSizeId" in entry.modes:
        ids = entry.modes["LocalSizeId"]
        return LocalSize("LocalSizeId", _three(tuple(declared.constant(number) for number in ids)))
    unsigned = ScalarType("uint", 32)
    if "LocalSize" not in entry.modes:
        return None
    return LocalSize(
        "LocalSize", _three(tuple(Constant(unsigned, number) for number in entry.modes["LocalSize"]))
    )


def _three(constants: tuple[Constant, ...]) -> tuple[Constant, Constant, Constant]:
    if len(constants) != 3 or any(
        constant.type is None or constant.type.kind not in ("int", "uint") for constant in constants
    ):
        raise InvalidModule("the size of the workgroup is not three integers")
    return constants[0], constants[1], constants[2]

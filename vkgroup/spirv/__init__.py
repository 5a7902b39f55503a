"""SPIR-V as data: grammar, modules and reflection."""

from __future__ import annotations

from vkgroup.spirv.binary import Instruction
from vkgroup.spirv.constants import Constant, SpecializationConstant, Value
from vkgroup.spirv.editor import rename_entry_point, set_source, set_version
from vkgroup.spirv.grammar import Grammar, grammar
from vkgroup.spirv.instruction_uses import Call, RayInterface, SubgroupUse, Trace
from vkgroup.spirv.interface import EntryPoint, Interface, LocalSize, StageVariable, writes_built_in
from vkgroup.spirv.legacy import check_legacy, lower_legacy
from vkgroup.spirv.reflection import Module, Reflection
from vkgroup.spirv.resources import Binding, PushConstants
from vkgroup.spirv.types import (
    ArrayType,
    CooperativeMatrixType,
    ImageType,
    MatrixType,
    Member,
    OpaqueType,
    PointerType,
    SampledImageType,
    ScalarType,
    StructType,
    Type,
    VectorType,
)

__all__ = [
    "ArrayType",
    "Binding",
    "Call",
    "Constant",
    "CooperativeMatrixType",
    "EntryPoint",
    "Grammar",
    "ImageType",
    "Instruction",
    "Interface",
    "LocalSize",
    "MatrixType",
    "Member",
    "Module",
    "OpaqueType",
    "PointerType",
    "PushConstants",
    "RayInterface",
    "Reflection",
    "SampledImageType",
    "ScalarType",
    "SpecializationConstant",
    "StageVariable",
    "StructType",
    "SubgroupUse",
    "Trace",
    "Type",
    "Value",
    "VectorType",
    "check_legacy",
    "grammar",
    "lower_legacy",
    "rename_entry_point",
    "set_source",
    "set_version",
    "writes_built_in",
]

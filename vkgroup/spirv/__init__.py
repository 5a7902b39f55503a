"""SPIR-V as data: grammar, modules and reflection."""

from __future__ import annotations

from vkgroup.spirv.binary import Instruction
from vkgroup.spirv.bindings import Binding, PushConstants
from vkgroup.spirv.built_in_writes import writes_built_in
from vkgroup.spirv.constants import Constant, SpecializationConstant, Value
from vkgroup.spirv.edit import rename_entry_point, set_source, set_version
from vkgroup.spirv.entry_points import EntryPoint, LocalSize
from vkgroup.spirv.grammar import Grammar, grammar
from vkgroup.spirv.interface import Interface, StageVariable
from vkgroup.spirv.legacy_rules import check_legacy
from vkgroup.spirv.lower_legacy import lower_legacy
from vkgroup.spirv.module import Module
from vkgroup.spirv.rays import Call, RayInterface, Trace
from vkgroup.spirv.reflection import Reflection
from vkgroup.spirv.subgroup_uses import SubgroupUse
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

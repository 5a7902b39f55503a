"""SPIR-V as data: grammar, modules and reflection."""

from __future__ import annotations

from vkgroup.spirv.binary import Instruction
from vkgroup.spirv.calls import Call, call_of
from vkgroup.spirv.constants import Value
from vkgroup.spirv.editor import rename_entry_point
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.instruction_uses import SubgroupUse
from vkgroup.spirv.interface import EntryPoint, StageVariable, writes_built_in
from vkgroup.spirv.legacy import lower_legacy
from vkgroup.spirv.local_size import set_local_size
from vkgroup.spirv.reflection import Binding, Module, PushConstants, Reflection
from vkgroup.spirv.types import (
    ArrayType,
    CooperativeMatrixType,
    ImageType,
    MatrixType,
    OpaqueType,
    PointerType,
    SampledImageType,
    ScalarType,
    StructMember,
    StructType,
    Type,
    VectorType,
)

__all__ = [
    "ArrayType",
    "Binding",
    "Call",
    "CooperativeMatrixType",
    "EntryPoint",
    "ImageType",
    "Instruction",
    "MatrixType",
    "Module",
    "OpaqueType",
    "PointerType",
    "PushConstants",
    "Reflection",
    "SampledImageType",
    "ScalarType",
    "StageVariable",
    "StructMember",
    "StructType",
    "SubgroupUse",
    "Type",
    "Value",
    "VectorType",
    "call_of",
    "grammar",
    "lower_legacy",
    "rename_entry_point",
    "set_local_size",
    "writes_built_in",
]

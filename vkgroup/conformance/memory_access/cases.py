"""Tests of pointers and memory of newer extensions: their shaders and what they expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vkgroup.conformance.arrays import Flags, Words
from vkgroup.conformance.lane_record import GROUPS, LOCAL, TOTAL, Expect, LaneRecord, all_defined, mirrored


@dataclass(frozen=True)
class AccessTest:
    """One shader of a subject."""

    body: str  # GLSL that sets `result`, or assembly that defines `%result`
    expect: Expect
    declarations: str = ""  # GLSL or assembly
    decorations: str = ""  # assembly
    features: tuple[str, ...] = ()  # besides those of the subject


@dataclass(frozen=True)
class AccessSubject:
    """What an extension adds."""

    sentence: str
    features: tuple[str, ...]  # that it needs
    tests: Mapping[str, AccessTest]
    capabilities: tuple[str, ...] = ()  # lines of assembly, its extensions included; none for GLSL
    modes: str = ""  # execution modes of assembly
    extensions: tuple[str, ...] = ()  # of GLSL


def _odd(recorded: LaneRecord) -> Flags:
    return np.asarray(recorded.x & np.uint32(1) == 1)


def _neighbour(recorded: LaneRecord) -> Words:
    return recorded.x[:, np.arange(LOCAL) ^ 1]


def _chosen(recorded: LaneRecord) -> tuple[Words, Flags]:
    """Return the own input of an invocation whose input is odd, else that of its neighbour."""
    return all_defined(np.where(_odd(recorded), recorded.x, _neighbour(recorded)))


def _inverted(recorded: LaneRecord) -> tuple[Words, Flags]:
    return all_defined(np.where(_odd(recorded), recorded.x, ~recorded.x))


_SIDES = """
    %own = OpAccessChain %element %inputs %n0 %index
    %beside = OpBitwiseXor %uint %index %n1
    %other = OpAccessChain %element %inputs %n0 %beside
"""

_POINTERS = {
    "select": AccessTest(
        f"""{_SIDES}
    %p = OpSelect %element %odd %own %other
    %result = OpLoad %uint %p
""",
        _chosen,
    ),
    "phi": AccessTest(
        f"""{_SIDES}
    OpSelectionMerge %after None
    OpBranchConditional %odd %then %after
    %then = OpLabel
    OpBranch %after
    %after = OpLabel
    %p = OpPhi %element %own %then %other %entry
    %result = OpLoad %uint %p
""",
        _chosen,
    ),
    "variable": AccessTest(
        f"""{_SIDES}
    OpStore %holder %other
    OpSelectionMerge %after None
    OpBranchConditional %odd %then %after
    %then = OpLabel
    OpStore %holder %own
    OpBranch %after
    %after = OpLabel
    %p = OpLoad %element %holder
    %result = OpLoad %uint %p
""",
        _chosen,
    ),
    "element": AccessTest(
        """
    %first = OpISub %uint %index %local
    %start = OpAccessChain %element %inputs %n0 %first
    %back = OpISub %uint %n127 %local
    %p = OpPtrAccessChain %element %start %back
    %result = OpLoad %uint %p
""",
        mirrored,
    ),
    "buffers": AccessTest(
        """
    %own = OpAccessChain %element %inputs %n0 %index
    %cell = OpAccessChain %element %cells %n0 %index
    %inverted = OpNot %uint %x
    OpStore %cell %inverted
    %p = OpSelect %element %odd %own %cell
    %result = OpLoad %uint %p
""",
        _inverted,
        decorations="OpDecorate %p NonUniform",
    ),
    "shared": AccessTest(
        """
    %mine = OpAccessChain %shared_element %s %local
    OpStore %mine %x
    OpControlBarrier %n2 %n2 %n264
    %beside = OpBitwiseXor %uint %local %n1
    %its = OpAccessChain %shared_element %s %beside
    %p = OpSelect %shared_element %odd %mine %its
    %result = OpLoad %uint %p
""",
        _chosen,
    ),
}

_VIEWS = {
    "pair": AccessTest(
        """
    %half = OpShiftRightLogical %uint %index %n1
    %p = OpUntypedAccessChainKHR %untyped %pairs %inputs %half
    %both = OpLoad %uvec2 %p
    %first = OpCompositeExtract %uint %both 0
    %second = OpCompositeExtract %uint %both 1
    %result = OpSelect %uint %odd %first %second
""",
        lambda recorded: all_defined(
            np.where(
                _odd(recorded),
                recorded.x[:, np.arange(LOCAL) & ~1],
                recorded.x[:, np.arange(LOCAL) | 1],
            )
        ),
        declarations="%pairs = OpTypeRuntimeArray %uvec2",
        decorations="OpDecorate %pairs ArrayStride 8",
    ),
    "shared": AccessTest(
        """
    %mine = OpUntypedAccessChainKHR %untyped_shared %few %s %local
    OpStore %mine %x
    OpControlBarrier %n2 %n2 %n264
    %back = OpISub %uint %n127 %local
    %half = OpShiftRightLogical %uint %back %n1
    %p = OpUntypedAccessChainKHR %untyped_shared %few_pairs %s %half
    %both = OpLoad %uvec2 %p
    %component = OpBitwiseAnd %uint %back %n1
    %result = OpVectorExtractDynamic %uint %both %component
""",
        mirrored,
        declarations="%few_pairs = OpTypeArray %uvec2 %n64",
        decorations="OpDecorate %few_pairs ArrayStride 8",
        features=("workgroupMemoryExplicitLayout",),
    ),
    "atomic": AccessTest(
        """
    %cell = OpUntypedAccessChainKHR %untyped %words %cells %index
    OpStore %cell %x
    %before = OpAtomicIAdd %uint %cell %n1 %n0 %index
    %result = OpLoad %uint %cell
""",
        lambda recorded: all_defined(recorded.x + np.arange(TOTAL, dtype=np.uint32).reshape(GROUPS, LOCAL)),
    ),
}

_ALIASED = "shared Words { uint words[128]; }; shared Others { %s; };"

_LAYOUTS = {
    "pairs": AccessTest(
        "words[local] = x; barrier(); uint back = 127u - local; result = pairs[back / 2u][back % 2u];",
        mirrored,
        _ALIASED % "uvec2 pairs[64]",
    ),
    "halves": AccessTest(
        "words[local] = x; barrier(); uint back = 127u - local;"
        " result = uint(halves[2u * back]) | uint(halves[2u * back + 1u]) << 16u;",
        mirrored,
        _ALIASED % "uint16_t halves[256]",
        features=("workgroupMemoryExplicitLayout16BitAccess", "shaderInt16"),
    ),
    "vectors": AccessTest(
        "words[local] = x; barrier(); uint back = 127u - local; result = vectors[back / 4u][back % 4u];",
        mirrored,
        _ALIASED % "uvec4 vectors[32]",
    ),
}

_REPLICATED = {
    "vector": AccessTest(
        "uvec4 v = replicate(x); result = v.x + 2u * v.y + 3u * v.z + 4u * v.w;",
        lambda recorded: all_defined(recorded.x * np.uint32(10)),
        'spirv_instruction(extensions = ["SPV_EXT_replicated_composites"], capabilities = [6024], id = 4463)'
        " uvec4 replicate(uint x);",
    )
}


def _fused(recorded: LaneRecord) -> tuple[Words, Flags]:
    """Return a * b - 1 with one rounding, for numbers a and b of [1, 2) made of the bits of the inputs.

    The product of two numbers of 24 bits, and its difference to 1, are exact in a double.
    """
    low, high = (
        (part | np.uint32(0x3F800000)).view(np.float32).astype(np.float64)
        for part in (recorded.x & np.uint32(0x7FFFFF), recorded.x >> np.uint32(9))
    )
    return all_defined((low * high - 1).astype(np.float32).view(np.uint32))


_FMA = {
    "float32": AccessTest(
        "float a = uintBitsToFloat(0x3F800000u | (x & 0x7FFFFFu));"
        " float b = uintBitsToFloat(0x3F800000u | (x >> 9u));"
        " result = floatBitsToUint(fused(a, b, -1.0));",
        _fused,
        'spirv_instruction(extensions = ["SPV_KHR_fma"], capabilities = [6030], id = 4427)'
        " float fused(float a, float b, float c);",
    )
}

_LENGTHS = {
    "length": AccessTest(
        """
    %length = OpArrayLength %ulong %inputs 0
    %short = OpUConvert %uint %length
    %result = OpIAdd %uint %short %x
""",
        lambda recorded: all_defined(recorded.x + np.uint32(TOTAL)),
        declarations="%ulong = OpTypeInt 64 0",
        features=("shaderInt64",),
    )
}

SUBJECTS = {
    "variable_pointers": AccessSubject(
        "Each invocation accesses memory through a pointer that it chose",
        ("variablePointers", "shaderStorageBufferArrayNonUniformIndexing"),
        _POINTERS,
        (
            "OpCapability VariablePointers",
            "OpCapability StorageBufferArrayNonUniformIndexing",
            'OpExtension "SPV_KHR_variable_pointers"',
            'OpExtension "SPV_EXT_descriptor_indexing"',
        ),
    ),
    "untyped_pointers": AccessSubject(
        "Memory is accessed as another type than it was declared with",
        ("shaderUntypedPointers",),
        _VIEWS,
        ("OpCapability UntypedPointersKHR", 'OpExtension "SPV_KHR_untyped_pointers"'),
    ),
    "explicit_layout": AccessSubject(
        "Blocks in shared memory that begin at the same byte",
        ("workgroupMemoryExplicitLayout",),
        _LAYOUTS,
        extensions=(
            "GL_EXT_shared_memory_block",
            "GL_EXT_shader_explicit_arithmetic_types_int16",
            "GL_EXT_shader_16bit_storage",
        ),
    ),
    "replicated_composites": AccessSubject(
        "A composite of equal parts",
        ("shaderReplicatedComposites",),
        _REPLICATED,
        extensions=("GL_EXT_spirv_intrinsics",),
    ),
    "fma": AccessSubject(
        "A product and a sum with one rounding",
        ("shaderFmaFloat32",),
        _FMA,
        extensions=("GL_EXT_spirv_intrinsics",),
    ),
    "indexing64": AccessSubject(
        "The length of an array has 64 bits",
        ("shader64BitIndexing",),
        _LENGTHS,
        ("OpCapability Int64", "OpCapability !5426", 'OpExtension "SPV_EXT_shader_64bit_indexing"'),
        "OpExecutionMode %main !5427",
    ),
}
"""All subjects by name."""

"""The family of HLSL's intrinsics: programs of subgroup operations, translated from GLSL to HLSL.

The two languages differ only in names and a few lines. The lane index and the subgroup number also come
from HLSL's intrinsics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache, partial

from vkgroup.conformance import support
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.conformance.hlsl_intrinsics import GLSL_OF, INTRINSICS, LATER_INTRINSICS, HlslIntrinsic
from vkgroup.conformance.languages import compilers_of
from vkgroup.conformance.patterns import Pattern, patterns_of
from vkgroup.conformance.slang_functions import HELPERS, SLANG_FUNCTIONS
from vkgroup.conformance.stages.base import BatchStage, WorkgroupStage
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.conformance.subgroup.family import missing, program_of, verdicts_on
from vkgroup.conformance.subgroup.operands import choices
from vkgroup.conformance.subgroup.shader import BatchProgram, Spelling
from vkgroup.conformance.wave_intrinsics import ALL_INTRINSICS, intrinsic_of, row_numbers
from vkgroup.device import Capabilities
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS

_TYPES = "\n".join(
    f"#define {prefix}vec{count} {scalar}{count}"
    for prefix, scalar in (("i", "int"), ("u", "uint"), ("", "float"), ("d", "double"), ("b", "bool"))
    for count in (2, 3, 4)
)

_NAMES = """#define uintBitsToFloat asfloat
#define floatBitsToUint asuint
#define packDouble2x32(words) asdouble((words).x, (words).y)
#define gl_SubgroupSize WaveGetLaneCount()
#define gl_SubgroupInvocationID WaveGetLaneIndex()
#define subgroupBallot WaveActiveBallot
#define subgroupBroadcastFirst WaveReadLaneFirst
#define subgroupPartitionNV WaveMatch
#define gl_HelperInvocation false
"""

_FUNCTIONS = """RWStructuredBuffer<uint> inputs : register(u0);
RWStructuredBuffer<uint> outputs : register(u1);
static uint3 gl_WorkGroupID;
static uint gl_LocalInvocationIndex;
static float4 gl_FragCoord;

// The words of zero or of a number in float's range, from sign, exponent and mantissa: glslang has no asuint
// of doubles. Rounding to float may have carried the exponent.
uint2 unpackDouble2x32(double value) {
    double size = value < 0.0 ? -value : value;
    uint exponent = (asuint(float(size)) >> 23) + 896u;
    double mantissa = size * asdouble(0u, (2046u - exponent) << 20);
    bool is_small = mantissa < 1.0;
    mantissa = is_small ? 2.0 * mantissa : mantissa;
    exponent -= is_small ? 1u : 0u;
    double upper = (mantissa - 1.0) * 1048576.0;
    uint high = uint(upper);
    uint low = uint((upper - double(high)) * 4294967296.0);
    uint2 words = uint2(low, (value < 0.0 ? 0x80000000u : 0u) | (exponent << 20) | high);
    return value == 0.0 ? uint2(0u, 0u) : words;
}
uint bitfieldExtract(uint word, uint first, uint bits) {
    return (word >> first) & ((1u << bits) - 1u);
}

// The sum of a word over lanes, from how many of them have each bit set.
uint counted(uint word) {
    uint sum = 0u;
    [loop] for (uint bit = 0u; bit < 32u; ++bit)
        sum += WaveActiveCountBits(((word >> bit) & 1u) != 0u) << bit;
    return sum;
}
uint counted_below(uint word) {
    uint sum = 0u;
    [loop] for (uint bit = 0u; bit < 32u; ++bit)
        sum += WavePrefixCountBits(((word >> bit) & 1u) != 0u) << bit;
    return sum;
}
"""

_COMPUTE_ENTRY = """
[numthreads({0}, {1}, {2})]
void main(uint3 group : SV_GroupID, uint local : SV_GroupIndex) {{
    gl_WorkGroupID = group;
    gl_LocalInvocationIndex = local;
    judged();
}}
"""

_PIXEL_ENTRY = """
void main(float4 position : SV_Position) {
    gl_FragCoord = position;
    judged();
}
"""

#: HLSL has no wave number, so the index of the first lane identifies a wave.
_SUBGROUP = (
    "uint subgroup = gl_SubgroupID;\n    uint turn = subgroup;",
    "uint subgroup = WaveReadLaneFirst(gl_LocalInvocationIndex);\n    uint turn = subgroup / size;",
)

#: HLSL cannot make a vector of one scalar in this form, nor select by a vector.
_PARTITIONS = (
    ("uvec4(0u)", "uvec4(0u, 0u, 0u, 0u)"),
    ("found = mix(found, same, bvec4(choice == one));", "if (choice == one) found = same;"),
)

_DROPPED = re.compile(r"^(#version|#extension|spirv_instruction|layout\().*\n", re.MULTILINE)
_CONSTANT = re.compile(r"^const uint\b", re.MULTILINE)


def hlsl_of(source: str, stage: BatchStage) -> str:
    """Return the HLSL of a program whose calls are already in HLSL (see `Spelling`)."""
    body = _CONSTANT.sub("static const uint", _DROPPED.sub("", source))
    body = body.replace("void main() {", "void judged() {")
    for glsl, hlsl in (_SUBGROUP, *_PARTITIONS):
        body = body.replace(glsl, hlsl)
    entry = _COMPUTE_ENTRY.format(*stage.local_size) if isinstance(stage, WorkgroupStage) else _PIXEL_ENTRY
    return "\n".join((_TYPES, _NAMES, _FUNCTIONS, body, entry))


def slang_of(source: str, stage: BatchStage) -> str:
    """Return such a program in Slang's language."""
    body = hlsl_of(source, stage).replace(_NAMES, _NAMES + HELPERS)
    return body.replace("[numthreads(", '[shader("compute")]\n[numthreads(')


STAGES = ("compute", "fragment")

#: HLSL has no `demote` nor `terminateInvocation`, and no case of a switch that falls through into the next.
_NOT_HLSL = ("switch", "demote", "terminate")

_ROUNDING = ("float", "double")


def core_case(case: Case) -> Case:
    """Return the case of KHR_shader_subgroup that has the same result."""
    row = intrinsic_of(case.operation, case.type, case.operand)
    built_in = BUILTIN_VARIABLES.get(row.core) or SUBGROUP_OPERATIONS[row.core]
    operand = case.operand if case.operand in choices(row.core) else ""
    type_ = GLSL_OF[row.compared or case.type]
    return Case(built_in.category.value, case.stage, row.core, type_, case.pattern, case.data, operand)


def _missing(case: Case, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks.

    These are the requirements of the core's case, votes to exclude helper lanes, and ballots to record the
    active lanes.
    """
    wanted = ["ballot", *(["vote"] if case.stage == "fragment" else [])]
    needs = missing(core_case(case), capabilities)
    needs = [need for need in needs if need != "subgroupBroadcastDynamicId"]
    needs += support.lacking_operations(wanted, capabilities)
    if compilers := compilers_of(case.category):
        needs += support.lacking_compiler(compilers)
    if case.category == "slang" and "Mask" in case.operation and capabilities.subgroup.size > 32:
        needs.append("a subgroup size of at most 32, which Slang's masks hold")
    return list(dict.fromkeys(needs))


def _batch_key(case: Case) -> Hashable:
    """Return the batch key; a core case occurs once in a program, so that its calls can be identified."""
    return case.stage, case.pattern, bucket(row_numbers()[case.operation, case.type, case.operand])


def _program(executor: Executor, cases: list[Case], stage: BatchStage | None = None) -> BatchProgram:
    """Return the program of a batch in HLSL."""
    rows = {
        core_case(case): (intrinsic_of(case.operation, case.type, case.operand).call, case.type)
        for case in cases
    }

    def call(core: Case, arguments: Sequence[str]) -> str:
        text, type_ = rows[core]
        return text.format(*arguments, type=type_)

    category = cases[0].category
    options = {"dialect": "slang" if category == "slang" else "hlsl"}
    if compiler := support.installed_compiler(compilers_of(category)):
        options["compiler"] = compiler
    spelling = Spelling(
        call, translate=slang_of if category == "slang" else hlsl_of, options=options, numbers=False
    )
    return program_of(executor, list(map(core_case, cases)), stage, spelling)


def _patterns(stage: str, row: HlslIntrinsic) -> Iterator[Pattern]:
    """Yield the patterns in which an intrinsic's results are defined.

    Helper lanes do not take part in wave operations, which therefore cannot give their values: quad
    operations use patterns in which every lane of a quad is drawn.
    """
    quads = row.name.startswith("Quad")
    for pattern in patterns_of(stage).values():
        helpers = stage == "fragment" and (pattern.partial or pattern.demotes)
        if pattern.name not in _NOT_HLSL and not (quads and helpers):
            yield pattern


def _cases() -> Iterator[Case]:
    """Yield every case, stage by stage."""
    for stage in STAGES:
        for row in INTRINSICS:
            yield from _cases_of("hlsl", stage, row)


def _later_cases() -> Iterator[Case]:
    """Yield the cases of later shader models, of compute shaders."""
    for row in LATER_INTRINSICS:
        yield from _cases_of("hlsl_later", "compute", row)


def _slang_cases() -> Iterator[Case]:
    """Yield the cases of Slang's own functions, of compute shaders."""
    for row in SLANG_FUNCTIONS:
        yield from _cases_of("slang", "compute", row)


def _cases_of(category: str, stage: str, row: HlslIntrinsic) -> Iterator[Case]:
    for type_ in row.types:
        for data in row.data:
            if data == "rounding" and type_.rstrip("234") not in _ROUNDING:
                continue
            for pattern in _patterns(stage, row):
                for operand in row.operands:
                    yield Case(category, stage, row.name, type_, pattern.name, data, operand)


@cache
def bucket(number: int) -> int:
    """Return the number of earlier rows with the same core case and type; they need another program."""
    row = ALL_INTRINSICS[number]
    return sum(
        1
        for other in ALL_INTRINSICS[:number]
        if other.core == row.core and not _seen(other).isdisjoint(_seen(row))
    )


def _seen(row: HlslIntrinsic) -> set[str]:
    """Return the types of a row's built-in."""
    return {row.compared or type_ for type_ in row.types}


def _family(name: str, cases: Callable[[], Iterator[Case]]) -> Family[Case]:
    judge = partial(verdicts_on, program=_program)
    return Family(name, cases, _missing, judge, _batch_key, batch=24, llvm_batch=8, program=_program)


HLSL = _family("hlsl", _cases)
"""The wave and quad intrinsics of Shader Model 6.0."""

HLSL_LATER = _family("hlsl_later", _later_cases)
"""Those of Shader Model 6.5 and 6.7, which glslang lacks."""

SLANG = _family("slang", _slang_cases)
"""The wave functions that only Slang has, in its language."""

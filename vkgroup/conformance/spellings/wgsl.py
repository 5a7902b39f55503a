"""The family of WGSL's subgroup functions: programs of subgroup operations, translated from GLSL to WGSL.

The definitions are those of the WGSL specification, "Subgroup Built-in Functions" and "Quad Operations". The
cases are run if they are asked for: they need tint.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from itertools import product

from vkgroup.conformance import support
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.conformance.languages import compilers_of
from vkgroup.conformance.patterns import Pattern, patterns_of
from vkgroup.conformance.stages.base import BatchStage, WorkgroupStage
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.conformance.subgroup.family import missing, program_of, verdicts_on
from vkgroup.conformance.subgroup.shader import BatchProgram, Spelling
from vkgroup.conformance.wgsl_functions import FUNCTIONS, FUNCTIONS_BY_NAME, GLSL_OF
from vkgroup.device import Capabilities
from vkgroup.spec.operations import BUILTIN_VARIABLES, OPERATIONS
from vkgroup.spec.types import type_named

_WGSL_OF = {glsl: wgsl for wgsl, glsl in GLSL_OF.items()}

_HEADER = """{enabled}diagnostic(off, subgroup_uniformity);
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read_write> outputs: array<u32>;
var<private> gl_SubgroupSize: u32;
var<private> gl_SubgroupInvocationID: u32;
var<private> gl_SubgroupID: u32;
var<private> gl_WorkGroupID: vec3u;
var<private> gl_LocalInvocationIndex: u32;
var<private> gl_FragCoord: vec4f;
const gl_HelperInvocation = false;  // WGSL has no such value; the patterns of fragments have no helpers
"""

_COMPUTE_ENTRY = """
@compute @workgroup_size({0}, {1}, {2})
fn main(@builtin(subgroup_size) subgroup_size: u32, @builtin(subgroup_invocation_id) lane: u32,
        @builtin(subgroup_id) subgroup: u32, @builtin(workgroup_id) workgroup: vec3u,
        @builtin(local_invocation_index) local: u32) {{
    gl_SubgroupSize = subgroup_size;
    gl_SubgroupInvocationID = lane;
    gl_SubgroupID = subgroup;
    gl_WorkGroupID = workgroup;
    gl_LocalInvocationIndex = local;
    judged();
}}
"""

_FRAGMENT_ENTRY = """
@fragment
fn main(@builtin(subgroup_size) subgroup_size: u32, @builtin(subgroup_invocation_id) lane: u32,
        @builtin(position) position: vec4f) {
    gl_SubgroupSize = subgroup_size;
    gl_SubgroupInvocationID = lane;
    gl_FragCoord = position;
    judged();
}
"""

_TYPE = "|".join(sorted(_WGSL_OF, key=len, reverse=True))
_RULES = tuple(
    (re.compile(pattern, re.MULTILINE), text)
    for pattern, text in (
        (r"^(#|layout\().*\n", ""),
        (r"^const uint (\w+) =", r"const \1: u32 ="),
        (rf"^({_TYPE}) (get_\w+)\(uint at\) \{{", r"fn \2(at: u32) -> \1 {"),
        (rf"^void put\(uint at, ({_TYPE}) v\) \{{", r"fn put_\1(at: u32, v: \1) {"),
        (r"^void main\(\) \{", "fn judged() {"),
        (r"bitfieldExtract\((\w+), (\d+), (\d+)\)", r"extractBits(\1, \2u, \3u)"),
        (r"uintBitsToFloat\(", "bitcast<f32>("),
        (r"floatBitsToUint\(", "bitcast<u32>("),
        (r"unpackFloat2x16\(", "bitcast<vec2h>("),
        (r"packFloat2x16\((f16vec2\([^)]*\(0\.0\)\))\) << (\d+)", r"(bitcast<u32>(\1) << \2u)"),
        (r"packFloat2x16\(", "bitcast<u32>("),
        (r"\((v(?:\.[xyzw])?) \? 1u : 0u\) << (\d+)", r"(select(0u, 1u, \1) << \2u)"),
        (r"\((v(?:\.[xyzw])?) \? 1u : 0u\)", r"select(0u, 1u, \1)"),
        (
            r"uint row = \((.*)\) \? place : place \+ PLACES;",
            r"uint row = select(place + PLACES, place, \1);",
        ),
        (r"\bput\((.*), @(\w+)@", r"put_\2(\1, "),
        (r"for \(uint (\w+) = ([^;]*); ([^;]*); \+\+\w+\) (\w[^;]*;)", r"for (var \1 = \2; \3; \1++) { \4 }"),
        (r"for \(uint (\w+) = ([^;]*); ([^;]*); \+\+\w+\)", r"for (var \1 = \2; \3; \1++)"),
        (r"if \((.*)\) return;", r"if (\1) { return; }"),
        (rf"^( *)({_TYPE}) (\w+) = ", r"\1let \3: \2 = "),
        (rf"(?<=\{{ |; )({_TYPE}) (\w+) = ", r"let \2: \1 = "),
    )
)
"""Patterns of the generated GLSL, and their WGSL; types are translated afterwards."""

_HALF = re.compile(r"\b(f16|vec\dh)\b")
_TYPE_WORD = re.compile(rf"(?<![\w.])({_TYPE})\b")


def wgsl_of(source: str, stage: BatchStage) -> str:
    """Return the WGSL of a program whose calls are already in WGSL (see `Spelling`)."""
    for pattern, text in _RULES:
        source = pattern.sub(text, source)
    source = _TYPE_WORD.sub(lambda match: _WGSL_OF[match[1]], source)
    entry = _FRAGMENT_ENTRY
    if isinstance(stage, WorkgroupStage):
        entry = _COMPUTE_ENTRY.format(*stage.local_size)
    enabled = "enable subgroups;\n"
    if _HALF.search(source):
        enabled += "enable f16;\n"
    return _HEADER.format(enabled=enabled) + source + entry


def core_case(case: Case) -> Case:
    """Return the case of KHR_shader_subgroup that has the same result."""
    row = FUNCTIONS_BY_NAME[case.operation]
    built_in = BUILTIN_VARIABLES.get(row.core) or OPERATIONS[row.core]
    return Case(
        built_in.category.value,
        case.stage,
        row.core,
        GLSL_OF[case.type],
        case.pattern,
        case.data,
        case.operand,
    )


def _missing(case: Case, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device or this machine lacks."""
    needs = missing(core_case(case), capabilities) + support.lacking_operations(["ballot"], capabilities)
    return list(dict.fromkeys(needs + support.lacking_compiler(compilers_of("wgsl"))))


def _batch_key(case: Case) -> Hashable:
    return case.stage, case.pattern


def _program(executor: Executor, cases: list[Case], stage: BatchStage | None = None) -> BatchProgram:
    """Return the program of a batch in WGSL."""
    rows = {core_case(case): FUNCTIONS_BY_NAME[case.operation] for case in cases}

    def call(core: Case, arguments: Sequence[str]) -> str:
        if (variable := BUILTIN_VARIABLES.get(core.operation)) is not None:
            return f"@{variable.type.name}@{core.operation}"
        operation = OPERATIONS[core.operation]
        result = core.type if operation.result == "value" else str(operation.result)
        return f"@{result}@{rows[core].name}({', '.join(arguments)})"

    spelling = Spelling(call, translate=wgsl_of, options={"dialect": "wgsl", "compiler": "tint"})
    return program_of(executor, list(map(core_case, cases)), stage, spelling)


def _patterns(stage: str) -> Iterator[Pattern]:
    """Yield the patterns that WGSL can express.

    No case of its switch falls through into the next. A fragment does not know whether it is a helper, so
    only patterns without helpers are used.
    """
    for pattern in patterns_of(stage).values():
        helpers = stage == "fragment" and (pattern.partial or pattern.demotes or pattern.leave.statement)
        if pattern.name != "switch" and not helpers:
            yield pattern


def _cases() -> Iterator[Case]:
    """Yield every case, stage by stage."""
    for stage, row in product(("compute", "fragment"), FUNCTIONS):
        for type_ in row.types:
            is_float = type_named(GLSL_OF[type_]).scalar.kind == "float"
            rounding = ["rounding"] if row.rounds and is_float else []
            for data, pattern, operand in product(("exact", *rounding), _patterns(stage), row.operands):
                yield Case("wgsl", stage, row.name, type_, pattern.name, data, operand)


WGSL = Family(
    "wgsl",
    _cases,
    _missing,
    partial(verdicts_on, program=_program),
    _batch_key,
    batch=24,
    llvm_batch=8,
    program=_program,
)
"""The subgroup functions and built-in values of WGSL."""

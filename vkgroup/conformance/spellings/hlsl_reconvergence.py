"""The families of maximal reconvergence in HLSL, for DXC and Slang, and in Slang's own language.

Loops that wave operations leave, nested breaks and waterfall loops are where compilers of HLSL were wrong
(DirectXShaderCompiler 6222 and 6109, slang 6839, llvm-project 164496). The programs are waterfall loops and a
part of the suite's random programs, with the declaration of maximal reconvergence that each compiler has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.conformance.languages import compilers_of
from vkgroup.conformance.reconvergence.family import (
    BATCH,
    RECONVERGENCE,
    ReconvergenceCase,
    run,
    waterfall_cases,
)
from vkgroup.conformance.support import installed_compiler, lacking_compiler
from vkgroup.device import Capabilities
from vkgroup.programs.glsl import MODES
from vkgroup.programs.nodes import Promise, RandomProgram

_EVERY = 20
"""One of so many random programs of maximal reconvergence is a case."""

_HEADER = """#define uvec4 uint4
#define gl_SubgroupSize WaveGetLaneCount()
#define gl_SubgroupInvocationID WaveGetLaneIndex()
#define subgroupBallot WaveActiveBallot
#define subgroupElect WaveIsFirstLane
#define subgroupBroadcastFirst WaveReadLaneFirst
#define atomicAdd InterlockedAdd
#define atomicXor InterlockedXor
#define subgroupMemoryBarrier AllMemoryBarrier
#ifdef __SLANG__
#define gl_SubgroupID WaveGetWaveIndex()
#else
[[vk::ext_builtin_input(40)]] static const uint gl_SubgroupID;
#endif
[[vk::binding(0)]] StructuredBuffer<uint> constants;
[[vk::binding(1)]] RWStructuredBuffer<uint> heads;
[[vk::binding(2)]] RWStructuredBuffer<uint> entries;
[[vk::binding(3)]] globallycoherent RWStructuredBuffer<uint> scratch;
static uint3 gl_WorkGroupID;
static uint gl_LocalInvocationIndex;
"""

_ENTRY = """
#ifdef __SLANG__
[MaximallyReconverges]
#else
[[vk::ext_extension("{extension}")]]
#endif
[numthreads({0}, {1}, {2})]
void main(uint3 group : SV_GroupID, uint local : SV_GroupIndex) {{
#ifndef __SLANG__
    vk::ext_execution_mode({mode});
#endif
    gl_WorkGroupID = group;
    gl_LocalInvocationIndex = local;
    recorded();
}}
"""

_DROPPED = re.compile(r"^(#version|#extension|layout\(|spirv_execution_mode).*\n", re.MULTILINE)
_CONSTANT = re.compile(r"^const uint\b", re.MULTILINE)
_GLOBAL = re.compile(r"^(u(?:int|vec4) \w+(?: = 0u)?;)$", re.MULTILINE)
_EXCHANGE = re.compile(r"(\w+\[\w+\]) = atomicExchange\(([^,;]+), (\w+)\);")
_BALLOT = "subgroupBallot("
_COMPARED = {
    " == subgroupBallot(true)": "all({0} == subgroupBallot(true))",
    " != uvec4(0u)": "any({0} != 0u)",
}
"""What stands behind a ballot that is a condition, and the condition in HLSL, which compares by component."""


def hlsl_of_program(source: str, program: RandomProgram) -> str:
    """Return the HLSL of a program of maximal reconvergence in GLSL."""
    body = _CONSTANT.sub("static const uint", _DROPPED.sub("", source))
    body = _GLOBAL.sub(r"static \1", body).replace("void main() {", "void recorded() {")
    body = _EXCHANGE.sub(r"{ uint old; InterlockedExchange(\2, \3, old); \1 = old; }", body)
    extension, mode = MODES[Promise.MAXIMAL]
    entry = _ENTRY.format(*program.local_size, extension=extension, mode=mode)
    return _HEADER + _with_conditions(body) + entry


def _with_conditions(text: str) -> str:
    """Return the text with comparisons of ballots as single Booleans."""
    at = text.find(_BALLOT)
    while at >= 0:
        end, depth = at + len(_BALLOT), 1
        while depth:
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        for behind, form in _COMPARED.items():
            if text.startswith(behind, end):
                condition = form.format(text[at:end])
                text = text[:at] + condition + text[end + len(behind) :]
                at += condition.index(_BALLOT)
        at = text.find(_BALLOT, at + 1)
    return text


_COUNTER = re.compile(r"\buint (trip\d+ = )")
_PROCEDURE = re.compile(r"^void (?!main)(\w+)\((.*)\) \{", re.MULTILINE)
_PARAMETER = re.compile(r"(\w+) (\w+)")


def slang_of_program(source: str, program: RandomProgram) -> str:
    """Return the program in Slang's own words: ``func``, inferred types, a marked entry point."""

    def procedure(match: re.Match[str]) -> str:
        parameters = _PARAMETER.sub(r"\2: \1", match[2])
        return f"func {match[1]}({parameters}) -> void {{"

    text = _PROCEDURE.sub(procedure, _COUNTER.sub(r"var \1", hlsl_of_program(source, program)))
    return text.replace("[numthreads(", '[shader("compute")]\n[numthreads(')


WRITERS = {"hlsl": hlsl_of_program, "slang": slang_of_program}
"""What writes a program in a language."""


def _cases(category: str) -> Iterator[ReconvergenceCase]:
    """Yield the waterfall loops, and a part of the random programs of maximal reconvergence."""
    yield from waterfall_cases(category)
    beginning = "reconvergence.maximal.compute."
    found = (case for case in RECONVERGENCE.cases() if case.name.startswith(beginning))
    for number, case in enumerate(found):
        if number % _EVERY == 0:
            yield replace(case, name=f"{category}{case.name.removeprefix('reconvergence')}")


def _family(dialect: str) -> Family[ReconvergenceCase]:
    """Return the family of a language."""

    def verdicts(executor: Executor, cases: list[ReconvergenceCase]) -> list[Verdict]:
        options = {"dialect": dialect, "compiler": installed_compiler(compilers_of(name))}
        in_language = partial(run, translate=WRITERS[dialect], options=options)
        return [in_language(executor, case.program(executor.seed), case.name) for case in cases]

    name = f"{dialect}_reconvergence"
    return Family(
        name, partial(_cases, name), partial(_missing, name), verdicts, RECONVERGENCE.batch_key, BATCH
    )


def _missing(category: str, case: ReconvergenceCase, capabilities: Capabilities) -> list[str]:
    return RECONVERGENCE.missing(case, capabilities) + lacking_compiler(compilers_of(category))


HLSL_RECONVERGENCE = _family("hlsl")
"""Waterfall loops and random programs of maximal reconvergence in HLSL."""

SLANG_RECONVERGENCE = _family("slang")
"""The same in Slang's language."""

"""The family of HLSL's intrinsics: the programs of the core's cases, asked and compiled in HLSL."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from vkgroup.conformance import support
from vkgroup.conformance.cases import Case
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.hlsl.case import HlslCase, bucket, hlsl_cases
from vkgroup.conformance.hlsl.source import hlsl_of
from vkgroup.conformance.instances import read
from vkgroup.conformance.program import Spelling, build
from vkgroup.conformance.running import execute
from vkgroup.conformance.verdict import judge
from vkgroup.device import Capabilities

if TYPE_CHECKING:
    from vkgroup.conformance.execute import Executor

BATCH, LLVM_BATCH = 24, 8
"""Cases a shader, and on lavapipe, whose compiler's time grows faster than the shader."""


class HlslFamily:
    """The wave and quad intrinsics of Shader Model 6.0."""

    name = "hlsl"

    def cases(self) -> Iterable[HlslCase]:
        """Return every case, stage by stage."""
        return hlsl_cases()

    def missing(self, case: HlslCase, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare.

        That is what the twin needs, votes to keep helper lanes out, and ballots to observe who is active.
        """
        wanted = ["ballot", *(["vote"] if case.stage == "fragment" else [])]
        needs = support.missing(case.core, capabilities)
        needs = [need for need in needs if need != "subgroupBroadcastDynamicId"]
        needs += [
            f"VK_SUBGROUP_FEATURE_{name.upper()}_BIT"
            for name in wanted
            if name not in capabilities.subgroup.supported_operations
        ]
        return list(dict.fromkeys(needs))

    def batch_key(self, case: HlslCase) -> Hashable:
        """Return what makes the program; a twin stands in it once, so that calls can be told apart."""
        return case.stage, case.pattern, bucket(case.number)

    def batch_size(self, case: HlslCase, capabilities: Capabilities) -> int:
        """Return how many cases one shader has."""
        return LLVM_BATCH if capabilities.driver_name == "llvmpipe" else BATCH

    def judge(self, executor: Executor, cases: list[HlslCase]) -> list[Verdict]:
        """Judge a batch by the rules of the core's cases."""
        program = build(
            [case.core for case in cases],
            size=executor.capabilities.subgroup.size,
            seed=executor.seed,
            spelling=_spelling(cases),
        )
        source = hlsl_of(program.source, program.stage)
        module = executor.compile(source, stage=cases[0].stage, dialect="hlsl")
        outputs = execute(executor, program, module)
        instances = read(program, outputs, ballot=True)
        return [judge(entry, program, instances, outputs) for entry in program.entries]


def _spelling(cases: list[HlslCase]) -> Spelling:
    """Return HLSL's words for the questions of a batch."""
    rows = {case.core: (case.intrinsic.call, case.type) for case in cases}

    def call(core: Case, arguments: Sequence[str]) -> str:
        text, type_ = rows[core]
        return text.format(*arguments, type=type_)

    return Spelling(call)

"""The family of quads: votes in every stage, tests of full quads on scenes, derivative groups of compute.

A quad is the four lanes from a multiple of four on (Vulkan 1.4, "Quad"), so OpGroupNonUniformQuadAllKHR of a
predicate is the clustered And with four lanes each, and QuadAny the Or. Fragment shaders declare maximal
reconvergence: the recorded masks then have helper invocations, which take part.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from vkgroup.base.sampler import Sampler
from vkgroup.conformance import support
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, table
from vkgroup.conformance.fragment.drawn import FragmentProbe, stored, verdicts
from vkgroup.conformance.fragment.scenes import GONE, GRID, SCENES, TriangleScene
from vkgroup.conformance.intrinsics import EXTENSION
from vkgroup.conformance.patterns import LEAVES, patterns_of
from vkgroup.conformance.quad_control.scene_tests import TESTS
from vkgroup.conformance.quad_control.values import image_levels, maximal_reconvergence, quad_modes, votes
from vkgroup.conformance.stages.base import BatchStage
from vkgroup.conformance.subgroup.cases import STAGES, Case
from vkgroup.conformance.subgroup.family import SMALL_BATCH, missing, program_of, verdicts_on
from vkgroup.conformance.subgroup.shader import BatchProgram, Spelling
from vkgroup.conformance.support import lacking_features, lacking_operations, lacking_stages
from vkgroup.device import Capabilities
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import QUAD_SIZE, SUBGROUP_SIZES
from vkgroup.spec.stages import QUAD_STAGES

_CATEGORIES = (Category.BASIC, Category.BALLOT, Category.QUAD)

_TEMPLATE = """#version 460
// {count} tests in full quads of {scene}.
// binding 0: planes of {layers} x {grid} x {grid} words: how often each pixel was shaded, and how often up to
// where fragments leave; lane; four planes that stay as they are; then each test's results,
// combined with marks. binding 1: an image whose texels are the numbers of their levels.
{extensions}
{votes}
{modes}
layout(location = 0) flat in uint id;
layout(location = 0) out float color;
layout(std430, binding = 0) buffer Outputs {{ uint outputs[]; }};
layout(binding = 1) uniform sampler2D levels;
const uint PIXELS = {pixels}u;

void main() {{
    uint x = uint(gl_FragCoord.x);
    uint y = uint(gl_FragCoord.y);
    uint layer = {layer};
    uint lane = gl_SubgroupInvocationID;
    uint index = (layer * {grid}u + y) * {grid}u + x;
    atomicAdd(outputs[index + PIXELS], 1u);
    {leave}
    atomicAdd(outputs[index], 1u);
    bool helper = {helper};
    color = 1.0;
    outputs[index + 2u * PIXELS] = lane;
    {tests}
}}
"""


class SceneAxes(NamedTuple):
    """The axes: ``"scene"``, and keys of `TESTS` and of the fragment cases' scenes."""

    kind: str
    test: str
    scene: str


SceneCase = TableCase[SceneAxes]


_CASES = table(
    "quad_control",
    SceneAxes,
    lambda axes: f"In {SCENES[axes.scene].sentence}, {TESTS[axes.test].sentence}.",
    kind=("scene",),
    test=TESTS,
    scene=lambda kind, test: TESTS[test].scenes,
)


def _missing(case: SceneCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks."""
    features = ["shaderQuadControl", "shaderMaximalReconvergence", "fragmentStoresAndAtomics"]
    features += LEAVES[TESTS[case.axes.test].leaves].features
    needs = lacking_features(features, capabilities)
    needs += lacking_stages(("fragment",), capabilities)
    return needs + lacking_operations((category.value for category in _CATEGORIES), capabilities)


def _batch_key(case: SceneCase) -> Hashable:
    """Return the batch key: the scene, and how fragments leave."""
    return case.axes.scene, TESTS[case.axes.test].leaves


def source_of(scene: TriangleScene, tests: Sequence[FragmentProbe]) -> str:
    """Return the GLSL of a scene's tests."""
    leave = LEAVES[scene.leaves]
    names = [EXTENSION, *(category.extension for category in _CATEGORIES)]
    names += [leave.extension] if leave.extension else []
    blocks = [
        f"{{\n        float result = 0.0;\n        {test.code}\n"
        f"        {stored(scene, test, number, 'floatBitsToUint(result)')}\n    }}"
        for number, test in enumerate(tests)
    ]
    return _TEMPLATE.format(
        count=len(tests),
        scene=scene.sentence,
        layers=scene.layers,
        grid=GRID,
        pixels=scene.layers * GRID * GRID,
        extensions="\n".join(f"#extension {name} : require" for name in names),
        votes=votes(),
        modes=f"{maximal_reconvergence()}\n{quad_modes()}",
        layer=scene.layer,
        leave=f"if ({GONE}) {leave.statement};" if leave.statement else "",
        helper="helperInvocationEXT()" if scene.leaves == "demote" else "gl_HelperInvocation",
        tests="\n    ".join(blocks),
    )


def _verdicts(executor: Executor, cases: list[SceneCase]) -> list[Verdict]:
    """Draw the scene once, and return the verdict of every test."""
    tests = [TESTS[case.axes.test] for case in cases]
    scene = replace(SCENES[cases[0].axes.scene], leaves=tests[0].leaves)
    module = executor.compile(source_of(scene, tests), stage="fragment")
    first, *smaller = image_levels()
    with executor.device.image(first, levels=smaller, sampled=True) as image:
        return verdicts(executor, module, scene, tests, {1: (image, Sampler())})


FULL_QUADS = Family("quad_control.scene", _CASES, _missing, _verdicts, _batch_key, batch=len(TESTS))
"""Tests of full quads on the scenes of the fragment cases."""


_CORE = {"subgroupQuadAll": "subgroupClusteredAnd", "subgroupQuadAny": "subgroupClusteredOr"}
_SPELLED = {"subgroupClusteredAnd": "quadAll", "subgroupClusteredOr": "quadAny"}


def _vote_cases() -> Iterator[Case]:
    """Yield every vote in the core's stages and patterns; at required sizes if all lanes take part."""
    for stage in STAGES:
        sizes = [size for size in SUBGROUP_SIZES if size >= QUAD_SIZE and stage in QUAD_STAGES]
        for operation in _CORE:
            for pattern in patterns_of(stage):
                case = Case("quad_control", stage, operation, "", pattern, "")
                yield case
                if pattern == "all":
                    yield from (replace(case, subgroup_size=size) for size in sizes)


def _core_case(case: Case) -> Case:
    """Return the case of KHR_shader_subgroup that has the same result."""
    return replace(
        case,
        category="clustered",
        operation=_CORE[case.operation],
        type="bool",
        data="exact",
        operand=f"c{QUAD_SIZE}",
    )


def _votes_missing(case: Case, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks."""
    needs = [need for need in missing(_core_case(case), capabilities) if "CLUSTERED" not in need]
    wanted = ["shaderQuadControl", *(["shaderMaximalReconvergence"] if case.stage == "fragment" else [])]
    needs += lacking_features(wanted, capabilities)
    return needs + support.lacking_quads(case.stage, capabilities)


def _program(executor: Executor, cases: list[Case], stage: BatchStage | None = None) -> BatchProgram:
    """Return the program of a batch with the calls of SPV_KHR_quad_control, declared by instructions."""
    fragment = cases[0].stage == "fragment"
    declared = [votes(), *([maximal_reconvergence()] if fragment else [])]

    def call(core: Case, arguments: Sequence[str]) -> str:
        return f"{_SPELLED[core.operation]}({arguments[0]})"

    spelling = Spelling(call, (EXTENSION,), "\n".join(declared))
    return program_of(executor, list(map(_core_case, cases)), stage, spelling)


QUAD_VOTES = Family(
    "quad_control",
    _vote_cases,
    _votes_missing,
    partial(verdicts_on, program=_program),
    lambda case: (case.stage, case.pattern, case.subgroup_size),
    llvm_batch=SMALL_BATCH,
    program=_program,
)
"""Votes of quads, with the programs of subgroup operations."""

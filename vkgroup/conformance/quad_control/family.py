"""The family of quads: votes in every stage, full quads on scenes, derivative groups of compute shaders."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache
from typing import Any

from vkgroup.conformance.case import Case
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.quad_control.derivatives import (
    PROBES,
    DerivativeCase,
    derivative_cases,
    judge_derivatives,
    missing_derivative,
)
from vkgroup.conformance.quad_control.scene_tests import TESTS
from vkgroup.conformance.quad_control.scenes import SceneCase, judge_scenes, missing_scene, scene_cases
from vkgroup.conformance.quad_control.votes import QuadVotes
from vkgroup.device import Capabilities

QuadCase = Case | SceneCase | DerivativeCase

_VOTES = QuadVotes()


@cache
def quad_cases() -> tuple[QuadCase, ...]:
    """Return every case."""
    return (*_VOTES.cases(), *scene_cases(), *derivative_cases())


class QuadControlFamily:
    """VK_KHR_shader_quad_control and VK_KHR_compute_shader_derivatives."""

    name = "quad_control"

    def cases(self) -> Iterable[QuadCase]:
        """Return every case."""
        return quad_cases()

    def missing(self, case: QuadCase, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare."""
        if isinstance(case, Case):
            return _VOTES.missing(case, capabilities)
        if isinstance(case, SceneCase):
            return missing_scene(case, capabilities)
        return missing_derivative(case, capabilities)

    def batch_key(self, case: QuadCase) -> Hashable:
        """Return what makes the shader: control flow and pipeline, scene and who leaves, group and shape."""
        if isinstance(case, Case):
            return "vote", case.stage, case.pattern, case.subgroup_size
        if isinstance(case, SceneCase):
            return "scene", case.scene, TESTS[case.test].after
        return "derivative", case.group, case.shape

    def batch_size(self, case: QuadCase, capabilities: Capabilities) -> int:
        """Return as many as may share a shader."""
        return max(len(TESTS), len(PROBES))

    def judge(self, executor: Executor, cases: list[Any]) -> list[Verdict]:
        """Judge a batch, all of one kind."""
        if isinstance(cases[0], Case):
            return _VOTES.judge(executor, cases)
        if isinstance(cases[0], SceneCase):
            return judge_scenes(executor, cases)
        return judge_derivatives(executor, cases)

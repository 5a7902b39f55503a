"""Subgroup operations in the stages beside compute and fragment: numbering, verdicts, real drivers."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatch

import numpy as np
import pytest
from mutants.every_stage_setup import names_with_every_stage
from test_support import EVERYTHING

import vkgroup.conformance as conformance
from vkgroup.conformance import Status, cases_by_name, support
from vkgroup.conformance.arrays import POISON
from vkgroup.conformance.stages.interfaces import INTERFACES
from vkgroup.conformance.stages.pixels import FRAMEBUFFER, stage_of
from vkgroup.conformance.subgroup import family
from vkgroup.conformance.subgroup.cases import subgroup_cases
from vkgroup.device import Subgroup, query
from vkgroup.spec.stages import STAGE_BITS
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

ADD = "arithmetic.{}.subgroupAdd.uvec2.all.exact"


def record_of(stage, invocations):
    """Return the record of a stage that ran so many times, in subgroups of 8."""
    ticket = np.arange(stage.invocations, dtype=np.uint32)
    record = np.stack([ticket % 8, ticket // 8 * 8, np.full_like(ticket, 8), ticket // 8 * 8])
    record[:, invocations:] = POISON
    return record


class TestTickets:
    """Stages that may run again for the same vertex, patch or primitive."""

    @pytest.mark.parametrize("name", INTERFACES)
    @pytest.mark.parametrize("partial", [False, True])
    def test_they_run_thousands_of_times(self, name, partial) -> None:
        stage = stage_of(name, "1d", partial)
        assert 2000 <= stage.interface.least <= stage.own_numbers
        assert stage.interface.least % 8 != 0 or not partial

    @pytest.mark.parametrize("more", [0, 1, 100])
    def test_running_again_is_allowed(self, more) -> None:
        stage = stage_of("vertex", "1d", False)
        found = stage.recorded(record_of(stage, stage.interface.least + more))
        assert len(found.index) == stage.interface.least + more
        assert found.faults == ()

    def test_a_vertex_without_a_run_is_a_fault(self) -> None:
        stage = stage_of("vertex", "1d", False)
        (fault,) = stage.recorded(record_of(stage, stage.interface.least - 1)).faults
        assert fault == "the stage ran 2047 times where it must run for 2048 vertices"

    def test_more_runs_than_records_are_said(self) -> None:
        stage = stage_of("vertex", "1d", False)
        (fault,) = stage.recorded(record_of(stage, stage.invocations)).faults
        assert "no room" in fault


class TestSupport:
    """The error names the missing feature."""

    DEVICE = replace(
        EVERYTHING,
        subgroup=Subgroup(32, tuple(STAGE_BITS), EVERYTHING.subgroup.supported_operations, False),
        features=EVERYTHING.features
        | {
            "vertexPipelineStoresAndAtomics",
            "fragmentStoresAndAtomics",
            "tessellationShader",
            "geometryShader",
            "shaderTessellationAndGeometryPointSize",
            "meshShader",
            "taskShader",
            "rayTracingPipeline",
            "accelerationStructure",
        },
    )

    def missing(self, name, capabilities=DEVICE):
        return family.missing(cases_by_name()[name], capabilities)

    @pytest.mark.parametrize("stage", support.STAGE_FEATURES)
    def test_each_feature_is_named(self, stage) -> None:
        assert self.missing(ADD.format(stage)) == []
        for feature in support.STAGE_FEATURES[stage]:
            lacking = replace(self.DEVICE, features=self.DEVICE.features - {feature})
            assert self.missing(ADD.format(stage), lacking) == [feature]

    @pytest.mark.parametrize("stage", [*INTERFACES, "fragment"])
    def test_without_stores_the_framebuffer_is_left(self, stage) -> None:
        lacking = replace(self.DEVICE, features=self.DEVICE.features - set(support.STORES))
        assert self.missing(ADD.format(stage), lacking) != []
        assert self.missing(f"{ADD.format(stage)}.framebuffer", lacking) == []

    def test_quads_elsewhere_than_in_fragments_and_compute(self) -> None:
        name = "quad.{}.subgroupQuadSwapVertical.uint.all.exact"
        assert self.missing(name.format("compute")) == self.missing(name.format("fragment")) == []
        assert self.missing(name.format("mesh")) == ["quadOperationsInAllStages"]


def sample(driver, *, where, most):
    """Return at most so many cases that a driver declares."""
    with open_device(select_device(driver)) as opened:
        capabilities = opened.capabilities
    cases = [case for case in subgroup_cases() if where(case) and not family.missing(case, capabilities)]
    return cases[:: max(1, len(cases) // most)]


def unknown_failures(driver, cases, known):
    found = conformance.run(select_device(driver), cases=cases, isolate=False, seed=5)
    assert found.counts[Status.PASS] > 0.6 * len(cases)
    return [
        (result.case, result.detail)
        for result in found.failures
        if not any(fnmatch(result.case, glob) for glob in known)
    ]


# Lanes that stand for no vertex take part in the last subgroup of an instance; see docs/results/index.md.
SWIFTSHADER = ("vote.*.subgroupAllEqual.*vec*", "*.vertex.*.partial.*")


@pytest.mark.parametrize("shape", ["1d", FRAMEBUFFER])
def test_vertex_shaders_on_swiftshader(swiftshader, shape) -> None:
    cases = sample("swiftshader", where=lambda c: c.stage == "vertex" and c.shape == shape, most=250)
    assert unknown_failures("swiftshader", cases, SWIFTSHADER) == []


def test_lanes_without_a_vertex_are_found_on_swiftshader(swiftshader) -> None:
    cases = [cases_by_name()["arithmetic.vertex.subgroupAdd.int.partial.exact"]]
    (result,) = conformance.run(select_device("swiftshader"), cases=cases, isolate=False).results
    assert result.status == Status.FAIL
    assert "gave 0xf to lanes 0x1 of subgroup from vertices" in result.detail


def test_fragments_that_write_to_the_framebuffer_alone(swiftshader) -> None:
    def where(case):
        return case.stage == "fragment" and case.shape == FRAMEBUFFER

    cases = sample("swiftshader", where=where, most=150)
    assert unknown_failures("swiftshader", cases, SWIFTSHADER) == []


@pytest.mark.parametrize("stage", ["task", "mesh"])
def test_mesh_shading_on_lavapipe(lavapipe, stage) -> None:
    cases = sample("lavapipe", where=lambda case: case.stage == stage, most=40)
    assert unknown_failures("lavapipe", cases, ("*.subgroup*M??.f*16*.special*",)) == []


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize("stage", ["tessellation_control", "tessellation_evaluation", "geometry"])
@pytest.mark.parametrize("shape", ["1d", FRAMEBUFFER])
def test_stages_that_lavapipe_has_and_does_not_declare(lavapipe, monkeypatch, stage, shape) -> None:
    """It executes subgroup operations there as it should, which tries the stages' pipelines."""
    monkeypatch.setenv("VKGROUP_VALIDATION", "0")
    monkeypatch.setattr(query, "names_of", names_with_every_stage)
    cases = sample("lavapipe", where=lambda case: case.stage == stage and case.shape == shape, most=25)
    assert unknown_failures("lavapipe", cases, ("*.subgroup*M??.f*16*.special*",)) == []

"""The cases of fragment shaders alone: scenes are what they say, drivers pass, planted errors are caught."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from mutants.changes import QUAD_SWAP, another_constant
from mutants.rewriting import rewritten
from suite_runs import matching, results_of, results_with_error

import vkgroup.conformance as conformance
from vkgroup.conformance import AGAINST_THE_DEVICE, Status, cases_by_name, family_of
from vkgroup.conformance.fragment.family import FRAGMENT
from vkgroup.conformance.fragment.scenes import SCENES, sides
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

DPDX, DPDY, DPDX_FINE, DPDX_COARSE, SELECT, KILL, RETURN, DEMOTE = 207, 208, 210, 213, 169, 252, 253, 5380


@pytest.mark.parametrize("scene", SCENES.values(), ids=lambda scene: scene.name)
def test_corners_are_sixteenths_and_centres_lie_beside_edges(scene) -> None:
    for triangle in scene.triangles:
        assert all((16 * value).is_integer() for corner in triangle for value in map(float, corner))
        on_edge = any((side == 0).any() for side in sides(triangle, scene.size))
        assert not on_edge or scene.shared_edges


@pytest.mark.parametrize("name", ["diagonal", "antidiagonal", "columns", "rows", "fan"])
def test_shared_edges_go_through_centres(name) -> None:
    scene = SCENES[name]
    shared = [
        np.all([side >= 0 for side in sides(triangle, scene.size)], axis=0) for triangle in scene.triangles
    ]
    times = np.sum(shared, axis=0)
    assert times.min() >= 1
    assert times.max() >= 2


def test_the_net_has_no_holes() -> None:
    scene = SCENES["mesh"]
    covering = [np.all([s >= 0 for s in sides(t, scene.size)], axis=0) for t in scene.triangles]
    assert np.sum(covering, axis=0).min() >= 1


@pytest.mark.parametrize("name", ["triangle", "dots", "strip", "overlap"])
def test_some_quads_are_covered_in_part(name) -> None:
    covered = SCENES[name].covered
    whole = covered.reshape(len(covered), 17, 2, 17, 2).sum(axis=(2, 4))
    assert {1, 2, 3} & set(np.unique(whole))


def test_a_device_is_judged_on_what_it_declares() -> None:
    with open_device(select_device("reference:8")) as opened:
        nothing = replace(
            opened.capabilities, features=frozenset(), limits={"framebufferColorSampleCounts": 1}
        )
    missing = {
        name: FRAGMENT.missing(cases_by_name()[name], nothing)
        for name in (
            "fragment.sample.once.samples",
            "fragment.helper.stores.demote",
            "fragment.edge.once.fan",
        )
    }
    assert missing["fragment.edge.once.fan"] == ["fragmentStoresAndAtomics"]
    assert "sampleRateShading" in missing["fragment.sample.once.samples"]
    assert "framebufferColorSampleCounts with 4" in missing["fragment.sample.once.samples"]
    assert "shaderDemoteToHelperInvocation" in missing["fragment.helper.stores.demote"]


@pytest.mark.mostly_slow(every=2)
@pytest.mark.usefixtures("swiftshader", "lavapipe")
@pytest.mark.parametrize("driver", ["swiftshader", "lavapipe"])
def test_drivers_pass(driver) -> None:
    found = conformance.run(select_device(driver), filters=("fragment.*",), jobs=2)
    assert [result.case for result in found.failures] == []
    assert found.counts[Status.PASS] == len(found.results) > 300


@pytest.mark.parametrize("size", [4, 32, 128])
def test_the_reference_device_passes(size) -> None:
    found = conformance.run(select_device(f"reference:{size}"), filters=("fragment.*",), isolate=False)
    assert [result.case for result in found.failures] == []
    assert found.counts[Status.PASS] == len(found.results)


def _dropped(opcode: int, data: bytes) -> bytes:
    """Leave an instruction out that gives no result."""
    return rewritten(data, lambda i: [] if i[0] == opcode else [i])


def _another(old: int, new: int, data: bytes) -> bytes:
    return rewritten(data, lambda i: [[new, *i[1:]]] if i[0] == old else [i])


def _direction(direction: int, data: bytes) -> bytes:
    """Let quads swap in another direction."""
    return another_constant(QUAD_SWAP, 5, lambda value: direction, data)


def _other_choice(data: bytes) -> bytes:
    """Let each selection take what it should not."""
    return rewritten(data, lambda i: [[*i[:4], i[5], i[4]]] if i[0] == SELECT else [i])


def _returned(data: bytes) -> bytes:
    """Let fragments return where they should be discarded: their color stays, though nothing else."""
    return rewritten(data, lambda i: [[RETURN]] if i[0] == KILL else [i])


# (what is planted, the case that must show it, the change)
PLANTED = (
    ("horizontal is vertical", "fragment.quad.swapHorizontal.dots", partial(_direction, 1)),
    ("diagonal is horizontal", "fragment.quad.swapDiagonal.samples", partial(_direction, 0)),
    ("dFdx is dFdy", "fragment.derivative.dFdx.linear.triangle", partial(_another, DPDX, DPDY)),
    ("fine is coarse", "fragment.derivative.dFdxFine.quad.whole", partial(_another, DPDX_FINE, DPDX_COARSE)),
    ("a discard returns", "fragment.helper.color.discard", _returned),
    ("nobody is demoted", "fragment.helper.stores.demote", partial(_dropped, DEMOTE)),
    ("all are helpers", "fragment.helper.self.whole", _other_choice),
)  # fmt: skip


@pytest.mark.mostly_slow(every=3)
@pytest.mark.usefixtures("swiftshader")
@pytest.mark.parametrize(("what", "name", "mutate"), PLANTED, ids=[row[0] for row in PLANTED])
def test_a_planted_error_is_caught(what, name, mutate) -> None:
    cases = matching(name)
    assert family_of(cases[0]).name == "fragment"
    assert not {result.status for result in results_of("swiftshader", cases)} & set(AGAINST_THE_DEVICE)
    planted = results_with_error(partial(results_of, "swiftshader", cases), mutate)
    (failure,) = (result for result in planted if result.status in AGAINST_THE_DEVICE)
    assert "expected" in failure.detail

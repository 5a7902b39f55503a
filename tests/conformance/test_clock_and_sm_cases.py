"""The cases of shader clocks and SM built-ins: drivers pass, what is missing is named, errors are caught."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from mutants.changes import swapped_builtins
from mutants.rewriting import assemble, instructions, rewritten
from suite_runs import results_of

from vkgroup.conformance import Status, select
from vkgroup.conformance.shader_clock import SHADER_CLOCK
from vkgroup.conformance.sm_builtins import SM_BUILTINS
from vkgroup.device import Capabilities, SmBuiltins
from vkgroup.dispatch.reference import capabilities, device
from vkgroup.reference.interpreter.execution.program import SM_COUNT, WARPS_PER_SM

CLOCKS = tuple(SHADER_CLOCK.cases())
SM = tuple(SM_BUILTINS.cases())
READ_CLOCK, NULL, NOT, COPY_OBJECT, TYPE_VECTOR, FUNCTION = 5056, 46, 200, 83, 23, 54
LANE_BUILT_IN, WARPS_BUILT_IN, COUNT_BUILT_IN, WARP_BUILT_IN, SM_BUILT_IN = 41, 5374, 5375, 5376, 5377


def run(driver, cases, transform=None):
    results = results_of(driver, cases, seed=3, transform=transform)
    return [result for result in results if result.status != Status.NOT_SUPPORTED]


def test_what_a_device_lacks_is_named() -> None:
    nothing = Capabilities(name="none", type="cpu")
    clock = next(case for case in CLOCKS if case.name == "shader_clock.vertex.clockRealtimeEXT.increases")
    needs = SHADER_CLOCK.missing(clock, nothing)
    assert {"shaderDeviceClock", "shaderInt64", "vertexPipelineStoresAndAtomics"} <= set(needs)
    assert "shaderSMBuiltins" in SM_BUILTINS.missing(SM[0], nothing)
    small = replace(capabilities.capabilities_of(4), features=frozenset({"shaderSubgroupClock"}))
    words = next(case for case in CLOCKS if case.name == "shader_clock.compute.clock2x32ARB.increases")
    assert SHADER_CLOCK.missing(words, small) == []


@pytest.mark.mostly_slow(every=2, start=1)
@pytest.mark.usefixtures("lavapipe")
@pytest.mark.parametrize("driver", ["lavapipe", "reference:32"])
def test_clocks_pass(driver) -> None:
    found = run(driver, CLOCKS)
    assert Counter(result.status for result in found).keys() == {Status.PASS}
    assert len(found) >= 42


def _with_nulls(data, types):
    """Return a module with null constants of some types, and their ids."""
    found = instructions(data)
    bound = struct.unpack_from("<I", data, 12)[0]
    made = {kind: bound + place for place, kind in enumerate(sorted(types))}
    place = next(place for place, i in enumerate(found) if i[0] == FUNCTION)
    found[place:place] = [[NULL, kind, id_] for kind, id_ in made.items()]
    return assemble(data[:12] + struct.pack("<I", bound + len(made)) + data[16:20], found), made


def _standing(data):
    """Let the clock always show zero."""
    body, null = _with_nulls(data, {i[1] for i in instructions(data) if i[0] == READ_CLOCK})
    return rewritten(body, lambda i: [[COPY_OBJECT, i[1], i[2], null[i[1]]]] if i[0] == READ_CLOCK else [i])


def _downwards(data):
    """Let the clock count down: each reading is inverted."""
    bound = [struct.unpack_from("<I", data, 12)[0]]

    def rewrite(i):
        if i[0] != READ_CLOCK:
            return [i]
        bound[0] += 1
        return [[READ_CLOCK, i[1], bound[0] - 1, i[3]], [NOT, i[1], i[2], bound[0] - 1]]

    changed = rewritten(data, rewrite)
    return changed[:12] + struct.pack("<I", bound[0]) + changed[16:]


def _unlike_forms(data):
    """Let the clock of two words count down, and the one of 64 bits be right."""
    vectors = {i[1] for i in instructions(data) if i[0] == TYPE_VECTOR}
    bound = [struct.unpack_from("<I", data, 12)[0]]

    def rewrite(i):
        if i[0] != READ_CLOCK or i[1] not in vectors:
            return [i]
        bound[0] += 1
        return [[READ_CLOCK, i[1], bound[0] - 1, i[3]], [NOT, i[1], i[2], bound[0] - 1]]

    changed = rewritten(data, rewrite)
    return changed[:12] + struct.pack("<I", bound[0]) + changed[16:]


@pytest.mark.mostly_slow(every=3)
@pytest.mark.usefixtures("lavapipe")
@pytest.mark.parametrize(
    ("driver", "test", "mutate"),
    [
        *(
            (driver, test, mutate)
            for driver in ("lavapipe", "reference:32")
            for test, mutate in (
                ("increases", _downwards),
                ("increases_divergent", _downwards),
                ("lanes", _downwards),
                ("workgroup", _downwards),
                ("forms", _unlike_forms),
            )
        ),
        # Waiting for a tick takes the reference device too long.
        ("lavapipe", "advances", _standing),
    ],
)
def test_a_wrong_clock_is_caught(driver, test, mutate) -> None:
    cases = [case for case in CLOCKS if case.axes.test == test and case.axes.stage == "compute"]
    planted = run(driver, cases, mutate)
    assert planted
    assert {result.status for result in planted} == {Status.FAIL}
    assert not any("InvalidModule" in result.detail for result in planted)


# --- SM built-ins: no software driver has them ---------------------------------------------------------


@pytest.fixture
def with_sm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the reference device declare the built-ins that it executes."""
    plain = capabilities.capabilities_of

    def declaring(size: int = 32) -> Capabilities:
        found = plain(size)
        return replace(
            found,
            features=found.features | {"shaderSMBuiltins"},
            extensions={**found.extensions, "VK_NV_shader_sm_builtins": 1},
            sm_builtins=SmBuiltins(SM_COUNT, WARPS_PER_SM),
        )

    monkeypatch.setattr(capabilities, "capabilities_of", declaring)
    monkeypatch.setattr(device, "capabilities_of", declaring)


@pytest.mark.usefixtures("with_sm")
def test_sm_builtins_pass_and_what_is_left_open_is_told() -> None:
    found = run("reference:32", SM)
    assert len(found) == len(SM)
    told = {result.case: result for result in found if result.status == Status.UNDEFINED}
    assert set(told) == {f"sm_builtins.compute.gl_{name}NV.workgroup" for name in ("SMID", "WarpID")}
    assert told["sm_builtins.compute.gl_SMIDNV.workgroup"].detail == (
        "64 of 64 workgroups were on one SM; 4 SMs were used"
    )
    assert {result.status for result in found} == {Status.PASS, Status.UNDEFINED}


@pytest.mark.usefixtures("with_sm")
@pytest.mark.parametrize(
    ("cases", "old", "new"),
    [
        ("*.property", WARPS_BUILT_IN, COUNT_BUILT_IN),
        ("*.gl_WarpIDNV.subgroup", WARP_BUILT_IN, LANE_BUILT_IN),
        ("*.gl_SMIDNV.subgroup", SM_BUILT_IN, LANE_BUILT_IN),
        ("*.gl_SMIDNV.range", SM_BUILT_IN, LANE_BUILT_IN),
        ("*.gl_WarpIDNV.range", WARP_BUILT_IN, WARPS_BUILT_IN),
    ],
)
def test_a_wrong_built_in_is_caught(cases, old, new) -> None:
    chosen = select((f"sm_builtins.{cases}",))
    assert {result.status for result in run("reference:32", chosen)} == {Status.PASS}
    planted = run("reference:32", chosen, partial(swapped_builtins, old, new))
    assert {result.status for result in planted} == {Status.FAIL}

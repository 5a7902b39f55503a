"""Handwritten programs: every driver and the reference device give the results of NumPy."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import software_drivers
from definitions import PROGRAMS
from program import Claim, Outcome, Program

import vkgroup
from vkgroup import drivers
from vkgroup.base.errors import Unsupported
from vkgroup.base.files import shader
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver

_PLACES = ("lanes", "places", "subgroups")
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


@pytest.fixture(scope="module", params=["swiftshader", "newest lavapipe", "oldest lavapipe"])
def any_device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """An open device of each driver, fetched where it is not there."""
    with vkgroup.open(_driver(request.param).name) as opened:
        yield opened


def _driver(name: str) -> CachedDriver:
    """Return a driver; the oldest lavapipe is fetched if necessary."""
    if name == "oldest lavapipe":
        return software_drivers.fetch_oldest_lavapipe()
    return drivers.path(name.split()[-1])


@pytest.fixture(scope="module")
def references() -> Iterator[dict[int, Device]]:
    """The reference device of each subgroup size."""
    with ExitStack() as stack:
        yield {size: stack.enter_context(vkgroup.open("reference", subgroup_size=size)) for size in _SIZES}


def _run(program: Program, device: Any, subgroup_size: int) -> Outcome:
    """Run a program on a device with inputs that are the same at every call.

    Full subgroups are asked for together with a subgroup size: alone, the workgroup must be a multiple of the
    greatest size that the device has (Vulkan 1.4, VkPipelineShaderStageCreateInfo).
    """
    if program.at_size is not None:
        program = program.at_size(program, subgroup_size)
    inputs = program.inputs(np.random.default_rng(zlib.crc32(program.name.encode())))
    module = device.compile(program.path, defines=program.defines)
    found = device.run(
        module,
        program.groups,
        inputs,
        push=program.push,
        specialization=program.specialization,
        full_subgroups=program.full_subgroups,
        subgroup_size=subgroup_size if program.full_subgroups else None,
    )
    return Outcome(inputs, found, subgroup_size)


def _run_if_possible(program: Program, device: Device) -> Outcome | Unsupported:
    try:
        return _run(program, device, device.capabilities.subgroup.size)
    except Unsupported as error:
        return error


def _is_declared(lack: str, program: Program, device: Device) -> bool:
    """Return whether the missing requirement is one of the program's, and the device does not declare it."""
    names, capabilities = set(lack.split(" or ")), device.capabilities
    operations = capabilities.subgroup.supported_operations
    has = {
        f"VK_SUBGROUP_FEATURE_{name.upper()}{'' if name.endswith('_nv') else '_BIT'}" for name in operations
    }
    has |= {*capabilities.features, *capabilities.extensions}
    return bool(names & set(program.needs)) and not names & has


def _failures(claims: list[Claim]) -> list[str]:
    assert claims
    return [failure for claim in claims if (failure := claim.failure())]


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_driver_computes_what_numpy_does(program: Program, any_device: Device) -> None:
    """Or does not declare what the program needs."""
    outcome = _run_if_possible(program, any_device)
    if isinstance(outcome, Unsupported):
        assert outcome.missing
        assert [lack for lack in outcome.missing if not _is_declared(lack, program, any_device)] == []
    else:
        cut = program.cut_short if program.cut_short is not None and _loops_end_early(any_device) else None
        assert not _failures(list((cut or program.expected)(outcome)))


def _loops_end_early(device: Device) -> bool:
    """Return whether the driver leaves long loops early; the waiting time depends on the scheduler."""
    found = device.run(shader("findings/long_loop.comp"), 1, {"Result": np.zeros(64, np.uint32)})
    return bool(found["Result"].any())


def test_programs_that_wait_are_judged_whole_where_loops_are_right() -> None:
    """Of the drivers here, the oldest lavapipe alone ends loops early."""
    early = {}
    for name in ("oldest lavapipe", "lavapipe", "swiftshader"):
        with vkgroup.open(_driver(name).name) as device:
            early[device.capabilities.driver_info] = _loops_end_early(device)
    assert [name for name, ends in early.items() if ends] == [
        name for name in early if name.startswith("Mesa 22")
    ]


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("size", _SIZES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_reference_device_computes_what_numpy_does(
    program: Program, size: int, references: dict[int, Device]
) -> None:
    """And finds nothing wrong, unless the program says that the results are not defined at that size."""
    outcome = _run(program, references[size], size)
    claims = list(program.expected(outcome))
    assert not _failures(claims)
    defined = all(np.all(claim.where) for claim in claims)
    found: Any = outcome.outputs
    assert bool(found.events) != defined, found.events
    everywhere = [np.all(part) for flags in found.defined.values() for part in _parts(flags)]
    assert all(everywhere) == defined


def _parts(flags: Any) -> list[Any]:
    return flags if isinstance(flags, list) else [flags]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_output_is_judged(program: Program, references: dict[int, Device]) -> None:
    """Spoilt, it breaks a claim; but for what only says which invocation was where."""
    outcome = _run(program, references[16], 16)
    judged = [name for name in outcome.outputs if name.removeprefix("layout_").lower() not in _PLACES]
    assert judged
    for name in judged:
        array = outcome.outputs[name]
        spoilt = (np.frombuffer(array.tobytes(), np.uint8) ^ 0x55).view(array.dtype).reshape(array.shape)
        outputs = {**outcome.outputs, name: spoilt}
        assert _failures(list(program.expected(replace(outcome, outputs=outputs)))), name


def test_there_are_enough_programs() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names)) >= 80

"""Real programs on every driver and on the reference device: what NumPy says comes out, or a lack is declared."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from definitions import PROGRAMS
from program import Outcome, Program

import vkgroup
from vkgroup import drivers
from vkgroup.dispatch import Device
from vkgroup.errors import Unsupported

_DRIVERS = ("swiftshader", "lavapipe", "lavapipe-22.3.6")


@pytest.fixture(scope="module", params=_DRIVERS)
def any_device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """An open device of each driver."""
    with vkgroup.open(drivers.fetch(request.param).name) as opened:
        yield opened


def _run(program: Program, device: Any, subgroup_size: int) -> Outcome:
    """Run a program on a device with inputs that are the same at every call."""
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
    )
    return Outcome(inputs, found, subgroup_size)


def _is_declared(lack: str, program: Program, device: Any) -> bool:
    """Whether a program may lack that, and the device really does not declare it."""
    names, capabilities = set(lack.split(" or ")), device.capabilities
    operations = capabilities.subgroup.supported_operations
    has = {f"VK_SUBGROUP_FEATURE_{name.upper()}{'' if name.endswith('_nv') else '_BIT'}" for name in operations}
    has |= {*capabilities.features, *capabilities.extensions}
    return bool(names & set(program.needs)) and not names & has


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_driver_computes_what_numpy_does(program: Program, any_device: Device) -> None:
    size = any_device.capabilities.subgroup.size
    try:
        outcome = _run(program, any_device, size)
    except Unsupported as error:
        assert error.missing
        for lack in error.missing:
            assert _is_declared(lack, program, any_device), lack
        return
    failures = [failure for claim in program.expected(outcome) if (failure := claim.failure())]
    assert not failures

"""Software devices for the tests, watched by the validation layer."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import vkgroup
from vkgroup.dispatch import Device


@pytest.fixture(scope="session", params=["swiftshader", "lavapipe"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    os.environ["VKGROUP_VALIDATION"] = "1"
    with vkgroup.open(request.param) as opened:
        yield opened

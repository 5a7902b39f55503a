"""Software devices for the tests, watched by the validation layer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vkgroup
from vkgroup.dispatch import Device


@pytest.fixture(scope="session", params=["swiftshader", "lavapipe"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    with vkgroup.open(request.param, validation=True) as opened:
        yield opened

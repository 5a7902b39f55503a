"""Phases of a command: the one that a message names after an exception."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import pytest

from vkgroup.base import phases
from vkgroup.base.phases import CodeOwner, DeadlineReached, phase


@pytest.fixture(autouse=True)
def own_status() -> Iterator[None]:
    """Give each test a status, and restore that of the tests."""
    before = phases.status()
    phases.update(phase="outer", owner=CodeOwner.HOST, deadline=math.inf)
    yield
    phases.update(**vars(before))


def test_an_exception_ends_its_phase() -> None:
    with pytest.raises(ValueError, match="x"), phase("inner", CodeOwner.DRIVER):
        raise ValueError("x")
    assert (phases.status().phase, phases.status().owner) == ("outer", CodeOwner.HOST)


def test_the_phase_at_the_deadline_stays() -> None:
    with pytest.raises(DeadlineReached), phase("middle"), phase("inner", CodeOwner.DRIVER):
        raise DeadlineReached
    assert (phases.status().phase, phases.status().owner) == ("inner", CodeOwner.DRIVER)


def test_the_phase_stays_if_an_error_follows_the_deadline() -> None:
    """A device that does not end its work fails when it is closed, too."""
    phases.update(deadline=time.monotonic() - 1.0)
    with pytest.raises(ValueError, match="closing"), phase("middle"):
        _close_after_deadline()
    assert phases.status().phase == "inner"


def _close_after_deadline() -> None:
    try:
        with phase("inner", CodeOwner.EXECUTION):
            raise DeadlineReached
    except DeadlineReached as error:
        raise ValueError("closing") from error

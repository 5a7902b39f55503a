"""Outcome of an experiment: observed, not supported, failed, or not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""A value that JSON can hold; floats are finite."""


class Observation(Protocol):
    """What an experiment saw: data, and words for people."""

    def lines(self) -> list[str]:
        """Say in words what was seen, one line for each thing."""

    def to_json(self) -> dict[str, Json]:
        """Give what was seen as strict JSON."""


@dataclass(frozen=True)
class Observed:
    """The experiment ran; `observation` says what it saw."""

    observation: Observation
    status = "observed"

    def lines(self) -> list[str]:
        """Say in words what was seen, one line for each thing."""
        return self.observation.lines()

    def to_json(self) -> dict[str, Json]:
        """Give the observation's data with its status and sentence."""
        return {"status": self.status, "sentence": _sentence(self), **self.observation.to_json()}


@dataclass(frozen=True)
class NotSupported:
    """The device lacks what the experiment needs; `missing` names it by Vulkan's names."""

    missing: tuple[str, ...]
    status = "not_supported"

    def lines(self) -> list[str]:
        """Name what the device lacks."""
        return ["not supported: the device lacks " + ", ".join(self.missing)]

    def to_json(self) -> dict[str, Json]:
        """Give the status, the sentence and the missing features."""
        return {"status": self.status, "sentence": _sentence(self), "missing": list(self.missing)}


@dataclass(frozen=True)
class Failed:
    """The driver or the compiler gave an error; `message` is what it said."""

    message: str
    status = "failed"

    def lines(self) -> list[str]:
        """Say what failed."""
        return ["failed: " + self.message]

    def to_json(self) -> dict[str, Json]:
        """Give the status, the sentence and the message."""
        return {"status": self.status, "sentence": _sentence(self), "message": self.message}


@dataclass(frozen=True)
class NotRun:
    """The experiment was left out; `reason` says why."""

    reason: str
    status = "not_run"

    def lines(self) -> list[str]:
        """Say why it was left out."""
        return ["not run: " + self.reason]

    def to_json(self) -> dict[str, Json]:
        """Give the status, the sentence and the reason."""
        return {"status": self.status, "sentence": _sentence(self), "reason": self.reason}


Outcome = Observed | NotSupported | Failed | NotRun


def _sentence(outcome: Outcome) -> str:
    return "; ".join(outcome.lines())


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does: ``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]

"""Outcome of an experiment: observed, not supported, failed, or not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""A JSON value; floats are finite."""


class Observation(Protocol):
    """Result of an experiment: data, and lines for people."""

    def lines(self) -> list[str]:
        """Return the result for people, one line per fact."""

    def to_json(self) -> dict[str, Json]:
        """Return the result as strict JSON."""


@dataclass(frozen=True)
class Observed:
    """The experiment ran; `observation` is its result."""

    observation: Observation
    status = "observed"

    def lines(self) -> list[str]:
        """Return the result for people, one line per fact."""
        return self.observation.lines()

    def to_json(self) -> dict[str, Json]:
        """Return the observation's data with its status and sentence."""
        return {"status": self.status, "sentence": _sentence(self), **self.observation.to_json()}


@dataclass(frozen=True)
class NotSupported:
    """The device lacks capabilities that the experiment needs; `missing` has Vulkan's names of them."""

    missing: tuple[str, ...]
    status = "not_supported"

    def lines(self) -> list[str]:
        """Return a line with the missing capabilities."""
        return ["not supported: the device lacks " + ", ".join(self.missing)]

    def to_json(self) -> dict[str, Json]:
        """Return the status, the sentence and the missing capabilities."""
        return {"status": self.status, "sentence": _sentence(self), "missing": list(self.missing)}


@dataclass(frozen=True)
class Failed:
    """The driver or the compiler reported an error; `message` is its text."""

    message: str
    status = "failed"

    def lines(self) -> list[str]:
        """Return a line with the error."""
        return ["failed: " + self.message]

    def to_json(self) -> dict[str, Json]:
        """Return the status, the sentence and the message."""
        return {"status": self.status, "sentence": _sentence(self), "message": self.message}


@dataclass(frozen=True)
class NotRun:
    """The experiment was skipped; `reason` says why."""

    reason: str
    status = "not_run"

    def lines(self) -> list[str]:
        """Return a line with the reason."""
        return ["not run: " + self.reason]

    def to_json(self) -> dict[str, Json]:
        """Return the status, the sentence and the reason."""
        return {"status": self.status, "sentence": _sentence(self), "reason": self.reason}


Outcome = Observed | NotSupported | Failed | NotRun


def _sentence(outcome: Outcome) -> str:
    return "; ".join(outcome.lines())


def listed(names: Sequence[str]) -> str:
    """Return names joined as in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]

"""Outcome of an experiment: observed, not supported, failed, or not run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""A JSON value; floats are finite."""


def fields_of(data: object) -> dict[str, Json]:
    """Return the fields of a dataclass as JSON."""
    fields: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(data))
    return fields


class Observation:
    """Result of an experiment: a dataclass with data, and lines for people."""

    @abstractmethod
    def lines(self) -> list[str]:
        """Return the result for people, one line per fact."""

    def to_json(self) -> dict[str, Json]:
        """Return the result as strict JSON: the fields, unless a class adds to them."""
        return fields_of(self)


@dataclass(frozen=True)
class ExperimentOutcome:
    """Outcome of an experiment; `status` is its name in JSON."""

    status: ClassVar[str]

    @abstractmethod
    def lines(self) -> list[str]:
        """Return the outcome for people, one line per fact."""

    def to_json(self) -> dict[str, Json]:
        """Return the status, the sentence and the data."""
        return {"status": self.status, "sentence": "; ".join(self.lines()), **self._data()}

    def _data(self) -> dict[str, Json]:
        return fields_of(self)


@dataclass(frozen=True)
class Observed(ExperimentOutcome):
    """The experiment ran; `observation` is its result."""

    observation: Observation
    status = "observed"

    def lines(self) -> list[str]:
        """Return the lines of the observation."""
        return self.observation.lines()

    def _data(self) -> dict[str, Json]:
        return self.observation.to_json()


@dataclass(frozen=True)
class NotSupported(ExperimentOutcome):
    """The device lacks capabilities that the experiment needs; `missing` has Vulkan's names of them."""

    missing: tuple[str, ...]
    status = "not_supported"

    def lines(self) -> list[str]:
        """Return a line with the missing capabilities."""
        return ["not supported: the device lacks " + ", ".join(self.missing)]


@dataclass(frozen=True)
class Failed(ExperimentOutcome):
    """The driver reported an error; `message` is its text."""

    message: str
    status = "failed"

    def lines(self) -> list[str]:
        """Return a line with the error."""
        return ["failed: " + self.message]


@dataclass(frozen=True)
class InternalFailure(ExperimentOutcome):
    """vkgroup or the host failed, which says nothing about the device; `message` is the error."""

    message: str
    status = "internal_error"

    def lines(self) -> list[str]:
        """Return a line with the error."""
        return ["no result, internal error of vkgroup: " + self.message]


@dataclass(frozen=True)
class SkippedExperiment(ExperimentOutcome):
    """The experiment was skipped; `reason` says why."""

    reason: str
    status = "not_run"

    def lines(self) -> list[str]:
        """Return a line with the reason."""
        return ["not run: " + self.reason]


def listed(names: Sequence[str]) -> str:
    """Return names joined as in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]

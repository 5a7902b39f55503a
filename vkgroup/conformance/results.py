"""What became of a case: its status, the lanes that were judged, and the words for a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """The verdict on a case."""

    PASS = "Pass"
    """Every defined lane has the result that the specification requires."""
    FAIL = "Fail"
    """A defined lane has another result, or the driver refused a valid shader."""
    UNDEFINED = "Undefined"
    """The case ran, and the specification defines no lane's result: the device survived, no more."""
    NOT_SUPPORTED = "NotSupported"
    """The device does not declare what the case needs."""
    CRASH = "Crash"
    """The process that ran the case alone died, or the device was lost."""
    TIMEOUT = "Timeout"
    """The case alone did not finish in its time."""


AGAINST_THE_DEVICE = frozenset({Status.FAIL, Status.CRASH, Status.TIMEOUT})
"""Statuses that are verdicts against the device (exit code 1)."""


@dataclass(frozen=True)
class Result:
    """One case's result; one line of ``results.jsonl``.

    Attributes
    ----------
    case : the case's name.
    seconds : its share of the time that its batch took, compilation and judging included.
    defined, undefined : active lanes whose result the specification defines and leaves open.
    detail : what is missing (NotSupported), what is wrong and the command that repeats it (Fail …).
    evidence : of a failure, the first subgroup that is wrong, lane by lane: see
        `vkgroup.conformance.evidence`. None where there is none, and in files that are older than it.
    device : where several devices share a run, which one judged it, as ``--device`` takes it; else empty.
    """

    case: str
    status: Status
    seconds: float = 0.0
    defined: int = 0
    undefined: int = 0
    detail: str = ""
    evidence: dict[str, Any] | None = field(default=None, compare=False)
    device: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain JSON data; without ``evidence`` where there is none."""
        found: dict[str, Any] = {
            "case": self.case,
            "status": self.status.value,
            "seconds": round(self.seconds, 6),
            "defined": self.defined,
            "undefined": self.undefined,
            "detail": self.detail,
            **({"device": self.device} if self.device else {}),
        }
        return found if self.evidence is None else {**found, "evidence": self.evidence}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Result:
        """Make a result from `to_json`'s data; ValueError or KeyError where it is none."""
        if not isinstance(record, dict) or not isinstance(record["case"], str):
            raise ValueError("no result: it has no name of a case")
        try:
            return cls(
                case=record["case"],
                status=Status(record["status"]),
                seconds=float(record["seconds"]),
                defined=int(record["defined"]),
                undefined=int(record["undefined"]),
                detail=str(record["detail"]),
                evidence=evidence if isinstance(evidence := record.get("evidence"), dict) else None,
                device=str(record.get("device", "")),
            )
        except (TypeError, OverflowError) as error:
            raise ValueError(f"no result: {error}") from error


TakeResults = Callable[[list[Result]], None]
"""Whoever is given results as they come."""

"""Outcome of a script."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ScriptStatus(StrEnum):
    """What came of a script.

    ``INVALID``: the reference device saw that the script expects what the specifications do not define.
    """

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"
    NOT_SUPPORTED = "not supported"
    ERROR = "error"


_CODES = {
    ScriptStatus.PASS: 0,
    ScriptStatus.FAIL: 1,
    ScriptStatus.INVALID: 1,
    ScriptStatus.ERROR: 2,
    ScriptStatus.NOT_SUPPORTED: 3,
}


@dataclass(frozen=True)
class ScriptOutcome:
    """The outcome of a script: its status, a sentence why, and seconds."""

    status: ScriptStatus
    reason: str = ""
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """The exit code of ``vkgroup run`` for this script alone."""
        return _CODES[self.status]

"""Outcome of a script."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ScriptStatus(StrEnum):
    """The result of a script.

    ``INVALID``: an expectation is not met, and the reference device saw an error of a shader.
    """

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"
    NOT_SUPPORTED = "not supported"
    ERROR = "error"

    @property
    def exit_code(self) -> int:
        """The exit code of ``vkgroup run`` for a script with this result alone."""
        return {"pass": 0, "fail": 1, "invalid": 1, "error": 2, "not supported": 3}[self]


@dataclass(frozen=True)
class ScriptOutcome:
    """The outcome of a script."""

    status: ScriptStatus
    reason: str = ""  # why, in a sentence; of a pass, which compared value is undefined
    seconds: float = 0.0
    lost: bool = False  # whether the device cannot be used any more

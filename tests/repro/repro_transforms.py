"""Transforms that the worker process of a case imports by name."""

from __future__ import annotations

import os
import signal


def killed(data: bytes) -> bytes:
    """End the process as a driver's crash does."""
    os.kill(os.getpid(), signal.SIGKILL)
    return data

"""Peak memory of processes."""

from __future__ import annotations

import os
from pathlib import Path


def peak_memory(process: int | None = None) -> int:
    """Return the largest resident memory of a process so far, in bytes; of this process by default.

    The result is 0 if the process has ended, or on systems other than Linux. The peak that `resource` gives
    is not used: a process inherits that of the process that started it.
    """
    try:
        status = Path(f"/proc/{process or os.getpid()}/status").read_bytes()
    except OSError:
        return 0
    line = next((line for line in status.splitlines() if line.startswith(b"VmHWM:")), None)
    return int(line.split()[1]) * 1024 if line else 0  # a process that has ended has no such line

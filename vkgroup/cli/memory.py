"""Limit of the memory of a command and its worker processes, which its parent enforces from outside.

A limit inside the process (RLIMIT_AS, RLIMIT_DATA) counts reserved addresses: drivers of GPUs reserve more
than the host has. The memory in use is counted instead, without files of programs and libraries.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from vkgroup.base.byte_sizes import size_text
from vkgroup.cli.options.shaders import names_several

ADVICE = "Give a higher limit (--memory) or less work."

_PART = 0.75
"""Default limit as a part of the host's memory, or of that of its control group."""

_FIELDS = (b"RssAnon:", b"RssShmem:")


@dataclass(frozen=True)
class MemoryLimit:
    """A limit of memory.

    `nbytes`: of all processes of the command together.
    `ends_command`: whether the command ends at it; otherwise the largest worker process does, if it is larger
    than the process of the command.
    """

    nbytes: int
    ends_command: bool

    def enforce(self, child: int) -> tuple[str, bool]:
        """Return words if the processes use more than the limit, and whether the command must end.

        Otherwise the largest worker process was ended.
        """
        used = {process: in_use(process) for process in (child, *descendants(child))}
        if sum(used.values()) <= self.nbytes:
            return "", False
        said = f"more than {size_text(self.nbytes)} of memory in use (--memory)"
        largest = max(used, key=lambda process: used[process])
        if self.ends_command or largest == child:
            return said, True
        with suppress(ProcessLookupError):
            os.kill(largest, signal.SIGKILL)
        return f"{said}: the largest worker process was ended. {ADVICE}", False


def limit_of(chosen: argparse.Namespace) -> MemoryLimit | None:
    """Return the limit of a command; None if it has no ``--memory``, or the system does not tell the use."""
    if not hasattr(chosen, "memory") or not Path("/proc/self/status").is_file():
        return None
    several = chosen.command == "check" and names_several(chosen)
    return MemoryLimit(chosen.memory or default(), not several)


def default(root: Path = Path("/")) -> int:
    """Return the default limit in bytes; `root`: the folder with `proc` and `sys`."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in _limit_files(root):
        with suppress(OSError, ValueError):  # a group without a limit has "max"
            total = min(total, int(file.read_text()))
    return int(_PART * total)


def _limit_files(root: Path) -> Iterator[Path]:
    """Yield the files with the limits of the control groups of this process, from the innermost to the root.

    See cgroups(7) on ``/proc/self/cgroup`` and both versions.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    for line in (*lines, "0::/", "1:memory:/"):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mount, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            mount, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = PurePosixPath(path)
        for part in (group, *group.parents):
            yield mount / part.relative_to("/") / name


def in_use(process: int) -> int:
    """Return the bytes that a process uses without mapped files; 0 if it has ended."""
    try:
        with open(f"/proc/{process}/status", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_FIELDS))


def descendants(process: int) -> list[int]:
    """Return the child processes of a process, and theirs."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError), open(f"/proc/{process}/task/{thread}/children", "rb") as file:
                for word in file.read().split():
                    found += [int(word), *descendants(int(word))]
    return found

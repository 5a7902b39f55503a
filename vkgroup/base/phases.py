"""Phase, device and deadline of a command: what a message says when its process crashes or is late.

``vkgroup`` executes a command in a child process (`vkgroup.cli.supervisor`). The child writes each change
into a file that it shares with its parent, because a process that crashes cannot report anything.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum

SHARED = "VKGROUP_SHARED_PHASE"
"""Environment variable with the number of the shared file, for a program that replaces a child process."""

WRITING_SECONDS = 10.0
"""Seconds after its deadline in which `check` writes its findings."""

_SIZE = 4096
_SEPARATOR = "\0"


class DeadlineReached(KeyboardInterrupt):
    """The time of the command, or of one of its configurations, is over; it ends as after Ctrl-C."""


class CodeOwner(IntEnum):
    """The owner of the code that a phase executes; the value is the exit code if the phase does not end."""

    EXECUTION = 1
    """The shader, on a device."""
    HOST = 2
    """vkgroup, a compiler, or the host."""
    DRIVER = 3
    """The driver of the device, outside of an execution."""


@dataclass(frozen=True)
class CommandStatus:
    """The status of a command."""

    phase: str = "starting"
    owner: CodeOwner = CodeOwner.HOST
    device: str = ""  # name and driver of the device that the process has opened; empty without one
    seconds: float = math.inf  # the time limit, as it was given
    option: bool = True  # whether --timeout sets it
    deadline: float = math.inf  # the `time.monotonic` at which it is over
    folder: str = ""  # the reproduction folder that has the module and the inputs; empty without one
    exit_code: int | None = None  # the exit code of a command that has ended

    @property
    def late(self) -> str:
        """The sentence on a deadline that was reached."""
        where = f" on {self.device}" if self.device and self.owner is not CodeOwner.HOST else ""
        return f"no end within {self.seconds:g} s, while {self.phase}{where}"


_status = CommandStatus()
_file: int | None = None


def status() -> CommandStatus:
    """Return the status of this process."""
    return _status


def update(**changes: object) -> None:
    """Change the status, and write it to the shared file if there is one."""
    global _status
    _status = replace(_status, **changes)  # type: ignore[arg-type]
    if _file is not None:
        _write(_file, _status)


@contextmanager
def phase(name: str, owner: CodeOwner = CodeOwner.HOST) -> Iterator[None]:
    """Name the phase of the block, for example ``"compiling sum.comp"``.

    The phase in which the deadline was reached stays, because the message on it names the phase.
    """
    before = _status.phase, _status.owner
    update(phase=name, owner=owner)
    try:
        yield
    except BaseException as error:
        if not isinstance(error, DeadlineReached) and time.monotonic() < _status.deadline:
            update(phase=before[0], owner=before[1])
        raise
    update(phase=before[0], owner=before[1])


def allow_writing() -> None:
    """Give a command at least `WRITING_SECONDS` from now on, to write what it has found."""
    update(deadline=max(_status.deadline, time.monotonic() + WRITING_SECONDS))


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Limit the time of the block, with a limit that has no option; the parent of the process enforces it."""
    before = {name: getattr(_status, name) for name in ("seconds", "option", "deadline")}
    update(seconds=seconds, option=False, deadline=time.monotonic() + seconds)
    try:
        yield
    finally:
        update(**before)


def share(file: int | None, first: CommandStatus = CommandStatus()) -> None:
    """Begin with a status, which is written to a file from now on; None is no file."""
    global _file
    _file = file
    update(**vars(first))


def is_shared() -> bool:
    """Return whether a parent process reads the status of this one."""
    return _file is not None


def shared_file() -> int:
    """Return the number of a new file for `share` and `read`, which child processes inherit by `fork`."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("vkgroup-phase")
    # Imported here, because it is not needed on Linux.
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def inherited() -> int | None:
    """Return the shared file of a process that replaced a child process; None in other processes."""
    number = os.environ.pop(SHARED, "")
    if not number.isdecimal():
        return None
    os.set_inheritable(int(number), False)
    return int(number)


def to_inherit() -> dict[str, str]:
    """Return the environment variable for the program that replaces this process."""
    if _file is None:
        return {}
    os.set_inheritable(_file, True)
    return {SHARED: str(_file)}


def _write(file: int, current: CommandStatus) -> None:
    code = "" if current.exit_code is None else str(current.exit_code)
    numbers = (current.seconds, current.deadline, int(current.option), int(current.owner), code)
    head = map(str, numbers)
    texts = (text[:300] for text in (current.phase, current.device, current.folder))
    data = _SEPARATOR.join((*head, *texts)).encode(errors="backslashreplace")
    os.pwrite(file, data[:_SIZE].ljust(_SIZE, b"\0"), 0)


def read(file: int) -> CommandStatus:
    """Return the status in a shared file; the first status if nothing was written."""
    fields = os.pread(file, _SIZE, 0).decode(errors="replace").split(_SEPARATOR)
    if len(fields) < 8:
        return CommandStatus()
    seconds, deadline, option, owner, code, name, device, folder = fields[:8]
    try:
        return CommandStatus(
            phase=name,
            owner=CodeOwner(int(owner)),
            device=device,
            seconds=float(seconds),
            option=option == "1",
            deadline=float(deadline),
            folder=folder,
            exit_code=int(code) if code else None,
        )
    except ValueError:  # the child writes at this moment; the next look reads it whole
        return CommandStatus()

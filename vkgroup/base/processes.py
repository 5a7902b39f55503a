"""Python processes that run modules of vkgroup: a driver that crashes or hangs ends only one of them.

Messages between processes are pickled, each after its length (8 bytes, little endian).
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from vkgroup.base.files import PACKAGE

_LENGTH = struct.Struct("<Q")

_EXTERNAL = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")

EXTERNAL_SIGNALS = tuple(getattr(signal, name) for name in _EXTERNAL if hasattr(signal, name))
"""Signals that the system or another process sends, such as SIGKILL where memory is exhausted; no error of a
driver raises them."""

INTERNAL_ERROR = 70
"""Exit code of a process that ends with an exception of its own code: EX_SOFTWARE of sysexits.h."""


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


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module; files in the current folder cannot stand in for libraries."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return this process's environment, in which the same vkgroup can be imported."""
    paths = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def send(stream: IO[bytes], message: object) -> None:
    """Write one message; PicklingError if it has an object that cannot be sent."""
    try:
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    # What `pickle` raises also: for local functions, generators, pointers of ctypes, and deep structures.
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise pickle.PicklingError(str(error)) from error
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message; EOFError at the end of the stream or in the middle of a message."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    data = stream.read(_LENGTH.unpack(head)[0])
    if len(data) < _LENGTH.unpack(head)[0]:
        raise EOFError
    return pickle.loads(data)


def serve_and_leave(serve: Callable[[IO[bytes], IO[bytes]], None]) -> None:
    """Call `serve` with the standard streams for requests and answers, and end the process.

    Output of the driver on standard output goes to standard error, so that it cannot damage the answers. The
    process ends without clean-up, in which a lost device could hang.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    code = INTERNAL_ERROR
    try:
        serve(sys.stdin.buffer, answers)
        answers.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)

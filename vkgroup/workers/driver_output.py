"""Output of drivers on standard error of a worker: excerpts that are evidence of a rejection or a crash."""

from __future__ import annotations

import os
import re
import stat

LENGTH = 400
"""Characters of the end of the output in an excerpt."""

_NOISE = re.compile(r"^(Unknown DRM_IOCTL|note: run with `RUST_BACKTRACE=).*\n?", re.MULTILINE)
"""Lines of Mesa's shims about queries that they do not answer, and advice for the developers of NVK."""

_REASON = re.compile(r".*(panicked|[Aa]ssert|[Ff]atal|LLVM ERROR|[Uu]nhandled|[Uu]nsupported).*(\n.*)?")


def excerpt(text: str) -> str:
    """Return the end of a driver's output, after the line with a failed assertion or a panic."""
    text = _NOISE.sub("", text).strip()
    end = text[-LENGTH:]
    reason = _REASON.search(text)
    if reason is None or reason[0] in end:
        return end
    return f"{reason[0][:LENGTH]}\n…\n{end}"


def position() -> int:
    """Return the position in the file to which this process writes its errors; -1 if it is no file."""
    try:
        return os.lseek(2, 0, os.SEEK_END) if stat.S_ISREG(os.fstat(2).st_mode) else -1
    except OSError:
        return -1


def printed_since(start: int) -> str:
    """Return an excerpt of what this process has written since a `position`; empty if that is no file."""
    if start < 0:
        return ""
    with open("/proc/self/fd/2", "rb") as file:
        file.seek(start)
        return excerpt(file.read().decode("utf-8", "replace"))

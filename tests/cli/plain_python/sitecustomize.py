"""Python without what only POSIX systems or Linux have: modules, functions of `os`, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}

FUNCTIONS = (
    *("fork", "forkpty", "getloadavg", "getpgid", "killpg", "memfd_create", "pread", "pwrite"),
    *("register_at_fork", "sched_getaffinity", "setpgid", "setsid", "sysconf"),
)

SIGNALS = (
    *("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGTSTP", "SIGTTOU", "SIGUSR1", "ITIMER_REAL"),
    *("alarm", "pthread_kill", "pthread_sigmask", "setitimer", "sigtimedwait"),
)


class _Missing:
    """Finds none of the modules."""

    def find_spec(self, name: str, *_: object) -> None:
        if name in MODULES:
            raise ImportError(f"No module named {name!r}", name=name)


# Python's own module, which is that of a POSIX system here, keeps its signals.
subprocess.signal = SimpleNamespace(**vars(signal))  # type: ignore[attr-defined]
sys.meta_path.insert(0, _Missing())  # type: ignore[arg-type]
for module in MODULES:
    sys.modules.pop(module, None)
for name in FUNCTIONS:
    delattr(os, name)
for name in SIGNALS:
    delattr(signal, name)

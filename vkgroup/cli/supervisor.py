"""Supervision of a command: it runs in a child process, whose crash or missed deadline becomes one line.

The parent process imports neither NumPy nor a driver. It waits for the child, passes signals on, and ends the
child `GRACE_SECONDS` after the deadline, if the child did not end itself before (`vkgroup.cli.deadline`).
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from dataclasses import dataclass

from vkgroup.base import phases
from vkgroup.base.phases import CodeOwner, CommandStatus
from vkgroup.base.processes import EXTERNAL_SIGNALS
from vkgroup.cli import deadline, memory
from vkgroup.cli.options.shaders import has_scripts, names_several
from vkgroup.cli.signals import ENDING

SUPERVISED = ("bench", "check", "compile", "conform", "cost", "probe", "run")
"""Commands that call drivers or compilers."""

GRACE_SECONDS = 1.0
"""Seconds after its deadline that a child may take to print its results and to end."""

_POLL_SECONDS = 0.1
"""Seconds between two looks at a child that has a deadline or a limit of memory."""

_SHORTEST_PAUSE = 0.02

_LAST_SECONDS = 0.4
"""Further seconds for a child that is about to end."""

_FREE_SECONDS = 0.1
"""Seconds to wait for the end of a child that was killed."""

_INTERNAL, _CRASH = 2, 3

_PR_SET_PDEATHSIG = 1


def run_in_child(chosen: argparse.Namespace, started: float) -> int | None:
    """Fork; return None in the child, which executes the command, and in the parent the exit code.

    `started`: the `time.monotonic` from which the deadline counts.

    Commands that call no driver are not supervised, and neither are systems without `fork`: they get None.
    """
    if getattr(chosen, "watch", False):
        return None  # each of its checks is supervised
    if chosen.command not in SUPERVISED or not hasattr(os, "fork") or not hasattr(signal, "sigtimedwait"):
        return None
    if (file := phases.inherited()) is not None:
        # A child that was replaced by a process with the C library of a driver; its status goes on.
        status = phases.read(file)
        phases.share(file, status)
        if status.deadline < math.inf:
            deadline.begin(status.deadline - status.seconds)
        return None
    file = phases.shared_file()
    seconds = time_limit_of(chosen)
    phases.share(file, CommandStatus(seconds=seconds, deadline=started + seconds, folder=_folder(chosen)))
    sys.stdout.flush()
    sys.stderr.flush()
    passed = (*ENDING, signal.SIGTSTP)
    waited = {number for number in passed if signal.getsignal(number) is not signal.SIG_IGN}
    waited.add(signal.SIGCHLD)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _become_child(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return None
    try:
        return Supervisor(child, file, frozenset(waited), memory.limit_of(chosen)).wait()
    finally:
        phases.share(None)
        os.close(file)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def time_limit_of(chosen: argparse.Namespace) -> float:
    """Return the time limit of a command in seconds, infinity if it has none.

    It is that of one shader or configuration. A check of a folder or of Amber scripts, and a run of these,
    has it in each worker; a check of several configurations, or after compilation for other devices, begins
    it later (`deadline.within`).
    """
    if chosen.command not in ("check", "run"):
        return math.inf
    several = has_scripts(chosen)
    if chosen.command == "check":
        several |= names_several(chosen) or chosen.with_file is not None or chosen.compile_on is not None
    return math.inf if several else float(chosen.timeout)


_NO_FOLDER = "-"
"""The status of a run without a reproduction folder, which could have one."""


def _folder(chosen: argparse.Namespace) -> str:
    """Return the first reproduction folder in the status of a command."""
    runs = chosen.command == "run" and (chosen.shader is None or not chosen.shader.is_dir())
    return _NO_FOLDER if runs else ""


def _become_child(parent: int) -> None:
    """End with the parent, and leave Ctrl-C in a terminal to it.

    The parent passes each signal on once: a child in its process group would get signals of a terminal twice.
    """
    os.setpgid(0, 0)
    # Output of a process group in the background is allowed where this signal is ignored.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    if sys.platform == "linux":
        # Imported here, because the parent starts faster without it; NumPy imports it, too.
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(_INTERNAL)


@dataclass
class Supervisor:
    """The parent of a command.

    `child`: the process that executes the command.
    `file`: the shared file with the status of the command.
    `waited`: the signals that the parent receives.
    `limit`: the limit of memory; None without one.
    """

    child: int
    file: int
    waited: frozenset[int]
    limit: memory.MemoryLimit | None
    _passed: int = 0  # the signal that was passed on; 0 if none was

    def wait(self) -> int:
        """Wait for the child; return the exit code of the command."""
        while True:
            info = signal.sigtimedwait(self.waited, self._pause())
            if info is None:
                if (code := self._overdue()) is not None:
                    return code
            elif info.si_signo == signal.SIGCHLD:
                ended, how = os.waitpid(self.child, os.WNOHANG)
                if ended:
                    return self._ended(os.waitstatus_to_exitcode(how))
            elif info.si_signo == signal.SIGTSTP:
                self._stop()
            else:
                self._pass_on(info.si_signo)

    def _pause(self) -> float:
        """Return the seconds until the next look at the child."""
        left = phases.read(self.file).deadline + GRACE_SECONDS - time.monotonic()
        usual = _POLL_SECONDS if self.limit is not None or left < math.inf else 1.0
        return min(max(left, _SHORTEST_PAUSE), usual)

    def _overdue(self) -> int | None:
        """End a child that is over its deadline or its limit of memory, and return the exit code."""
        now = phases.read(self.file)
        # A child that has its exit code prints its last line, or its driver does not end.
        end = now.deadline + GRACE_SECONDS + (_LAST_SECONDS if now.exit_code is not None else 0.0)
        if time.monotonic() > end:
            self._kill()
            return _print(late(now), int(now.owner)) if now.exit_code is None else now.exit_code
        said, ends = ("", False) if self.limit is None else self.limit.enforce(self.child)
        if ends:
            self._kill()
            return _print(f"{said}, while {now.phase}. {memory.ADVICE}", _CRASH)
        if said:
            print(f"vkgroup: {said}", file=sys.stderr, flush=True)
        return None

    def _kill(self) -> None:
        """End the child, whose workers notice it and end; a driver may take long to free its memory."""
        os.kill(self.child, signal.SIGKILL)
        end = time.monotonic() + _FREE_SECONDS
        while not os.waitpid(self.child, os.WNOHANG)[0] and time.monotonic() < end:
            time.sleep(0.01)

    def _pass_on(self, number: int) -> None:
        """Pass a signal on; a second one ends the child at once, even inside a driver."""
        os.kill(self.child, signal.SIGKILL if self._passed else number)
        self._passed = number

    def _stop(self) -> None:
        """Stop the child and this process until the shell continues them."""
        os.kill(self.child, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(self.child, signal.SIGCONT)

    def _ended(self, code: int) -> int:
        """Return the exit code of a child that has ended; report a crash."""
        now = phases.read(self.file)
        if code >= 0 and now.exit_code is not None:
            return code
        if self._passed and -code in (self._passed, signal.SIGKILL):
            signal.signal(self._passed, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {self._passed})
            os.kill(os.getpid(), self._passed)
        return _print(crash(now, code), _CRASH if now.device and -code not in EXTERNAL_SIGNALS else _INTERNAL)


def _print(line: str, code: int) -> int:
    """Print an error, and return an exit code."""
    # What the command showed of its work may be in this line.
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{clear}vkgroup: {line}", file=sys.stderr, flush=True)
    return code


def late(now: CommandStatus) -> str:
    """Return the message on a missed deadline."""
    advice = " Give more time (--timeout S) or less work." if now.option else ""
    return f"{now.late}.{advice}{_kept(now)}"


def crash(now: CommandStatus, code: int) -> str:
    """Return the message on a command that did not end by itself.

    `code`: the negative number of a signal, or the exit code with which a driver ended the process.
    """
    names = {-int(number): number.name for number in signal.Signals}
    name = names.get(code, f"signal {-code}" if code < 0 else f"exit code {code}")
    if -code in EXTERNAL_SIGNALS:
        return (
            f"the command was killed by {name}, while {now.phase}. No error of a driver raises this signal:"
            f" another process sent it, or the system, because the host's memory is exhausted.{_kept(now)}"
        )
    if not now.device:
        return f"internal error: the command crashed ({name}), while {now.phase}. Please report it."
    return f"the driver of {now.device} crashed ({name}), while {now.phase}.{_kept(now)}"


def _kept(now: CommandStatus) -> str:
    """Return the sentence on the reproduction folder of ``run``."""
    if now.folder == _NO_FOLDER:
        return "" if now.owner is CodeOwner.HOST else " To keep the module and the inputs, add --repro DIR."
    return f" To repeat it: vkgroup run {now.folder}" if now.folder else ""

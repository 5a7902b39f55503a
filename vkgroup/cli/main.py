"""The ``vkgroup`` command: select the subcommand, run it, and turn errors into exit codes."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from vkgroup.base import errors, phases
from vkgroup.base.choices import NO_VALIDATE
from vkgroup.cli import deadline, signals
from vkgroup.cli.output import UNDECIDED
from vkgroup.cli.parser import parse
from vkgroup.cli.supervisor import late, run_in_child

VERDICT, BAD_INPUT, NO_DEVICE = 1, 2, 3
"""Exit codes other than 0 (success)."""

_PIPE_CLOSED = 128 + 13  # the exit code in a shell of a process ended by SIGPIPE

# The first matching entry applies, so subclasses are listed before their bases.
_EXIT_CODES: tuple[tuple[type[errors.VkgroupError], int], ...] = (
    (errors.CompilerUnavailable, NO_DEVICE),
    (errors.Unsupported, NO_DEVICE),
    (errors.NoDevice, NO_DEVICE),
    (errors.DriverFetchError, NO_DEVICE),
    (errors.OutOfMemory, NO_DEVICE),
    (errors.DriverError, VERDICT),
    (errors.VkgroupError, BAD_INPUT),
)


def exit_code_of(error: errors.VkgroupError) -> int:
    """Return the exit code for an error; an error of vkgroup is never a verdict."""
    code = next(code for kind, code in _EXIT_CODES if isinstance(error, kind))
    return BAD_INPUT if code == VERDICT and not errors.is_device_error(error) else code


def main(arguments: Sequence[str] | None = None, *, supervised: bool = False) -> int:
    """Run one command and return its exit code.

    `supervised`: whether a command that calls drivers runs in a child process, whose crash is one line.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    started = deadline.begin()
    phases.share(None)
    try:
        code = _main(words, started, supervised)
    except SystemExit as end:
        code = _for_bisection(end.code if isinstance(end.code, int) else BAD_INPUT, words)
        phases.update(exit_code=code)
        raise SystemExit(code) from None
    code = _for_bisection(code, words)
    phases.update(exit_code=code, phase="ending, after all results")
    return code


def _for_bisection(code: int, words: Sequence[str]) -> int:
    """Return the exit code of a command; with ``--bisect``, one without a verdict is undecided."""
    return UNDECIDED if "--bisect" in words and code in (BAD_INPUT, NO_DEVICE) else code


def _main(words: list[str], started: float, supervised: bool) -> int:
    """Run one command, print its error, and return its exit code."""
    _open_streams()
    warnings.formatwarning = _format_warning
    received: list[signals.Ended] = []
    try:
        with signals.orderly(received):
            chosen = parse(words)
            code = run_in_child(chosen, started) if supervised else None
            if code is None:
                code = _execute(chosen)
                sys.stdout.flush()
            return code
    except errors.VkgroupError as error:
        # A device that does not end its work fails when it is closed, after an interruption, too.
        if (end := _interruption(error)) is not None:
            return _interrupted(end)
        if isinstance(error, errors.DispatchTimeout) and deadline.reached():
            return _print_late()
        _print_error(f"vkgroup: {error}")
        return exit_code_of(error)
    except KeyboardInterrupt as end:
        return _interrupted(end)
    except BrokenPipeError:
        # Discard the buffer: writing it again at exit would fail again.
        _drop_output()
        return _PIPE_CLOSED
    except OSError as error:
        file = error.filename if error.filename is not None else "standard output or a file of results"
        print(f"vkgroup: {file}: {error.strerror or error}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return BAD_INPUT
    except Exception as error:
        # NumPy's import replaces an exception that a signal handler raises in it with an ImportError.
        if isinstance(error, ImportError):
            if received:
                return _interrupted(received[0])
            if deadline.reached():
                return _print_late()
            if library := _missing_library(error):
                print(f"vkgroup: a Python package cannot be imported. {library}", file=sys.stderr)
                return BAD_INPUT
        traceback.print_exc()
        print(f"vkgroup: internal error ({errors.describe(error)}): {_REPORT_IT}", file=sys.stderr)
        return BAD_INPUT


def _missing_library(error: BaseException | None) -> str:
    """Return which shared library an import lacks, and what to do; empty if it failed for another reason."""
    while isinstance(error, ImportError):
        if found := re.match(r"(.+): cannot open shared object file: No such file", str(error)):
            package = " (Debian and Ubuntu: libstdc++6)" if found.group(1) == "libstdc++.so.6" else ""
            return (
                f"This system lacks the library {found.group(1)}: install the package that has it{package}."
            )
        error = error.__cause__ or error.__context__
    return ""


def _interruption(error: BaseException) -> KeyboardInterrupt | None:
    """Return the interruption during whose handling an error was raised, if there is one."""
    context = error.__context__
    while context is not None and not isinstance(context, KeyboardInterrupt):
        context = context.__context__
    return context


def _interrupted(end: KeyboardInterrupt) -> int:
    """Print that a signal or the deadline ended the command, and return the exit code."""
    if isinstance(end, phases.DeadlineReached):
        return _print_late()
    print("vkgroup: interrupted", *getattr(end, "__notes__", ()), sep="; ", file=sys.stderr)
    # A process that a signal ends has 128 plus its number as exit code in a shell.
    return 128 + (end.number if isinstance(end, signals.Ended) else signal.SIGINT)


def _print_late() -> int:
    """Print that the deadline was reached, and return the exit code."""
    now = phases.status()
    # Before the line is printed, because the parent prints it otherwise.
    phases.update(exit_code=int(now.owner))
    print(f"vkgroup: {late(now)}", file=sys.stderr)
    return int(now.owner)


def _format_warning(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> str:
    """Return a warning about a module as one line, and others as Python does."""
    if issubclass(category, errors.NotValidated):
        return f"vkgroup: {message}\n"
    return _PYTHONS_FORMAT(message, category, *place, **options)


_PYTHONS_FORMAT = warnings.formatwarning


def _print_error(text: str) -> None:
    """Print an error; on a terminal, what does not fit in a line goes on below."""
    columns = shutil.get_terminal_size().columns
    if sys.stderr.isatty() and any(len(line) > columns for line in text.splitlines()):
        # Rich is imported only where lines are wrapped.
        import_module("vkgroup.cli.console").Console(stderr=True, highlight=False).write_line(text)
    else:
        print(text, file=sys.stderr)


def _execute(chosen: argparse.Namespace) -> int:
    """Import the module of a command and execute it."""
    try:
        with _environment(chosen):
            return _run(chosen)
    except (errors.VkgroupError, OSError):
        raise
    except Exception as error:
        if isinstance(error, ImportError) or not getattr(chosen, "no_validate", False):
            raise
        raise errors.InvalidModule(
            f"vkgroup fails on a module that was not validated ({errors.describe(error)}); no verdict was"
            " reached. Repeat the command without --no-validate: the validator says what is wrong."
        ) from error


@contextmanager
def _environment(chosen: argparse.Namespace) -> Iterator[None]:
    """Set the variables for options that worker processes must know."""
    before = os.environ.get(NO_VALIDATE)
    if getattr(chosen, "no_validate", False):
        os.environ[NO_VALIDATE] = "1"
    try:
        yield
    finally:
        os.environ.pop(NO_VALIDATE, None)
        if before is not None:
            os.environ[NO_VALIDATE] = before


_OPEN_DEVICES = ("bench", "probe", "run")
"""Commands that open devices in their own process."""


def _start_own_process(chosen: argparse.Namespace) -> None:
    """Replace this process by one with the C library of the chosen device's driver, if it has its own."""
    choice = getattr(chosen, "device", None) or os.environ.get("VKGROUP_DEVICE")
    if chosen.command not in _OPEN_DEVICES or not isinstance(choice, str):
        return
    # Imported here, because other commands start faster without it.
    fetched = import_module("vkgroup.device.fetched")
    launching = import_module("vkgroup.device.launch")
    executes = chosen.command == "run" or (chosen.command == "probe" and not chosen.execution)
    executes = executes and not fetched.may_be_several(choice)
    if executes:
        choice = _emulated_choice(choice)
    runs = executes and fetched.is_compile_only(choice)
    if fetched.needs_own_process(choice) or runs:
        driver, gpu = fetched.driver_of(choice)
        if gpu is not None and not import_module("vkgroup.drivers.gpus").is_emulated(gpu):
            return
        if os.environ.get(launching.OWN) == launching.own_choice(driver, gpu):
            return
        command, environment = launching.launch(driver, gpu, "vkgroup", *chosen.words)
        os.execve(command[0], command, environment | phases.to_inherit())


def _emulated_choice(choice: str) -> str:
    """Return the emulated GPU of a product that no device of this machine is; any other choice unchanged."""
    gpus = import_module("vkgroup.drivers.gpus")
    gpu = gpus.gpu_of_product(choice.partition("@")[0])
    if gpu is None or not gpus.is_emulated(gpu):
        return choice
    # Imported here, because the search for devices takes long.
    return str(import_module("vkgroup.device.discovery").select(choice).choice)


def _run(chosen: argparse.Namespace) -> int:
    _start_own_process(chosen)
    name = "conform_suite" if getattr(chosen, "suite", None) is not None else chosen.command
    if name != "conform":
        return int(import_module(f"vkgroup.cli.{name}").execute(chosen))
    start = import_module("vkgroup.cli.conform_start")
    start.begin(chosen)
    try:
        return int(import_module("vkgroup.cli.conform").execute(chosen))
    finally:
        start.end()


_REPORT_IT = "no verdict was reached. Please report it with the command and the text above."


def _open_streams() -> None:
    """Replace a closed standard stream (None in Python) by the null device.

    Characters that the encoding of a stream lacks are printed as question marks, so printing never fails.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (until the process ends)
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _drop_output() -> None:
    """Discard the rest of standard output's buffer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

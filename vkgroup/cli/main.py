"""``vkgroup``: choosing the command, and turning errors into exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.util import find_spec

from vkgroup import errors
from vkgroup.cli import signals

VERDICT, BAD_INPUT, NO_DEVICE = 1, 2, 3
"""Exit codes besides 0, which means that all is right."""

_PIPE_CLOSED = 128 + 13  # as a shell reports a process that SIGPIPE ended

COMMANDS = {
    "devices": "every device and driver, and which one is the default",
    "drivers": "software drivers, side by side in the user's cache",
    "probe": "what a device can do: declared, and found by experiment",
    "conform": "judge a device against the specification",
    "worker": "put this host's devices at the service of a cluster",
    "compile": "compile a shader to SPIR-V",
    "run": "run a compute shader, or draw with a fragment shader, on NumPy files",
    "check": "is a compute shader right on every subgroup size?",
    "report": "runs as one HTML file: verdicts, failures lane by lane, charts, what changed",
    "bench": "is it worth it? subgroup operations timed beside their alternatives",
    "history": "runs recorded in a database: list, add, export, remove",
    "diff": "what changed between two runs: cases, capabilities, speed",
    "completion": "print a script that completes these commands in bash, zsh or fish",
}
"""Each command and its help. `vkgroup.cli.options.COMMAND` has its options, `vkgroup.cli.COMMAND` executes
it. The latter may have both where it imports nothing that takes long."""

# The first entry that fits decides, so subclasses stand before their bases.
_EXIT_CODES: tuple[tuple[type[errors.VkgroupError], int], ...] = (
    (errors.CompilerUnavailable, NO_DEVICE),
    (errors.Unsupported, NO_DEVICE),
    (errors.NoDevice, NO_DEVICE),
    (errors.DriverFetchError, NO_DEVICE),
    (errors.OutOfMemory, NO_DEVICE),
    (errors.DriverError, VERDICT),
    (errors.VkgroupError, BAD_INPUT),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code.

    Parameters
    ----------
    arguments : without the program's name; None takes those of the process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_streams()
    try:
        with signals.orderly():
            chosen = _parser(words).parse_args(words)
            code: int = import_module(f"vkgroup.cli.{chosen.command}").execute(chosen)
            sys.stdout.flush()
            return code
    except errors.VkgroupError as error:
        print(f"vkgroup: {error}", file=sys.stderr)
        return next(code for kind, code in _EXIT_CODES if isinstance(error, kind))
    except KeyboardInterrupt as end:
        print("vkgroup: interrupted", *getattr(end, "__notes__", ()), sep="; ", file=sys.stderr)
        return signals.exit_code(end)
    except BrokenPipeError:
        # What is left in the buffer must not be written once more at exit, which would fail again.
        _drop_output()
        return _PIPE_CLOSED
    except OSError as error:
        place = error.filename if error.filename is not None else "standard output or a file of results"
        print(f"vkgroup: {place}: {error.strerror or error}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return BAD_INPUT


def _open_streams() -> None:
    """Print into nothing where the caller closed a stream, for which Python has None.

    What the streams' encoding lacks is printed as a question mark: no verdict is lost for a dash.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (until the process ends)
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _drop_output() -> None:
    """Send what is still in standard output's buffer to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser with the options of the command that `words` name, and no other's."""
    chosen = next((word for word in words if not word.startswith("-")), None)
    return parser(() if chosen is None else (chosen,))


def parser(with_options: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    Parameters
    ----------
    with_options : commands whose options it has; of the others it knows name and purpose.
    """
    whole = argparse.ArgumentParser(
        prog="vkgroup",
        description="The truth about subgroups on Vulkan devices.",
        epilog="A device (--device D) goes by number or part of its name, as `vkgroup devices` lists them; "
        "or it is gpu, lavapipe, swiftshader, reference, reference:64 (with subgroups of 64) or a driver's "
        "ICD file (.json). VKGROUP_DEVICE names another default. "
        "Exit codes: 0 all right, 1 a verdict against the device or the shader, "
        "2 bad usage or input, 3 no such device or missing capability.",
    )
    whole.add_argument("--version", action=_Version)
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        if name in with_options:
            apart = find_spec(f"vkgroup.cli.options.{name}") is not None
            import_module(f"vkgroup.cli.{'options.' * apart}{name}").add_arguments(command)
    return whole


class _Version(argparse.Action):
    """Print the version; looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"vkgroup {version('vkgroup')}")
        parser.exit()

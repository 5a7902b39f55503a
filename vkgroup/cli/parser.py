"""The parser of the command line: commands, their options, and errors of usage."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

from vkgroup.base.suggestions import similar, suggestion
from vkgroup.cli.options import OPTIONS

_GROUPS = {
    "devices, drivers and compilers": {
        "devices": "list devices and drivers, and the default device",
        "drivers": "list and download software drivers in the user's cache",
        "compilers": "list compilers of shaders, and download a current glslang",
    },
    "tests and benchmarks of a device": {
        "probe": "print what a device declares and what experiments observe",
        "conform": "test a device against the specification",
        "bench": "measure subgroup operations against their alternatives",
        "worker": "offer the devices of this host to a cluster",
    },
    "shaders": {
        "check": "check a compute or fragment shader at every subgroup size",
        "explain": "explain a kind of finding of check",
        "lsp": "show findings of check in an editor (Language Server Protocol)",
        "equal": "compare the outputs of two compute shaders, or of one at two subgroup sizes",
        "run": "run a compute shader, or draw with a fragment shader, on NumPy files",
        "compile": "compile a shader to SPIR-V",
        "cost": "compile a shader for GPUs, also absent ones, and print its static cost",
    },
    "recorded runs": {
        "report": "show runs in one HTML file: verdicts, failures by lane, charts, changes",
        "diff": "compare two runs: cases, capabilities, speed",
        "history": "list, add, export or remove runs in a database",
    },
    "shell": {"completion": "print a completion script for bash, zsh or fish"},
}
"""Each command and its help, by heading."""

COMMANDS = {name: purpose for commands in _GROUPS.values() for name, purpose in commands.items()}
"""Each command and its help; `vkgroup.cli.COMMAND` executes it."""


def parser(with_options: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    `with_options`: the commands whose options are declared; of the others only name and purpose are.
    """
    whole = Parser(
        prog="vkgroup",
        description="Test Vulkan subgroup operations against a NumPy SPIR-V reference.",
        epilog="A device (--device D) is a number or part of a name as `vkgroup devices` lists them; gpu, "
        "lavapipe, swiftshader, reference or reference:64 (with subgroups of 64); or the ICD file (.json) of "
        "a driver. VKGROUP_DEVICE sets the default. "
        "Exit codes: 0 success, 1 a verdict against the device or the shader, "
        "2 wrong usage or input, or an internal error, 3 no such device, a missing capability, or a crash of "
        "the driver. `vkgroup COMMAND --help` explains the options of a command.",
        formatter_class=_Headings,
    )
    whole.add_argument("--version", action=_Version)
    commands = whole.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(
            name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".", formatter_class=Formatter
        )
        if name in with_options:
            OPTIONS[name].declare(command)
    return whole


def parse(words: list[str]) -> argparse.Namespace:
    """Return the options of a command, with their defaults.

    `given` are the names of those on the command line, `words` the command line.
    """
    name = next((word for word in words if not word.startswith("-")), "")
    chosen = parser((name,)).parse_args(words)
    OPTIONS[name].complete(chosen)
    chosen.words = words
    return chosen


class Formatter(argparse.HelpFormatter):
    """Breaks lines at spaces alone, so that options and paths stay whole."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return textwrap.fill(
            " ".join(text.split()),
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )


class _Headings(Formatter):
    """Lists the commands under headings."""

    def _format_action(self, action: argparse.Action) -> str:
        if action.dest != "command":
            return super()._format_action(action)
        lines = []
        for heading, commands in _GROUPS.items():
            lines.append(f"  {heading}:")
            for name, purpose in commands.items():
                text = f"    {name:11} {purpose}"
                lines += textwrap.wrap(text, self._width, subsequent_indent=" " * 16)
        return "\n".join([*lines, ""])


class Parser(argparse.ArgumentParser):
    """A parser whose errors have a suggestion, and say where help is.

    It reports an error if its help cannot be written, for example to a full disk.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        # An abbreviation would change its meaning with each new option.
        super().__init__(*arguments, **{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Print a short usage and the error, and end with exit code 2."""
        super().error(f"{message}\n`{self.prog} --help` explains the options.")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse options; an unknown one is an error of this command, not of the program."""
        chosen, unknown = super().parse_known_args(args, namespace)
        if unknown:
            known = {option.lstrip("-"): option for option in self._option_string_actions}
            words = [word.lstrip("-").partition("=")[0] for word in unknown if word.startswith("-")]
            near = [known[name] for word in words for name in similar(word, known)]
            hints = "".join(f" Did you mean {option!r}?" for option in near)
            self.error(f"unrecognized arguments: {' '.join(unknown)}.{hints}")
        return chosen, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            message = f"invalid choice: {value!r}.{suggestion(value, known)}"
            raise argparse.ArgumentError(action, message)

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is not sys.stdout:
            super()._print_message(message, file)
            return
        file.write(message)
        file.flush()


class _Version(argparse.Action):
    """Print the version, which is looked up only if it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"vkgroup {version('vkgroup')}", flush=True)
        parser.exit()

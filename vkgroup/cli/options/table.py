"""Options of a command and their types, from which parser, defaults and printed commands are made."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from vkgroup.base import choices


def device(purpose: str) -> Option:
    """Return ``--device``."""
    return Option(
        "--device",
        "D",
        f"device to {purpose} (default: VKGROUP_DEVICE, else the best one): a number or part of a name "
        "from `vkgroup devices`, gpu, reference:64, …; see `vkgroup --help`",
        default=lambda: os.environ.get("VKGROUP_DEVICE") or None,
    )


def database(purpose: str) -> Option:
    """Return ``--db`` for a database of runs."""
    return Option(
        "--db",
        "F",
        f"database {purpose} (default: VKGROUP_DB, if it is set)",
        Path,
        lambda: Path(name) if (name := os.environ.get("VKGROUP_DB")) else None,
    )


def json(purpose: str = "write all results as JSON") -> Option:
    """Return ``--json``."""
    return Option("--json", "F", f"{purpose} (- is standard output)")


def threshold(purpose: str, default: float = choices.BENCH_THRESHOLD) -> Option:
    """Return ``--threshold``, where a command compares times or costs."""
    return Option("--threshold", "P", f"{purpose} (default: {100 * default:g})", percent, default)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def seconds(text: str) -> float:
    """Return a time limit in seconds; raise ArgumentTypeError unless it is positive and less than a day."""
    value = _number(text)
    if not 0 < value < 86400:
        raise argparse.ArgumentTypeError("must be a positive number of seconds, less than a day")
    return value


_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
"""Exponents of two by the letter of a size."""


def byte_count(text: str) -> int:
    """Return a size in bytes: ``512M``, ``8G``, ``1.5G`` or a number of bytes."""
    number = text.upper().removesuffix("B").removesuffix("I")
    match = re.fullmatch(r"([\d.]+(?:E\d+)?)([KMGT]?)", number)
    value = _number(match[1]) * 2 ** _UNITS[match[2]] if match else 0
    if not 1 <= value < 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 512M or 8G")
    return int(value)


def percent(text: str) -> float:
    """Return a percentage as a fraction; raise ArgumentTypeError unless it is from 0 to below 1000."""
    value = _number(text.removesuffix("%"))
    if not 0 <= value < 1000:
        raise argparse.ArgumentTypeError("must be at least 0 and less than 1000 percent")
    return value / 100


def natural(text: str) -> int:
    """Return a nonnegative integer; raise ArgumentTypeError for other texts."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a nonnegative integer")
    return int(text)


def positive(text: str) -> int:
    """Return a positive integer; raise ArgumentTypeError for other texts."""
    number = natural(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def register_shifts(text: str) -> dict[str, int]:
    """Return shifts by class of registers: ``b=0,t=16``."""
    shifts: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        if name not in ("b", "t", "s", "u") or name in shifts or not number.isdecimal():
            raise argparse.ArgumentTypeError(f"{text!r} is not of the form b=N,t=N,s=N,u=N")
        shifts[name] = int(number)
    return shifts


def pair(text: str) -> tuple[str, str]:
    """Split ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


_LARGEST = 128


def _extent(text: str, fewest: int = 1, least: int = 1) -> tuple[int, ...]:
    """Return one to three numbers, none of them below `least`: ``4``, ``8,8`` or ``8x8x1``."""
    words = [word.strip() for word in re.split("[,x]", text.lower())]
    numbers = tuple(int(word) for word in words if word.isdecimal())
    if not fewest <= len(numbers) == len(words) <= 3 or min(numbers) < least:
        count = "two or three" if fewest == 2 else "one to three"
        raise argparse.ArgumentTypeError(f"{text!r}: give {count} numbers of at least {least}, as in 8,8")
    return numbers


groups = _extent
groups_or_none = partial(_extent, least=0)  # a dispatch may have no workgroup
size = partial(_extent, fewest=2)


def subgroup_sizes(text: str) -> tuple[int, ...]:
    """Return subgroup sizes: ``8,32``."""
    sizes = tuple(natural(word) for word in text.split(","))
    if any(not 1 <= size <= _LARGEST or size & (size - 1) for size in sizes):
        raise argparse.ArgumentTypeError(f"subgroup sizes are powers of two from 1 to {_LARGEST}")
    return sizes


@dataclass(frozen=True)
class Option:
    """One option of a command, or an argument without a name on the command line.

    Attributes
    ----------
    names : the names on the command line, separated by spaces; of an argument the name of its value.
    metavar, help, type, action, nargs, choices, const, required : as for argparse's ``add_argument``.
    default : the value if neither the command line nor a configuration gives one; a function returns it.
    dest : the name of the value; empty for that of argparse.
    group : the heading of the help under which it stands; empty for none.
    field : the field of a configuration that gives the value; empty for none.
    printed : the position in printed commands that repeat this one; 0 if they leave it out.
    """

    names: str
    metavar: str | tuple[str, ...] | None = None
    help: str | None = None
    type: Callable[[str], Any] | None = None
    default: Any = None
    action: str | Callable[..., argparse.Action] | None = None
    nargs: int | str | None = None
    choices: tuple[Any, ...] | None = None
    const: Any = None
    required: bool = False
    dest: str = ""
    group: str = ""
    field: str = ""
    printed: int = 0

    @property
    def name(self) -> str:
        """The long name on the command line; the only one if there is no long one."""
        names = self.names.split()
        return next((name for name in names if name.startswith("--")), names[0])

    @property
    def key(self) -> str:
        """The name of the value."""
        return self.dest or self.name.lstrip("-").replace("-", "_")

    @property
    def initial(self) -> Any:
        """The default."""
        return self.default() if callable(self.default) else self.default

    @property
    def is_repeated(self) -> bool:
        """Whether the option may be repeated, so that its value is a list."""
        return self.action == "append"

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Declare the option; values that are not given are left out of the result."""
        keywords = ("metavar", "help", "type", "action", "nargs", "choices", "const", "required", "dest")
        every = ((name, getattr(self, name)) for name in keywords)
        given = {name: value for name, value in every if not (value is None or value is False or value == "")}
        # An absent argument is converted as text, so it has its default.
        default = argparse.SUPPRESS if self.names.startswith("-") else self.initial
        parser.add_argument(*self.names.split(), default=default, **given)

    def words(self, value: Any) -> Iterator[str]:
        """Yield the words of the command line that give a value."""
        for entry in value if self.is_repeated else [value]:
            yield self.names.split()[0]
            if isinstance(entry, dict):
                yield ",".join(f"{key}={number}" for key, number in entry.items())
            elif isinstance(entry, tuple):
                yield ("=" if self.is_repeated else ",").join(map(str, entry))
            elif not isinstance(entry, bool):
                yield str(entry)


def flag(names: str, help: str, default: bool = False, **others: Any) -> Option:
    """Return an option without a value, which changes the default."""
    return Option(
        names, help=help, default=default, action="store_false" if default else "store_true", **others
    )


BISECT = flag("--bisect", "exit code 125 instead of 2 and 3, for git bisect run")
WIDE = flag("--wide", "print all columns, for a wide terminal")


def repeated(names: str, dest: str, metavar: str, help: str, type: Any = None, **others: Any) -> Option:
    """Return an option that may be repeated, whose values are stored in a list."""
    return Option(names, metavar, help, type, default=list, action="append", dest=dest, **others)


def grouped(group: str, *options: Option) -> Iterator[Option]:
    """Yield options under a heading of the help."""
    for option in options:
        yield replace(option, group=group)


@dataclass(frozen=True)
class Command:
    """The options of a command, in the order of its help.

    Attributes
    ----------
    description, epilog, usage : texts of the help; empty for those of argparse.
    groups : description of a heading of the help.
    purpose : of an action: what it does, for the list of actions.
    actions : the actions of the command by name, of which one is chosen.
    """

    options: tuple[Option, ...] = ()
    description: str = ""
    epilog: str = ""
    usage: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    purpose: str = ""
    actions: Mapping[str, Command] = field(default_factory=dict)
    needs_action: bool = True

    def declare(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options in a parser."""
        parser.description = self.description or parser.description
        parser.epilog, parser.usage = self.epilog or None, self.usage or None
        containers: dict[str, argparse._ActionsContainer] = {"": parser}
        for option in self.options:
            if option.group not in containers:
                description = self.groups.get(option.group)
                containers[option.group] = parser.add_argument_group(option.group, description)
            option.add_to(containers[option.group])
        if self.actions:
            below = parser.add_subparsers(dest="action", metavar="ACTION", required=self.needs_action)
            for name, action in self.actions.items():
                action.declare(below.add_parser(name, help=action.purpose))

    def complete(self, chosen: argparse.Namespace) -> None:
        """Add the defaults to the values of the command line, and the names of those as `given`."""
        chosen.given = frozenset(vars(chosen))
        action = self.actions.get(getattr(chosen, "action", None) or "", Command())
        for option in (*self.options, *action.options):
            if option.key not in chosen.given:
                setattr(chosen, option.key, option.initial)


def changed(options: Iterable[Option], chosen: argparse.Namespace) -> list[Option]:
    """Return the options that do not have their defaults."""
    return [option for option in options if getattr(chosen, option.key) != option.initial]


def words_of(
    options: Iterable[Option], chosen: argparse.Namespace, *, with_defaults: bool = False
) -> list[str]:
    """Return the words of the options that printed commands repeat, if the command line gives them.

    `with_defaults`: whether options are repeated that have their default.
    """
    ordered = sorted((option for option in options if option.printed), key=lambda option: option.printed)
    return [
        word
        for option in ordered
        if option.key in chosen.given and (with_defaults or getattr(chosen, option.key) != option.initial)
        for word in option.words(getattr(chosen, option.key))
    ]

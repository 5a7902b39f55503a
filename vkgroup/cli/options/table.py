"""Declaration of the options of a command, from which parser, defaults and printed commands are made."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


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
        given = {name: value for name in keywords if (value := getattr(self, name)) not in (None, "", False)}
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

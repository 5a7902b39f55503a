"""``vkgroup completion``: a script that completes vkgroup's commands, made by shtab from argparse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import shtab

from vkgroup.cli.main import parser

_DEVICES = "echo gpu; echo lavapipe; echo swiftshader; echo reference"
_FOLDERS = ("DIR", "FOLDER")
_FILES = ("F", "F.png", "F.spv", "A.json", "SHADER")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    whole = parser()
    for action in _actions(whole):
        _complete(action)
    sys.stdout.write(shtab.complete(whole, arguments.shell) + "\n")
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of the parsers below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for named, below in zip(action._choices_actions, action.choices.values(), strict=True):
                below.description = named.help  # one line, beside the command's name
                yield from _actions(below)


def _complete(action: argparse.Action) -> None:
    """Say what an argument is completed with, by the word that its help has for the value."""
    word = action.metavar if action.metavar is None or isinstance(action.metavar, str) else action.metavar[0]
    if word == "D":
        action.complete = shtab.cmd(_DEVICES)  # type: ignore[attr-defined]  # as shtab wants it
    elif word in _FOLDERS:
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    elif word in _FILES:
        action.complete = shtab.FILE  # type: ignore[attr-defined]

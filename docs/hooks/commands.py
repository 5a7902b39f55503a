"""Hook that generates the page of all commands and options from the argument parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

from mkdocs.structure.pages import Page

from vkgroup.cli.parser import parser

PAGE = "start/commands.md"
MARK = "<!-- commands -->"
_WIDTH = 100
_LEFT_OUT = (argparse._SubParsersAction, argparse._HelpAction)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Put all commands into their page."""
    if page.file.src_uri != PAGE:
        return markdown
    assert MARK in markdown
    return markdown.replace(MARK, commands())


def commands() -> str:
    """Return the Markdown of all commands."""
    return "\n".join(_command(parser(), 1))


def _command(command: argparse.ArgumentParser, level: int) -> Iterator[str]:
    """Yield the lines about a command, and those of its subcommands."""
    command.formatter_class = partial(argparse.HelpFormatter, width=_WIDTH)
    usage = "\n".join(line[len("usage: ") :] for line in command.format_usage().rstrip().splitlines())
    yield from (_text(command.description), "", "```text", usage, "```", "")
    for group in command._action_groups:
        rows = [action for action in group._group_actions if not isinstance(action, _LEFT_OUT)]
        if not rows:
            continue
        if group.title not in ("positional arguments", "options", "optional arguments"):
            yield from (f"**{_text(group.title).capitalize()}.** {_text(group.description)}".rstrip(), "")
        yield from ("| option | what it does |", "|---|---|")
        yield from (f"| {_name(action)} | {_text(_help(command, action))} |" for action in rows)
        yield ""
    yield from (_text(command.epilog), "")
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from (f"{'#' * (level + 1)} {below.prog}", "", *_command(below, level + 1))


def _name(action: argparse.Action) -> str:
    """Return how an argument is written: ``-o F.spv``, ``SHADER``."""
    if isinstance(action.metavar, tuple):
        value = " ".join(action.metavar)
    elif action.metavar is None and action.choices is not None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    else:
        value = action.metavar or action.dest.upper()
    if action.nargs == 0:
        value = ""
    names = action.option_strings or [""]
    return ", ".join(f"`{f'{name} {value}'.strip()}`" for name in names).replace("|", "\\|")


def _help(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return an argument's help, with defaults and names filled in."""
    return command._get_formatter()._expand_help(action) if action.help else ""


def _text(text: str | None) -> str:
    """Return text with what Markdown and HTML would take for their own escaped; backquotes stay."""
    marked = {"|": "\\|", "<": "&lt;", "*": "\\*", "_": "\\_", "[": "\\["}
    parts = (text or "").split("`")
    return "`".join(
        part if index % 2 else "".join(marked.get(sign, sign) for sign in part)
        for index, part in enumerate(parts)
    )

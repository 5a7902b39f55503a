"""Tables of ``vkgroup probe``: declared properties of a device, with sections of labeled lines."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from vkgroup.cli.console import Console
from vkgroup.device import Capabilities
from vkgroup.probe.declared import NO, declared, opengl


def empty_table() -> Table:
    """Return a table of two columns without lines."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def add_title(table: Table, title: str) -> None:
    """Add the title of a section."""
    if table.row_count:
        table.add_row()
    table.add_row(Text(title, style="bold"))


def add_declared(table: Table, capabilities: Capabilities) -> None:
    """Add the declared capabilities."""
    for section in declared(capabilities):
        add_title(table, section.title)
        for label, words in section.lines:
            style = "dim" if words == NO else "bold red" if words.startswith("broken") else ""
            table.add_row(Text("  " + label), Text(words, style=style))


def print_opengl(capabilities: Capabilities, console: Console) -> None:
    """Print the limits of OpenGL; a separate table, because their long names would widen another one."""
    limits, section = empty_table(), opengl(capabilities)
    add_title(limits, section.title)
    for label, words in section.lines:
        limits.add_row(Text("  " + label), Text(words))
    console.print()
    console.print(limits)


def print_declared(capabilities: Capabilities, console: Console) -> None:
    """Print everything that a device declares."""
    table = empty_table()
    add_declared(table, capabilities)
    console.print(table)
    print_opengl(capabilities, console)

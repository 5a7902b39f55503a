"""The causes of failures in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vkgroup.cli.console import Console
from vkgroup.record.causes import Cause
from vkgroup.record.causes.text import rule_text, truncated, without_rule

SHOWN = 10
"""Causes of each kind that are printed; all are in summary.json."""


def print_causes(causes: Sequence[Cause], out: Path, console: Console) -> None:
    """Print new causes with the lanes of their smallest case, then known ones with its repeat command."""
    new = [cause for cause in causes if not cause.known]
    known = [cause for cause in causes if cause.known]
    if new:
        console.write_line(f"{_count(new, 'new cause')} of failures:", style="bold red")
        for number, cause in enumerate(new[:SHOWN], 1):
            _print_new(number, cause, console)
        _print_more(new, out, console)
    if known:
        console.write_line(f"{_count(known, 'known cause')} of failures:", style="bold yellow")
        for number, cause in enumerate(known[:SHOWN], len(new) + 1):
            _print_known(number, cause, console)
        _print_more(known, out, console)


def _print_new(number: int, cause: Cause, console: Console) -> None:
    console.write_line(f"{number}. {cause.title}", style="bold")
    _print_parts(cause, console)
    for line in truncated(without_rule(cause.detail)):
        console.write_line(f"     {line}")


def _print_known(number: int, cause: Cause, console: Console) -> None:
    finding = cause.finding
    assert finding is not None
    console.write_line(f"{number}. {cause.title} (known since {finding.driver} {finding.since})")
    _print_parts(cause, console)
    for line in cause.detail.splitlines():
        if line.startswith("repeat:"):
            console.write_line(f"     {line}")


def _print_parts(cause: Cause, console: Console) -> None:
    """Print cases, explanation and rule of a cause, and the name of its smallest case."""
    console.write_line(f"   Cases: {cause.sentence}")
    if cause.explanation is not None or cause.common:
        console.write_line(f"   Explanation: {cause.explained}")
    if cause.rule:
        console.write_line(f"   {rule_text(cause.rule)}")
    console.write_line(f"   Smallest case: {cause.smallest}")


def _print_more(causes: Sequence[Cause], out: Path, console: Console) -> None:
    if len(causes) > SHOWN:
        console.write_line(f'   … and {len(causes) - SHOWN} more in {out / "summary.json"}, key "causes"')


def _count(causes: Sequence[Cause], noun: str) -> str:
    return f"{len(causes)} {noun}{'s' * (len(causes) != 1)}"

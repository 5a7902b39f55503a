"""Output of ``vkgroup diff``: statistics of the driver's compiler that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from vkgroup.dispatch.statistics import FIELDS
from vkgroup.record.statistics import StatisticChange, StatisticDifferences

_UNUSUAL = 0.01
"""Difference between the change of an operation and type and that of all cases from which it is listed."""


def statistics(found: StatisticDifferences, limit: int | None) -> Iterator[RenderableType]:
    """Yield the totals of each quantity, and the largest changes by operation and type."""
    changed = found.compared - found.same
    yield Text(
        f"\nStatistics of the compiler: {changed:,} of {found.compared:,} cases changed, "
        f"{found.same:,} the same",
        style="bold",
    )
    if not changed:
        return
    totals = _table("quantity", "A", "B", "change", "worse", "better", "largest change")
    for change in found.totals:
        totals.add_row(FIELDS[change.quantity].title, *_cells(change))
    yield totals
    usual = {change.quantity: change.ratio for change in found.totals}
    listed = [change for change in found.changes if abs(change.ratio - usual[change.quantity]) >= _UNUSUAL]
    for words, part in (
        ("Worse", [change for change in listed if change.ratio > 0]),
        ("Better", [change for change in listed if change.ratio < 0]),
    ):
        yield from _listed(words, part, limit)


def _listed(words: str, changes: Sequence[StatisticChange], limit: int | None) -> Iterator[RenderableType]:
    """Yield the operations and types whose quantities change otherwise than those of all cases."""
    if not changes:
        return
    yield Text(f"{words}, where operations and types differ from all cases together, the largest first:")
    table = _table("operation", "type", "quantity", "A", "B", "change", "worse", "better", "largest change")
    for change in changes[:limit]:
        operation = change.operation or "-"
        if change.stage not in ("", "compute"):
            operation = f"{operation} ({change.stage})"
        title = FIELDS[change.quantity].title
        table.add_row(operation, change.type or "-", title, *_cells(change))
    yield table
    if limit is not None and len(changes) > limit:
        yield Text(f"  … and {len(changes) - limit} more (--limit 0 shows all)", style="dim")


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        numbers = heading in ("A", "B", "change", "worse", "better")
        table.add_column(heading, justify="right" if numbers else "left", no_wrap=numbers, overflow="fold")
    return table


def _cells(change: StatisticChange) -> tuple[str | Text, ...]:
    """Return the sums of both runs, the change of the sum, numbers of cases, and the largest change."""
    part = (change.new - change.old) / change.old if change.old else 0.0
    style = "red" if change.ratio > 0 else "green" if change.ratio < 0 else ""
    text = Text(f"{part:+.1%}" if change.old else f"{change.new - change.old:+,g}", style=style)
    largest = f"{change.largest}: {change.largest_old:,g} → {change.largest_new:,g}" if change.largest else ""
    counts = (str(count) if count else "-" for count in (change.worse, change.better))
    return (f"{change.old:,.0f}", f"{change.new:,.0f}", text, *counts, Text(largest))

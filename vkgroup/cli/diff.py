"""``vkgroup diff``: print the differences between two runs."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from vkgroup.bench.compare import Comparison
from vkgroup.cli.bench_tables import duration, row_name
from vkgroup.cli.console import Console
from vkgroup.cli.diff_statistics import statistics
from vkgroup.cli.history import Runs, counts, moment
from vkgroup.cli.output import write_json
from vkgroup.cli.progress import working
from vkgroup.outputs import diff, history
from vkgroup.outputs.diff import CapabilityChange, CaseChange, CaseDifferences, CauseDifferences
from vkgroup.outputs.history import RunInfo


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    with Runs(arguments) as runs, working("comparing the runs"):
        old, new = (
            history.load(run) if isinstance(run, Path) else run
            for run in map(runs.named, (arguments.old, arguments.new))
        )
        found = diff.differences(old, new, threshold=arguments.threshold)
    console = Console.for_people(arguments.json, 120)
    limit = arguments.limit or None
    for part in (
        (_heading("A", found.old), _heading("B", found.new)),
        _causes(found.causes, limit) if found.causes is not None else (),
        _cases(found.cases, limit) if found.cases is not None else (),
        _capabilities(found.capabilities, limit) if found.capabilities is not None else (),
        _speed(found.speed, limit) if found.speed is not None else (),
        statistics(found.statistics, limit) if found.statistics is not None else (),
    ):
        for item in part:
            console.write(item)
    write_json(found.to_json(), arguments.json)
    return 1 if found.newly_fails else 0


def _heading(letter: str, info: RunInfo) -> Text:
    device = " · ".join(word for word in (info.device, info.driver) if word) or "unknown device"
    return Text.assemble((letter, "bold"), f"  {info.id}  {moment(info)}  {device}: ", counts(info))


def _causes(found: CauseDifferences, limit: int | None) -> Iterator[Text]:
    """Yield the causes that appeared, disappeared, were not tested, or have other numbers of cases."""
    changed = tuple(change for change in found.remaining if change.old != change.new)
    numbers = f"{len(found.appeared)} appeared, {len(found.disappeared)} disappeared, "
    same = len(found.remaining) - len(changed)
    numbers += f"{len(found.not_tested)} not tested, " if found.not_tested else ""
    yield Text(
        f"\nCauses of failures: {numbers}{len(changed)} with more or fewer cases, {same} the same", "bold"
    )
    for title, changes, style in (
        ("Appeared", found.appeared, "bold red"),
        ("Disappeared", found.disappeared, "green"),
        ("Not tested", found.not_tested, "yellow"),
        ("More or fewer cases", changed, "bold yellow"),
    ):
        if changes:
            yield Text(f"{title}:", style=style)
        for change in changes[:limit]:
            known = " (known)" if change.known else ""
            yield Text(f"  {change.title}{known}: {change.old:,} → {change.new:,} cases")
            yield Text(f"      {change.sentence}", style="dim")
            yield Text(f"      smallest case: {change.smallest}", style="dim")
        yield from _more(len(changes), limit)


def _cases(found: CaseDifferences, limit: int | None) -> Iterator[RenderableType]:
    lists = {
        "newly failing": found.newly_failing,
        "appeared and failing": found.appeared_failing,
        "fixed": found.fixed,
        "appeared": found.appeared,
        "vanished": found.vanished,
        "otherwise changed": found.other,
    }
    numbers = ", ".join(f"{len(changes)} {words}" for words, changes in lists.items())
    yield Text(f"\nCases: {numbers}, {found.same} the same", style="bold")
    yield from _listed("Newly failing", found.newly_failing, limit, "bold red")
    yield from _listed("Appeared and failing", found.appeared_failing, limit, "bold yellow")
    yield from _listed("Fixed", found.fixed, limit, "green")
    for words, changes in (("Appeared", found.appeared), ("Vanished", found.vanished)):
        yield from _by_category(words, changes, limit)
    if found.other:
        yield Text("Otherwise changed:")
        kinds = Counter((change.old, change.new) for change in found.other)
        for (old, new), number in kinds.most_common():
            first = next(change.case for change in found.other if (change.old, change.new) == (old, new))
            yield Text(f"  {number} {old} → {new}, as {first}")


def _listed(words: str, changes: Sequence[CaseChange], limit: int | None, style: str) -> Iterator[Text]:
    if changes:
        yield Text(f"{words}:", style=style)
    for change in changes[:limit]:
        yield Text(f"  {change.old or 'not there'} → {change.new}  {change.case}")
        for line in change.detail.splitlines()[:2]:
            yield Text(f"      {line}", style="dim")
    yield from _more(len(changes), limit)


def _by_category(words: str, changes: Sequence[CaseChange], limit: int | None) -> Iterator[Text]:
    """Yield one line of added or removed cases for each category and status."""
    if not changes:
        return
    yield Text(f"{words}:")
    numbers = Counter((change.case.split(".", 1)[0], change.new or change.old) for change in changes)
    for (category, status), number in sorted(numbers.items())[:limit]:
        yield Text(f"  {number} {category}: {status}")
    yield from _more(len(numbers), limit)


def _more(count: int, limit: int | None) -> Iterator[Text]:
    if limit is not None and count > limit:
        yield Text(f"  … and {count - limit} more (--limit 0 shows all)", style="dim")


def _capabilities(changes: Sequence[CapabilityChange], limit: int | None) -> Iterator[RenderableType]:
    yield Text(f"\nCapabilities: {len(changes) or 'nothing'} changed", style="bold")
    groups: dict[str, list[CapabilityChange]] = {}
    for change in changes:
        groups.setdefault(change.group, []).append(change)
    for group, members in groups.items():
        yield Text(f"{group}:")
        for change in members[:limit]:
            yield _capability(change)
        yield from _more(len(members), limit)


def _capability(change: CapabilityChange) -> Text:
    if change.old is None or change.new is None:
        sign, value = ("+", change.new) if change.old is None else ("-", change.old)
        words = change.name if value is True else f"{change.name}: {value}"
        return Text(f"  {sign} {words}", style="green" if sign == "+" else "red")
    if change.group == "experiment":
        return Text(f"  {change.name}:\n      A: {change.old}\n      B: {change.new}")
    return Text(f"  {change.name}: {change.old} → {change.new}")


def _speed(found: Comparison, limit: int | None) -> Iterator[RenderableType]:
    changed = {
        verdict: sorted(
            (one for one in found.changes if one.verdict(found.threshold) == verdict),
            key=lambda one: one.ratio,
            reverse=verdict == "slower",
        )
        for verdict in ("slower", "faster", "same")
    }
    yield Text(
        f"\nSpeed: {len(found.newly_wrong)} rows newly wrong, {len(changed['slower'])} slower, "
        f"{len(changed['faster'])} faster, {len(changed['same'])} the same within their intervals"
        f"; {len(found.added)} appeared, {len(found.missing)} vanished",
        style="bold",
    )
    for name, (old, new) in found.context.items():
        yield Text(f"  {name}: {old} → {new}", style="yellow")
    for name in found.newly_wrong:
        yield Text(f"  {name} is WRONG in B: {found.wrong[name]}", style="bold red")
    if not changed["slower"] and not changed["faster"]:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("row", overflow="fold")
    for heading in ("A", "B", "B ÷ A"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("B is", no_wrap=True)
    for verdict, style in (("slower", "bold red"), ("faster", "green")):
        for one in changed[verdict][:limit]:
            times = [duration(time.median, one.unit) for time in (one.old, one.new)]
            table.add_row(row_name(one.name), *times, f"{one.ratio:.3f}", Text(verdict, style=style))
    yield table
    for verdict in ("slower", "faster"):
        yield from _more(len(changed[verdict]), limit)

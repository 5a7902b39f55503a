"""Tables of ``vkgroup bench``, which fit into 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from vkgroup.bench.catalogue import power_text
from vkgroup.bench.row import CONFIDENCE, TIMESTAMPS, BenchmarkRow, CandidateTimes, Estimate, Share

# Types only: ``bench --compare`` starts without the runtime.
if TYPE_CHECKING:
    from vkgroup.bench.compare import Comparison
    from vkgroup.bench.definition import Definition
    from vkgroup.bench.run import BenchmarkResult

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_NOTHING = "·"
_STYLES = {"slower": "bold red", "faster": "green", "same": ""}


def heading(context: Mapping[str, object]) -> str:
    """Return lines on device, clock, seed and caches."""
    return (
        f"{title(context)}\n"
        f"Clock: {context['clock']}. Seed: {context['seed']}.\n"
        f"Last-level cache: {context['last_level_cache']}."
    )


def title(context: Mapping[str, object]) -> str:
    """Return device and driver in one line."""
    return f"{context['device']} · {context['driver_name']} {context['driver_info']}".rstrip(" ·")


def listing(definitions: Iterable[Definition], wide: bool) -> Table:
    """Return the table of ``--list``; `wide`: with the parameters that ``--sweep`` takes."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("benchmark", "sizes", *["sweeps"] * wide, "what it measures"):
        table.add_column(name, no_wrap=name in ("benchmark", "sizes"), overflow="fold")
    for definition in definitions:
        ends = dict.fromkeys(power_text(size) for size in (definition.sizes[0], definition.sizes[-1]))
        sweeps = [", ".join(definition.tuning)] * wide
        table.add_row(*map(Text, (definition.name, " … ".join(ends), *sweeps, definition.title)))
    return table


def results(result: BenchmarkResult, smoke: bool) -> Iterator[RenderableType]:
    """Yield the results of a run: pairs, other timings, ceilings, notes and errors."""
    if smoke:
        yield _verified(result.rows)
    elif any(row.timed for row in result.rows):
        yield from _pairs(result.rows)
        others = _others(result.rows)
        if others.row_count:
            yield others
        if any(row.ceilings for row in result.rows):
            yield _ceilings(result.rows)
        shares = " Shares refer to the named ceiling, which is measured in the same rounds."
        shares *= any(row.shares for row in result.rows)
        yield Text(f"Medians; ± and ranges are {CONFIDENCE:.0%} intervals.{shares}", style="dim")
        yield from _clocks(result.rows)
    yield from _notes(result)


def duration(value: float, unit: str = "s") -> str:
    """Return a time for people, with three digits: ``"254 µs"``, ``"31.2 cycles"``."""
    if unit != "s":
        return f"{_digits(value)} {unit}"
    scale, word = next(((scale, word) for scale, word in _SECONDS if value >= scale), _SECONDS[-1])
    return f"{_digits(value / scale)} {word}"


def _digits(value: float) -> str:
    """Return a number with three significant digits, or all digits before the point if there are more."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _rate(entry: CandidateTimes) -> str:
    if not entry.rate:
        return ""
    return f"{_digits(entry.rate / 1e9)} {'GB/s' if entry.counts == 'bytes' else 'Gop/s'}"


def _time(row: BenchmarkRow, name: str) -> str:
    """Return a version's time with its interval, and its rate on the next line."""
    if name in row.wrong:
        return "WRONG"
    entry = row.timed.get(name)
    if entry is None:
        return _NOTHING
    spread = f"±{100 * entry.time.spread:.1f}%"
    return "\n".join(filter(None, (f"{duration(entry.time.median, row.unit)} {spread}", _rate(entry))))


def _ratio(estimate: Estimate | None) -> str:
    if estimate is None:
        return _NOTHING
    return f"{estimate.median:.2f} ×\n{estimate.low:.2f}–{estimate.high:.2f}"


def _share(share: Share | None) -> str:
    if share is None:
        return _NOTHING
    return f"{100 * share.part.median:.1f} %\n{share.ceiling}"


def _label(row: BenchmarkRow) -> str:
    where = ", ".join((power_text(row.size), *(f"{key} {value}" for key, value in row.tuning.items())))
    return f"{row.name}\n  {where}"


def _pairs(rows: Sequence[BenchmarkRow]) -> Iterator[Table]:
    """Yield a table for each pair of versions: both, their ratio, and the share of the first."""
    shown = [row for row in rows if row.timed or row.wrong]
    for first, second in dict.fromkeys(_pair(row) for row in shown):
        has_shares = any(row.shares for row in shown if _pair(row) == (first, second))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("benchmark\n  size", overflow="fold")
        table.add_column(f"{first}\n", justify="right", no_wrap=True)
        if second:
            table.add_column(f"{second}\n", justify="right", no_wrap=True)
            table.add_column(f"{second}\n÷ {first}", justify="right", no_wrap=True)
        if has_shares:
            table.add_column(f"share of\n{first}", justify="right", overflow="fold")
        for row in shown:
            if _pair(row) == (first, second):
                _add_pair(table, row, has_shares)
        yield table


def _pair(row: BenchmarkRow) -> tuple[str, str]:
    """Return the headings of a row's two columns; the second is empty if the row has one version."""
    return row.pair if row.pair[0] != row.pair[1] else ("alone", "")


def _add_pair(table: Table, row: BenchmarkRow, has_shares: bool) -> None:
    first, second = row.pair
    cells = [_label(row), _time(row, first)]
    if first != second:
        cells += [_time(row, second), _ratio(row.ratio)]
    if has_shares:
        cells.append(_share(row.shares.get(first)))
    table.add_row(*map(Text, cells), style="bold red" if row.wrong else "")


def _others(rows: Sequence[BenchmarkRow]) -> Table:
    """Return the table of peers and further variants."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("\nbenchmark\n  size", "\nbeside"):
        table.add_column(name, overflow="fold")
    for name in ("\ntime", "beside\n÷ ours", "share of\nbeside"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        for name in row.timed:
            if name not in row.pair:
                ratio = _ratio(row.ratios.get(name))
                cells = (_label(row), name, _time(row, name), ratio, _share(row.shares.get(name)))
                table.add_row(*map(Text, cells))
    return table


def _ceilings(rows: Sequence[BenchmarkRow]) -> Table:
    """Return the table of ceilings; differences between rows show drift of the device."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("\nceiling", "first", "last", "least", "most"):
        table.add_column(name, justify="left" if "ceiling" in name else "right", no_wrap=True)
    ceilings: dict[str, list[CandidateTimes]] = {}
    for row in rows:
        for name, entry in row.ceilings.items():
            ceilings.setdefault(name, []).append(entry)
    for name, entries in ceilings.items():
        slow, fast = (choose(entries, key=lambda entry: entry.rate) for choose in (min, max))
        table.add_row(name, *(_rate(entry) for entry in (entries[0], entries[-1], slow, fast)))
    return table


def _verified(rows: Sequence[BenchmarkRow]) -> Table:
    """Return the table of a run without timings."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("benchmark", overflow="fold")
    table.add_column("size", justify="right")
    table.add_column("right", overflow="fold")
    table.add_column("wrong", overflow="fold")
    for row in rows:
        label = "/".join((row.name, *(f"{key}:{value}" for key, value in row.tuning.items())))
        table.add_row(
            Text(label),
            power_text(row.size),
            ", ".join(row.right) or _NOTHING,
            Text(", ".join(row.wrong), style="bold red") if row.wrong else _NOTHING,
        )
    return table


def _clocks(rows: Sequence[BenchmarkRow]) -> Iterator[RenderableType]:
    """Yield a line for each clock other than that of the heading, with the versions timed by it."""
    by_clock: dict[str, dict[str, None]] = {}
    for row in rows:
        for entry in row.timed.values():
            if entry.clock != TIMESTAMPS:
                by_clock.setdefault(entry.clock, {})[entry.name] = None
    for clock, names in by_clock.items():
        yield Text(f"By {clock}: {', '.join(names)}.", style="dim")


def _notes(result: BenchmarkResult) -> Iterator[RenderableType]:
    """Yield wrong results, notes, unsteady rows and missing peers."""
    for row in result.rows:
        for name, message in row.wrong.items():
            yield Text(f"{row.label}: {name} is WRONG and was not timed: {message}", style="bold red")
    seen: dict[str, list[str]] = {}
    for row in result.rows:
        for note in row.notes:
            seen.setdefault(note, []).append(row.label)
    for note, labels in seen.items():
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        yield Text(f"{labels[0]}{more}: {note}", style="dim")
    unsteady = [row.label for row in result.rows if row.rounds and not row.steady]
    if unsteady:
        names = unsteady[0] if len(unsteady) == 1 else f"{len(unsteady)} of {len(result.rows)} rows"
        yield Text(
            f"Not steady by the end of the warm-up (a busy or unsettled device): {names}.", style="dim"
        )
    for note in result.notes:
        yield Text(note, style="dim")
    for name, reason in result.absent.items():
        yield Text(f"Without {name}: {reason}", style="dim")


def row_name(name: str) -> Text:
    """Return the name of a row, with the size and the version below the benchmark."""
    return Text(name.replace("/", "\n  ", 1))


def comparison(runs: Comparison) -> Iterator[RenderableType]:
    """Yield the output of ``--compare``."""
    for name, (old, new) in runs.context.items():
        yield Text(f"{name}: {old} → {new}", style="yellow")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("row", overflow="fold")
    for name in ("A", "B", "B ÷ A"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("intervals", no_wrap=True)
    table.add_column("B is", no_wrap=True)
    for change in runs.changes:
        verdict = change.verdict(runs.threshold)
        table.add_row(
            row_name(change.name),
            duration(change.old.median, change.unit),
            duration(change.new.median, change.unit),
            f"{change.ratio:.3f}",
            "overlap" if change.overlap else "apart",
            Text(verdict, style=_STYLES[verdict]),
        )
    yield table if runs.changes else Text("No row is timed in both runs.")
    for name, message in runs.wrong.items():
        yield Text(f"{name} is WRONG in B: {message}", style="bold red")
    for words, names in (("only in A", runs.missing), ("only in B", runs.added)):
        if names:
            yield Text(f"{words}: {', '.join(names)}", style="dim")

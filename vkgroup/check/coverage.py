"""Coverage of a check in its report: runs, compared numbers, and lines that were not executed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vkgroup.check.findings import Coverage, SourceLocations, join, ranges
from vkgroup.check.request import values_of
from vkgroup.check.runs import CheckedRun, count_numbers
from vkgroup.check.state import CheckState


def coverage_of(state: CheckState) -> Coverage:
    """Return what the runs of a check covered."""
    runs = state.comparable
    base = state.base(None)
    counts: dict[str, Any] = dict.fromkeys(("compared", "undefined", "ordered", "rounded"), 0)
    if base is not None:
        tolerance = state.tolerances.get(base.configuration, {})
        counts = count_numbers(state.dispatch.inputs, base, [*runs, *state.device_runs], tolerance)
    return Coverage(
        configurations=tuple(run.configuration for run in [*state.runs, *state.device_runs]),
        not_covered=tuple(state.not_covered),
        **counts,
        groups=state.dispatch.groups,
        local_size=state.dispatch.program.local_size,
        inputs=state.dispatch.inputs.origins,
        specialization=values_of(state.dispatch.program.module),
        notes=tuple(state.notes),
        assumed=tuple(state.host.sentences()),
    )


def lines_of_sites(
    runs: Iterable[CheckedRun],
    missing_in: Callable[[Mapping[int, int]], frozenset[int]],
    places: SourceLocations,
) -> tuple[str, ...]:
    """Return the lines of sites that were not executed, in words: at no size, then at some sizes.

    `missing_in`: returns the positions of the sites that are missing in what was executed.
    """
    executed: dict[int, dict[int, int]] = {}
    for run in runs:
        executed.setdefault(run.configuration.subgroup_size, {}).update(run.executed)
    missing = {size: missing_in(found) for size, found in executed.items()}
    never = frozenset.intersection(*missing.values()) if missing else frozenset[int]()
    texts = [_lines(never, places)] if never else []
    sizes: dict[str, list[int]] = {}
    for size, positions in sorted(missing.items()):
        if positions - never:
            sizes.setdefault(_lines(positions - never, places), []).append(size)
    return (*texts, *(f"{text} at size {join(at)}" for text, at in sizes.items()))


def _lines(positions: frozenset[int], places: SourceLocations) -> str:
    """Return the lines of positions in words: ``"lines 3, 7 to 9"``."""
    found = [places[position] for position in positions]
    if not all(place.line for place in found):
        return f"{len(found)} instruction{'s' * (len(found) != 1)}"
    files = dict.fromkeys(place.file for place in found)
    texts = []
    for file in files:
        lines = sorted({place.line for place in found if place.file == file})
        text = f"line{'s' * (len(lines) != 1)} {ranges(lines)}"
        texts.append(text if len(files) == 1 else f"{text} of {file}")
    return ", ".join(texts)

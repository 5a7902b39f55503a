"""Tables of the times of calls, from results of `bench/calls.py` on several machines.

    python bench/calls_table.py bench/results/*/calls.json > tables.md

Each number is a range over the machines: the least and the greatest median.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Results = list[dict[str, Any]]

OTHERS = ("torch", "cupy", "hephaistos", "wgpu")
SUBMIT = "vkgroup, submit"


def ranged(values: list[float], factor: float = 1e6) -> str:
    """Return numbers as their range, in µs unless another factor is given."""
    ends = (factor * min(values), factor * max(values))
    low, high = (f"{end:.0f}" if end >= 100 else f"{end:.3g}" for end in ends)
    return low if low == high else f"{low}–{high}"


def cell(results: Results, part: str, title: str, contender: str, kind: str) -> str:
    """Return one range; a dash if nothing was measured."""
    found = [result[part][title].get(contender) for result in results]
    return ranged([entry[kind][0] for entry in found]) if all(found) else "–"


def ratio(results: Results, part: str, title: str, contender: str) -> str:
    """Return the time of a call divided by that of a recorded dispatch in the same rounds."""
    calls = [result[part][title][contender]["waited"][0] for result in results]
    recorded = [result[part]["recorded dispatch"]["vkgroup"]["waited"][0] for result in results]
    return ranged([call / base for call, base in zip(calls, recorded, strict=True)], 1)


def table(results: Results, part: str) -> list[str]:
    """Return the lines of one table."""
    gpu = part.replace("kernels", "GPU") if part.startswith("kernels") else "GPU of calls"
    known = {name for row in results[0][part].values() for name in row}
    others = [name for name in OTHERS if name in known]
    head = ["call", "GPU", "waited", "÷ recorded dispatch", "in flight"]
    head += [f"{name}, {kind}" for name in others for kind in ("waited", "in flight")]
    lines = [f"## {part[0].upper()}{part[1:]}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for title in results[0][part]:
        for own in (name for name in ("vkgroup", SUBMIT) if name in results[0][part][title]):
            seconds = [result[gpu].get(title) for result in results]
            cells = [title if own == "vkgroup" else title.replace("run", "submit")]
            cells.append(ranged([s for s in seconds if s]) if all(seconds) else "–")
            cells += [cell(results, part, title, own, "waited"), ratio(results, part, title, own)]
            cells.append(cell(results, part, title, own, "in flight"))
            for name in others:
                cells += [cell(results, part, title, name, kind) for kind in ("waited", "in flight")]
            lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def transfers(results: Results) -> list[str]:
    """Return the lines of the table of transfers, in GB/s."""
    found = [result["transfers"] for result in results]
    names = [name for name in ("vkgroup", "torch", "cupy") if name in next(iter(found[0].values()))["upload"]]
    lines = [
        "## Transfers, in GB/s",
        "",
        f"| | bytes | {' | '.join(names)} |",
        f"|{'---|' * (2 + len(names))}",
    ]
    for title in next(iter(found[0].values())):
        for nbytes in found[0]:
            cells = [ranged([rows[nbytes][title][name][0] for rows in found], 1e-9) for name in names]
            lines.append(f"| {title} | {int(nbytes):,} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Print all tables."""
    results: Results = [json.loads(Path(name).read_text("utf-8")) for name in sys.argv[1:]]
    if not results:
        sys.exit("Give the JSON files of bench/calls.py.")
    parts = [part for part in results[0] if part == "calls" or part.startswith(("kernels of", "dispatches"))]
    for part in parts:
        print("\n".join(table(results, part)))
    print("\n".join(transfers(results)))


if __name__ == "__main__":
    main()

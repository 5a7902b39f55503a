"""Merge runs of ``vkgroup bench`` into one file that has only the medians.

    vkgroup bench 'reduce.*' 'scan.*' --json new.json
    cd bench/results/nvidia-h200
    python ../../medians.py bench.json new.json -o bench.json

A row that several files have is taken from the last of them. The context has the latest date, and the fields
on which all files that have them agree.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def merged(files: list[dict[str, Any]]) -> dict[str, Any]:
    """Return files in Google Benchmark's format as one."""
    contexts = [file["context"] for file in files]
    fields = {name: value for context in contexts for name, value in context.items()}
    same = {
        name: value
        for name, value in fields.items()
        if all(context.get(name, value) == value for context in contexts)
    }
    rows = {
        row["run_name"]: row
        for file in files
        for row in file["benchmarks"]
        if row.get("aggregate_name") == "median"
    }
    return {
        "context": {**same, "date": max(context["date"] for context in contexts)},
        "benchmarks": list(rows.values()),
    }


def main() -> None:
    """Write the file, one row per line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-o", dest="out", required=True, type=Path)
    arguments = parser.parse_args()
    data = merged([json.loads(path.read_text()) for path in arguments.files])
    rows = ",\n".join(json.dumps(row) for row in data["benchmarks"])
    arguments.out.write_text(f'{{"context": {json.dumps(data["context"])}, "benchmarks": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()

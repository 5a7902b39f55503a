"""Table of docs/results/real-shaders.md: python -m real_shaders.report FILE, in the folder bench."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

COLUMNS = ("project", "shader", "file", "findings", "error / tolerance", "mutants at the line", "others")


def line(row: dict[str, Any]) -> str:
    """Return the Markdown of one shader."""
    results = Counter(mutant["result"] for mutant in row["mutants"])
    others = ", ".join(f"{count} {name}" for name, count in results.items() if name != "line")
    cells = (
        row["corpus"],
        row["name"],
        f"`{row['file']}`",
        f"{len(row['findings'])} (known)" if row["findings"] else "0",
        f"{row['error / tolerance']:.2g}",
        f"{results['line']} of {len(row['mutants'])}",
        others,
    )
    return f"| {' | '.join(cells)} |"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the Markdown of all shaders."""
    head = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    return "\n".join(head + [line(row) for row in rows])


def main() -> None:
    """Print the table and the sums."""
    rows = json.loads(Path(sys.argv[1]).read_text())
    print(table(rows))
    mutants = [mutant for row in rows for mutant in row["mutants"]]
    print(len(rows), "shaders;", dict(Counter(mutant["result"] for mutant in mutants)))
    for kind in dict.fromkeys(mutant["kind"] for mutant in mutants):
        print(kind, dict(Counter(mutant["result"] for mutant in mutants if mutant["kind"] == kind)))
    print("trees", dict(Counter(row["tree"]["result"] for row in rows if row.get("tree"))))


if __name__ == "__main__":
    main()

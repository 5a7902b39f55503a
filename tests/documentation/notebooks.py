"""Execution of a notebook without Jupyter.

``python tests/documentation/notebooks.py`` writes the outputs again. The cells run in one namespace, in the
notebook's folder. What they print is saved, other outputs are not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "docs/examples/subgroups.ipynb"

_RUN = """
import contextlib, io, json, sys
names, printed = {"__name__": "__main__"}, []
for number, source in enumerate(json.load(sys.stdin)):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(source, f"cell {number}", "exec"), names)
    printed.append(output.getvalue())
json.dump(printed, sys.stdout)
"""


def code_cells(notebook: Any) -> list[Any]:
    """Return the cells that have code."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed_by(path: Path) -> list[str]:
    """Execute the code cells in order, and return what each prints."""
    sources = ["".join(cell["source"]) for cell in code_cells(json.loads(path.read_text("utf-8")))]
    done = subprocess.run(
        [sys.executable, "-c", _RUN],
        input=json.dumps(sources),
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed: list[str] = json.loads(done.stdout)
    return printed


def main() -> None:
    """Write the outputs into the notebook."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    for number, (cell, text) in enumerate(zip(code_cells(notebook), printed_by(NOTEBOOK), strict=True), 1):
        stream = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
        cell |= {"execution_count": number, "outputs": [stream] if text else []}
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()

"""Record of fuzzing, bench/results/fuzz.json, in which each program of this folder stores its counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vkgroup.base.files import write_whole


def update(file: Path, values: Mapping[str, Any]) -> None:
    """Write values into a record, which keeps its other keys; a file that does not exist is created."""
    others = json.loads(file.read_text()) if file.exists() else {}
    write_whole(file, json.dumps({**others, **values}, indent=1) + "\n")

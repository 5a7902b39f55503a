"""The record of a run, and its exports.

`record` is the schema: a `record.Run` with a `record.Result` for each case. A run in progress is written
to its folder (`journal`) and, with ``--db``, to an SQLite database (`history`). `history` also reads
folders. `exports` writes JSONL, JUnit, CSV, baselines and annotations; `report` writes HTML;
`reproduction` makes a folder that repeats one failure.
"""

from __future__ import annotations

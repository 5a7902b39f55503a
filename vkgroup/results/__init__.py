"""The record of a run, and its exports.

`record` is the one schema: a `record.Run` with a `record.Result` for each case. A run in progress is written
to its folder as it goes (`journal`), and with ``--db`` to an SQLite database (`history`), which also reads
folders back. `exports` writes JSONL, JUnit, CSV, baselines and annotations; `report` writes HTML;
`reproduction` makes a folder that repeats one failure.
"""

from __future__ import annotations

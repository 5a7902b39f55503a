"""Outputs made from records of runs.

`exports` writes JUnit, CSV, baselines and annotations; `report` writes HTML; `diff` compares two runs;
`history` keeps them in an SQLite database; `reproduction` makes a folder that repeats one failure.
"""

from __future__ import annotations

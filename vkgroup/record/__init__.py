"""The record of a run, while it runs and afterwards.

`record` is the schema of one result, `run.Run` has one for each case. `journal` writes a run in progress to
its folder; `causes` groups failures by what explains them.
"""

from __future__ import annotations

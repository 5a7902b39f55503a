"""The campaign programs that these tests run: `tests/campaigns/fuzz`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "campaigns/fuzz"))

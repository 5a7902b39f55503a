"""Types of values in this package."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = Any
"""An array of NumPy, or one of its scalars: what is the same for all lanes is not repeated for each."""

Mask = npt.NDArray[np.bool_]
"""One bool a wave, (waves,), or a lane, (waves, lanes)."""

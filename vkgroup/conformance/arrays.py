"""Types of the suite's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
Words = NDArray[np.uint32]

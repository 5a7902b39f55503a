"""All programs, by theme."""

from __future__ import annotations

import programs_matrices
import programs_scans
import programs_simulation
import programs_sorting
import programs_tutorial

PROGRAMS = (
    *programs_tutorial.PROGRAMS,
    *programs_scans.PROGRAMS,
    *programs_sorting.PROGRAMS,
    *programs_matrices.PROGRAMS,
    *programs_simulation.PROGRAMS,
)

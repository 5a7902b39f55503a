"""Table of all handwritten programs."""

from __future__ import annotations

import programs_control
import programs_data
import programs_graphs
import programs_images
import programs_matrices
import programs_scans
import programs_simulation
import programs_sorting
import programs_subgroups
import programs_text
import programs_tutorial

PROGRAMS = (
    *programs_tutorial.PROGRAMS,
    *programs_scans.PROGRAMS,
    *programs_sorting.PROGRAMS,
    *programs_matrices.PROGRAMS,
    *programs_simulation.PROGRAMS,
    *programs_control.PROGRAMS,
    *programs_text.PROGRAMS,
    *programs_graphs.PROGRAMS,
    *programs_data.PROGRAMS,
    *programs_images.PROGRAMS,
    *programs_subgroups.PROGRAMS,
)

"""All programs, by theme."""

from __future__ import annotations

import programs_scans
import programs_tutorial

PROGRAMS = (*programs_tutorial.PROGRAMS, *programs_scans.PROGRAMS)

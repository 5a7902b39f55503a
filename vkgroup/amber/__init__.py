"""Amber scripts: shaders with buffers, commands and expected results in one file, as Khronos' suite has them.

https://github.com/google/amber, ``docs/amber_script.md``, is the description of the format.
"""

from __future__ import annotations

from vkgroup.amber.outcome import ScriptOutcome, ScriptStatus
from vkgroup.amber.reading import read_script
from vkgroup.amber.running import run_script
from vkgroup.amber.script import Script

__all__ = ["Script", "ScriptOutcome", "ScriptStatus", "read_script", "run_script"]

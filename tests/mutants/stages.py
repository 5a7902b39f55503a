"""Stages of a device in which it does not declare subgroup operations."""

from __future__ import annotations

from dataclasses import replace

from vkgroup.conformance.subgroup.cases import STAGES
from vkgroup.device import Capabilities


def every_stage(capabilities: Capabilities) -> Capabilities:
    """Return the capabilities with subgroup operations declared in every stage.

    lavapipe executes them in all its stages. The mutants test the suite, not the driver.
    """
    return replace(capabilities, subgroup=replace(capabilities.subgroup, supported_stages=STAGES))

"""Executables of a pipeline: statistics and code as the driver's compiler reports them.

VK_KHR_pipeline_executable_properties defines them. Names and units are the driver's own.
"""

from __future__ import annotations

from dataclasses import dataclass

Value = float | int | bool


@dataclass(frozen=True)
class Representation:
    """Code in one of the compiler's intermediate or final forms."""

    name: str  # the driver's name, such as ``Assembly``
    text: str  # the code; empty if it is binary


@dataclass(frozen=True)
class Executable:
    """One executable: the result of compiling one or several stages of a pipeline."""

    name: str  # the driver's name
    stages: tuple[str, ...]  # the stages that it was made of
    subgroup_size: int  # the size that it runs with
    statistics: dict[str, Value]  # by the driver's names
    representations: tuple[Representation, ...] = ()

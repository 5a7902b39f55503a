"""Arguments of draws in the tables of tests, where the draw state is written as if it were arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from vkgroup.dispatch import DrawState


def with_state(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of `Device.draw`: those named like an attribute of `DrawState` are put into one."""
    names = {field.name for field in fields(DrawState)} & options.keys()
    rest = {name: value for name, value in options.items() if name not in names}
    return {**rest, "state": DrawState(**{name: options[name] for name in names})}

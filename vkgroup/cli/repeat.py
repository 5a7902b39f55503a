"""``vkgroup run FOLDER``: repeat the case or check of a reproduction folder."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.base.phases import CodeOwner, phase
from vkgroup.cli import deadline
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.options.table import changed
from vkgroup.device import DeviceInfo
from vkgroup.outputs.reproduction import folder as folders
from vkgroup.outputs.reproduction.findings import repeat_check
from vkgroup.outputs.reproduction.repeat import repeat_case
from vkgroup.outputs.reproduction.runs import repeat_run
from vkgroup.workers.opening import open_device, select

_FOREIGN = (
    *("groups", "size", "inputs", "outputs", "push", "spec", "uniforms", "subgroup_size", "with_file"),
    *("configuration", "repro"),
)
"""The options that a folder replaces."""


def execute(arguments: argparse.Namespace) -> int:
    """Repeat a folder; returns 0 if the device now agrees, else 1."""
    given = changed(OPTIONS["run"].options, arguments)
    if foreign := [option.name for option in given if option.key in _FOREIGN]:
        options = ", ".join(foreign)
        raise InvalidInput(f"{arguments.shader} is a reproduction folder, which is complete: omit {options}.")
    record = folders.read(arguments.shader)
    device = select(arguments.device)
    try:
        with deadline.within(arguments.timeout):
            return _repeat(arguments, record, device)
    except VkgroupError:
        raise
    except folders.DAMAGE as error:
        raise InvalidInput(folders.damaged(arguments.shader, error)) from error


def _repeat(arguments: argparse.Namespace, record: dict[str, Any], device: DeviceInfo) -> int:
    """Repeat the case or check of a record."""
    folder = arguments.shader
    original = record["device"]
    # Of several runs, one that does not end leaves time for the others.
    seconds = arguments.timeout / deadline.RUN_PART
    if record["kind"] == "run":
        print(f"{record['shader']}: run on {original['name']} ({original['driver']})", flush=True)
        with open_device(device) as opened, phase("executing", CodeOwner.EXECUTION):
            outcome = repeat_run(opened, folder, record, deadline.remaining())
    elif record["kind"] == "check":
        print(f"{record['shader']}: {record['findings']} when the folder was made", flush=True)
        outcome = repeat_check(device, folder, record, seconds, allow_outside=arguments.allow_outside)
    else:
        print(
            f"{record['case']}: {record['result']['status']} on {original['name']} ({original['driver']})",
            flush=True,
        )
        outcome = repeat_case(device, folder, record, seconds)
    print(f"Repeated on {device.name}", file=sys.stderr)
    for line in outcome.lines:
        print(line)
    print("It agrees now." if outcome.agrees else "It does not agree.")
    return 0 if outcome.agrees else 1

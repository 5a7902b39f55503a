"""``vkgroup run FOLDER``: repeating what a reproduction folder is about."""

from __future__ import annotations

import argparse
import sys

from vkgroup.errors import InvalidInput
from vkgroup.opening import select
from vkgroup.repro import folder as folders
from vkgroup.repro.findings import repeat_check
from vkgroup.repro.repeat import repeat_case

_FOREIGN = ("groups", "size", "inputs", "outputs", "push", "spec", "uniforms", "subgroup_size")


def execute(arguments: argparse.Namespace) -> int:
    """Repeat a folder; returns 0 where it now agrees, else 1."""
    if given := [name for name in _FOREIGN if getattr(arguments, name)]:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise InvalidInput(
            f"{arguments.shader} is a reproduction folder, which has all it needs: leave {options} out."
        )
    folder, record = arguments.shader, folders.read(arguments.shader)
    device = select(arguments.device)
    then = record["device"]
    if record["kind"] == "check":
        print(f"{record['shader']}: {record['findings']} when the folder was made", flush=True)
        found = repeat_check(device, folder, record, arguments.timeout)
    else:
        print(
            f"{record['case']}: {record['result']['status']} on {then['name']} ({then['driver']})", flush=True
        )
        found = repeat_case(device, folder, record, arguments.timeout)
    print(f"Repeated on {device.name}", file=sys.stderr)
    for line in found.lines:
        print(line)
    print("It agrees now." if found.agrees else "It does not agree.")
    return 0 if found.agrees else 1

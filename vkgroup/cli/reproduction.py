"""``vkgroup conform --repro CASE DIR``: write the reproduction folder of one case."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from vkgroup.base.errors import InvalidInput
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.options.table import changed
from vkgroup.conformance.khronos import refuse
from vkgroup.outputs.reproduction.cases import make
from vkgroup.outputs.reproduction.folder import SHRUNK, read
from vkgroup.outputs.reproduction.issue import write_issue
from vkgroup.outputs.reproduction.program import NoProgram
from vkgroup.outputs.reproduction.scripts import write_script
from vkgroup.outputs.reproduction.shrunk import SECONDS
from vkgroup.record.record import AGAINST_THE_DEVICE, Result
from vkgroup.workers.opening import select
from vkgroup.workers.scheduler import read_capabilities

_SCRIPTS = {"amber": "Amber script", "vkrunner": "VkRunner script", "offload": "offload-test-suite YAML"}
"""The options for scripts, with the names of the scripts."""

_TAKEN = ("repro", "shrink", *_SCRIPTS, "device", "seed", "timeout", "compiler")
"""The options that apply to the folder of a case; all others apply to whole runs."""


def execute(arguments: argparse.Namespace) -> int:
    """Make the folder, and return the exit code of a run of the case."""
    given = changed(OPTIONS["conform"].options, arguments)
    if unsuitable := [option.name for option in given if option.key not in _TAKEN]:
        raise InvalidInput(f"--repro makes the folder of one case: omit {', '.join(unsuitable)}.")
    name, folder = arguments.repro[0], Path(arguments.repro[1])
    refuse(name)
    device = select(arguments.device)
    searched = False

    def on_result(result: Result, searching: bool) -> None:
        nonlocal searched
        searched = searching
        print(f"{result.case}: {result.status} on {device.name}")
        for line in result.detail.splitlines():
            print(f"    {line}")
        if searching:
            sys.stdout.flush()
            print(f"Looking for a smaller program that fails likewise, for about {SECONDS:g} s at most …",
                  file=sys.stderr)  # fmt: skip

    result = make(
        device,
        name,
        folder,
        seed=arguments.seed,
        timeout=arguments.timeout,
        compiler=arguments.compiler,
        shrink=arguments.shrink,
        on_result=on_result,
    )
    print(f"All of it is in {folder}: see {folder / 'README.md'}.")
    if smaller := read(folder).get("shrunk"):
        print(
            f"A smaller program that fails likewise, {smaller['statements']} of {smaller['of']} statements, "
            f"is in {folder / SHRUNK}."
        )
    elif searched:
        print("No smaller program that fails likewise was found.")
    print(f"Repeat it anywhere: vkgroup run {shlex.quote(str(folder))} --device D")
    if arguments.shrink and result.status in AGAINST_THE_DEVICE:
        print(f"For a bug tracker: {write_issue(folder, read(folder))}")
    lacking: dict[str, list[str]] = {}  # the scripts that cannot be written, by the reason
    for kind, title in _SCRIPTS.items():
        if getattr(arguments, kind):
            try:
                script = write_script(folder, read(folder), kind, read_capabilities(device))
            except NoProgram as reason:
                lacking.setdefault(str(reason), []).append(title)
            else:
                run = "offloader {} SPIR-V" if kind == "offload" else "vkgroup run {} --device D"
                print(f"{title}: {run.format(shlex.quote(str(script)))}")
    for why, titles in lacking.items():
        print(f"There is no {' or '.join(titles)}: {why}.")
    return 1 if result.status in AGAINST_THE_DEVICE else 0

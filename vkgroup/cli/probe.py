"""``vkgroup probe``: print declared properties of a device and observations of experiments."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from rich.text import Text

import vkgroup
from vkgroup.base.errors import InternalError, InvalidInput
from vkgroup.base.phases import CodeOwner, phase
from vkgroup.cli.console import Console
from vkgroup.cli.output import write_json
from vkgroup.cli.probe_tables import add_declared, add_title, empty_table, print_opengl
from vkgroup.cli.progress import working
from vkgroup.device import DeviceInfo
from vkgroup.device.discovery import normal_choice
from vkgroup.device.fetched import is_compile_only, may_be_several
from vkgroup.drivers.gpus import gpu_of_product
from vkgroup.probe import EXECUTION, EXPERIMENTS, Failed, InternalFailure, Probe, probe
from vkgroup.workers.opening import select

_STYLES = {
    "observed": "",
    "not_supported": "dim",
    "not_run": "yellow",
    "failed": "bold red",
    "internal_error": "bold yellow",
}


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return 1 if a device lacks a required minimum, breaks a rule or fails, else 0.

    InternalError: an experiment failed by an error of vkgroup or the host.
    """
    console = Console.for_people(arguments.json)
    absent = _absent(arguments.device)
    if absent and arguments.execution:
        raise InvalidInput(
            f"--execution counts what a GPU's scheduler and caches do, and {absent[0].choice} is"
            f" {'emulated' if absent[0].emulated else 'compile-only'}: its GPU is absent."
            " Leave out --execution, or choose a device that executes: `vkgroup devices` lists them."
        )
    if compile_only := [device for device in absent if device.is_compile_only]:
        from vkgroup.cli import probe_gpus

        return probe_gpus.execute(arguments, compile_only, console)
    source = None if arguments.json in (None, "-") else Path(arguments.json)
    with ExitStack() as stack:
        recording = None
        if arguments.db is not None:
            # Imported here, because databases import the suite, which this command does not need otherwise.
            from vkgroup.outputs.history import HistoryRecording, recorded

            recording = stack.enter_context(HistoryRecording(arguments.db, source))
        device = stack.enter_context(vkgroup.open(arguments.device))
        with phase("running the experiments", CodeOwner.EXECUTION), working():
            result = probe(device, execution=arguments.execution)
        # Write everything before the device is closed, because closing a lost device may fail.
        by_emulation = device.info.by_emulation
        _print(result, console, by_emulation)
        data = result.to_json() | ({"emulated": True} if by_emulation else {})
        write_json(data, arguments.json)
        if recording is not None:
            recording.finish(recorded(data))
    if result.interrupted is not None:
        result.interrupted.add_note("partial results are above: run the command again for all of them")
        raise result.interrupted
    if errors := [n for n, outcome in result.outcomes.items() if isinstance(outcome, InternalFailure)]:
        raise InternalError(
            f"Internal error in {', '.join(errors)}, which is no verdict on the device. All other results "
            "are above. Please report it."
        )
    failed = any(isinstance(outcome, Failed) for outcome in result.outcomes.values())
    return 1 if failed or result.lost or result.forbidden or result.capabilities.minimum_promises() else 0


def _absent(option: str | None) -> list[DeviceInfo]:
    """Return the absent GPUs that ``--device`` chooses: several to compile for, or one, perhaps emulated."""
    choice = normal_choice(option)
    if not isinstance(choice, str):
        return []
    if may_be_several(choice):
        # Imported here, because one device needs no worker process.
        from vkgroup.cli import probe_gpus
        from vkgroup.workers.multi_device import is_several

        if is_several(choice):
            return probe_gpus.chosen_compile_only(choice)
    return [select(choice)] if is_compile_only(choice) or gpu_of_product(choice) else []


def _print(result: Probe, console: Console, by_emulation: str) -> None:
    """Print the results; `by_emulation`: how an absent GPU executed, if it did."""
    table = empty_table()
    add_declared(table, result.capabilities)
    add_title(table, "Observed, by emulation" if by_emulation else "Observed")
    if by_emulation:
        table.add_row(Text("  machine code"), Text(by_emulation.removeprefix("by emulation of ")))
    for experiment in (*EXPERIMENTS, *EXECUTION):
        if experiment.name not in result.outcomes:
            continue
        if experiment is EXECUTION[0]:
            add_title(table, "Execution, observed")
        outcome = result.outcomes[experiment.name]
        for number, line in enumerate(outcome.lines()):
            title = "" if number else "  " + experiment.title
            table.add_row(Text(title), Text(line, style=_STYLES[outcome.status]))
    console.print(table)
    print_opengl(result.capabilities, console)
    if result.lost:
        console.print(Text("The device was lost: the results above are partial.", style="bold red"))

"""``run --trace`` on an emulated GPU: the instructions that one wave executed, as text."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from vkgroup.amd.tracing import WaveRecorder
from vkgroup.base.files import write_output
from vkgroup.cli.trace import chosen_workgroup
from vkgroup.device.capabilities import DeviceInfo
from vkgroup.dispatch.results import RunResult
from vkgroup.workers.emulated import started_emulation


def recorded(
    arguments: argparse.Namespace, device: DeviceInfo, run: Callable[[], RunResult]
) -> tuple[RunResult, str]:
    """Run a dispatch, and write what the first wave of a workgroup executed, also if the run fails.

    Returns the results, and what to say about the file.
    """
    emulation = started_emulation(device)
    emulation.recorder = recorder = WaveRecorder(chosen_workgroup(arguments) or (0, 0, 0))
    try:
        result = run()
    finally:
        emulation.recorder = None
        write_output(arguments.trace, (f"{line}\n" for line in recorder.lines()))
    return result, f"{recorder.count:,} instructions of a wave: {arguments.trace}"

"""``run --trace`` on an emulated GPU: the instructions that one wave executed, as text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from vkgroup.amd.tracing import WaveRecorder
from vkgroup.base import phases
from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import write_output
from vkgroup.cli.trace import chosen_workgroup
from vkgroup.dispatch import Device
from vkgroup.dispatch.results import RunResult
from vkgroup.workers.emulated import started_emulation

_MOST_WHEN_LATE = 20_000
"""The most instructions that are written after the deadline, the last ones; they take a second or two."""


def recorded(
    arguments: argparse.Namespace, device: Device, run: Callable[[], RunResult]
) -> tuple[RunResult, str]:
    """Run a dispatch, and write what the first wave of a workgroup executed, also if the run fails.

    Returns the results, and what to say about the file.
    """
    if arguments.trace.suffix not in ("", ".txt"):
        raise InvalidInput(
            f"--trace {arguments.trace}: the trace of an emulated GPU is text; give a name that ends in .txt."
        )
    emulation = started_emulation(device.info)
    device.require_execution()  # its dispatch is not recorded
    emulation.recorder = recorder = WaveRecorder(chosen_workgroup(arguments) or (0, 0, 0))
    try:
        result = run()
    except phases.DeadlineReached:
        phases.allow_writing()
        recorder.most = _MOST_WHEN_LATE
        print(f"Written so far: {_said(arguments, recorder)}", file=sys.stderr)
        raise
    finally:
        emulation.recorder = None
        write_output(arguments.trace, (f"{line}\n" for line in recorder.lines()))
    return result, _said(arguments, recorder)


def _said(arguments: argparse.Namespace, recorder: WaveRecorder) -> str:
    last = f", the last {recorder.most:,} of them" if recorder.count > recorder.most else ""
    return f"{recorder.count:,} instructions of a wave{last}: {arguments.trace}"

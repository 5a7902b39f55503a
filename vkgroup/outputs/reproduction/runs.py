"""The reproduction folder of ``vkgroup run``: one call and its inputs, written before it executes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from vkgroup.dispatch import Device
from vkgroup.outputs.reproduction import folder as folders
from vkgroup.outputs.reproduction import steps
from vkgroup.outputs.reproduction.folder import DEVICE, RECORD
from vkgroup.outputs.reproduction.recorder import DeviceRecorder
from vkgroup.outputs.reproduction.repeat import RepeatOutcome
from vkgroup.outputs.reproduction.shaders import StepShaders
from vkgroup.outputs.reproduction.values import Encoder, Files, Json
from vkgroup.probe import Probe


class RunFolder:
    """The folder of one run.

    `folder`: new, empty, or an earlier reproduction folder, whose files are replaced.
    `method`, `given`: the method of `Device`, and its arguments by name.
    """

    def __init__(
        self, folder: Path, shader: str, device: Device, method: str, given: Mapping[str, Any]
    ) -> None:
        folders.begin(folder)
        self._folder, self._given, shaders = folder, given, StepShaders(folder)
        folders.write_device(folder, Probe(device.capabilities, {}).to_json())
        self._record: Json = {
            "kind": "run",
            "shader": shader,
            "device": folders.device_record(device.capabilities, device.info),
            "shaders": shaders.listed,
            "steps": [],
            "complete": False,
        }
        self._recorder = DeviceRecorder(device, Encoder(Files(folder), shaders.file), self._note)
        self._step = self._recorder.begin_call(method, given)

    def _note(self, steps: list[Json]) -> None:
        self._record["steps"] = steps
        folders.write(self._folder, self._record)
        _write_readme(self._folder, self._record)

    def finish(self, results: Mapping[Any, Any]) -> None:
        """Add the results of the run."""
        self._record["complete"] = True
        self._recorder.end(self._step, results, self._given)


def _write_readme(folder: Path, record: Json) -> None:
    """Write the README."""
    device, (step,), name = record["device"], record["steps"], quote(folder.name)
    ended = "It ended, and its results are in `outputs`." if record["complete"] else "It did not end."
    lines = [
        f"# {record['shader']}",
        "",
        f"A {step['call']} by `vkgroup run` on {device['name']} ({device['driver']}). {ended}",
        "",
        "## How to repeat it",
        "",
        "Exit code 0: it ends, and its results are those of this folder; 1: they are not; 3: the driver"
        " crashes, or the device lacks a feature.",
        "",
        "```",
        f"vkgroup run {name} --device {quote(device.get('choice') or device['name'])}",
        f"vkgroup run {name} --device D",
        "```",
        "",
        "## What is in this folder",
        "",
        "- `shaders`: each shader as SPIR-V and assembly, and its source where the module has it",
        "- `inputs`: the arrays of bindings, attachments and vertices",
        f"- `{DEVICE}`: what the device declares (`vkgroup probe --json`)",
        f"- `{RECORD}`: all of it for `vkgroup run`",
    ]
    folders.write_readme(folder, lines)


def repeat_run(device: Device, folder: Path, record: Json, timeout: float) -> RepeatOutcome:
    """Repeat the run of a folder on an open device, and compare its results with those in the folder.

    Raises DispatchTimeout, DeviceLost or another DriverError: the driver fails.
    """
    (step,) = record["steps"]
    outputs = steps.repeat(device, folder, step, timeout=timeout)
    if not record["complete"]:
        return RepeatOutcome(True, ("It ends now; it did not when the folder was made.",))
    lines = [
        f"{output.name}: {output.differing} of {output.now.size} elements are not what they were."
        for output in outputs
        if output.differing
    ]
    same = len(outputs) - len(lines)
    return RepeatOutcome(not lines, (f"{same} of {len(outputs)} outputs are equal bit by bit.", *lines))

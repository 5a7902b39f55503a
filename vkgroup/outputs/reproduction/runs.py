"""The reproduction folder of ``vkgroup run``: one call and its inputs, written before it executes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from vkgroup.base.files import writing
from vkgroup.base.reading import printable
from vkgroup.dispatch import Device
from vkgroup.outputs.reproduction import folder as folders
from vkgroup.outputs.reproduction import steps
from vkgroup.outputs.reproduction.folder import DEVICE, README, RECORD
from vkgroup.outputs.reproduction.repeat import RepeatOutcome
from vkgroup.outputs.reproduction.shaders import StepShaders
from vkgroup.outputs.reproduction.values import Encoder, Files, Json, modules_of, name_of, word
from vkgroup.probe import Probe

_STEPS = {"run": "dispatch", "draw": "draw", "trace": "trace"}
"""The step of each method of `Device`."""

_NOT_RECORDED = ("bindings", "state", "timed", "timeout")


class RunFolder:
    """The folder of one run.

    `folder`: new, empty, or an earlier reproduction folder, whose files are replaced.
    `method`, `given`: the method of `Device`, and its arguments by name.
    """

    def __init__(
        self, folder: Path, shader: str, device: Device, method: str, given: Mapping[str, Any]
    ) -> None:
        folders.begin(folder)
        self._folder, self._files, shaders = folder, Files(folder), StepShaders(folder)
        folders.write_device(folder, Probe(device.capabilities, {}).to_json())
        self._encoder = Encoder(self._files, shaders.file)
        step = {"call": _STEPS[method], "arguments": self._arguments(given), "outputs": []}
        self._record: Json = {
            "kind": "run",
            "shader": shader,
            "device": folders.device_record(device.capabilities),
            "shaders": shaders.listed,
            "steps": [step],
            "complete": False,
        }
        folders.write(folder, self._record)
        _write_readme(folder, self._record)

    def _arguments(self, given: Mapping[str, Any]) -> Json:
        """Return the arguments; arrays are written to files that are named like the shader's variables."""
        values = {**given, **(given["state"].changes() if "state" in given else {})}
        found = {
            name: self._encoder.encode(value, f"inputs/step0-{name}")
            for name, value in values.items()
            if name not in _NOT_RECORDED and value is not None
        }
        modules = list(modules_of(given))
        found["bindings"] = {
            "mapping": [
                [
                    self._encoder.encode(key, "key"),
                    self._encoder.encode(value, f"inputs/step0-{name_of(key, modules)}"),
                ]
                for key, value in given["bindings"].items()
            ]
        }
        return found

    def finish(self, results: Mapping[Any, Any]) -> None:
        """Add the results of the run."""
        (step,) = self._record["steps"]
        for key, value in results.items():
            parts = value if isinstance(value, list) else [value]
            for part, array in enumerate(parts):
                name = word(key) if len(parts) == 1 else f"{word(key)}-{part}"
                file = self._files.save(f"outputs/step0-{name}", np.asarray(array))
                where = {"result": self._encoder.encode(key, "key"), "part": part}
                step["outputs"].append({"name": name, "file": file, **where})
        self._record["complete"] = True
        folders.write(self._folder, self._record)
        _write_readme(self._folder, self._record)


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
        f"vkgroup run {name} --device {quote(device['name'])}",
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
    with writing(folder / README):
        (folder / README).write_text(printable("\n".join(lines)) + "\n", encoding="utf-8")


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

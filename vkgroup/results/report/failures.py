"""Failures as data for the page: text, command, lanes and shader; each line of shaders is stored once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkgroup.conformance.families import cases_by_name
from vkgroup.device import Capabilities
from vkgroup.results.history import RunRecord
from vkgroup.results.record import Result
from vkgroup.results.report.capabilities import capabilities_of, device_of
from vkgroup.results.report.drawing import drawing_of
from vkgroup.results.report.inputs import Inputs
from vkgroup.results.report.shaders import Shaders
from vkgroup.results.report.table import Numbered

_REPEAT = "repeat: "


class Failures:
    """Collects the failures of runs."""

    def __init__(self) -> None:
        self._lines = Numbered()
        self._shaders = Numbered()
        self._makers: list[tuple[int, Capabilities | None, int, Shaders]] = []

    def of(self, run: RunRecord, against: Sequence[Result], inputs: Inputs) -> dict[str, dict[str, Any]]:
        """Return a run's failures by the case's name.

        Parameters
        ----------
        against : those of the run's results that are verdicts against the device.
        """
        if not against:
            return {}
        size = _subgroup_size(run, inputs)
        shaders = self._maker(size, _capabilities(run, inputs), run.info.seed or 0)
        return {result.case: self._one(result, size, shaders) for result in against}

    def close(self) -> None:
        """Free what made the shaders."""
        for *_, shaders in self._makers:
            shaders.close()

    def _maker(self, size: int, capabilities: Capabilities | None, seed: int) -> Shaders:
        """Return what makes shaders for a device and a seed, once for all its runs: they fail alike."""
        for *known, shaders in self._makers:
            if known == [size, capabilities, seed]:
                return shaders
        made = Shaders(size, capabilities, seed)
        self._makers.append((size, capabilities, seed, made))
        return made

    def texts(self) -> dict[str, Any]:
        """Return the shaders' lines, and each shader as numbers of lines."""
        return {"lines": list(self._lines), "shaders": [list(shader) for shader in self._shaders]}

    def _one(self, result: Result, size: int, shaders: Shaders) -> dict[str, Any]:
        lines = result.detail.splitlines()
        commands = [line.removeprefix(_REPEAT) for line in lines if line.startswith(_REPEAT)]
        found: dict[str, Any] = {
            "words": "\n".join(line for line in lines if not line.startswith(_REPEAT)),
            "command": commands[-1] if commands else "",
        }
        case = cases_by_name().get(result.case)
        if case is not None:
            found["sentence"] = case.sentence
        drawing = drawing_of(result, size)
        if drawing is not None:
            found["lanes"] = drawing
        shader = shaders.of(result.case, result.detail, str((drawing or {}).get("code", "")))
        if shader is not None:
            numbers = tuple(self._lines(line) for line in shader.source.rstrip().splitlines())
            found |= {"shader": self._shaders(numbers), "marked": list(shader.marked)}
        return found


def _subgroup_size(run: RunRecord, inputs: Inputs) -> int:
    """Return the subgroup size of a run's device; 0 if unknown."""
    size = run.summary.get("subgroup_size")
    if isinstance(size, int):
        return size
    capabilities = _capabilities(run, inputs)
    return capabilities.subgroup.size if capabilities is not None else 0


def _capabilities(run: RunRecord, inputs: Inputs) -> Capabilities | None:
    """Return the capabilities of a run's device, from the run or from a probe of the device."""
    for told in (run, *inputs.probes):
        capabilities = capabilities_of(told)
        if capabilities is not None and device_of(told) == device_of(run):
            return capabilities
    return None

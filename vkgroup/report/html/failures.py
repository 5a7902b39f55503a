"""Failures as data for the page: words, command, lanes, and the shader, whose lines are kept once for all."""

from __future__ import annotations

from typing import Any

from vkgroup.conformance.families import cases_by_name
from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result
from vkgroup.report.html.capabilities import capabilities_of
from vkgroup.report.html.drawing import drawing_of
from vkgroup.report.html.inputs import Conformance, Inputs
from vkgroup.report.html.shaders import Shaders
from vkgroup.report.html.table import Numbered

_REPEAT = "repeat: "


class Failures:
    """Collects the failures of runs."""

    def __init__(self) -> None:
        self._lines = Numbered()
        self._shaders = Numbered()

    def of(self, run: Conformance, inputs: Inputs) -> dict[str, dict[str, Any]]:
        """Return a run's failures by the case's name."""
        against = [result for result in run.results if result.status in AGAINST_THE_DEVICE]
        if not against:
            return {}
        size = _subgroup_size(run, inputs)
        shaders = Shaders(size, _capabilities(run, inputs), _seed(run))
        try:
            return {result.case: self._one(result, size, shaders) for result in against}
        finally:
            shaders.close()

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


def _subgroup_size(run: Conformance, inputs: Inputs) -> int:
    """Return the subgroup size of a run's device; 0 where nothing tells it."""
    size = run.summary.get("subgroup_size")
    if isinstance(size, int):
        return size
    capabilities = _capabilities(run, inputs)
    return capabilities.subgroup.size if capabilities is not None else 0


def _seed(run: Conformance) -> int:
    """Return the seed of a run, which random programs are made from."""
    seed = run.identity.get("seed", run.summary.get("seed"))
    return seed if isinstance(seed, int) else 0


def _capabilities(run: Conformance, inputs: Inputs) -> Any:
    """Return what a probe found of a run's device."""
    for probe in inputs.probes:
        capabilities = capabilities_of(probe)
        if capabilities is not None and capabilities.name == run.device:
            return capabilities
    return None

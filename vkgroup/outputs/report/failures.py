"""Failures as data for the page: text, command, lanes and shader; each coloured line is stored once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import msgspec

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import case_named, family_of
from vkgroup.conformance.languages import language_of
from vkgroup.conformance.rules import rule_of
from vkgroup.device import Capabilities
from vkgroup.dispatch.reference.capabilities import DEFAULT_SIZE, SIZES
from vkgroup.outputs.highlight import encoded, highlighted
from vkgroup.outputs.history import RunRecord
from vkgroup.outputs.report.capabilities import capabilities_of, device_of
from vkgroup.outputs.report.inputs import ReportInputs
from vkgroup.outputs.report.table import Numbered, axes_of, split
from vkgroup.record.causes.text import without_rule
from vkgroup.record.record import Result
from vkgroup.spec.sentences import STRENGTHS
from vkgroup.spirv import Module
from vkgroup.workers.opening import open_device, select

_QUOTED = re.compile(r"^> +(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class ShaderText:
    """A shader's text."""

    source: str  # GLSL or HLSL
    marked: tuple[int, ...]  # numbers of the lines that execute what failed, from 1


class _Caught(Exception):
    """Raised when a shader is passed to the compiler."""


class _Catcher(Executor):
    """An executor that stops when a shader is passed to the compiler."""

    source: str | None = None

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        self.source = source
        raise _Caught

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        self.source = source
        raise _Caught

    def plain(self, source: str, stage: str) -> Module:
        # Other shaders of the pipeline are not used, because execution stops at the case's shader.
        return cast(Module, None)


class CaseShaders:
    """Generates the shaders of cases for one device."""

    def __init__(self, size: int, capabilities: Capabilities | None = None, seed: int = 0) -> None:
        self._device = open_device(select(f"reference:{size if size in SIZES else DEFAULT_SIZE}"))
        self._catcher = _Catcher(self._device, seed=seed)
        if capabilities is not None:
            self._catcher.capabilities = capabilities
        self._made: dict[str, str | None] = {}

    def of(self, name: str, detail: str = "", code: str = "") -> ShaderText | None:
        """Return a case's shader; None if this version of the suite lacks the case or its text."""
        if name not in self._made:
            self._made[name] = self._source(name)
        source = self._made[name]
        return None if source is None else ShaderText(source, _marked(source, name, detail, code))

    def _source(self, name: str) -> str | None:
        case = case_named(name)
        if case is None:
            return None
        self._catcher.source = None
        try:
            family_of(case).verdicts_on(self._catcher, [case])
        except _Caught:
            pass
        except Exception:
            # A family may use the device before it compiles; then there is no shader to show.
            return None
        return self._catcher.source

    def close(self) -> None:
        """Free the device."""
        self._catcher.close()
        self._device.close()


def _marked(source: str, name: str, detail: str, code: str) -> tuple[int, ...]:
    """Return the lines quoted in the failure, else the lines with the code, else calls of the operation."""
    lines = [line.strip() for line in source.splitlines()]
    quoted = {line.strip() for line in _QUOTED.findall(detail)}
    found = [number for number, line in enumerate(lines, 1) if line in quoted]
    parts = [part.strip() for part in code.splitlines() if part.strip()]
    found = found or [number for number, line in enumerate(lines, 1) if any(part in line for part in parts)]
    if found:
        return tuple(found)
    return next(filter(None, (_calls(lines, word) for word in _operations(name))), ())


def _operations(name: str) -> list[str]:
    """Return the parts of a case's name that may be the tested function or variable."""
    named = [axes_of(split(name)[0])[2], *(part for part in name.split(".") if not part.islower())]
    # Programs of subgroup operations write their results in this form.
    return [*named, "put"]


def _calls(lines: list[str], operation: str) -> tuple[int, ...]:
    """Return the numbers of the lines with a word, except comments and declarations of it."""
    calls = re.compile(rf"\b{re.escape(operation)}\b")
    return tuple(
        number
        for number, line in enumerate(lines, 1)
        if calls.search(line) and not line.startswith(("//", "#", "void "))
    )


MOST_LANES = 128

Hex = Annotated[str, msgspec.Meta(pattern=r"\A0x[0-9a-f]{1,32}\Z")]
"""A mask of lanes."""


class _Mask(msgspec.Struct):
    """A mask of lanes in evidence."""

    name: str
    mask: Hex
    wrong: Hex


class _Evidence(msgspec.Struct):
    """The evidence that the page can draw; see `vkgroup.conformance.evidence`."""

    where: str
    slot: int
    size: Annotated[int, msgspec.Meta(gt=0, le=MOST_LANES)]
    wrong: list[int]
    rows: dict[str, list[str | None]]
    active: Hex | None = None
    unit: str = ""
    names: list[str] | None = None
    masks: list[_Mask] = []


def drawing_of(result: Result) -> dict[str, Any] | None:
    """Return the lanes of a failure as in `vkgroup.conformance.evidence`; None if it has no valid ones."""
    recorded = result.evidence
    try:
        evidence = msgspec.convert(recorded, _Evidence)
    except ValueError:
        return None
    rows = all(len(row) == evidence.size for row in evidence.rows.values())
    names = evidence.names is None or len(evidence.names) == evidence.size
    return recorded if rows and names else None


_REPEAT = "repeat: "


class Failures:
    """Collects the failures of runs."""

    def __init__(self) -> None:
        self._lines = Numbered()
        self._shaders = Numbered()
        self._rules = Numbered()
        self._makers: list[tuple[int, Capabilities | None, int, CaseShaders]] = []

    def of(
        self, run: RunRecord, against: Sequence[Result], inputs: ReportInputs
    ) -> dict[str, dict[str, Any]]:
        """Return the failures of a run by case name."""
        if not against:
            return {}
        size, capabilities = _subgroup_size(run, inputs), capabilities_told(run, inputs)
        shaders = self._maker(size, capabilities, run.info.seed or 0)
        return {result.case: self._one(result, shaders, capabilities) for result in against}

    def close(self) -> None:
        """Free the shader generators."""
        for *_, shaders in self._makers:
            shaders.close()

    def _maker(self, size: int, capabilities: Capabilities | None, seed: int) -> CaseShaders:
        """Return the shader generator for a device and a seed, shared by all runs."""
        for *known, shaders in self._makers:
            if known == [size, capabilities, seed]:
                return shaders
        made = CaseShaders(size, capabilities, seed)
        self._makers.append((size, capabilities, seed, made))
        return made

    def texts(self) -> dict[str, Any]:
        """Return the lines of shaders, their colours, shaders as numbers of lines, and violated rules."""
        rules = [
            {"document": document, "quote": quote, "strength": STRENGTHS.get(strength, strength)}
            for document, quote, strength in self._rules
        ]
        return {
            "lines": [text for text, _ in self._lines],
            "colours": [colours for _, colours in self._lines],
            "shaders": [list(shader) for shader in self._shaders],
            "rules": rules,
        }

    def _one(self, result: Result, shaders: CaseShaders, capabilities: Capabilities | None) -> dict[str, Any]:
        case = case_named(result.case)
        lines = without_rule(result.detail).splitlines()
        if case is not None and lines[:1] == [case.sentence]:
            del lines[0]
        commands = [line.removeprefix(_REPEAT) for line in lines if line.startswith(_REPEAT)]
        found: dict[str, Any] = {
            "words": "\n".join(line for line in lines if not line.startswith(_REPEAT)),
            "command": commands[-1] if commands else "",
        }
        if case is not None:
            found["sentence"] = case.sentence
        rule = rule_of(result, capabilities)
        if rule:
            found["rule"] = self._rules((rule["document"], rule["quote"], rule["strength"]))
        drawing = drawing_of(result)
        if drawing is not None:
            found["lanes"] = drawing
        shader = shaders.of(result.case, result.detail, str((drawing or {}).get("code", "")))
        if case is not None and shader is not None:
            dialect = language_of(case)
            source = highlighted(shader.source.rstrip(), "glsl" if dialect == "vulkan" else dialect)
            numbers = tuple(self._lines(encoded(line)) for line in source)
            found |= {"shader": self._shaders(numbers), "marked": list(shader.marked)}
        return found


def _subgroup_size(run: RunRecord, inputs: ReportInputs) -> int:
    """Return the subgroup size of a run's device; 0 if unknown."""
    size = run.summary.get("subgroup_size")
    if isinstance(size, int):
        return size
    capabilities = capabilities_told(run, inputs)
    return capabilities.subgroup.size if capabilities is not None else 0


def capabilities_told(run: RunRecord, inputs: ReportInputs) -> Capabilities | None:
    """Return the capabilities of a run's device, from the run or from a probe of the device."""
    for told in (run, *inputs.probes):
        capabilities = capabilities_of(told)
        if capabilities is not None and device_of(told) == device_of(run):
            return capabilities
    return None

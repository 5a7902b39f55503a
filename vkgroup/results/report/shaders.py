"""The shader of a case, with the lines that matter, made again from the suite: runs do not keep them.

A case always makes the same shader for the same subgroup size; a family is asked to judge the case, and the
shader is caught on its way to the compiler.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import cases_by_name, family_of
from vkgroup.device import Capabilities
from vkgroup.opening import open_device, select
from vkgroup.reference.device.capabilities import DEFAULT_SIZE, SIZES
from vkgroup.results.report.axes import axes_of, split
from vkgroup.spirv import Module

_QUOTED = re.compile(r"^> +(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Shader:
    """A shader's text.

    Attributes
    ----------
    source : GLSL or HLSL.
    marked : numbers of the lines that execute what failed, from 1.
    """

    source: str
    marked: tuple[int, ...]


class _Caught(Exception):
    """A shader reached the compiler."""


class _Catcher(Executor):
    """An executor that goes no further than the compiler."""

    source: str | None = None

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        self.source = source
        raise _Caught

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        self.source = source
        raise _Caught

    def plain(self, source: str, stage: str) -> Module:
        # What is around a case's shader is never looked at: nothing gets past that shader.
        return cast(Module, None)


class Shaders:
    """Makes the shaders of cases for one device.

    Parameters
    ----------
    size : the device's subgroup size; 32 where it is not known.
    capabilities : what the device declares, where it is known; a few shaders depend on it.
    seed : the run's, which random programs are made from.
    """

    def __init__(self, size: int, capabilities: Capabilities | None = None, seed: int = 0) -> None:
        self._device = open_device(select(f"reference:{size if size in SIZES else DEFAULT_SIZE}"))
        self._catcher = _Catcher(self._device, seed=seed)
        if capabilities is not None:
            self._catcher.capabilities = capabilities
        self._made: dict[str, str | None] = {}

    def of(self, name: str, detail: str = "", code: str = "") -> Shader | None:
        """Return a case's shader; None where this version of the suite has no such case, or no text of it.

        Parameters
        ----------
        detail : the words of the failure, which may quote a line.
        code : what the evidence says that the line of the operation contains.
        """
        if name not in self._made:
            self._made[name] = self._source(name)
        source = self._made[name]
        return None if source is None else Shader(source, _marked(source, name, detail, code))

    def _source(self, name: str) -> str | None:
        case = cases_by_name().get(name)
        if case is None:
            return None
        self._catcher.source = None
        try:
            family_of(case).judge(self._catcher, [case])
        except _Caught:
            pass
        except Exception:
            # A family may need more of the device before it compiles: then there is nothing to show.
            return None
        return self._catcher.source

    def close(self) -> None:
        """Free the device."""
        self._catcher.close()
        self._device.close()


def _marked(source: str, name: str, detail: str, code: str) -> tuple[int, ...]:
    """Return the lines that the failure quotes, else those with the code, else the operation's calls."""
    lines = [line.strip() for line in source.splitlines()]
    quoted = {line.strip() for line in _QUOTED.findall(detail)}
    found = [number for number, line in enumerate(lines, 1) if line in quoted]
    parts = [part.strip() for part in code.splitlines() if part.strip()]
    found = found or [number for number, line in enumerate(lines, 1) if any(part in line for part in parts)]
    if found:
        return tuple(found)
    return next(filter(None, (_calls(lines, word) for word in _operations(name))), ())


def _operations(name: str) -> list[str]:
    """Return what of a case's name may be the function or the variable that it is about."""
    named = [axes_of(split(name)[0])[2], *(part for part in name.split(".") if not part.islower())]
    # Programs of subgroup operations put their results so, whatever a family calls the operation.
    return [*named, "put"]


def _calls(lines: list[str], operation: str) -> tuple[int, ...]:
    """Return the numbers of the lines with a word, but for those that only say something of it."""
    calls = re.compile(rf"\b{re.escape(operation)}\b")
    return tuple(
        number
        for number, line in enumerate(lines, 1)
        if calls.search(line) and not line.startswith(("//", "#", "void "))
    )

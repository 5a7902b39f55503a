"""Assertions for tests of shaders, in pytest or in any other framework.

`check_shader` raises what `vkgroup check` finds; `assert_same_at_every_size` runs a shader on the reference
device at several subgroup sizes, and compares what it leaves.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check import judge
from vkgroup.check.findings import Finding, Kind, Report
from vkgroup.check.text import finding_lines
from vkgroup.compiler import compile_file, compile_source
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import RunResult
from vkgroup.errors import InvalidInput
from vkgroup.opening import open_device, select
from vkgroup.spirv import Module

SIZES = (8, 16, 32, 64)
"""Subgroup sizes of `assert_same_at_every_size`, unless told otherwise: those of the GPUs that there are."""


class ShaderFindings(AssertionError):
    """A shader with findings; the message quotes their lines.

    Attributes
    ----------
    report : everything that the check says.
    findings : those that were not ignored.
    """

    def __init__(self, report: Report, findings: Sequence[Finding]) -> None:
        self.report, self.findings = report, tuple(findings)
        count = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
        texts = ["\n".join(line.plain for line in finding_lines(one)) for one in findings]
        super().__init__("\n\n".join([f"{report.shader}: {count}", *texts]))


class SizesDiffer(AssertionError):
    """A shader that leaves something else at another subgroup size.

    Attributes
    ----------
    name : the binding that differs.
    sizes : the size that others are compared with, and the first one that differs.
    wrong : indices of the elements that differ, (n, axes).
    """

    def __init__(self, message: str, name: Any, sizes: tuple[int, int], wrong: npt.NDArray[Any]) -> None:
        super().__init__(message)
        self.name, self.sizes, self.wrong = name, sizes, wrong


def check_shader(
    path: str | os.PathLike[str],
    *,
    sizes: Sequence[int] | None = None,
    groups: int | Sequence[int] | None = None,
    inputs: Mapping[Any, npt.NDArray[Any]] | None = None,
    outputs: Sequence[Any] = (),
    push: Mapping[str, Any] | None = None,
    specialization: Mapping[int | str, Any] | None = None,
    defines: Mapping[str, str | int] | None = None,
    entry_point: str | None = None,
    devices: Sequence[str | DeviceInfo] = (),
    ignore: Collection[str] = (),
    seed: int = 0,
    timeout: float = judge.TIMEOUT,
) -> Report:
    """Check a compute shader as `vkgroup check` does, and raise what it finds.

    Parameters
    ----------
    path : GLSL, HLSL, ``.spv`` or ``.spvasm``.
    sizes : subgroup sizes of the reference device; None takes 1, 4, 8, 16, 32, 64 and 128.
    groups : workgroups; None takes several.
    inputs : arrays by binding's name, number in set 0, or (set, number); the rest is made up.
    outputs : bindings whose contents are undefined before the run.
    push, specialization : push constants by name, specialization constants by id or name.
    defines, entry_point : as for `vkgroup.compile`.
    devices : real devices to run on as well, as for `vkgroup.open`; none by default.
    ignore : kinds of findings that are all right: ``"differs"``, ``"undefined"``, ``"race"``, ``"barrier"``,
        ``"hang"``, ``"bounds"``, ``"assumes"``.
    seed : of what is made up.
    timeout : seconds that one run may take.

    Returns
    -------
    What was covered, where nothing is found.

    Raises
    ------
    ShaderFindings
        Something is wrong: an `AssertionError` whose message quotes the lines.
    CompileError, InvalidModule, InvalidInput, InvalidDispatch, Unsupported, NoDevice
        As `vkgroup.check.judge.check`: the shader cannot be checked.

    Examples
    --------
    >>> vkgroup.testing.check_shader("shaders/sum.comp", sizes=(8, 32, 64))
    """
    __tracebackhide__ = True
    unknown = sorted(set(ignore) - set(Kind))
    if unknown:
        known = ", ".join(Kind)
        raise InvalidInput(f"ignore takes kinds of findings ({known}), not {', '.join(unknown)}.")
    report = judge.check(
        Path(path),
        sizes=sizes,
        groups=(groups,) if isinstance(groups, int) else groups,
        inputs=inputs,
        outputs=outputs,
        push=push,
        specialization=specialization,
        entry_point=entry_point,
        defines=defines,
        seed=seed,
        devices=[one if isinstance(one, DeviceInfo) else select(one) for one in devices],
        timeout=timeout,
    )
    findings = [finding for finding in report.findings if finding.kind not in ignore]
    if findings:
        raise ShaderFindings(report, findings)
    return report


def assert_same_at_every_size(
    shader: str | os.PathLike[str] | Module,
    groups: int | Sequence[int],
    bindings: Mapping[Any, Any],
    *,
    sizes: Sequence[int] = SIZES,
    expected: Mapping[Any, npt.ArrayLike] | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    **options: Any,
) -> RunResult:
    """Run a compute shader on the reference device at each subgroup size, and compare what it leaves.

    What the specification leaves undefined, or to the order of atomics, is not compared.

    Parameters
    ----------
    shader : a file, a module, or source text.
    groups, bindings, **options : as for `vkgroup.Device.run`. Arrays are never modified.
    sizes : powers of two up to 128.
    expected : arrays by binding that every size must leave; without, all are compared with the first size.
    rtol, atol : relative and absolute tolerance of floats, as `numpy.isclose` has them; integers are compared
        exactly.

    Returns
    -------
    What the first size left.

    Raises
    ------
    SizesDiffer
        An `AssertionError` that names binding, sizes and the first elements that differ.
    """
    __tracebackhide__ = True
    module = shader if isinstance(shader, Module) else _compiled(shader)
    first: RunResult | None = None
    for size in sizes:
        with open_device("reference", subgroup_size=size) as device:
            found = device.run(module, groups, bindings, **options)
        for name, array in found.items():
            wanted = None if expected is None else _expected(expected, name, found)
            if wanted is None and first is not None and expected is None:
                wanted = first[name]
            if wanted is not None:
                other = sizes[0] if expected is None else None
                _compare(name, size, other, np.asarray(array), np.asarray(wanted), _known(found, first, name),
                         rtol, atol)  # fmt: skip
        first = first or found
    if first is None:
        raise InvalidInput("sizes are one or more subgroup sizes; none was given.")
    return first


def _compiled(shader: str | os.PathLike[str]) -> Module:
    """Compile a file, or source text."""
    if isinstance(shader, str) and "\n" in shader:
        return compile_source(shader, stage="compute", target=judge.TARGET)
    return compile_file(Path(shader), target=judge.TARGET)


def _expected(expected: Mapping[Any, npt.ArrayLike], name: Any, found: RunResult) -> npt.ArrayLike | None:
    """Return what is expected of a binding, however the caller calls it."""
    return next((array for key, array in expected.items() if found[key] is found[name]), None)


def _known(found: RunResult, first: RunResult | None, name: Any) -> npt.NDArray[np.bool_]:
    """Return which elements both runs define, whatever the order of atomics."""
    assert found.ordered is not None
    known = np.asarray(found.ordered[name])
    return known if first is None or first.ordered is None else known & np.asarray(first.ordered[name])


def _compare(
    name: Any,
    size: int,
    other: int | None,
    got: npt.NDArray[Any],
    wanted: npt.NDArray[Any],
    known: npt.NDArray[np.bool_],
    rtol: float,
    atol: float,
) -> None:
    """Raise where a defined element differs."""
    __tracebackhide__ = True
    if got.dtype.kind == "f":
        same = np.isclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True)
    else:
        same = got == wanted
    wrong = np.argwhere(~same & known)
    if not len(wrong):
        return
    others, than = ("what is expected", "expected")
    if other is not None:
        others, than = f"those at size {other}", f"at size {other}"
    lines = [f"{name}: {len(wrong)} of {got.size} elements at subgroup size {size} differ from {others}"]
    wanted = np.broadcast_to(wanted, got.shape)
    for place in wrong[:4]:
        at = tuple(int(index) for index in place)
        lines.append(f"  {name}[{', '.join(map(str, at))}]: {got[at]} at size {size}, {wanted[at]} {than}")
    raise SizesDiffer("\n".join(lines), name, (other or size, size), wrong)

"""Assertions for tests of shaders, in pytest or in any other framework.

`check_shader` raises what `vkgroup check` finds; `assert_same_at_every_size` runs a shader on the reference
device at several subgroup sizes, and compares what it leaves.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from vkgroup.check import checking
from vkgroup.check.findings import Finding, Kind, Report
from vkgroup.check.text import finding_lines
from vkgroup.compiler import compile_file, compile_source
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import RunResult
from vkgroup.errors import InvalidInput
from vkgroup.opening import open_device, select
from vkgroup.reference.device.capabilities import SIZES as REFERENCE_SIZES
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
    timeout: float = checking.TIMEOUT,
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
        As `vkgroup.check.checking.check`: the shader cannot be checked.

    Examples
    --------
    >>> vkgroup.testing.check_shader("shaders/sum.comp", sizes=(8, 32, 64))
    """
    __tracebackhide__ = True
    unknown = sorted(set(ignore) - set(Kind))
    if unknown:
        known = ", ".join(Kind)
        raise InvalidInput(f"ignore takes kinds of findings ({known}), not {', '.join(unknown)}.")
    report = checking.check(
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

    What depends on the order of atomics is not compared. Sizes are not compared where the specification
    leaves a value undefined at one of them; with `expected`, an undefined element is a wrong one.

    Parameters
    ----------
    shader : a file, a module, or source text.
    groups, bindings, **options : as for `vkgroup.Device.run`. Arrays are never modified.
    sizes : powers of two up to 128; two or more, unless there is `expected`.
    expected : what every size must leave, by binding: an array of the result's shape, or one number for all
        elements. Bindings that are not named are not compared. Without, all are compared with the first size.
    rtol, atol : relative and absolute tolerance of floats, as `numpy.isclose` has them; integers are compared
        exactly.

    Returns
    -------
    What the first size left.

    Raises
    ------
    SizesDiffer
        An `AssertionError` that names binding, sizes and the first elements that differ.
    InvalidInput
        Nothing would be compared; a size is none; the shader writes no binding that is called so, or one of
        another shape.
    """
    __tracebackhide__ = True
    chosen = _sizes(sizes, compared=expected is None)
    if expected is not None and not expected:
        raise InvalidInput("expected names no binding: leave it out to compare the sizes with each other.")
    module = shader if isinstance(shader, Module) else _compiled(shader)
    first: RunResult | None = None
    for size in chosen:
        with open_device("reference", subgroup_size=size) as device:
            found = device.run(module, groups, bindings, **options)
        if expected is not None:
            for name, wanted in expected.items():
                _compare_expected(name, size, found, wanted, rtol, atol)
        elif first is not None:
            for name in found:
                _compare_sizes(name, (chosen[0], size), found, first, rtol, atol)
        first = first or found
    assert first is not None
    return first


def _sizes(sizes: Sequence[int], *, compared: bool) -> tuple[int, ...]:
    """Return subgroup sizes of the reference device, once each.

    Parameters
    ----------
    compared : whether the sizes are compared with each other, which takes two.
    """
    given = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if wrong := [size for size in given if size not in REFERENCE_SIZES]:
        raise InvalidInput(f"sizes are powers of two up to 128, not {', '.join(map(str, wrong))}.")
    chosen = tuple(dict.fromkeys(given))
    if not chosen:
        raise InvalidInput("sizes are one or more subgroup sizes; none was given.")
    if compared and len(chosen) == 1:
        raise InvalidInput("One size alone is compared with nothing: give two or more sizes, or expected.")
    return chosen


def _compiled(shader: str | os.PathLike[str]) -> Module:
    """Compile a file, or source text."""
    if isinstance(shader, str) and "\n" in shader:
        return compile_source(shader, stage="compute", target=checking.TARGET)
    return compile_file(Path(shader), target=checking.TARGET)


def _compare_sizes(
    name: Any, sizes: tuple[int, int], found: RunResult, first: RunResult, rtol: float, atol: float
) -> None:
    """Raise where an element differs from the first size's; both define it, whatever the order of atomics."""
    __tracebackhide__ = True
    assert found.ordered is not None
    assert first.ordered is not None
    got, wanted = np.asarray(found[name]), np.asarray(first[name])
    known = np.asarray(found.ordered[name]) & np.asarray(first.ordered[name])
    wrong = np.argwhere(~_same(got, wanted, rtol, atol) & known)
    if len(wrong):
        at, before = f"at size {sizes[1]}", f"at size {sizes[0]}"
        lines = [
            f"{_place(name, index)}: {got[index]} {at}, {wanted[index]} {before}" for index in _some(wrong)
        ]
        _differ(name, sizes, got, wrong, f"those {before}", lines)


def _compare_expected(
    name: Any, size: int, found: RunResult, expected: npt.ArrayLike, rtol: float, atol: float
) -> None:
    """Raise where an element is undefined, or another than is expected, whatever the order of atomics."""
    __tracebackhide__ = True
    assert found.ordered is not None
    assert found.defined is not None
    try:
        got = np.asarray(found[name])
    except KeyError:
        raise InvalidInput(
            f"The shader writes no binding {name!r}: expected takes {', '.join(map(repr, found))}."
        ) from None
    wanted = _array(name, expected, got)
    defined, ordered = np.asarray(found.defined[name]), np.asarray(found.ordered[name])
    if not (ordered | ~defined).any():
        raise InvalidInput(
            f"{name} has no element that does not depend on the order of atomics: leave it out."
        )
    wrong = np.argwhere(~defined | ordered & ~_same(got, wanted, rtol, atol))
    if len(wrong):
        lines = [
            f"{_place(name, index)}: {got[index] if defined[index] else 'undefined'} at size {size}, "
            f"{wanted[index]} expected"
            for index in _some(wrong)
        ]
        _differ(name, (size, size), got, wrong, "what is expected", lines)


def _array(name: Any, expected: npt.ArrayLike, got: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return what is expected of a binding as an array of its shape."""
    try:
        wanted = np.asarray(expected)
    except ValueError as error:
        raise InvalidInput(f"What is expected of {name} is no array: {error}") from error
    if wanted.ndim and wanted.shape != got.shape:
        raise InvalidInput(f"{name} has the shape {got.shape}, and {wanted.shape} is expected.")
    if wanted.dtype != got.dtype and not {wanted.dtype.kind, got.dtype.kind} <= set("biuf"):
        raise InvalidInput(f"{name} has elements of {got.dtype}, and {wanted.dtype} is expected.")
    return np.broadcast_to(wanted, got.shape)


def _same(got: npt.NDArray[Any], wanted: npt.NDArray[Any], rtol: float, atol: float) -> npt.NDArray[np.bool_]:
    """Return which elements are equal; floats within the tolerance."""
    if got.dtype.kind == "f":
        return np.asarray(np.isclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True))
    return np.asarray(got == wanted)


def _some(wrong: npt.NDArray[Any]) -> list[tuple[int, ...]]:
    """Return the indices of the first elements, to be shown."""
    return [tuple(int(part) for part in index) for index in wrong[:4]]


def _place(name: Any, index: tuple[int, ...]) -> str:
    return f"  {name}[{', '.join(map(str, index))}]"


def _differ(
    name: Any,
    sizes: tuple[int, int],
    got: npt.NDArray[Any],
    wrong: npt.NDArray[Any],
    others: str,
    lines: Sequence[str],
) -> NoReturn:
    """Raise what differs, with the first elements."""
    __tracebackhide__ = True
    head = f"{name}: {len(wrong)} of {got.size} elements at subgroup size {sizes[1]} differ from {others}"
    raise SizesDiffer("\n".join([head, *lines]), name, sizes, wrong)

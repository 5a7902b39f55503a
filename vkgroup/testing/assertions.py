"""Assertions for tests of shaders, in pytest or in any other framework.

`check_shader` raises the findings of `vkgroup check`. `assert_same_at_every_size` runs a shader on the
reference device at several subgroup sizes and compares the results.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from vkgroup.base import choices
from vkgroup.base.errors import InvalidInput
from vkgroup.base.masks import refuse_mask
from vkgroup.check import checking
from vkgroup.check.findings import Finding, FindingKind
from vkgroup.check.report import Report
from vkgroup.check.report_text import finding_lines
from vkgroup.check.request import Guarantees
from vkgroup.compiler import TargetEnvironment, compile_file, compile_source
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import RunResult
from vkgroup.dispatch.reference.capabilities import SIZES as REFERENCE_SIZES
from vkgroup.spirv import Module
from vkgroup.workers.opening import open_device, select

SIZES = (8, 16, 32, 64)
"""Default subgroup sizes of `assert_same_at_every_size`: those of existing GPUs."""


class ShaderFindings(AssertionError):
    """A shader has findings; the message quotes the lines.

    Attributes
    ----------
    report : the complete report of the check.
    findings : the findings that are not ignored.
    """

    def __init__(self, report: Report, findings: Sequence[Finding]) -> None:
        self.report, self.findings = report, tuple(findings)
        count = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
        texts = ["\n".join(line.plain for line in finding_lines(finding)) for finding in findings]
        super().__init__("\n\n".join([f"{report.shader}: {count}", *texts]))


class SizesDiffer(AssertionError):
    """The results of a shader differ between subgroup sizes, or from the expected values.

    Attributes
    ----------
    name : the binding that differs.
    sizes : the first size, and the first size with a different result.
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
    inputs: Mapping[Any, Any] | None = None,
    outputs: Sequence[Any] = (),
    push: Mapping[str, Any] | None = None,
    specialization: Mapping[int | str, Any] | None = None,
    defines: Mapping[str, str | int] | None = None,
    entry_point: str | None = None,
    devices: Sequence[str | DeviceInfo] = (),
    ignore: Collection[str] = (),
    seed: int = 0,
    timeout: float = choices.CHECK_TIMEOUT,
    strict: bool = False,
    target: TargetEnvironment | str | None = None,
    full_subgroups: bool = False,
    reconvergence: str = choices.CHECK_RECONVERGENCE[0],
    progress: str = choices.CHECK_PROGRESS[0],
) -> Report:
    """Check a compute shader like `vkgroup check`; raise an error if there are findings.

    Parameters
    ----------
    path : GLSL, HLSL, ``.spv`` or ``.spvasm``.
    sizes : subgroup sizes of the reference device; None means 1, 4, 8, 16, 32, 64 and 128.
    groups : number of workgroups; None means several.
    inputs : arrays by the binding's name, number in set 0, or (set, number); other bindings get
        generated values. A mapping gives members of a block: ``{"u": {"width": 29}}``.
    outputs : bindings whose contents are undefined before the run.
    push, specialization : push constants by name, specialization constants by id or name.
    defines, entry_point : as for `vkgroup.compile`.
    devices : additional real devices, as for `vkgroup.open`; none by default.
    ignore : kinds of findings to ignore: ``"differs"``, ``"undefined"``, ``"race"``, ``"same_value"``,
        ``"barrier"``, ``"hang"``, ``"bounds"``, ``"assumes"``, ``"sparse"``, ``"progress"``.
    seed : seed of the generated values.
    timeout : time limit for one run, in seconds.
    target : the Vulkan version to compile for, such as ``"vulkan1.3"``; None means Vulkan 1.2,
        and for SPIR-V the one that its SPIR-V version belongs to.
    strict : whether weak findings (``"same_value"``, ``"reconvergence"``) raise the error too.
    full_subgroups, reconvergence, progress : what the host guarantees, as in `Guarantees`.

    Returns
    -------
    The report, if there are no findings.

    Raises
    ------
    ShaderFindings
        There are findings; an `AssertionError` whose message quotes the lines.
    CompileError, InvalidModule, InvalidInput, InvalidDispatch, Unsupported, NoDevice
        As `vkgroup.check.checking.check`: the shader cannot be checked.

    Examples
    --------
    >>> vkgroup.testing.check_shader("shaders/sum.comp", sizes=(8, 32, 64))
    """
    __tracebackhide__ = True
    unknown = sorted(set(ignore) - set(FindingKind))
    if unknown:
        known = ", ".join(FindingKind)
        raise InvalidInput(f"ignore must contain kinds of findings ({known}), not {', '.join(unknown)}.")
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
        target=target,
        seed=seed,
        devices=[device if isinstance(device, DeviceInfo) else select(device) for device in devices],
        timeout=timeout,
        host=Guarantees(full_subgroups, reconvergence=reconvergence, progress=progress),
    )
    findings = [
        finding for finding in report.findings if finding.kind not in ignore and (strict or not finding.weak)
    ]
    if findings:
        raise ShaderFindings(report, findings)
    if report.gaps:
        gaps = "; ".join(report.gaps)
        if strict:
            raise ShaderFindings(report, [])
        warnings.warn(f"{report.shader}: nothing found in what ran; {gaps}", stacklevel=2)
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
    """Run a compute shader on the reference device at each subgroup size, and compare the results.

    Elements that depend on the order of atomics are not compared. Elements that are undefined at one of two
    sizes are not compared between them. With `expected`, an undefined element is an error.

    Parameters
    ----------
    shader : a file, a module, or source text.
    groups, bindings, **options : as for `vkgroup.Device.run`. Arrays are never modified.
    sizes : powers of two up to 128; two or more if `expected` is not given.
    expected : required result at every size, by binding: an array of the result's shape, or one number for
        all elements. Other bindings are not compared. If it is None, all bindings are compared with the first
        size.
    rtol, atol : relative and absolute tolerance of floats, as in `numpy.isclose`; integers are compared
        exactly.

    Returns
    -------
    The result of the first size.

    Raises
    ------
    SizesDiffer
        Results differ; an `AssertionError` that names binding, sizes and the first different elements.
    InvalidInput
        Nothing would be compared, a size is invalid, or `expected` has a binding that the shader does not
        write or an array with a wrong shape.
    """
    __tracebackhide__ = True
    chosen = _sizes(sizes, compared=expected is None)
    if expected is not None and not expected:
        raise InvalidInput(
            "expected is empty: name a binding, or omit it to compare the sizes with each other."
        )
    module = shader if isinstance(shader, Module) else _compiled(shader)
    first: RunResult | None = None
    for size in chosen:
        with open_device("reference", subgroup_size=size) as device:
            result = device.run(module, groups, bindings, **options)
        if expected is not None:
            for name, wanted in expected.items():
                _compare_expected(name, size, result, wanted, rtol, atol)
        elif first is not None:
            for name in result:
                _compare_sizes(name, (chosen[0], size), result, first, rtol, atol)
        first = first or result
    assert first is not None
    return first


def _sizes(sizes: Sequence[int], *, compared: bool) -> tuple[int, ...]:
    """Return the subgroup sizes without duplicates.

    Parameters
    ----------
    compared : whether the sizes are compared with each other, which needs at least two.
    """
    given = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if wrong := [size for size in given if size not in REFERENCE_SIZES]:
        raise InvalidInput(f"sizes must be powers of two up to 128, not {', '.join(map(str, wrong))}.")
    chosen = tuple(dict.fromkeys(given))
    if not chosen:
        raise InvalidInput("sizes is empty: give one or more subgroup sizes.")
    if compared and len(chosen) == 1:
        raise InvalidInput("One size alone cannot be compared: give two or more sizes, or expected.")
    return chosen


def _compiled(shader: str | os.PathLike[str]) -> Module:
    """Return the module of a file or of source text."""
    if isinstance(shader, str) and "\n" in shader:
        return compile_source(shader, stage="compute")
    return compile_file(Path(shader), robustness=False, workgroup_zeros=False)  # for WGSL, as `check`


def _compare_sizes(
    name: Any, sizes: tuple[int, int], result: RunResult, first: RunResult, rtol: float, atol: float
) -> None:
    """Raise SizesDiffer if elements differ that are defined and do not depend on the order of atomics."""
    __tracebackhide__ = True
    assert result.ordered is not None
    assert first.ordered is not None
    got, wanted = np.asarray(result[name]), np.asarray(first[name])
    known = np.asarray(result.ordered[name]) & np.asarray(first.ordered[name])
    wrong = np.argwhere(~_same(got, wanted, rtol, atol) & known)
    if len(wrong):
        at, before = f"at size {sizes[1]}", f"at size {sizes[0]}"
        lines = [
            f"{_element(name, index)}: {got[index]} {at}, {wanted[index]} {before}" for index in _some(wrong)
        ]
        _differ(name, sizes, got, wrong, f"those {before}", lines)


def _compare_expected(
    name: Any, size: int, result: RunResult, expected: npt.ArrayLike, rtol: float, atol: float
) -> None:
    """Raise SizesDiffer if an element is undefined, or differs from the expected value."""
    __tracebackhide__ = True
    assert result.ordered is not None
    assert result.defined is not None
    try:
        got = np.asarray(result[name])
    except KeyError:
        raise InvalidInput(
            f"expected has {name!r}, but the shader writes only {', '.join(map(repr, result))}."
        ) from None
    wanted = _array(name, expected, got)
    defined, ordered = np.asarray(result.defined[name]), np.asarray(result.ordered[name])
    if not (ordered | ~defined).any():
        raise InvalidInput(f"all elements of {name} depend on the order of atomics: remove it from expected.")
    wrong = np.argwhere(~defined | ordered & ~_same(got, wanted, rtol, atol))
    if len(wrong):
        lines = [
            f"{_element(name, index)}: {got[index] if defined[index] else 'undefined'} at size {size}, "
            f"{wanted[index]} expected"
            for index in _some(wrong)
        ]
        _differ(name, (size, size), got, wrong, "the expected values", lines)


def _array(name: Any, expected: npt.ArrayLike, got: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the expected values of a binding as an array of its shape."""
    refuse_mask(expected, f"expected[{name!r}]", InvalidInput)
    try:
        wanted = np.asarray(expected)
    except ValueError as error:
        raise InvalidInput(f"expected[{name!r}] cannot be converted to an array: {error}") from error
    if wanted.ndim and wanted.shape != got.shape:
        raise InvalidInput(f"{name} has the shape {got.shape}, but expected has the shape {wanted.shape}.")
    if wanted.dtype != got.dtype and not {wanted.dtype.kind, got.dtype.kind} <= set("biuf"):
        raise InvalidInput(f"{name} has elements of type {got.dtype}, but expected has {wanted.dtype}.")
    return np.broadcast_to(wanted, got.shape)


def _same(got: npt.NDArray[Any], wanted: npt.NDArray[Any], rtol: float, atol: float) -> npt.NDArray[np.bool_]:
    """Return which elements are equal; floats within the tolerance."""
    if got.dtype.kind == "f":
        return np.asarray(np.isclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True))
    return np.asarray(got == wanted)


def _some(wrong: npt.NDArray[Any]) -> list[tuple[int, ...]]:
    """Return the indices of the first elements, for the message."""
    return [tuple(int(part) for part in index) for index in wrong[:4]]


def _element(name: Any, index: tuple[int, ...]) -> str:
    return f"  {name}[{', '.join(map(str, index))}]"


def _differ(
    name: Any,
    sizes: tuple[int, int],
    got: npt.NDArray[Any],
    wrong: npt.NDArray[Any],
    others: str,
    lines: Sequence[str],
) -> NoReturn:
    """Raise SizesDiffer with a message that lists the first different elements."""
    __tracebackhide__ = True
    head = f"{name}: {len(wrong)} of {got.size} elements at subgroup size {sizes[1]} differ from {others}"
    raise SizesDiffer("\n".join([head, *lines]), name, sizes, wrong)

"""Check of one shader: inputs, runs on the reference device and on real ones, comparison, findings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from vkgroup.base.choices import CHECK_SIZES, CHECK_STEP_LIMIT, CHECK_TIMEOUT
from vkgroup.base.errors import InvalidInput
from vkgroup.base.phases import DeadlineReached
from vkgroup.base.reading import printable, read_bytes
from vkgroup.check.diagnosis import (
    findings_of,
)
from vkgroup.check.divergence import natural
from vkgroup.check.findings import (
    SourceLocations,
)
from vkgroup.check.flow import DataFlow
from vkgroup.check.fragments import FragmentOptions, check_fragments
from vkgroup.check.host import Guarantees
from vkgroup.check.inputs import Key
from vkgroup.check.preparation import prepare
from vkgroup.check.questions import Questions
from vkgroup.check.refusals import require_no_addresses
from vkgroup.check.report import Report
from vkgroup.check.runs import DispatchJob, bindings_of
from vkgroup.check.state import CheckState, coverage_of, run_and_compare
from vkgroup.compiler import TargetEnvironment, assemble, compile_file, validate
from vkgroup.compiler.front_ends import compiler_of
from vkgroup.device import DeviceInfo
from vkgroup.dispatch.slots import check_kinds
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.program.form import DERIVATIVE_GROUPS
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spirv import Module

TARGET = TargetEnvironment.VULKAN_1_2
"""Compilation target of shaders: the first version that allows broadcasts with non-constant ids."""


def check(
    shader: Module | str | os.PathLike[str],
    *,
    sizes: Sequence[int] | None = None,
    groups: Sequence[int] | None = None,
    inputs: Mapping[Key, npt.NDArray[Any] | Sequence[npt.NDArray[Any]]] | None = None,
    outputs: Sequence[Key] = (),
    push: Mapping[str, Any] | None = None,
    specialization: Mapping[int | str, Any] | None = None,
    entry_point: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    target: TargetEnvironment | str | None = None,
    seed: int = 0,
    devices: Sequence[DeviceInfo] = (),
    timeout: float = CHECK_TIMEOUT,
    step_limit: int = CHECK_STEP_LIMIT,
    host: Guarantees | None = None,
    name: str | None = None,
    command: str = "",
    compiler: str = "",
    size: Sequence[int] | None = None,
    sources: Path | None = None,
) -> Report:
    """Check whether a compute shader or a fragment shader is correct at every subgroup size.

    Parameters
    ----------
    shader : a module, or the file of one: GLSL, HLSL, ``.spv`` or ``.spvasm``.
    sizes : subgroup sizes; None for `vkgroup.base.choices.CHECK_SIZES` and the sizes of `devices`.
    groups : workgroup counts in up to three dimensions; None chooses them from the shader.
    inputs : arrays by binding name, number in set 0, or (set, number); the rest is generated. A list of
        arrays is for an array of descriptors.
    outputs : bindings whose contents are undefined before the run.
    push, specialization : push constants by name, specialization constants by id or name.
    entry_point, defines : as for `vkgroup.compile`.
    target : the target that a file is compiled for; None for `TARGET`, and for no target of SPIR-V.
    seed : seed of the generated inputs and of the shuffled lanes.
    devices : real devices on which the shader also runs.
    timeout : time limit of one run in seconds.
    step_limit : limit of loop iterations; a longer loop is reported as a hang.
    host : guarantees of the host that runs the shader, which restrict the runs; None for none.
    name : the shader's name in the report.
    command : the command that repeats the check, without sizes and devices.
    compiler : the compiler that made `shader`, with its version, for the report; that of a file is known.
    size : of a fragment shader: width and height of the target in pixels; None for the default.
    sources : the folder in which files that a module names as its sources may be read; None for every folder.

    Returns
    -------
    The findings and the coverage.

    Raises
    ------
    CompileError, InvalidModule, InvalidInput, InvalidDispatch
        The shader or an input is invalid.
    Unsupported
        The reference device or this tool cannot run the shader. The error names what is missing.

    Examples
    --------
    >>> report = check("sum.comp", sizes=(8, 32))
    >>> [finding.kind for finding in report.findings]
    """
    module = shader if isinstance(shader, Module) else _load(Path(shader), entry_point, defines, target)
    if not isinstance(shader, Module) and not compiler:
        compiler = compiler_of(Path(shader))
    check_kinds(module.reflection.bindings)
    wanted = sizes if sizes is not None else {*CHECK_SIZES, *(device.subgroup_size for device in devices)}
    run_sizes = sorted(set(wanted) - {0})
    entry = module.reflection.entry_point(entry_point)
    needs_quads = entry.stage == "fragment" or bool(DERIVATIVE_GROUPS.keys() & entry.execution_modes.keys())
    if sizes is None and needs_quads:
        run_sizes = [number for number in run_sizes if number >= QUAD_SIZE]
    title = printable(name or ("shader" if isinstance(shader, Module) else str(shader)))
    require_no_addresses(module)
    if entry.stage == "fragment":
        options = FragmentOptions(
            inputs=inputs,
            outputs=outputs,
            push=push,
            specialization=specialization or {},
            seed=seed,
            timeout=timeout,
            step_limit=step_limit,
            host=host or Guarantees(),
            command=command,
            compiler=compiler,
            size=size,
            groups=groups,
            sources=sources,
        )
        return check_fragments(module, entry_point, title, run_sizes, devices, options)
    if size is not None:
        raise InvalidInput("--size is the size of a draw; give --groups for a compute shader.")
    prepared = prepare(
        module,
        entry_point,
        groups=groups,
        inputs=inputs,
        outputs=outputs,
        push=push,
        specialization=specialization or {},
        seed=seed,
        timeout=timeout,
        step_limit=step_limit,
        sizes=run_sizes,
        host=host or Guarantees(),
    )
    dispatch, program = prepared.dispatch, prepared.dispatch.program
    state = CheckState(
        dispatch,
        SourceLocations(program.module, title, sources),
        DataFlow(program.module),
        lambda instrument: ExecutableShader(module, entry_point, prepared.values, instrument),
        lambda changed: ExecutableShader(changed, entry_point),
        host=host or Guarantees(),
        notes=prepared.notes,
    )
    given = dispatch.inputs.push if module.reflection.push_constants is not None else b""
    job = partial(
        DispatchJob,
        module=module,
        entry_point=program.entry.name,
        specialization=prepared.specialization,
        groups=dispatch.groups,
        bindings=bindings_of(dispatch.inputs),
        push=given,
        writable=frozenset(entry.place for entry in dispatch.inputs.bindings if entry.binding.writable),
        timeout=timeout,
        local_size=program.local_size,
        full_subgroups=state.host.full_subgroups,
    )
    findings, interrupted = run_and_compare(state, run_sizes, devices, job)
    questions = Questions(prepared.search, prepared.trial)
    try:
        runs = state.runs if state.late else questions.errors_of(state.runs)
    except DeadlineReached:
        runs = state.runs
        state.note_deadline()
    except KeyboardInterrupt as end:
        runs, interrupted = state.runs, end
    by_nature = natural(state.flow)
    findings = findings_of(runs, state.places, dispatch.inputs, by_nature) + findings
    findings.sort(key=lambda entry: (entry.weak, entry.place.line, entry.place.position))
    if command:
        findings = [entry.repeated_by(command) for entry in findings]
    covered = replace(coverage_of(state), compiler=compiler)
    return Report(
        title,
        tuple(findings),
        covered,
        bindings_of(dispatch.inputs),
        given,
        interrupted,
        no_verdict=tuple(state.no_verdict),
        internal_errors=tuple(state.internal_errors),
        questions=questions.collect(state.places, by_nature, dispatch.inputs),
    )


def _load(
    path: Path,
    entry_point: str | None,
    defines: Mapping[str, str | int] | None,
    target: TargetEnvironment | str | None,
) -> Module:
    """Return the module of a file: compiled with debug lines and without optimisation, or read as SPIR-V."""
    if path.suffix not in (".spv", ".spvasm"):
        return compile_file(
            path,
            debug=True,
            target=target or TARGET,
            entry_point=entry_point or "main",
            defines=defines or {},
        )
    try:
        data = read_bytes(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    if path.suffix == ".spvasm":
        module = assemble(data.decode("utf-8", "replace"), target or TARGET, name=str(path))
    else:
        module = Module.from_bytes(data)
    validate(module, target or TargetEnvironment.VULKAN_1_4)
    return module

"""The reproduction folder of a check: shader and findings; repetition of the check from the folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from vkgroup.base import choices
from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.base.files import read_bytes
from vkgroup.check import CheckRequest, Guarantees, checking
from vkgroup.check.fields import fields_of
from vkgroup.check.report import Report
from vkgroup.check.report_text import count_of, lines_of
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.compiler.request import read
from vkgroup.device import DeviceInfo
from vkgroup.outputs.reproduction import folder as folders
from vkgroup.outputs.reproduction.folder import DEVICE
from vkgroup.outputs.reproduction.repeat import RepeatOutcome
from vkgroup.outputs.reproduction.shaders import StepShaders, read_module, read_source
from vkgroup.outputs.reproduction.values import Array, Files, Json, inside, load, name_of, slot_of
from vkgroup.probe import Probe
from vkgroup.spirv import Module, StructType, set_local_size
from vkgroup.workers.opening import open_device, select
from vkgroup.workers.scheduler import read_capabilities

_KINDS = {
    "differs": "The same shader with the same inputs gives something else at other subgroup sizes, with its "
    "invocations in other lanes, or on another device. Vulkan lets a device choose its subgroup size and "
    "which invocations share a subgroup, so that all of these must be right for the shader to be.",
    "undefined": "A value that the specification leaves undefined decides a result.",
    "race": "Invocations access the same memory without anything that orders them, and one of them writes: "
    'by Vulkan\'s memory model ("Data Races") the whole dispatch is undefined.',
    "same_value": "Invocations write the same value to the same memory without anything that orders them. "
    'Vulkan\'s memory model ("Data Races") leaves the whole dispatch undefined, but every order of '
    "the writes gives the same result.",
    "barrier": "Some invocations of a workgroup or subgroup come to a barrier and others do not, which the "
    "specification forbids (SPIR-V, OpControlBarrier).",
    "hang": "Invocations wait for each other for ever, or a loop does not end.",
    "abort": "The shader executes OpAbortKHR, which ends the work of the device.",
    "bounds": "An access lies outside of its buffer, image or array.",
    "assumes": "The shader takes a subgroup size for granted that a device need not have.",
    "sparse": "The shader is wrong if subgroups have lanes without an invocation, as Vulkan permits if the "
    "pipeline does not require full subgroups (SubgroupLocalInvocationId).",
    "reconvergence": "Invocations of a subgroup that part need not meet again where the shader expects them "
    "(SPIR-V, Uniform Control Flow).",
    "progress": "A loop waits for a workgroup that need not have started; Vulkan does not guarantee that it "
    "ends.",
}

_MOST_SIZES = 4
"""Maximum number of subgroup sizes whose outputs are stored."""


def write_readme(folder: Path, record: Json) -> None:
    """Write the README."""
    kinds = dict.fromkeys(finding["kind"] for finding in record["report"]["findings"])
    sizes = ", ".join(map(str, record["sizes"]))
    lines = [
        f"# {record['shader']}: {record['findings']}",
        "",
        f"`vkgroup check` ran the shader on the reference device, the specification in NumPy, at the "
        f"subgroup sizes {sizes}, with lanes in order and shuffled"
        + "".join(f", and on {name}" for name in record["report"]["covered"]["devices"])
        + ".",
        "",
        "## What is wrong" if kinds else "## What was found",
        "",
        "```",
        *record["text"],
        "```",
        "",
    ]
    if kinds:
        lines += ["## What the specification says", ""]
        lines += [f"- **{kind}**: {_KINDS[kind]}" for kind in kinds]
        lines.append("")
    source = record["shaders"][0].get("source")
    name = quote(folder.name)
    lines += [
        "## How to repeat it",
        "",
        "With this folder alone, on any device (exit code 0: nothing is found any more; 1: something is):",
        "",
        "```",
        f"vkgroup run {name} --device reference",
        f"vkgroup run {name} --device D",
        "```",
        "",
    ]
    if source:
        lines += [f"Mend `{source}`, and the same command checks the mended shader.", ""]
    lines += [*_files(record), f"Made by vkgroup {record['vkgroup']}, seed {record['seed']}."]
    folders.write_readme(folder, lines)


def _files(record: Json) -> list[str]:
    shader = record["shaders"][0]
    names = ", ".join(f"`{shader[key]}`" for key in ("source", "spirv", "text") if key in shader)
    lines = ["## What is in this folder", "", f"- {names}: the shader"]
    for place, saved in record["bindings"].items():
        lines.append(f"- {', '.join(f'`{file}`' for file in _list(saved))}: bound to {place} (set, binding)")
    for run in record["runs"]:
        what = "what is expected" if run["right"] else "what the shader leaves"
        size = f"with subgroups of {run['size']}"
        lines.append(
            f"- `{run['file']}`, `{run['defined']}`: {what} in `{run['name']}`, {size} "
            "on the reference device; and which numbers of it are defined, whatever the order of atomics"
        )
    if record["report"]["findings"] and not any(run["right"] for run in record["runs"]):
        lines.append("- There are no expected values: something is wrong at every size.")
    return [
        *lines,
        f"- `{DEVICE}`: what the device declares (`vkgroup probe --json`): {record['device']['name']}",
        "- `repro.json`: all of it for `vkgroup run`",
        "",
    ]


def make_check(
    folder: Path,
    request: CheckRequest,
    report: Report,
    *,
    dialect: str | None = None,
    local_size: Sequence[int] | None = None,
    strict: bool = False,
) -> None:
    """Make the folder of a check, with findings or without.

    `dialect`: the dialect of the source, as for `vkgroup.compile`.
    `local_size`: the local size that was given to a shader without one; None for that of the shader.
    `strict`: whether weak findings fail the check, as with ``--strict``.
    """
    with folders.made(folder):
        _fill(folder, request, report, dialect, local_size, strict)


def _fill(
    folder: Path,
    request: CheckRequest,
    report: Report,
    dialect: str | None,
    local_size: Sequence[int] | None,
    strict: bool,
) -> None:
    """Write the files of a check into an empty folder."""
    module = request.module
    target = TargetEnvironment.of(request.target or TargetEnvironment.for_spirv(module.version))
    files, shaders = Files(folder), StepShaders(folder)
    if module.debug_source is not None:
        shaders.of(module, module.debug_source, dialect)
    shaders.file(module)
    bindings: dict[str, str | list[str]] = {}
    for place, value in report.bindings.items():
        # A combined image sampler is a pair; check makes the samplers again.
        parts = [part[0] if isinstance(part, tuple) else part for part in _list(value)]
        saved = [
            files.save(f"inputs/{name_of(place, [module])}", part.view(_dtype_of(module, place, part)))
            for part in parts
            if isinstance(part, np.ndarray)
        ]
        if saved:
            bindings[".".join(map(str, place))] = saved if isinstance(value, list) else saved[0]
    record: Json = {
        "kind": "check",
        "shader": report.shader,
        "findings": count_of(report.findings),
        "text": [line.plain for line in lines_of(report)],
        "report": report.to_json(),
        "shaders": shaders.listed,
        "sha256": _hash(folder, shaders.listed[0]),
        "bindings": bindings,
        "groups": list(report.covered.groups),
        "sizes": list(report.covered.sizes),
        "entry_point": request.entry_point,
        "outputs": list(request.outputs),
        "push": {name: np.asarray(value).tolist() for name, value in (request.push or {}).items()},
        "specialization": [[name, value] for name, value in request.specialization.items()],
        "defines": dict(request.defines),
        "seed": request.seed,
        "step_limit": request.step_limit,
        "local_size": local_size and list(local_size),
        "host": asdict(request.host),
        "strict": strict,
        "target": target.environment,
    }
    record["runs"] = _runs(files, module, report, record)
    device = request.devices[0] if request.devices else select("reference")
    capabilities = read_capabilities(device)
    record["device"] = folders.device_record(capabilities, device)
    folders.write_device(folder, Probe(capabilities, {}).to_json())
    folders.write(folder, record)
    write_readme(folder, folders.read(folder))


def _list(value: Any) -> list[Any]:
    """Return the values of the descriptors of a binding."""
    return value if isinstance(value, list) else [value]


def _dtype_of(module: Module, key: Any, array: Array) -> np.dtype[Any]:
    """Return the element type of a binding; for untyped bytes, the common type of all fields of its block."""
    slot = slot_of(key, [module])
    if array.dtype.kind != "V" or slot is None or not isinstance(slot.variables[0].type, StructType):
        return array.dtype
    found = {one.dtype for one in fields_of(slot.variables[0].type, array.nbytes)}
    numbers = next(iter(found), array.dtype)
    return numbers if len(found) == 1 and array.nbytes % numbers.itemsize == 0 else array.dtype


def _hash(folder: Path, shader: Json, allow_outside: bool = False) -> str:
    """Return the hash of a shader's source, which detects a changed source; empty if there is no source."""
    if "source" not in shader:
        return ""
    path = folder / shader["source"] if allow_outside else inside(folder, shader["source"])
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error


def _runs(files: Files, module: Module, report: Report, record: Json) -> list[Json]:
    """Write the outputs of the reference device at one size without findings and at some with findings."""
    wrong = sorted({size for finding in report.findings for size in finding.sizes})
    right = [size for size in report.covered.sizes if size not in wrong]
    # Prefer the size that the other sizes were compared with.
    compared = {where.subgroup_size for finding in report.findings for where, _ in finding.values[:1]}
    best = sorted(right, key=lambda size: (size not in compared, size != 32, size))[:1]
    found = []
    for size in [*best, *wrong[: _MOST_SIZES - 1]]:
        try:
            with open_device("reference", subgroup_size=size) as device:
                result = device.run(
                    module,
                    report.covered.groups,
                    {**report.bindings, **{key: image.make(device) for key, image in report.images.items()}},
                    push=report.push or None,
                    entry_point=record["entry_point"],
                    specialization=dict(record["specialization"]),
                    timeout=choices.CHECK_TIMEOUT,
                )
        except VkgroupError:
            continue
        assert result.ordered is not None
        stem = "expected" if size in best else "outputs"
        outputs = (
            (name, *parts)
            for name, left in result.items()
            for parts in zip(_list(left), _list(result.ordered[name]), strict=True)
        )
        for name, left, known in outputs:
            array, defined = np.asarray(left), np.asarray(known)
            dtype = _dtype_of(module, name, array)
            # Untyped bytes become numbers; a number is defined if all its bytes are.
            if dtype != array.dtype:
                defined = np.asarray(defined.reshape(-1, dtype.itemsize).all(axis=-1))
            files_of = {
                "file": files.save(f"{stem}/size{size}-{name}", array.view(dtype)),
                "defined": files.save(f"{stem}/size{size}-{name}-defined", defined),
            }
            found.append({"size": size, "name": str(name), "right": size in best, **files_of})
    return found


def repeat_check(
    device: DeviceInfo, folder: Path, record: Json, timeout: float, *, allow_outside: bool = False
) -> RepeatOutcome:
    """Check the shader of a folder again, on the reference device and on a real one.

    If the source in the folder was changed, it is compiled again; otherwise the SPIR-V is checked.

    `allow_outside`: whether the source may be a symbolic link to a file outside of the folder, and may
    include such files.
    """
    shader = record["shaders"][0]
    confined_to = None if allow_outside else folder
    mended = record["sha256"] and _hash(folder, shader, allow_outside) != record["sha256"]
    module = _compiled(folder, record, confined_to) if mended else read_module(folder, shader["spirv"])
    outputs = [tuple(name) if isinstance(name, list) else name for name in record["outputs"]]
    fresh = {(slot.set, slot.binding) for key in outputs if (slot := slot_of(key, [module])) is not None}
    given = {_place(key): files for key, files in record["bindings"].items()}
    report = checking.check(
        module,
        sizes=record["sizes"],
        groups=record["groups"],
        inputs={
            place: [load(folder, file) for file in _list(files)]
            for place, files in given.items()
            if place not in fresh
        },
        outputs=outputs,
        push=record["push"],
        specialization=dict(record["specialization"]),
        entry_point=record["entry_point"],
        seed=record["seed"],
        devices=[] if device.is_reference else [device],
        timeout=timeout,
        step_limit=record["step_limit"],
        host=Guarantees(**(record.get("host") or {})),
        name=record["shader"],
        sources=confined_to,
    )
    report.require_verdict()
    first = f"{shader['source']} was changed since: it is compiled and checked." if mended else ""
    lines = [line.plain for line in lines_of(report)]
    return RepeatOutcome(
        not report.fails(record.get("strict", False)), tuple([first, *lines] if first else lines)
    )


def _compiled(folder: Path, record: Json, confined_to: Path | None) -> Module:
    """Return the module of the changed source."""
    shader = record["shaders"][0]
    file = folder / shader["source"]
    module = compile_source(
        read(file) if confined_to is None else read_source(folder, shader["source"]),
        stage=shader["stage"], dialect=shader["dialect"], name=shader["source"],
        target=record["target"], debug=True, defines=record["defines"],
        entry_point=record["entry_point"] or "main",
        include_paths=[file.parent], confined_to=confined_to,
    )  # fmt: skip
    return set_local_size(module, record["local_size"]) if record.get("local_size") else module


def _place(key: str) -> tuple[int, int]:
    first, second = key.split(".")
    return int(first), int(second)

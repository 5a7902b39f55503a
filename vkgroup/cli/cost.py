"""``vkgroup cost``: print the static cost of a shader on devices, among them compile-only ones."""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import vkgroup
from vkgroup.base.choices import COMPILERS
from vkgroup.base.errors import InvalidInput, NoDevice, Unsupported
from vkgroup.base.files import read_text
from vkgroup.base.suggestions import nearest
from vkgroup.cli import shaders
from vkgroup.cli.console import Console
from vkgroup.cli.output import people, table, write_json
from vkgroup.cli.progress import track
from vkgroup.cli.settings import Settings, settings_of
from vkgroup.cost import FIELDS, CompileJob, CompileStatus, Cost, costs_on_all, job_of, labels, regressions
from vkgroup.cost.comparing import paired, with_recorded
from vkgroup.device import DeviceInfo
from vkgroup.device.fetched import newest_names, representatives, without_builds
from vkgroup.workers.multi_device import choose

_BAD = (CompileStatus.REJECTED, CompileStatus.CRASH, CompileStatus.TIMEOUT)
"""Statuses that are verdicts against a driver."""

_NONE = "-"
_NOTHING = 3


def execute(arguments: argparse.Namespace) -> int:
    """Run the command.

    Returns 1 if a driver rejects a shader or crashes, or a cost has become worse; 3 if no device has what a
    shader needs.
    """
    settings = settings_of(arguments)
    devices = _devices(arguments.device)
    baseline = None if arguments.baseline is None else _read(arguments.baseline)
    console = Console(file=people(arguments.json), highlight=False)
    code, written, every, lacking = 0, [], [], ""
    for setting in settings:
        costs = _costs(devices, setting, setting.options)
        others = None
        if arguments.against is not None:
            others = _costs(devices, setting, _other(setting.options, arguments.against))
        _print(_title(setting, arguments.against), costs, others, console, wide=arguments.wide)
        if arguments.isa:
            _print_assembly([*costs, *(others or ())], console.file)
        every += [*costs, *(others or ())]
        if any(cost.status in _BAD for cost in every):
            code = 1
        if baseline is not None:
            old = _recorded(baseline, setting)
            if _print_regressions(costs, old, arguments.threshold, console):
                code = 1
            lacking += _lacking(costs, old, _name(setting))
        written.append(_data(setting, costs, others, arguments.against))
    write_json(written, arguments.json)
    if lacking and code:
        console.write_line(lacking.strip())
    elif lacking:
        raise InvalidInput(f"{arguments.baseline}:{lacking}")
    lacks_all = all(cost.status == CompileStatus.NOT_SUPPORTED for cost in every)
    return _NOTHING if lacks_all and not code else code


def _devices(choice: str | None) -> list[DeviceInfo]:
    """Return the devices of ``--device``; without it, one GPU of each generation of the fetched drivers."""
    if choice is not None:
        return choose(choice, compile_only=True)
    names = representatives()
    if not names:
        raise NoDevice(
            "No driver for absent GPUs is in the cache. Fetch them with `vkgroup drivers fetch radv nvk"
            " turnip honeykrisp`, or name a device of this machine with --device."
        )
    return choose(",".join(names), compile_only=True)


def _job(setting: Settings, options: argparse.Namespace) -> CompileJob:
    """Return the shader to compile."""
    module = shaders.load(options)
    setting.require_valid(module)
    names = {entry.name for entry in module.reflection.entry_points}
    try:
        return job_of(
            module,
            entry_point=options.entry_point if options.entry_point in names else None,
            specialization=setting.specialization(module),
            sizes=options.subgroup_size or (),
            full_subgroups=bool(options.full_subgroups),
        )
    except Unsupported as error:
        raise Unsupported(f"{options.shader}: {error}", error.missing) from error


def _other(options: argparse.Namespace, against: str) -> argparse.Namespace:
    """Return the options of the shader to compare with: another file, or this file by another compiler."""
    other = argparse.Namespace(**vars(options))
    if against in COMPILERS:
        other.compiler = against
    elif not Path(against).exists() and (hint := nearest(against, COMPILERS)):
        raise InvalidInput(f"--against {against}: there is no such file and no such compiler.{hint}")
    else:
        other.shader = Path(against)
    return other


def _costs(devices: Sequence[DeviceInfo], setting: Settings, options: argparse.Namespace) -> list[Cost]:
    """Return the costs of a shader on all devices, several of which compile at the same time."""
    compiled = costs_on_all(devices, [_job(setting, options)], options.timeout)
    each = track(compiled, len(devices), f"compiling {Path(options.shader).name}")
    return [cost for (costs,) in each for cost in costs]


def _title(setting: Settings, against: str | None) -> str:
    name = f"{setting.options.shader}{f' ({setting.name})' if setting.name else ''}"
    return name if against is None else f"{name} → {against}"


def _print(
    title: str, costs: Sequence[Cost], others: Sequence[Cost] | None, console: Console, *, wide: bool
) -> None:
    """Print a table: a row for each device and subgroup size, a column for each quantity.

    `wide`: whether it has all quantities and the kinds of instructions.
    """
    rows = paired(costs, others or ())
    devices, builds = without_builds(labels([*costs, *(others or ())], newest_names()))
    headings = {name: field.title if wide else field.short for name, field in FIELDS.items()}
    names = [name for name in FIELDS if headings[name] and any(name in cost.quantities for cost, _ in rows)]
    shown = [["device", "size", *(headings[name] for name in names), *["kinds"] * wide]]
    for cost, other in rows:
        if cost.status is CompileStatus.COMPILED:
            kinds = ", ".join(f"{count} {kind}" for kind, count in cost.kinds.items()) or _NONE
            cells = (_cell(name, cost, other) for name in names)
            shown.append([devices[cost.device], str(cost.subgroup_size), *cells, *[kinds] * wide])
    console.write_line("\n".join([title, *builds]))
    if len(shown) > 1:
        table(shown, console.file)
        if not wide:
            console.write_line("subgroup: instructions of subgroup operations. --wide prints all quantities.")
        if any(gpu.startswith("radv") for gpu in devices):
            console.write_line("waves of RADV on RDNA: a subgroup of 64 lanes counts twice.")
    failed: dict[tuple[str, str], dict[str, None]] = {}
    for entry in filter(None, itertools.chain(*rows)):
        if entry.status != CompileStatus.COMPILED:
            key = devices[entry.device], f"{entry.status}: {entry.detail}"
            failed.setdefault(key, {})[str(entry.subgroup_size)] = None
    for (device, text), sizes in failed.items():
        console.write_line(f"{device}, subgroups of {', '.join(sizes)}: {text}")


def _cell(name: str, cost: Cost, other: Cost | None) -> str:
    value = cost.quantities.get(name)
    text = _NONE if value is None else f"{value:g}" if value < 1e6 else f"{value:.0f}"
    if other is None or other.status is not CompileStatus.COMPILED:
        return text
    after = other.quantities.get(name)
    return text if after == value else f"{text} → {_NONE if after is None else f'{after:g}'}"


def _print_assembly(costs: Sequence[Cost], stream: IO[str]) -> None:
    devices = labels(costs, newest_names())
    for cost in costs:
        print(f"\n{devices[cost.device]}, subgroups of {cost.subgroup_size}:", file=stream)
        print(cost.assembly or "The driver provides no assembly.", file=stream)


def _recorded(baseline: dict[str, list[Cost]], setting: Settings) -> list[Cost]:
    """Return the costs of a shader in a baseline; InvalidInput if there are none."""
    if _name(setting) in baseline:
        return baseline[_name(setting)]
    raise InvalidInput(f"The baseline has no shader {_name(setting)}; it has {', '.join(baseline)}.")


def _lacking(costs: Sequence[Cost], old: Sequence[Cost], shader: str) -> str:
    """Return a sentence with the devices and sizes of a shader that its baseline lacks; empty if none."""
    absent = [cost.key for cost, same in with_recorded(costs, old) if same is None]
    lacking, has = (
        ", ".join(f"{name} ({size})" for name, size in dict.fromkeys(keys))
        for keys in (absent, [cost.key for cost in old])
    )
    return f" {shader}: not compared: {lacking}; the baseline has {has}." if absent else ""


def _print_regressions(
    costs: Sequence[Cost], old: Sequence[Cost], threshold: float, console: Console
) -> bool:
    """Print what is worse than in the baseline, and return whether there is something."""
    changes = regressions(costs, old, threshold)
    for change in changes:
        console.write_line(f"Regression: {change}")
    if not changes and any(same for _, same in with_recorded(costs, old)):
        console.write_line(f"No cost is worse than in the baseline by more than {100 * threshold:g} %.")
    return bool(changes)


def _name(setting: Settings) -> str:
    """Return the name of a shader in a baseline: that of its configuration, or of its file."""
    return setting.name or Path(setting.options.shader).name


def _data(
    setting: Settings, costs: Sequence[Cost], others: Sequence[Cost] | None, against: str | None
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "shader": _name(setting),
        "vkgroup": vkgroup.__version__,
        "costs": [cost.to_json() for cost in costs],
    }
    if others is not None:
        data |= {"against": against, "against_costs": [cost.to_json() for cost in others]}
    return data


def _read(file: Path) -> dict[str, list[Cost]]:
    """Return the costs of each shader in a file of ``--json``."""
    try:
        data = json.loads(read_text(file))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file}: this is not JSON: {error}") from error
    try:
        return {
            entry["shader"]: [Cost.from_json(cost, str(file)) for cost in entry["costs"]] for entry in data
        }
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{file}: this is not a file of `vkgroup cost --json`.") from error

"""``vkgroup bench A.comp --against B.comp --with F``: time shaders of a user with the same inputs."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from vkgroup.base.errors import InvalidInput
from vkgroup.bench.definition import Definition
from vkgroup.bench.shaders import ComparedShader, ShaderComparison, UserShader, compared, definition_of
from vkgroup.check.report_text import finding_lines
from vkgroup.cli import shaders
from vkgroup.cli.console import Console
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.settings import Settings, settings_of_run
from vkgroup.dispatch import Device

_ONLY_OWN = ("size", "sweep", "peers", "list")
"""Options that only vkgroup's own benchmarks have."""


def definitions(arguments: argparse.Namespace, device: Device, console: Console) -> list[Definition] | None:
    """Return the benchmark of the shaders on the command line; None, if they differ, which is printed."""
    files = [Path(name) for name in arguments.names]
    if len(files) != 1:
        raise InvalidInput("--against: name one other shader, as in vkgroup bench A.comp --against B.comp.")
    if given := [name for name in _ONLY_OWN if name in arguments.given]:
        raise InvalidInput(f"--{', --'.join(given)}: not for shaders of your own; --with gives their sizes.")
    chosen = [_settings(arguments, file) for file in (*files, *arguments.against)]
    names = _names([settings.options.shader for settings in chosen])
    timed = [_timed(settings, name, device) for settings, name in zip(chosen, names, strict=True)]
    comparison = compared(device, timed)
    _print(comparison, console)
    return [definition_of(device, timed, comparison)] if comparison.is_equal else None


def _settings(arguments: argparse.Namespace, file: Path) -> Settings:
    """Return the settings of a run of a shader with the configuration of ``--with``."""
    options = argparse.Namespace(
        command="run", shader=file, with_file=arguments.with_file, configuration=arguments.configuration
    )
    OPTIONS["run"].complete(options)
    return settings_of_run(options)


def _names(files: list[Path]) -> list[str]:
    """Return the names of the files; their paths, where two have one name."""
    counts = Counter(file.name for file in files)
    if len(set(files)) < len(files):
        raise InvalidInput(f"{max(files, key=files.count)} is named twice; a shader is compared with others.")
    return [file.name if counts[file.name] == 1 else str(file) for file in files]


def _timed(settings: Settings, name: str, device: Device) -> UserShader:
    options = settings.options
    module = shaders.load(options, device.target, device.capabilities)
    with_lines = argparse.Namespace(**{**vars(options), "debug": True})
    if (stage := module.reflection.entry_points[0].stage) != "compute":
        raise InvalidInput(f"{name} is a {stage} shader; bench times compute shaders.")
    if options.groups is None:
        raise InvalidInput(f"{name}: give the number of workgroups, as groups in the file of --with.")
    try:
        bindings = settings.bindings(module, {}) if settings.given is not None else {}
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None
    return UserShader(
        name,
        module,
        shaders.load(with_lines, device.target, device.capabilities),
        options.groups,
        bindings,
        settings.push() or None,
        settings.specialization(module),
        options.entry_point if len(module.reflection.entry_points) > 1 else None,
        options.subgroup_size,
        options.full_subgroups,
    )


def _print(comparison: ShaderComparison, console: Console) -> None:
    """Print how the outputs compare."""
    if not comparison.others:
        console.write_line("Outputs: the same bits.")
    for other in comparison.others:
        _print_other(other, console)
    if any(other.equality.difference or other.wrong for other in comparison.others):
        console.write_line("Not timed: the outputs differ.", style="bold red")
    elif comparison.is_equal and comparison.restores:
        console.write_line(
            "A run changes its inputs: they are restored before each run, so caches may have them."
        )


def _print_other(other: ComparedShader, console: Console) -> None:
    """Print how the outputs of one shader compare with those of the first."""
    equality = other.equality
    if equality.difference is not None:
        for line in finding_lines(equality.difference, with_help=False):
            console.write(line)
    elif other.wrong:
        console.write_line(
            f"{other.name}: on the device {other.wrong}, although the reference device gives equal outputs:"
            " an error of the driver"
        )
    elif not other.is_equal:
        why = "; ".join(filter(None, (*equality.interface, equality.no_verdict)))
        console.write_line(f"{other.name}: not timed: other bits, and no verdict: {why}", style="bold red")
    else:
        told = {"rounded": "differ by rounding", "ordered": "depend on the order of atomics"}
        counts = [f"{equality.counts[key]} {text}" for key, text in told.items() if equality.counts.get(key)]
        counts += [f"at most by {other.largest:.2g} of the largest output"] * bool(other.largest)
        counts += [f"{equality.counts['undefined']} are undefined"] * bool(equality.counts.get("undefined"))
        why = ", ".join(counts) or "zeros of both signs"
        console.write_line(f"{other.name}: equal on the reference device ({why}).")

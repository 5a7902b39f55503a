"""The command that repeats a check."""

from __future__ import annotations

import argparse
import shlex

from vkgroup.base.choices import CHECK_LANES, CHECK_STEP_LIMIT, COMPILERS
from vkgroup.cli.with_file import Settings

_REPEATED = (
    ("-D", "defines"),
    ("-I", "include_paths"),
    ("--stage", "stage"),
    ("--dialect", "dialect"),
    ("--target", "target"),
    ("--optimize", "optimize"),
    ("--in", "inputs"),
    ("--out", "outputs"),
    ("--push", "push"),
    ("--spec", "spec"),
)

_DEFAULTS = {
    "--entry-point": "main",
    "--compiler": COMPILERS[0],
    "--seed": 0,
    "--lanes": CHECK_LANES[0],
    "--step-limit": CHECK_STEP_LIMIT,
}
"""Options that are not repeated if they have their default."""


def command_of(arguments: argparse.Namespace, settings: Settings) -> str:
    """Return the command that repeats a check, without sizes and devices."""
    shader = settings.options.shader if arguments.shader is not None else None
    words = ["vkgroup", "check", *([] if shader is None else [str(shader)])]
    if arguments.with_file is not None:
        words += ["--with", str(arguments.with_file)]
        words += ["--configuration", settings.name] if settings.name else []
    for option, name in _REPEATED:
        given = getattr(arguments, name)
        for entry in given if isinstance(given, list) else [given] if given else []:
            words += [option, "=".join(entry) if isinstance(entry, tuple) else str(entry)]
    words += _changed(arguments, settings, "--entry-point", "--compiler")
    if arguments.local_size:
        words += ["--local-size", ",".join(map(str, arguments.local_size))]
    if arguments.register_shift:
        shifts = ",".join(f"{name}={shift}" for name, shift in arguments.register_shift.items())
        words += ["--register-shift", shifts]
    if arguments.groups:
        words += ["--groups", ",".join(map(str, arguments.groups))]
    if arguments.size:
        words += ["--size", ",".join(map(str, arguments.size))]
    words += _changed(arguments, settings, "--seed")
    words += ["--strict"] * arguments.strict
    words += ["--full-subgroups"] * arguments.full_subgroups
    words += _changed(arguments, settings, "--lanes")
    words += ["--no-size-control"] * (not arguments.size_control)
    words += _changed(arguments, settings, "--step-limit")
    return shlex.join(words)


def _changed(arguments: argparse.Namespace, settings: Settings, *options: str) -> list[str]:
    """Return options whose values are not the default, or replace a value of a configuration."""
    words = []
    for option in options:
        name = option.removeprefix("--").replace("-", "_")
        value = getattr(arguments, name)
        if value != _DEFAULTS[option] or name in settings.own:
            words += [option, str(value)]
    return words

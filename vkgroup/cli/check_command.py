"""The command that repeats a check."""

from __future__ import annotations

import argparse
import shlex

from vkgroup.choices import CHECK_STEP_LIMIT, COMPILERS
from vkgroup.cli.with_file import Settings

_REPEATED = (
    ("-D", "defines"),
    ("-I", "include_paths"),
    ("--stage", "stage"),
    ("--dialect", "dialect"),
    ("--optimize", "optimize"),
    ("--in", "inputs"),
    ("--out", "outputs"),
    ("--push", "push"),
    ("--spec", "spec"),
)


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
    if arguments.entry_point != "main":
        words += ["--entry-point", arguments.entry_point]
    if arguments.compiler != COMPILERS[0]:
        words += ["--compiler", arguments.compiler]
    if arguments.local_size:
        words += ["--local-size", ",".join(map(str, arguments.local_size))]
    if arguments.register_shift:
        shifts = ",".join(f"{name}={shift}" for name, shift in arguments.register_shift.items())
        words += ["--register-shift", shifts]
    if arguments.groups:
        words += ["--groups", ",".join(map(str, arguments.groups))]
    if arguments.seed:
        words += ["--seed", str(arguments.seed)]
    words += ["--full-subgroups"] * arguments.full_subgroups
    words += ["--lanes", arguments.lanes] if arguments.lanes != "any" else []
    words += ["--no-size-control"] * (not arguments.size_control)
    if arguments.step_limit != CHECK_STEP_LIMIT:
        words += ["--step-limit", str(arguments.step_limit)]
    return shlex.join(words)

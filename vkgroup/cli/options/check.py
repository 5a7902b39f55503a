"""The options of ``vkgroup check``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vkgroup.base import choices
from vkgroup.cli.options.shaders import (
    CHECK_INPUTS,
    CONFIGURED,
    CONSTANTS,
    GROUPS,
    MEMORY,
    PUSH,
    TARGET,
    TRACE,
)
from vkgroup.cli.options.table import (
    Command,
    Option,
    flag,
    grouped,
    groups,
    json,
    natural,
    positive,
    repeated,
    seconds,
    subgroup_sizes,
)

_WHERE, _HOST, _INPUTS, _RESULTS = "where it runs", "guarantees of the host", "inputs", "results"
_FOLDERS = "several shaders"

# fmt: off
OF_FOLDERS = tuple(
    grouped(
        _FOLDERS,
        Option("--jobs", "N", "worker processes (default: one per core)", positive),
        flag("--no-cache", "check unchanged configurations again, too"),
    )
)
"""Options that only a check of a folder has."""

_OF_EQUAL = (
    *("target", "timeout", "memory", "step_limit", "groups", "seed"),
    *("inputs", "outputs", "push", "spec"),
)
"""Options of ``vkgroup check`` that ``vkgroup equal`` has, too."""

_CHECK = Command(
    (
        *CONFIGURED,
        Option("scripts", "FILE", "further shaders, folders or Amber scripts", Path, list, nargs="*"),
        replace(TARGET, printed=5),
        *grouped(
            _WHERE,
            Option("--subgroup-size", "N[,N]…",
                   f"sizes to run (default: {', '.join(map(str, choices.CHECK_SIZES))}, and those of"
                   " devices)",
                   subgroup_sizes, field="subgroup_sizes"),
            Option("--timeout", "S",
                   "time limit of one shader or configuration in seconds, compilation included"
                   f" (default: {choices.CHECK_SECONDS:g}); one run may take a fifth", seconds,
                   choices.CHECK_SECONDS, field="timeout"),
            MEMORY,
            Option("--step-limit", "N",
                   f"rounds after which a loop counts as endless (default: {choices.CHECK_STEP_LIMIT})",
                   positive, choices.CHECK_STEP_LIMIT, field="step_limit", printed=22),
            Option("--device", "D",
                   "also run on this device; may be repeated; none: only the reference device"
                   " (default: VKGROUP_DEVICE, else all)", action="append", dest="devices"),
            Option("--compile-on", "GPUS",
                   "also compile for absent GPUs: names, globs, lists, as in 'radv:*,nvk:ga104', or '*'"
                   " for all"
                   " (docs/start/compile-only.md)"),
        ),
        *grouped(
            _HOST,
            flag("--full-subgroups",
                 "the host requires full subgroups: run only sizes that divide the local size in x",
                 field="full_subgroups", printed=19),
            Option("--lanes",
                   help="assignment of invocations to lanes; linear: no runs with shuffled lanes (default:"
                        " any)",
                   default=choices.CHECK_LANES[0], choices=choices.CHECK_LANES, field="lanes", printed=20),
            Option("--reconvergence",
                   help="where invocations that part meet again: declared: where the shader declares it;"
                        " maximal: as most drivers do (default: declared)",
                   default=choices.CHECK_RECONVERGENCE[0], choices=choices.CHECK_RECONVERGENCE,
                   field="reconvergence", printed=23),
            Option("--progress",
                   help="workgroups that make progress while others wait: occupancy: those that have started;"
                        " one: only one; fair: all (default: occupancy)",
                   default=choices.CHECK_PROGRESS[0], choices=choices.CHECK_PROGRESS, field="progress",
                   printed=24),
            flag("--no-size-control",
                 "the host cannot require a subgroup size: devices run only at the size that they choose",
                 default=True, dest="size_control", field="size_control", printed=21),
        ),
        *grouped(
            _INPUTS,
            Option("--groups", "X[,Y[,Z]]",
                   "workgroups in each dimension, as in 4,4 or 4x4 (default: several)", groups,
                   field="groups", printed=15),
            Option("--size", "W,H", "pixels that a fragment shader draws (default: 15,9)", groups,
                   printed=16),
            Option("--seed", "N", "seed of the generated inputs and of the shuffled lanes (default: 0)",
                   natural, 0, field="seed", printed=17),
            CHECK_INPUTS,
            repeated("--out", "outputs", "B", "a binding whose contents are undefined before the run",
                     field="outputs", printed=8),
            PUSH,
            CONSTANTS,
        ),
        *grouped(
            _RESULTS,
            flag("--barriers",
                 "also remove or weaken each barrier and atomic in turn, and say which of them runs need"),
            flag("--strict", "exit code 1 also for weak findings", printed=18),
            Option("--baseline", "F", "findings that are known: a file of --save-baseline", Path),
            Option("--save-baseline", "F", "write the findings to F, or update F", Path),
            Option("--save-with", "F",
                   "write the configuration that was assumed, inputs included, as JSON for --with", Path),
            Option("--repro", "DIR", "write a folder that repeats the findings on any machine", Path),
            TRACE,
            json(),
            Option("--junit", "F", "write JUnit XML", Path),
            Option("--sarif", "F", "write SARIF 2.1.0, which GitHub and editors show at the lines", Path),
            Option("--annotations", "|".join(choices.ANNOTATIONS),
                   "report findings for GitHub (printed) or GitLab (gl-code-quality-report.json in this"
                   " folder)", choices=choices.ANNOTATIONS),
            flag("--watch", "check again whenever a file changes, until Ctrl-C"),
            flag("--bisect", "exit code 125 instead of 2, 3 and for what was not covered, for git bisect"
                 " run"),
        ),
        *OF_FOLDERS,
    ),
    "Check a compute shader or a fragment shader: run it on the reference device at every subgroup size,"
    " with lanes in order and shuffled, and on the real devices of this machine, and report errors and"
    " differences.",
    "B is a binding's name, its number in set 0, or SET.NUMBER. Exit codes: 0 no finding or only weak"
    " ones, 1 findings, 2 wrong usage or input, 3 missing capability. Findings: docs/shaders/check.md."
    " Inputs and comparison: docs/shaders/comparison.md. Fields of the JSON: docs/shaders/testing.md.",
    groups={
        **GROUPS,
        _HOST: "What the program that runs the shader guarantees; see docs/shaders/check.md.",
        _INPUTS: "Inputs that are not given are generated.",
        _RESULTS: "A comment `// vkgroup: allow(KIND): reason` accepts a finding in its line.",
        _FOLDERS: "Several shaders, and all compute shaders of a folder or the configurations of --with for"
        " it, are checked in parallel, without real devices unless --device names one.",
    },
    usage="%(prog)s SHADER [--device D] [--groups X,Y,Z] [OPTION …]\n"
    "       %(prog)s FOLDER|SHADER … [--jobs N] [OPTION …]\n"
    "       %(prog)s F.amber|FOLDER|'GLOB.amber' … [--device D] [OPTION …]",
)

_EQUAL = Command(
    (
        *CONFIGURED,
        Option("other", "OTHER", "the other shader; without it, SHADER is compared with itself", Path,
               nargs="?"),
        Option("--sizes", "N[,N]…",
               "subgroup sizes: two are those of SHADER and of OTHER; at one, or at three and more, both run"
               " (default: those of check). Without OTHER: the first, and those compared with it",
               subgroup_sizes),
        repeated("--unordered", "unordered", "B", "a binding whose elements are compared in any order"),
        *(option for option in _CHECK.options if option.key in _OF_EQUAL),
        json(),
    ),
    "Compare two compute shaders, or one at two subgroup sizes: run them on the reference device with the"
    " same inputs and compare all outputs, bit by bit or within the rounding that both permit.",
    "Exit codes: 0 equal, 1 different, 2 wrong usage or other bindings, 3 missing capability or no verdict."
    " See docs/shaders/check.md.",
    groups={**GROUPS, _INPUTS: "Inputs that are not given are generated for SHADER."},
    usage="%(prog)s SHADER [OTHER] [--sizes N[,N]] [--unordered B] [OPTION …]",
)

_EXPLAIN = Command(
    (
        Option("kind", "KIND", "a kind of finding of `vkgroup check`", nargs="?",
               choices=choices.FINDING_KINDS),
    ),
    "Explain a kind of finding: its rule, a wrong and a right shader, and the remedy. Without KIND, list"
    " them.",
)

_LSP = Command(
    (),
    "Serve an editor: check a shader when it is opened or saved, and show the findings at their lines. If"
    " blur.toml or blur.json is beside blur.comp, it is the configuration of --with. Needs pygls: pip install"
    " 'vkgroup[lsp]'.",
)

COMMANDS = {
    "check": _CHECK,
    "equal": _EQUAL,
    "explain": _EXPLAIN,
    "lsp": _LSP,
}
# fmt: on

"""Words of random command lines: options and values of every command, and the files that they name."""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from vkgroup.cli.parser import COMMANDS, parser

CASE = "vote.compute.subgroupAll.bool.all.exact"
FILTERS = (
    CASE,
    "basic.compute.subgroupElect.bool.*",
    "ballot.compute.subgroupBallot.bool.all.*",
    "nothing.*",
    "*[",
    "",
)

_SHADER = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32) in;
layout(constant_id = 3) const uint STEP = 1;
layout(std430, binding = 0) buffer Words { uint words[]; };
void main() { words[gl_GlobalInvocationID.x] = subgroupAdd(words[gl_GlobalInvocationID.x] + STEP); }
"""

_HLSL = """RWStructuredBuffer<uint> words : register(u0);
[numthreads(32, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { words[id.x] = WaveActiveSum(words[id.x]); }
"""

FILES: dict[str, str] = {
    "good.comp": _SHADER,
    "bad.comp": _SHADER.replace("subgroupAdd", "subgroupAd"),
    "endless.comp": _SHADER.replace("void main() {", "void main() { while (words[0] != 7u) words[1] += 1u;"),
    "good.frag": "#version 460\nlayout(location = 0) out vec4 color;\nvoid main() { color = vec4(1); }\n",
    "good.hlsl": _HLSL,
    "bad.spv": "no module",
    "bad.npy": "no array",
    "with.toml": '[main]\ngroups = [2, 1, 1]\n[main.bindings]\n0 = "uint[64]"\n',
    "with.json": '{"groups": [1, 1, 1], "specialization": {"3": 2}}',
    "bad.toml": "groups = [",
    "baseline.csv": f"{CASE},Fail\n",
    "skips.txt": "vote.*bool.*\n",
    "cases.txt": f"{CASE}\ndEQP-VK.subgroups.vote.compute.subgroupallequal_bool\n",
    "empty": "",
}
"""Text files, by name."""

MADE = ("good.spv", "good.npy", "run", "repro", "runs.db", "bench.json", "probe.json", "cost.json")
"""Files and folders that commands make."""

JUNK = (
    "",
    "-1",
    "0",
    "99999999999999999999",
    "nan",
    "inf",
    "1e400",
    "\udcff",
    "a b",
    "é",
    "../outside",
    "/dev/null",
    "/proc/self/mem",
    "/nonexistent/x",
    "pipe",
    "folder",
    "*",
    "%s",
    "x" * 5000,
    "\u2028",
    "=",
    "0=",
    "a=b=c",
    "1,2",
    "1,1,1",
    "0,0,0",
    "65536,65536,65536",
    "0=uint[64]",
    "0=uint[999999999999]",
    "3=7",
    "--device",
    "\x01",
    "{}",
    "/root/x",
    "/",
    ".",
    "good.comp/x",
    *FILES,
    *MADE,
)

VALUES: dict[str, tuple[str, ...]] = {
    "--device": (
        "reference",
        "reference:8",
        "swiftshader",
        "swiftshader",
        "none",
        "reference,swiftshader",
        "all",
        "9",
    ),
    "--compile-on": ("*", "turnip:740", "turnip:*", "nvk", "turnip"),
    "--filter": FILTERS,
    "--groups": ("1,1,1", "2,1,1", "2"),
    "--size": ("32", "64,1,1", "16", "1048576"),
    "--local-size": ("8,8,1", "64", "7"),
    "--register-shift": ("u=4", "t=2,u=8", "x=1", "u=-1"),
    "--in": ("0=good.npy", "0=bad.npy", "1=good.npy"),
    "--out": ("out", "0=out.npy", "0=uint[64]", "run", "folder"),
    "--push": ("uint=4", "good.npy", "0=uint:4"),
    "--spec": ("3=2", "STEP=2", "3=uint:4", "4=1"),
    "--with": ("with.toml", "with.json", "bad.toml"),
    "--configuration": ("main", "other"),
    "--save-with": ("saved.toml", "saved.json"),
    "--subgroup-size": ("4", "8,32", "all", "3", "1"),
    "--baseline": ("baseline.csv", "cost.json", "empty"),
    "--skips": ("skips.txt", "empty"),
    "--flakes": ("skips.txt",),
    "--caselist": ("cases.txt", "empty"),
    "--db": ("runs.db", "new.db", "empty"),
    "--json": ("out.json", "-"),
    "--junit": ("junit.xml",),
    "--report": ("report.html",),
    "-o": ("out.html", "out.spv", "-"),
    "--plot": ("plot.svg", "plot.png"),
    "--save-baseline": ("saved.csv", "baseline.csv"),
    "--shard": ("1/2", "2/2", "3/2", "1/0"),
    "--jobs": ("1", "2"),
    "--seed": ("0", "7"),
    "--timeout": ("5", "0.5", "0"),
    "--time-limit": ("1", "3", "0"),
    "--threshold": ("5", "5%"),
    "--cluster": ("127.0.0.1:9", "local", "with.json"),
    "-D": ("A", "A=1", "STEP=2"),
    "-I": (".", "folder"),
    "--entry-point": ("main", "other"),
    "--repro": ("repro-new",),
    "shader": (
        "good.comp",
        "good.comp",
        "good.spv",
        "good.hlsl",
        "good.frag",
        "bad.comp",
        "bad.spv",
        "endless.comp",
        "repro",
    ),
    "runs": ("run", "bench.json", "probe.json", "cost.json", "latest", "folder"),
    "run": ("run", "bench.json", "latest"),
    "old": ("run", "bench.json", "cost.json", "latest"),
    "new": ("run", "bench.json", "cost.json"),
    "names": ("reduce", "scan", "sort", "none.such"),
    "name": ("swiftshader", "reference", "lavapipe-1", "radeon"),
    "address": ("127.0.0.1:9", "with.json"),
    "--kind": ("conform", "bench"),
    "--compare": ("bench.json",),
    "file": ("runs.db", "new.db", "empty"),
}
"""Values by option or name of the argument; most fit."""

BOUNDED: dict[str, tuple[str, ...]] = {
    "conform": ("--filter", CASE, "--jobs", "1", "--device", "swiftshader"),
    "check": ("--device", "none", "--subgroup-size", "8"),
    "bench": ("--smoke", "--device", "reference", "--seconds", "0.01"),
    "cost": ("--device", "turnip:740"),
    "probe": ("--device", "reference"),
    "run": ("--device", "reference", "--timeout", "5"),
}
"""Options that every command line of a command begins with; without them some take minutes."""

WEIGHTS = {
    "conform": 4,
    "run": 5,
    "check": 5,
    "cost": 3,
    "compile": 4,
    "report": 3,
    "history": 3,
    "diff": 2,
    "bench": 2,
}
"""Shares of commands; 1 for the others."""


@cache
def _actions(command: str) -> tuple[argparse.Action, ...]:
    parsers = next(a for a in parser((command,))._actions if isinstance(a, argparse._SubParsersAction))
    return tuple(parsers.choices[command]._actions)


def line(generator: random.Random) -> list[str]:
    """Return the words of a random command line."""
    if generator.random() < 0.02:
        return generator.choices(JUNK, k=generator.randrange(3))
    commands = list(COMMANDS)
    (command,) = generator.choices(commands, [WEIGHTS.get(name, 1) for name in commands])
    words = [command, *BOUNDED.get(command, ())]
    words += _words(_actions(command), generator)
    if command == "bench" and len(words) == len(BOUNDED["bench"]) + 1:
        words.append("reduce")
    return words


def _words(actions: tuple[argparse.Action, ...], generator: random.Random) -> list[str]:
    """Return options, positional arguments and the words of a subcommand."""
    options = [action for action in actions if action.option_strings and "-h" not in action.option_strings]
    words: list[str] = []
    for action in generator.sample(options, min(len(options), generator.choice((0, 1, 1, 2, 2, 3, 5)))):
        if action.choices is None or not isinstance(action, argparse._SubParsersAction):
            words += [generator.choice(action.option_strings), *_values(action, generator)]
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):
            if generator.random() < 0.85:
                name = generator.choice(list(action.choices))
                words += [name, *_words(tuple(action.choices[name]._actions), generator)]
        elif not action.option_strings and generator.random() < 0.95:
            words += _values(action, generator)
    return words


def _values(action: argparse.Action, generator: random.Random) -> list[str]:
    """Return values for an argument; some do not fit in kind or number."""
    if action.nargs == 0:
        return []
    count = {None: 1, "?": 1, "+": 2, "*": 2}.get(action.nargs, action.nargs)
    count = int(count) if generator.random() < 0.95 else generator.randrange(3)
    names = [name for name in (*action.option_strings, action.dest) if name in VALUES]
    fitting = (
        list(map(str, action.choices)) if action.choices else [v for name in names for v in VALUES[name]]
    )
    return [
        generator.choice(fitting) if fitting and generator.random() < 0.8 else generator.choice(JUNK)
        for _ in range(count)
    ]


def prepare(folder: Path, run: Callable[[list[str]], object]) -> None:
    """Write the files of `FILES`, and make those of `MADE` with commands of vkgroup."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    np.save(folder / "good.npy", np.arange(64, dtype=np.uint32))
    (folder / "folder").mkdir()
    run(["!", "mkfifo", "pipe"])
    device = ["--device", "reference"]
    run(["compile", "good.comp", "-o", "good.spv"])
    run(["conform", *device, "--filter", CASE, "--out", "run", "--db", "runs.db"])
    run(["conform", *device, "--repro", CASE, "repro"])
    run(["bench", "reduce", "--smoke", *device, "--json", "bench.json"])
    run(["probe", *device, "--json", "probe.json"])
    run(["cost", "good.comp", "--device", "turnip:740", "--json", "cost.json"])

"""The options of commands that take a shader: ``compile``, ``run``, ``cost`` and ``check``."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from vkgroup.base import choices
from vkgroup.cli.options.types import (
    add_device,
    add_json,
    add_repeated,
    add_table,
    byte_count,
    natural,
    pair,
    percent,
    positive,
    register_shifts,
    seconds,
)
from vkgroup.spec.stages import STAGE_NAMES

_LARGEST = 128

_INPUTS = ("--in", "inputs", "B=F.npy", pair, "bind the array in a file")
_CONSTANTS = (
    ("--push", "push", "NAME=V[,V]…", pair, "a member of the push constants"),
    ("--spec", "spec", "ID=V", pair, "a specialization constant, by its number or its name"),
)


_LIMIT = "time limit of the command in seconds, compilation included"
_MEMORY = (
    "--memory",
    "SIZE",
    byte_count,
    "limit of the memory in use, as in 512M or 8G (default: three quarters of the host's memory)",
)


def _add_shader(parser: argparse.ArgumentParser, *, may_be_configured: bool = False) -> None:
    """Declare the shader argument and the compiler options.

    `may_be_configured`: whether the shader may be named by ``--with`` instead.
    """
    parser.add_argument(
        "shader",
        metavar="SHADER",
        type=Path,
        nargs="?" if may_be_configured else None,
        help="GLSL, HLSL or Slang, with the stage as suffix (.comp, .vert, .comp.glsl, …), or .spv, .spvasm",
    )
    parser.add_argument(
        "--stage",
        metavar="S",
        choices=tuple(STAGE_NAMES),
        help="the stage, if the suffix does not give it",
    )
    parser.add_argument(
        "--dialect",
        choices=choices.DIALECTS,
        help="default: hlsl for .hlsl, slang for .slang, otherwise vulkan",
    )
    add_repeated(
        parser,
        (
            ("-D", "defines", "NAME[=V]", str, "define a macro (as 1); with parameters: 'F(x)=((x)*2)'"),
            ("-I", "include_paths", "DIR", str, "folder in which to search for #include"),
        ),
    )
    parser.add_argument("--entry-point", metavar="NAME", default="main", help="default: main")
    parser.add_argument(
        "--compiler",
        choices=choices.COMPILERS,
        default=choices.COMPILERS[0],
        help=f"default: {choices.COMPILERS[0]}",
    )
    parser.add_argument(
        "--register-shift",
        metavar="b=N,t=N,s=N,u=N",
        type=register_shifts,
        help="add to HLSL's register numbers, by class (default: only if two classes have one binding)",
    )
    parser.add_argument(
        "--no-validate",
        action="store_true",
        help="accept what SPIRV-Tools rejects; an invalid module can crash a driver",
    )
    parser.add_argument(
        "--local-size",
        metavar="X[,Y[,Z]]",
        type=_groups,
        help="local size of a compute shader whose source declares none (default: 1)",
    )
    parser.add_argument("--optimize", choices=choices.OPTIMIZATIONS, help="optimise with SPIRV-Tools")
    parser.add_argument(
        "--lower-legacy",
        action="store_true",
        help="replace SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote by SPIR-V 1.3's group instructions",
    )
    parser.add_argument("--debug", action="store_true", help="keep line numbers and the source")


def _add_configuration(parser: argparse.ArgumentParser) -> None:
    """Declare the options that name a configuration."""
    given = "configuration: groups, defines, constants and inputs; see docs/shaders/configuration.md. Options"
    given += " of the command line replace its values"
    only = "with --with: use the configuration of this name or matching this pattern (default: all)"
    group = parser.add_argument_group("configuration", "All of this, in a JSON or TOML file.")
    group.add_argument("--with", dest="with_file", metavar="F", type=Path, help=given)
    group.add_argument("--configuration", metavar="NAME", help=only)


def add_compile(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup compile``."""
    _add_shader(parser)
    parser.add_argument(
        "--target", choices=choices.VULKAN_VERSIONS, default="1.1", help="Vulkan version (default: 1.1)"
    )
    parser.add_argument("-o", dest="output", metavar="F.spv", help="write the module (- is standard output)")
    parser.add_argument("--disassemble", action="store_true", help="print the module as SPIR-V text")


def add_run(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup run``."""
    parser.epilog = (
        "B is a binding's name (with --dialect gl also an atomic counter's), its number in set 0, or "
        "SET.NUMBER. Example: vkgroup run scan.comp "
        "--groups 4 --in data=x.npy --out sums=uint[4]:sums.npy, or: vkgroup run x.frag --size 64,64 "
        "--out color=picture.npy"
    )
    parser.usage = (
        "%(prog)s SHADER --groups X,Y,Z | --size W,H [--in B=F.npy] [--out B=…:F.npy] [OPTION …]\n"
        "       %(prog)s FOLDER [--device D] [--timeout S] [--allow-outside]   (made by --repro: repeats it)"
    )
    _add_shader(parser, may_be_configured=True)
    _add_configuration(parser)
    add_table(
        parser,
        (
            ("--groups", "X[,Y[,Z]]", _groups_or_none, "workgroups of a compute shader to run"),
            ("--subgroup-size", "N", int, "require this subgroup size"),
            ("--repeat", "N", int, "number of runs, one after the other", 1),
            ("--timeout", "S", seconds, f"{_LIMIT} (default: {choices.RUN_SECONDS:g})", choices.RUN_SECONDS),
            _MEMORY,
            ("--repro", "DIR", Path, "write module and inputs before the execution; `run DIR` repeats it"),
        ),
    )
    written = "bind zeros, and write (without :F.npy: print) the result; B=F.npy for a binding of --in"
    uniform = "a loose uniform (--dialect gl), or a part of one: lights[1].color=1,0.5,0; a matrix by columns"
    add_repeated(
        parser,
        (
            _INPUTS,
            ("--out", "outputs", "B=DTYPE[N]:F.npy", pair, written),
            *_CONSTANTS,
            ("--uniform", "uniforms", "NAME=V[,V]…", pair, uniform),
        ),
    )
    add_device(parser, "run on")
    parser.add_argument("--full-subgroups", action="store_true", help="require full subgroups")
    parser.add_argument(
        "--allow-outside",
        action="store_true",
        help="let the source in your own FOLDER be a link to a file elsewhere, or include such files",
    )
    _add_drawing(parser)
    _add_tracing(parser)


def _add_drawing(parser: argparse.ArgumentParser) -> None:
    """Declare the options of draws."""
    group = parser.add_argument_group(
        "fragment shaders",
        "Without vertices, one triangle covers the image. --out NAME=F.npy writes the output NAME, "
        "--out depth=F.npy the depths.",
    )
    depth = "enable the depth test: d32f, d16, or F.npy with the initial depths"
    add_table(
        group,
        (
            ("--size", "W,H", _size, "size in pixels; for rays also W,H,D"),
            ("--vertex", "SHADER", Path, "vertex shader (default: one that passes --vertices on)"),
            ("--count", "N", int, "number of vertices to draw"),
            ("--patch-vertices", "N", int, "vertices per patch (default: 3)", 3),
            ("--geometry", "SHADER", Path, "geometry shader"),
            ("--mesh", "SHADER", Path, "mesh shader; --groups gives the number of workgroups"),
            ("--task", "SHADER", Path, "task shader before the mesh shader"),
            ("--depth", "FORMAT", str, depth),
        ),
    )
    vertices = (
        "values of an input of the vertex shader; without a vertex shader: position, and inputs of the "
        "fragment shader"
    )
    colors = "format of an output (rgba8, r32ui, …), or F.npy with its initial contents"
    add_repeated(
        group,
        (
            ("--vertices", "vertices", "NAME=F.npy", pair, vertices),
            ("--color", "colors", "NAME=FORMAT", pair, colors),
        ),
    )
    group.add_argument(
        "--tessellation",
        metavar=("CONTROL", "EVALUATION"),
        nargs=2,
        type=Path,
        help="tessellation shaders; they receive patches",
    )
    group.add_argument(
        "--topology", choices=choices.TOPOLOGIES, help="default: triangles, or patches with --tessellation"
    )
    group.add_argument("--depth-compare", choices=choices.COMPARISONS, default="less", help="default: less")
    group.add_argument("--samples", type=int, choices=choices.SAMPLES, default=1, help="samples per pixel")
    group.add_argument("--sample-shading", action="store_true", help="run the shader for each sample")
    group.add_argument("--all-samples", action="store_true", help="write every sample, without resolving")


def _add_tracing(parser: argparse.ArgumentParser) -> None:
    """Declare the shaders of a ray-tracing pipeline."""
    group = parser.add_argument_group(
        "ray-generation shaders",
        "--size W,H[,D] is the number of invocations. --in SCENE=F.npy creates an acceleration structure of "
        "triangles (an array of shape (n, 3, 3)) or of boxes (n, 2, 3), with one hit group.",
    )
    again = "repeat the option for the next index"
    add_repeated(
        group,
        tuple(
            (f"--{kind}", kind, "SHADER", Path, f"{kind} shader; {again}") for kind in ("miss", "callable")
        ),
    )
    hits = tuple(stage.replace("_", "-") for stage in choices.HITS)
    add_table(group, tuple((f"--{words}", "SHADER", Path, f"{words} shader") for words in hits))
    depth = "maximum recursion depth of rays (default: 1)"
    add_table(group, (("--max-recursion", "N", int, depth),))


def add_cost(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup cost``."""
    parser.description = (
        "Compile a compute, fragment or vertex shader for GPUs and print its static cost at each subgroup"
        " size: registers, spills, shared memory, code, instructions of subgroup operations, and estimates."
        " Nothing is executed. `vkgroup drivers fetch radv nvk turnip honeykrisp` gives drivers for absent"
        " GPUs."
    )
    parser.epilog = (
        "Exit codes: 0 success, 1 a driver rejects the shader or crashes, or a regression against --baseline,"
        " 2 wrong usage or input, 3 no such device. Quantities: docs/shaders/cost.md."
    )
    _add_shader(parser, may_be_configured=True)
    _add_configuration(parser)
    parser.add_argument(
        "--target", choices=choices.VULKAN_VERSIONS, default="1.2", help="Vulkan version (default: 1.2)"
    )
    gpus = "devices: names as in `vkgroup devices`, globs and lists, as in 'radv:navi*,nvk:ga104'"
    add_table(
        parser,
        (
            ("--device", "D", str, f"{gpus} (default: one GPU of each generation of the fetched drivers)"),
            ("--subgroup-size", "N[,N]…", _subgroup_sizes, "sizes (default: all that a device allows)"),
            ("--timeout", "S", seconds, "time limit of one compilation in seconds (default: 60)", 60.0),
            ("--against", "OTHER", str, "compare with another shader, or with another compiler's module"),
            ("--baseline", "F.json", Path, "exit with 1 if a cost is worse than in this file of --json"),
        ),
    )
    add_repeated(parser, _CONSTANTS[1:])
    parser.add_argument(
        "--threshold",
        metavar="P",
        type=percent,
        default=choices.COST_THRESHOLD,
        help="percentage by which a cost may be worse than in the baseline"
        f" (default: {100 * choices.COST_THRESHOLD:g})",
    )
    parser.add_argument("--full-subgroups", action="store_true", help="require full subgroups")
    parser.add_argument("--isa", action="store_true", help="print the assembly, where the driver provides it")
    add_json(parser, "write all costs, with all statistics of the drivers, as JSON")


def add_check(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup check``."""
    parser.description = (
        "Check a compute shader or a fragment shader: run it on the reference device at every subgroup size,"
        " with lanes in order and shuffled, and on the real devices of this machine, and report errors and"
        " differences."
    )
    parser.epilog = (
        "B is a binding's name, its number in set 0, or SET.NUMBER. Exit codes: 0 no finding or only weak"
        " ones, 1 findings, 2 wrong usage or input, 3 missing capability. Findings: docs/shaders/check.md."
        " Inputs and comparison: docs/shaders/comparison.md. Fields of the JSON: docs/shaders/testing.md."
    )
    _add_shader(parser, may_be_configured=True)
    _add_configuration(parser)
    save = "write the configuration that was assumed, inputs included, as JSON for --with"
    add_table(parser, (("--save-with", "F", Path, save),))
    parser.add_argument(
        "--target",
        choices=choices.VULKAN_VERSIONS,
        help="Vulkan version for which the shader is compiled (default: 1.2)",
    )
    where = parser.add_argument_group("where it runs")
    sizes = f"sizes to run (default: {', '.join(map(str, choices.CHECK_SIZES))}, and those of devices)"
    limit = (
        "time limit of one shader or configuration in seconds, compilation included"
        f" (default: {choices.CHECK_SECONDS:g}); one run may take a fifth"
    )
    steps = f"rounds after which a loop counts as endless (default: {choices.CHECK_STEP_LIMIT})"
    add_table(
        where,
        (
            ("--subgroup-size", "N[,N]…", _subgroup_sizes, sizes),
            ("--timeout", "S", seconds, limit, choices.CHECK_SECONDS),
            _MEMORY,
            ("--step-limit", "N", positive, steps, choices.CHECK_STEP_LIMIT),
        ),
    )
    where.add_argument(
        "--device",
        metavar="D",
        dest="devices",
        action="append",
        help="also run on this device; may be repeated; none: only the reference device"
        " (default: VKGROUP_DEVICE, else all)",
    )
    gpus = (
        "also compile for absent GPUs: names, globs, lists, as in 'radv:*,nvk:ga104', or '*' for all"
        " (docs/start/compile-only.md)"
    )
    add_table(where, (("--compile-on", "GPUS", str, gpus),))
    _add_guarantees(parser)
    inputs = parser.add_argument_group("inputs", "Inputs that are not given are generated.")
    seed = "seed of the generated inputs and of the shuffled lanes (default: 0)"
    add_table(
        inputs,
        (
            ("--groups", "X[,Y[,Z]]", _groups, "workgroups in each dimension (default: several)"),
            ("--size", "W,H", _groups, "pixels that a fragment shader draws (default: 15,9)"),
            ("--seed", "N", natural, seed, 0),
        ),
    )
    undefined = "a binding whose contents are undefined before the run"
    add_repeated(inputs, (_INPUTS, ("--out", "outputs", "B", str, undefined), *_CONSTANTS))
    parser.add_argument("--strict", action="store_true", help="exit code 1 also for weak findings")
    folder = "write a folder that repeats the findings on any machine"
    add_table(parser, (("--repro", "DIR", Path, folder),))
    add_json(parser)
    _add_library(parser)


def _add_library(parser: argparse.ArgumentParser) -> None:
    """Declare the options of checks of many shaders."""
    group = parser.add_argument_group(
        "folders of shaders",
        "If SHADER is a folder, all its compute shaders, or the configurations of --with, are checked in"
        " parallel, without real devices unless --device names one.",
    )
    add_table(
        group,
        (
            ("--jobs", "N", positive, "worker processes (default: one per core)"),
            ("--junit", "F", Path, "also write JUnit XML"),
        ),
    )
    group.add_argument(
        "--annotations",
        metavar="|".join(choices.ANNOTATIONS),
        choices=choices.ANNOTATIONS,
        help="report findings for GitHub (printed) or GitLab (gl-code-quality-report.json in this folder)",
    )
    group.add_argument("--no-cache", action="store_true", help="check unchanged configurations again, too")


def _add_guarantees(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say what the host of the shader guarantees."""
    host = parser.add_argument_group(
        "guarantees of the host",
        "What the program that runs the shader guarantees; see docs/shaders/check.md.",
    )
    host.add_argument(
        "--full-subgroups",
        action="store_true",
        help="the host requires full subgroups: run only sizes that divide the local size in x",
    )
    host.add_argument(
        "--lanes",
        choices=choices.CHECK_LANES,
        default=choices.CHECK_LANES[0],
        help="assignment of invocations to lanes; linear: no runs with shuffled lanes (default: any)",
    )
    host.add_argument(
        "--no-size-control",
        dest="size_control",
        action="store_false",
        help="the host cannot require a subgroup size: devices run only at the size that they choose",
    )


def _groups_or_none(text: str) -> tuple[int, ...]:
    """Return numbers of workgroups: one to three, none of them negative."""
    numbers = tuple(int(word) for word in text.split(","))
    if len(numbers) > 3 or min(numbers) < 0:
        raise argparse.ArgumentTypeError("one to three numbers, none of them negative")
    return numbers


def _groups(text: str) -> tuple[int, ...]:
    numbers = tuple(positive(word) for word in text.split(","))
    if len(numbers) > 3:
        raise argparse.ArgumentTypeError("one to three numbers, as in 4 or 8,8")
    return numbers


def _subgroup_sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(natural(word) for word in text.split(","))
    if any(not 1 <= size <= _LARGEST or size & (size - 1) for size in sizes):
        raise argparse.ArgumentTypeError(f"subgroup sizes are powers of two from 1 to {_LARGEST}")
    return sizes


def _size(text: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(\d+)[,x](\d+)(?:[,x](\d+))?", text)
    numbers = () if match is None else tuple(int(number) for number in match.groups() if number is not None)
    if 0 in numbers or not numbers:
        raise argparse.ArgumentTypeError(f"{text!r} is not W,H with both at least 1")
    return numbers

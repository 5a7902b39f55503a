"""The options of commands that take a shader: ``compile``, ``run`` and ``cost``; ``check`` shares some."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from vkgroup.base import choices
from vkgroup.cli.options.table import (
    BISECT,
    WIDE,
    Command,
    Option,
    byte_count,
    device,
    flag,
    grouped,
    groups,
    groups_or_none,
    json,
    natural,
    pair,
    positive,
    register_shifts,
    repeated,
    seconds,
    size,
    subgroup_sizes,
    threshold,
)
from vkgroup.spec.stages import STAGE_NAMES

_SHADER = (
    "GLSL, HLSL, Slang or WGSL, with the stage as suffix (.comp, .vert, .comp.glsl, …), or .spv, .spvasm"
)

# fmt: off
COMPILATION = tuple(grouped(
    "compilation",
    Option("--stage", "S", "the stage, if the suffix does not give it", choices=tuple(STAGE_NAMES),
           field="stage", printed=3),
    Option("--dialect", help="default: hlsl for .hlsl, slang for .slang, wgsl for .wgsl, otherwise vulkan",
           choices=choices.DIALECTS, field="dialect", printed=4),
    repeated("-D", "defines", "NAME[=V]",
             "define a macro (as 1); with parameters: 'F(x)=((x)*2)'; a value of WGSL's override",
             field="defines", printed=1),
    repeated("-I", "include_paths", "DIR", "folder in which to search for #include", field="include",
             printed=2),
    Option("--entry-point", "NAME", "default: main", default="main", field="entry_point", printed=11),
    Option("--compiler", help=f"default: {choices.COMPILERS[0]}", default=choices.COMPILERS[0],
           choices=choices.COMPILERS, field="compiler", printed=12),
    Option("--register-shift", "b=N,t=N,s=N,u=N",
           "add to HLSL's register numbers, by class (default: only if two classes have one binding)",
           register_shifts, field="register_shift", printed=14),
    flag("--no-validate", "accept what SPIRV-Tools rejects; an invalid module can crash a driver"),
    Option("--local-size", "X[,Y[,Z]]",
           "local size of a compute shader whose source declares none (default: 1)", groups,
           field="local_size", printed=13),
    Option("--optimize", help="optimise with SPIRV-Tools", choices=choices.OPTIMIZATIONS, field="optimize",
           printed=6),
    flag("--lower-legacy",
         "replace SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote by SPIR-V 1.3's group instructions",
         field="lower_legacy", printed=25),
    flag("--debug", "keep line numbers and the source"),
    Option("--robustness",
           help="keep accesses of WGSL inside of arrays, as browsers do (default: off for check and equal,"
           " otherwise on)", choices=choices.SWITCH, field="robustness", printed=27),
    Option("--workgroup-zeros",
           help="set workgroup memory of WGSL to zero first, as browsers do (default: as for --robustness)",
           choices=choices.SWITCH, field="workgroup_zeros", printed=28),
))
"""How a shader is compiled."""

TRACE = Option("--trace", "F",
               "write an HTML page in which you step through a workgroup's instructions (reference device)"
               " or, for an emulated GPU, the machine code that a wave executed with its values as text",
               Path)

SHADER = Option("shader", "SHADER", _SHADER, Path)

CONFIGURATION = "configuration"
GROUPS = {CONFIGURATION: "All of this, in a JSON or TOML file."}

CONFIGURED = (
    Option("shader", "SHADER", _SHADER, Path, nargs="?", field="shader"),
    *COMPILATION,
    *grouped(
        CONFIGURATION,
        Option("--with", "F",
               "configuration: groups, defines, constants and inputs; see docs/shaders/configuration.md."
               " Options of the command line replace its values", Path, dest="with_file"),
        Option("--configuration", "NAME",
               "with --with: use the configuration of this name or matching this pattern (default: all)"),
    ),
)
"""The shader, which a configuration may name, its compilation, and the configuration."""

MEMORY = Option("--memory", "SIZE",
                "limit of the memory in use, as in 512M or 8G (default: three quarters of the host's memory)",
                byte_count)

INPUTS = repeated("--in", "inputs", "B=F.npy", "bind the array in a file", pair, field="inputs", printed=7)
CHECK_INPUTS = repeated("--in", "inputs", "B=F.npy",
                        "bind the array in a file; B.MEMBER=V[,V]… gives one member of a block", pair,
                        field="inputs", printed=7)
PUSH = repeated("--push", "push", "NAME=V[,V]…", "a member of the push constants", pair, field="push",
                printed=9)
CONSTANTS = repeated("--spec", "spec", "ID=V", "a specialization constant, by its number or its name", pair,
                     field="specialization", printed=10)
FULL_SUBGROUPS = flag("--full-subgroups", "require full subgroups", field="full_subgroups")

DRAWS = "fragment shaders"
DRAWING = tuple(
    grouped(
        DRAWS,
        Option("--vertex", "SHADER", "vertex shader (default: one that passes --vertices on)", Path),
        Option("--count", "N", "number of vertices to draw", int),
        Option("--patch-vertices", "N", "vertices per patch (default: 3)", int, 3),
        Option("--geometry", "SHADER", "geometry shader", Path),
        Option("--mesh", "SHADER", "mesh shader; --groups gives the number of workgroups", Path),
        Option("--task", "SHADER", "task shader before the mesh shader", Path),
        Option("--depth", "FORMAT", "enable the depth test: d32f, d16, or F.npy with the initial depths"),
        repeated("--vertices", "vertices", "NAME=F.npy",
                 "values of an input of the vertex shader; without a vertex shader: position, and inputs"
                 " of the "
                 "fragment shader", pair),
        repeated("--color", "colors", "NAME=FORMAT",
                 "format of an output (rgba8, r32ui, …), or F.npy with its initial contents", pair),
        Option("--tessellation", ("CONTROL", "EVALUATION"), "tessellation shaders; they receive patches",
               Path, nargs=2),
        Option("--topology", "NAME",
               f"{', '.join(choices.TOPOLOGIES)} (default: triangles, or patches with --tessellation)",
               choices=choices.TOPOLOGIES),
        Option("--depth-compare", "NAME", f"{', '.join(choices.COMPARISONS)} (default: less)",
               default="less", choices=choices.COMPARISONS),
        Option("--samples", None, "samples per pixel", int, 1, choices=choices.SAMPLES),
        flag("--sample-shading", "run the shader for each sample"),
        flag("--all-samples", "write every sample, without resolving"),
    )
)
"""The options of draws, except the size."""

RAYS = "ray-generation shaders"

SCRIPTS = "Amber scripts"
OF_SCRIPTS = tuple(
    grouped(
        SCRIPTS,
        Option("--jobs", "N", "worker processes (default: one per core)", positive),
        Option("--junit", "F", "also write JUnit XML", Path),
        json("write all outcomes as JSON"),
    )
)
"""Options that only runs of Amber scripts have."""


SUFFIXES = (".amber", ".shader_test")
"""Suffixes of scripts of Amber and of VkRunner."""


def names_several(chosen: argparse.Namespace) -> bool:
    """Whether the command line of a check names several files, or a folder; both are for worker processes."""
    return bool(chosen.scripts) or (chosen.shader is not None and chosen.shader.is_dir())


def has_scripts(chosen: argparse.Namespace) -> bool:
    """Whether the command line names Amber scripts, globs of scripts, or a folder of scripts.

    That is a folder with scripts, without shaders, and without the record of a reproduction.
    """
    path = chosen.shader
    if path is None or not path.is_dir():
        # A check may have several shaders.
        given = [path, *(chosen.scripts if chosen.command == "check" else [])]
        is_one = any(file is not None and file.suffix in SUFFIXES for file in given)
        return is_one or (chosen.command == "run" and bool(chosen.scripts))
    if (path / "repro.json").exists():
        return False
    files = [file for file in path.rglob("*") if not file.name.startswith(".")]
    suffixes = {suffix for file in files for suffix in file.suffixes}
    return not suffixes.isdisjoint(SUFFIXES) and not suffixes & _SHADERS


_SHADERS = {".comp", ".hlsl", ".slang", ".wgsl"}
"""Suffixes of the shaders that a check of a folder looks for."""


# fmt: on
def _ray_stages() -> Iterator[Option]:
    """Yield the other shaders of a ray-tracing pipeline."""
    for kind in ("miss", "callable"):
        purpose = f"{kind} shader; repeat the option for the next index"
        yield repeated(f"--{kind}", kind, "SHADER", purpose, Path)
    for stage in choices.HITS:
        words = stage.replace("_", "-")
        yield Option(f"--{words}", "SHADER", f"{words} shader", Path)


# fmt: off
TRACING = tuple(
    grouped(
        RAYS,
        *_ray_stages(),
        Option("--max-recursion", "N", "maximum recursion depth of rays (default: 1)", int),
    )
)

TARGET = Option(
    "--target", help="Vulkan version (default: 1.2; SPIR-V: that of its version)",
    choices=choices.VULKAN_VERSIONS, field="target", group="compilation",
)  # fmt: skip

_COMPILE = Command(
    (
        SHADER,
        *COMPILATION,
        TARGET,
        Option("-o", "F.spv", "write the module, as text if the name ends in .spvasm (- is standard output)",
               dest="output"),
        flag("--disassemble", "print the module as SPIR-V text"),
    ),
    usage="%(prog)s SHADER [-o F.spv] [--disassemble] [OPTION …]",
)

_RUN = Command(
    (
        *CONFIGURED,
        Option("scripts", "SCRIPT", "further Amber scripts", Path, list, nargs="*"),
        *grouped(
            "execution",
            device("run on"),
            Option("--groups", "X[,Y[,Z]]", "workgroups of a compute shader to run, as in 4,4 or 4x4",
                   groups_or_none, field="groups"),
            Option("--subgroup-size", "N", "require this subgroup size", int, field="subgroup_sizes"),
            FULL_SUBGROUPS,
            Option("--repeat", "N", "number of runs, one after the other", int, 1),
            Option("--timeout", "S",
                   "time limit of the command in seconds, compilation included (default:"
                   f" {choices.RUN_SECONDS:g})",
                   seconds, choices.RUN_SECONDS, field="timeout"),
            MEMORY,
        ),
        *grouped(
            "inputs and outputs",
            INPUTS,
            repeated("--out", "outputs", "B=DTYPE[N]:F.npy",
                     "bind zeros, and write (without :F.npy: print) the result; B=F.npy for a binding of"
                     " --in", pair),
            PUSH,
            CONSTANTS,
            repeated("--uniform", "uniforms", "NAME=V[,V]…",
                     "a loose uniform (--dialect gl), or a part of one: lights[1].color=1,0.5,0; a matrix by"
                     " columns", pair),
        ),
        Option("--repro", "DIR", "write module and inputs before the execution; `run DIR` repeats it", Path),
        TRACE,
        Option("--lanes", "N",
               "print what each lane of subgroup N (default: 0) gives to each subgroup operation, and gets"
               " (reference device)", natural, nargs="?", const=0),
        Option("--workgroup", "X[,Y[,Z]]",
               "the workgroup of --trace (default: that of each error, or 0,0,0) and of --lanes (0,0,0)",
               groups_or_none),
        flag("--allow-outside",
             "let the source in your own FOLDER be a link to a file elsewhere, or include such files"),
        *grouped(DRAWS, Option("--size", "W,H", "size in pixels; for rays also W,H,D", size)),
        *DRAWING,
        *TRACING,
        *OF_SCRIPTS,
    ),
    epilog="B is a binding's name (with --dialect gl also an atomic counter's), its number in set 0, or "
    "SET.NUMBER. Example: vkgroup run scan.comp "
    "--groups 4 --in data=x.npy --out sums=uint[4]:sums.npy, or: vkgroup run x.frag --size 64,64 "
    "--out color=picture.npy",
    usage="%(prog)s SHADER --groups X,Y,Z [--in B=F.npy] [--out B=…] [OPTION …]\n"
    "       %(prog)s SHADER --size W,H [--out NAME=F.npy] [OPTION …]\n"
    "       %(prog)s FOLDER [--device D]   (made by --repro: repeats it)\n"
    "       %(prog)s F.amber|FOLDER|'GLOB.amber' … [--device D] [OPTION …]",
    groups={
        **GROUPS,
        DRAWS: "Without vertices, one triangle covers the image. --out NAME=F.npy writes the output NAME, "
        "--out depth=F.npy the depths.",
        SCRIPTS: "Scripts of https://github.com/google/amber. --timeout is the limit of each. Exit codes: 0"
        " all pass, 1 a failure, 2 an error, 3 nothing could be run.",
        RAYS: "--size W,H[,D] is the number of invocations. --in SCENE=F.npy creates an acceleration"
        " structure"
        " of triangles (an array of shape (n, 3, 3)) or of boxes (n, 2, 3), with one hit group.",
    },
)

_COST = Command(
    (
        *CONFIGURED,
        TARGET,
        CONSTANTS,
        *grouped(
            "where it is compiled",
            Option("--device", "D",
                   "devices: names as in `vkgroup devices`, globs and lists, as in 'radv:navi*,nvk:ga104'"
                   " (default: one GPU of each generation of the fetched drivers)"),
            Option("--subgroup-size", "N[,N]…", "sizes (default: all that a device allows)", subgroup_sizes,
                   field="subgroup_sizes"),
            FULL_SUBGROUPS,
            Option("--timeout", "S", "time limit of one compilation in seconds (default: 60)", seconds, 60.0,
                   field="timeout"),
        ),
        *grouped(
            "comparison",
            Option("--against", "OTHER", "compare with another shader, or with another compiler's module"),
            Option("--baseline", "F.json", "exit with 1 if a cost is worse than in this file of --json",
                   Path),
            threshold("percentage by which a cost may be worse than in the baseline", choices.COST_THRESHOLD),
            BISECT,
        ),
        WIDE,
        flag("--isa", "print the assembly, where the driver provides it"),
        json("write all costs, with all statistics of the drivers, as JSON"),
    ),
    "Compile a compute, fragment or vertex shader for GPUs and print its static cost at each subgroup"
    " size: registers, spills, shared memory, code, instructions of subgroup operations, and estimates."
    " Nothing is executed. `vkgroup drivers fetch radv nvk turnip honeykrisp` gives drivers for absent"
    " GPUs.",
    "Exit codes: 0 success, 1 a driver rejects the shader or crashes, or a regression against --baseline,"
    " 2 wrong usage or input, or not in --baseline, 3 no such device. Quantities: docs/shaders/cost.md.",
    groups=GROUPS,
    usage="%(prog)s SHADER [--device D] [--against OTHER] [OPTION …]",
)

COMMANDS = {"compile": _COMPILE, "run": _RUN, "cost": _COST}
# fmt: on

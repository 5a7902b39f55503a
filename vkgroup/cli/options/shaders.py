"""Options of several commands: the shader, and how it is compiled."""

from __future__ import annotations

import argparse
from pathlib import Path

from vkgroup import choices
from vkgroup.spec.stages import STAGE_NAMES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the shader and the options that compile it."""
    parser.add_argument(
        "shader",
        metavar="SHADER",
        type=Path,
        help="GLSL or HLSL, with the stage as suffix (.comp, .vert, .comp.glsl, …), or .spv, .spvasm",
    )
    parser.add_argument(
        "--stage",
        metavar="S",
        choices=tuple(STAGE_NAMES),
        help="the stage, if the suffix does not give it",
    )
    parser.add_argument(
        "--dialect", choices=choices.DIALECTS, help="default: hlsl for .hlsl, otherwise vulkan"
    )
    parser.add_argument(
        "-D", dest="defines", metavar="NAME[=V]", action="append", default=[], help="define a macro (as 1)"
    )
    parser.add_argument(
        "-I",
        dest="include_paths",
        metavar="DIR",
        action="append",
        default=[],
        help="folder in which to search for #include",
    )
    parser.add_argument("--entry-point", metavar="NAME", default="main", help="default: main")
    parser.add_argument(
        "--compiler",
        choices=choices.COMPILERS,
        default=choices.COMPILERS[0],
        help=f"default: {choices.COMPILERS[0]}",
    )
    parser.add_argument("--optimize", choices=choices.OPTIMIZATIONS, help="optimise with SPIRV-Tools")
    parser.add_argument(
        "--lower-legacy",
        action="store_true",
        help="replace SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote by SPIR-V 1.3's group instructions",
    )
    parser.add_argument("--debug", action="store_true", help="keep line numbers and the source")


def add_target(parser: argparse.ArgumentParser) -> None:
    """Declare the target, where no device decides it."""
    parser.add_argument(
        "--target", choices=choices.VULKAN_VERSIONS, default="1.1", help="Vulkan version (default: 1.1)"
    )

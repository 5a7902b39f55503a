"""Choices and defaults of command-line options, without the modules that implement them.

Help and shell completion need only these words, so this module has no slow import.
"""

from __future__ import annotations

DIALECTS = ("vulkan", "gl", "hlsl", "slang", "wgsl", "spirv")
"""Source languages of shaders."""

SOURCE_DIALECTS = {".hlsl": "hlsl", ".slang": "slang", ".wgsl": "wgsl"}
"""Dialect by suffix of a file, where it is not vulkan."""

COMPILERS = ("glslang", "glslang-13", "shaderc", "slang", "dxc", "tint")
"""Compilers; the first is the default. glslang-13 is that of the wheel. Slang compiles .slang, tint .wgsl."""

FETCHED_COMPILERS = ("glslang", "tint")
"""Compilers that ``vkgroup compilers fetch`` downloads; the first is the default."""

SWITCH = ("on", "off")
"""Values of options that are on for some commands and off for others."""

NO_VALIDATE = "VKGROUP_NO_VALIDATE"
"""Environment variable; ``1`` accepts every module without SPIRV-Tools' validation."""

OPTIMIZATIONS = ("performance", "size")
"""Optimization goals of SPIRV-Tools."""

VULKAN_VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4")
"""Vulkan versions that a shader can be compiled for."""

HITS = ("closest_hit", "any_hit", "intersection")
"""The stages of a hit group."""

TOPOLOGIES = (
    *("points", "lines", "line_strip", "triangles", "triangle_strip", "triangle_fan", "lines_adjacency"),
    *("line_strip_adjacency", "triangles_adjacency", "triangle_strip_adjacency", "patches"),
)
"""Primitive topologies."""

COMPARISONS = (
    *("never", "less", "equal", "less_or_equal"),
    *("greater", "not_equal", "greater_or_equal", "always"),
)
"""Names of the VkCompareOp values, in their order."""

SAMPLES = (1, 2, 4, 8, 16, 32, 64)
"""Sample counts of VkSampleCountFlagBits."""

COST_THRESHOLD = 0.05
"""Default fraction by which a cost may rise before it is a regression."""

FINDING_KINDS = (
    *("differs", "undefined", "race", "same_value", "barrier", "hang", "bounds", "abort", "assumes"),
    *("sparse", "reconvergence", "progress", "compile"),
)
"""The kinds of findings of ``vkgroup check``, with a page on each in ``docs/shaders/kinds``."""

CHECK_SIZES = (1, 4, 8, 16, 32, 64, 128)
"""Default subgroup sizes of a check."""

CHECK_LANES = ("any", "linear")
"""Assignments of invocations to lanes that a check may assume; the first is the default."""

CHECK_RECONVERGENCE = ("declared", "maximal")
"""Where a check may assume that invocations meet again: where the module declares it, or by the rules of
maximal reconvergence. The first is the default."""

CHECK_PROGRESS = ("occupancy", "one", "fair")
"""Which workgroups a check may assume to make progress while others wait: those that have started, only one,
or all. The first is the default."""

CHECK_STEP_LIMIT = 10_000
"""Default limit of loop iterations in a check; a longer loop is reported as a hang."""

CHECK_TIMEOUT = 60.0
"""Default time limit of one run of a check, in seconds."""

CHECK_SECONDS = 300.0
"""Default time limit of the check of one shader or configuration, in seconds."""

RUN_SECONDS = 60.0
"""Default time limit of ``vkgroup run``, in seconds."""

BENCH_SECONDS = 1.0
"""Default time for the rounds of one benchmark row, in seconds."""

BENCH_THRESHOLD = 0.05
"""Smallest relative change that counts as slower or faster if the intervals do not overlap."""

ANNOTATIONS = ("github", "gitlab")
"""Services that display the unexpected results of a run."""

RUN_KINDS = ("conform", "probe", "bench")
"""Commands whose runs are stored in a database."""

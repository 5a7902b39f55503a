"""What a command line lets one choose, and what holds unless it does: known without what stands behind it.

Help and shell completion need the words and nothing else, so they are here, where they cost no import.
"""

from __future__ import annotations

DIALECTS = ("vulkan", "gl", "hlsl", "spirv")
"""What a shader is written in."""

COMPILERS = ("glslang", "shaderc")
"""What compiles it; the first one unless told otherwise."""

OPTIMIZATIONS = ("performance", "size")
"""What SPIRV-Tools may optimise for."""

VULKAN_VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4")
"""What a shader may be compiled for."""

HITS = ("closest_hit", "any_hit", "intersection")
"""The stages of a hit group."""

TOPOLOGIES = (
    *("points", "lines", "line_strip", "triangles", "triangle_strip", "triangle_fan", "lines_adjacency"),
    *("line_strip_adjacency", "triangles_adjacency", "triangle_strip_adjacency", "patches"),
)
"""What vertices make."""

COMPARISONS = (
    *("never", "less", "equal", "less_or_equal"),
    *("greater", "not_equal", "greater_or_equal", "always"),
)
"""VkCompareOp, in the order of its numbers, by our names."""

SAMPLES = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of samples that Vulkan knows."""

CHECK_SIZES = (1, 4, 8, 16, 32, 64, 128)
"""Subgroup sizes that a check tries."""

CHECK_STEP_LIMIT = 10_000
"""Rounds of a loop after which a check says that it hangs."""

CHECK_TIMEOUT = 60.0
"""Seconds that one run of a check may take."""

BENCH_SECONDS = 1.0
"""For the rounds of one row of a benchmark."""

BENCH_THRESHOLD = 0.05
"""A row counts as slower or faster from this change on, where the intervals do not overlap."""

ANNOTATIONS = ("github", "gitlab")
"""Services that show what is unexpected in a run."""

RUN_KINDS = ("conform", "probe", "bench")
"""Commands whose runs a database keeps."""

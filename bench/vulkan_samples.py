"""Compile all shaders of Khronos' Vulkan-Samples with each compiler that takes their language.

python bench/vulkan_samples.py --samples DIR [--out FILE]

DIR holds the folder ``shaders`` of the samples. GLSL shaders may include files of ``shaders/includes/glsl``.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from vkgroup.base.errors import CompilerUnavailable, NotValidated, VkgroupError
from vkgroup.compiler import compile_file

RESULTS = Path(__file__).parent / "results" / "vulkan_samples.json"

_STAGES = (
    ".comp",
    ".vert",
    ".frag",
    ".geom",
    ".tesc",
    ".tese",
    ".mesh",
    ".task",
    ".rgen",
    ".rchit",
    ".rmiss",
)

COMPILERS = {
    **dict.fromkeys(_STAGES, ("glslang",)),
    ".hlsl": ("glslang-13", "slang", "dxc"),
    ".slang": ("slang",),
    ".spvasm": ("glslang",),  # which the assembler of SPIRV-Tools replaces
}
"""Compilers by the end of a file's name; the first one is the default."""


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--samples", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE")
    options = parser.parse_args()
    root = options.samples / "shaders"
    files = [file for file in sorted(root.rglob("*")) if file.suffix in COMPILERS]
    if not files:
        parser.error(f"{root} has no shaders: name the folder of Vulkan-Samples")
    counts: Counter[str] = Counter()
    rejected: dict[str, dict[str, str]] = {}
    accepted: dict[str, int] = Counter()
    for file in files:
        accepts = False
        for compiler in COMPILERS[file.suffix]:
            error = error_of(file, compiler, root / "includes" / "glsl")
            counts[f"{file.suffix} {compiler}"] += not error
            accepts |= not error
            if error:
                rejected.setdefault(str(file.relative_to(root)), {})[compiler] = error
        accepted[file.suffix] += accepts
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "files": Counter(file.suffix for file in files),
        "with any compiler": accepted,
        "by compiler": counts,
        "rejected": rejected,
    }
    options.out.write_text(json.dumps(document, indent=1) + "\n")
    print(
        f"{sum(accepted.values())} of {len(files)} shaders compile with at least one compiler: {options.out}"
    )
    return 0


def error_of(file: Path, compiler: str, include: Path) -> str:
    """Return a compiler's first message; an empty text if it accepts the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotValidated)
        try:
            compile_file(file, compiler=compiler, include_paths=[include])
        except CompilerUnavailable:
            raise
        except VkgroupError as error:
            text = str(error).replace(f"{file}:", "")
            lines = [line.strip() for line in text.splitlines()[1:]]
            return next((line for line in lines if "error:" in line), text.splitlines()[0])
    return ""


if __name__ == "__main__":
    sys.exit(main())

"""Write a configuration file with all variants of ggml's Vulkan shaders, for `vkgroup check DIR --with FILE`.

python bench/ggml_variants.py --ggml DIR --out FILE [--subgroup-size N]
vkgroup check DIR --with FILE

DIR holds ggml's shaders (``src/ggml-vulkan/vulkan-shaders``). Their macros are in ggml's program
``vulkan-shaders-gen.cpp``, which starts a compiler for each variant. It is built here with g++, and gets a
script that records the arguments instead of compiling.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

GENERATOR = "vulkan-shaders-gen.cpp"

#: What ggml's build enables if the compiler supports it; the current glslang supports all of it.
SUPPORT = (
    "COOPMAT",
    "COOPMAT2",
    "COOPMAT2_DECODE_VECTOR",
    "INTEGER_DOT",
    "BFLOAT16",
    "FLOAT_E2M1",
    "FLOAT_E4M3",
)

#: Writes the arguments into the output file, one in a line.
RECORDER = """#!/bin/sh
for word in "$@"; do
    [ "$previous" = -o ] && output=$word
    previous=$word
done
printf '%s\\n' "$@" > "$output"
"""


def commands(shaders: Path) -> dict[str, list[str]]:
    """Return the arguments of the compiler by the name of each variant."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recorder, generator, output = folder / "recorder", folder / "generator", folder / "out"
        recorder.write_text(RECORDER)
        recorder.chmod(0o755)
        support = [f"-DGGML_VULKAN_{feature}_GLSLC_SUPPORT" for feature in SUPPORT]
        build = [
            "g++",
            "-std=c++17",
            "-O0",
            *support,
            str(shaders / GENERATOR),
            "-o",
            str(generator),
            "-pthread",
        ]
        subprocess.run(build, check=True)
        for shader in sorted(shaders.glob("*.comp")):
            arguments = ["--glslc", str(recorder), "--source", str(shader)]
            arguments += ["--output-dir", str(output), "--target-cpp", str(folder / "table.cpp")]
            subprocess.run([str(generator), *arguments], check=True, stdout=subprocess.DEVNULL)
        return {file.stem: file.read_text().splitlines() for file in sorted(output.glob("*.spv"))}


def configuration(name: str, arguments: list[str]) -> dict[str, Any]:
    """Return the entry of a variant, from the arguments of its compiler."""
    defines = dict(word[2:].partition("=")[::2] for word in arguments if word.startswith("-D"))
    (target,) = (word.removeprefix("--target-env=vulkan") for word in arguments if "--target-env" in word)
    (shader,) = (Path(word).name for word in arguments if word.endswith(".comp"))
    return {"name": name, "shader": shader, "target": target, "defines": defines}


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--ggml", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--subgroup-size", type=int, metavar="N", help="check at this size only")
    options = parser.parse_args()
    if not (options.ggml / GENERATOR).is_file():
        parser.error(f"{options.ggml} has no {GENERATOR}: name ggml's folder src/ggml-vulkan/vulkan-shaders")
    common = {} if options.subgroup_size is None else {"subgroup_sizes": options.subgroup_size}
    entries = [configuration(*item) for item in commands(options.ggml.resolve()).items()]
    options.out.write_text(json.dumps({**common, "configurations": entries}, indent=1) + os.linesep)
    print(f"{len(entries)} variants of {len({entry['shader'] for entry in entries})} shaders: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

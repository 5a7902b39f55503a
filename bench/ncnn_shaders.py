"""Write ncnn's shaders as ncnn compiles them with one set of options, for `vkgroup check FOLDER --with FILE`.

python bench/ncnn_shaders.py --ncnn DIR --out FOLDER [--options "fp32, subgroup ops, device: all"]
vkgroup check FOLDER --with FOLDER/all.json

DIR holds ncnn's ``src`` folder. The names of the sets are those of ``ncnn_options.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ncnn_options import needed, option_sets
from real_shaders.ncnn_source import COOPERATIVE_MATRIX, DEVICE_MACROS, source_of

LOCAL_SIZES = {".z": (4, 4, 4), ".y": (8, 8, 1), "": (64, 1, 1)}
"""Local sizes, which ncnn chooses by the shape of the tensor, by the last axis that a shader uses."""


def local_size(source: str) -> tuple[int, int, int]:
    """Return the local size of a shader; the workgroups of shaders with shared memory are rows."""
    if "gl_LocalInvocationID" in source or "gl_SubgroupID" in source:
        return LOCAL_SIZES[""]
    used = next(axis for axis in LOCAL_SIZES if f"gl_GlobalInvocationID{axis}" in source or not axis)
    return LOCAL_SIZES[used]


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--ncnn", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--options", default="fp32, subgroup ops, device: all", metavar="SET")
    arguments = parser.parse_args()
    sets = {name: (options, support) for name, options, support in option_sets()}
    if arguments.options not in sets:
        parser.error(f"there is no set {arguments.options!r}; there are:\n  " + "\n  ".join(sets))
    options, support = sets[arguments.options]
    matrices = options["use_cooperative_matrix"]
    arguments.out.mkdir(parents=True, exist_ok=True)
    entries = []
    for shader in sorted((arguments.ncnn / "layer/vulkan/shader").glob("*.comp")):
        used = needed(shader.stem, options)
        if shader.stem == "vulkan_activation" or used is None:  # a header, or not used with these options
            continue
        device = DEVICE_MACROS | (COOPERATIVE_MATRIX if matrices else {})
        text = source_of(shader, arguments.ncnn / "gpu.cpp", used, support, device)
        (arguments.out / shader.name).write_text(text)
        entries.append({"shader": shader.name, "local_size": local_size(text)})
    document = {
        "subgroup_sizes": 32,
        "include": [str((arguments.ncnn / "layer/vulkan/shader").resolve())],
        "configurations": entries,
    }
    (arguments.out / "all.json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"{len(entries)} shaders: {arguments.out / 'all.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Conformance of compilers: run the suite on the reference device with each front end, and count by family.

No driver is involved, so a failure is an error of the front end (or of vkgroup). Usage:

    python bench/compiler_conformance.py [--shard-glsl K/N] [--shard-hlsl K/N] [--out FILE]

Writes the counts as JSON, from which `python tests/documentation/findings_pages.py` makes
docs/results/compilers.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "compilers.json"
GLSL = ("glslang", "glslang-13", "shaderc")
HLSL = ("glslang-13", "dxc", "slang")
_FAMILIES = (
    *("basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "clustered", "quad"),
    *("partitioned", "rotate", "rotate_clustered", "reconvergence"),
)


def main() -> None:
    """Run all compilers that are installed."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    parser.add_argument("--shard-glsl", default="1/40", metavar="K/N")
    parser.add_argument("--shard-hlsl", default="1/1", metavar="K/N")
    parser.add_argument("--device", default="reference:32")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    runs = [_run(compiler, False, arguments.shard_glsl, arguments.device) for compiler in GLSL]
    runs += [_run(compiler, True, arguments.shard_hlsl, arguments.device) for compiler in HLSL]
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "device": arguments.device,
        "runs": [run for run in runs if run is not None],
    }
    arguments.out.write_text(json.dumps(document, indent=1) + "\n")


def _run(compiler: str, is_hlsl: bool, shard: str, device: str) -> dict[str, Any] | None:
    """Return the counts of one compiler by family; None if it is not installed."""
    patterns = ["hlsl.*"] if is_hlsl else [f"{name}.*" for name in _FAMILIES]
    filters = [word for pattern in patterns for word in ("--filter", pattern)]
    with tempfile.TemporaryDirectory() as folder:
        words = ["conform", "--device", device, "--compiler", compiler, "--shard", shard, "--no-repro"]
        command = [sys.executable, "-m", "vkgroup", *words, *filters, "--out", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        file = Path(folder) / "summary.json"
        if not file.is_file():
            print(f"{compiler}: {done.stderr.strip()}", file=sys.stderr)
            return None
        summary = json.loads(file.read_text())
        causes = [cause["sentence"] for cause in summary.get("causes", [])]
    return {
        "compiler": compiler,
        "version": summary["versions"]["compiler"],
        "language": "HLSL" if is_hlsl else "GLSL",
        "shard": shard,
        "seconds": summary["seconds"],
        "by_category": summary["by_category"],
        "causes": causes,
    }


if __name__ == "__main__":
    main()

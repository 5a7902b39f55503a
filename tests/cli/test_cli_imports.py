"""No command imports what it does not need: help and completion least of all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vkgroup.base import choices
from vkgroup.cli.parser import COMMANDS
from vkgroup.compiler import TargetEnvironment
from vkgroup.compiler.optimizer import LEVELS
from vkgroup.dispatch.draw_state import TOPOLOGIES

SHADER = Path(__file__).parents[2] / "shaders/tutorial/sum.comp"
RECORDED = Path(__file__).parents[2] / "bench/results/nvidia-h200/bench.json"

DISPATCH = [str(SHADER), "--groups", "1", "--in", "values=VALUES.npy", "--out", "sums=uint[128]"]

#: Modules that are slow to import or need another package; `vkgroup.X` includes its modules.
TOOLS = {
    f"vkgroup.{name}"
    for name in ("conformance", "check", "probe", "bench", "programs", "workers.pool", "workers.scheduler")
} | {f"vkgroup.outputs.{name}" for name in ("diff", "exports", "report", "reproduction")}
RUNTIME = {
    f"vkgroup.{name}" for name in ("spirv", "compiler", "device", "dispatch", "workers.opening", "reference")
}
OTHERS = {"numpy", "vulkan", "cffi", "rich", "matplotlib", "shtab", "vkgroup.gl", "vkgroup.kernels"}
EVERYTHING = TOOLS | RUNTIME | OTHERS

CODE = """
import io, sys
from contextlib import redirect_stdout
from vkgroup.cli.main import main
with redirect_stdout(io.StringIO()):
    try:
        code = main(sys.argv[1:])
    except SystemExit as ended:
        code = ended.code
assert code in (0, 1, None)
print(*sys.modules)
"""


def imported(*words: str) -> set[str]:
    """Return the modules that a fresh process has after a command, and the packages they are of."""
    command = [sys.executable, "-c", CODE, *words]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {".".join(name.split(".")[:depth]) for name in names for depth in (1, 2, 3)}


@pytest.mark.parametrize("words", [["--help"], *([command, "--help"] for command in COMMANDS)], ids=" ".join)
def test_help_needs_nothing(words: list[str]) -> None:
    assert imported(*words) & EVERYTHING == set()


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["completion", "bash"], {"shtab"}),
        (["drivers", "list"], set()),
        (["compile", str(SHADER)], {"numpy", "cffi", "vkgroup.spirv", "vkgroup.compiler"}),
        (["bench", "--compare", str(RECORDED), str(RECORDED)], {"numpy", "rich", "vkgroup.bench"}),
        (
            ["check", str(SHADER), "--device", "none", "--subgroup-size", "4"],
            RUNTIME
            | {"numpy", "cffi", "rich", "vkgroup.check", "vkgroup.workers.pool", "vkgroup.workers.scheduler"},
        ),
        (["probe", "--device", "reference"], RUNTIME | {"numpy", "cffi", "rich", "vkgroup.probe"}),
        (
            ["run", *DISPATCH, "--device", "reference"],
            RUNTIME | {"numpy", "cffi", "vkgroup.gl"},
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_imports_what_it_needs(words: list[str], needed: set[str], tmp_path: Path) -> None:
    np.save(tmp_path / "values.npy", np.zeros(128, np.uint32))
    words = [word.replace("VALUES", str(tmp_path / "values")) for word in words]
    assert imported(*words) & EVERYTHING <= needed


def test_the_words_of_the_command_line_are_those_of_what_they_choose() -> None:
    assert tuple(TOPOLOGIES) == choices.TOPOLOGIES
    assert tuple(LEVELS) == choices.OPTIMIZATIONS
    versions = {".".join(map(str, target.vulkan_version)) for target in TargetEnvironment}
    assert tuple(sorted(versions)) == choices.VULKAN_VERSIONS

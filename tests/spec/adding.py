"""Add an operation or a stage to vkgroup in this process, and judge a device by it.

    python tests/spec/adding.py operation DEVICE [wrong]
    python tests/spec/adding.py stage DEVICE

It shows that a row and a function, or a row and a class, are everything: all else is derived when vkgroup is
imported. The rows are put into the source of their tables before anything imports these.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

SENTENCE = """\
subgroupNeighbour: The function subgroupNeighbour() returns the <value> of another invocation.
"""

OPERATION = """
    row(
        "subgroupNeighbour",
        Category.SHUFFLE,
        "ShuffleXor",
        (VALUE, _MASK),
        kinds=("int", "uint"),
        by_instruction=True,
    ),
"""

STAGE = """
    Stage("kernel", 0x20, ("NoSuchModel",), "kern", 5, 2, (PipelineKind.COMPUTE,), workgroups=True),
"""


def add_row(module: str, before: str, row: str) -> None:
    """Import a module with a row more in its table.

    Parameters
    ----------
    before : the text in its source that the row is put in front of.
    """
    specification = importlib.util.find_spec(module)
    assert specification is not None and specification.origin is not None  # noqa: PT018
    assert module not in sys.modules
    source = Path(specification.origin).read_text("utf-8")
    assert source.count(before) == 1, before
    loaded = ModuleType(module)
    sys.modules[module] = loaded
    exec(compile(source.replace(before, row + before), specification.origin, "exec"), loaded.__dict__)
    parent, _, name = module.rpartition(".")
    setattr(importlib.import_module(parent), name, loaded)


def add_operation(wrong: bool) -> str:
    """Add an operation with its sentence, and its function; return the names of cases of it."""
    add_row("vkgroup.spec.sentences", "subgroupShuffleUp: ", SENTENCE)
    add_row("vkgroup.spec.operations", '    row("subgroupShuffleUp"', OPERATION)
    import numpy as np

    from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, defines, lane_index, read

    @defines("subgroupNeighbour")
    def subgroup_neighbour(value: Values, active: Flags, mask: Words) -> Lanes:
        """Return `value` of the lane whose index is this lane's exclusive-or `mask`."""
        distance = mask.astype(np.int64) + wrong
        return read(value, lane_index(active.shape[1]) ^ distance, active)

    return "shuffle.compute.subgroupNeighbour.uvec2.all.exact*"


def add_stage() -> str:
    """Add a stage, which is compute by another name, and its class; return the names of cases of it."""
    add_row("vkgroup.spec.stages", '    _mesh("task"', STAGE)
    from vkgroup.conformance.patterns import SHAPES
    from vkgroup.conformance.stages.base import WorkgroupStage
    from vkgroup.conformance.stages.pixels import CLASSES

    @dataclass(frozen=True)
    class KernelStage(WorkgroupStage):
        """Workgroups of a compute shader."""

        name: str = "kernel"
        extensions: Any = ()

    CLASSES["kernel"] = lambda name, shape, partial: KernelStage(SHAPES[shape].local_size(partial))
    return "*.kernel.subgroup*.uint.all.exact*"


def main() -> int:
    """Run the cases; print how many have which verdict."""
    what, device, *options = sys.argv[1:]
    if what == "operation":
        stage, pattern = "compute", add_operation(bool(options))
    else:
        stage, pattern = "kernel", add_stage()
    from vkgroup import conformance
    from vkgroup.workers import opening

    chosen = conformance.select((pattern,))
    cases = [case for case in chosen if getattr(case, "stage", "") == stage and not case.subgroup_size]
    run = conformance.run(opening.select(device), cases=cases, isolate=False, seed=1)
    print(json.dumps(Counter(result.status.name for result in run.results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The limit on the memory of variables: more is refused; less is kept by running workgroups in turn."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
from interpreting import interpret, program

from vkgroup.base.errors import OutOfMemory
from vkgroup.reference.interpreter.execution.execute import MEMORY_LIMIT, variable_memory

_WHOLE = """
layout(local_size_x = 64) in;
layout(binding = 0) buffer B {{ uint b[]; }};
{shared}
void main() {{
    uint i = gl_LocalInvocationIndex;
    {own}
    {name}[i] = gl_GlobalInvocationID.x * 3u;
    barrier();
    b[gl_GlobalInvocationID.x] = {name}[i];
}}
"""


def _with_shared(dimensions: str) -> str:
    return _WHOLE.format(shared=f"shared uint table{dimensions};", own="", name="table")


def _with_own(length: int) -> str:
    return _WHOLE.format(shared="", own=f"uint own[{length}];", name="own")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        pytest.param(_with_shared("[100000000]"), "shared variable table", id="shared"),
        pytest.param(
            _WHOLE.format(shared="shared uint a[65535][65535][65535];", own="", name="a[0][0]"),
            "shared variable a",
            id="a petabyte",
        ),
        pytest.param(_with_own(1 << 30), r"uint\[1073741824\] in 64 invocations", id="of each invocation"),
    ],
)
@pytest.mark.parametrize("races", [False, True])
def test_too_large_variables_are_refused_before_they_are_allocated(
    source: str, name: str, races: bool
) -> None:
    chosen = program(source)
    tracemalloc.start()
    try:
        with pytest.raises(OutOfMemory, match=rf"limit of the reference device is 256 MiB.*{name}.*--spec"):
            interpret(chosen, 1, np.zeros(64, np.uint32), races=races)
        assert tracemalloc.get_traced_memory()[1] < MEMORY_LIMIT / 16
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("source", "races"),
    [
        pytest.param(_with_shared("[2000000]"), True, id="shared"),
        pytest.param(_with_own(500_000), False, id="of each invocation"),
    ],
)
def test_workgroups_run_in_turn_if_their_variables_do_not_fit_together(source: str, races: bool) -> None:
    chosen, result = program(source), np.zeros(256, np.uint32)
    need = variable_memory(chosen, races=races)
    assert need.of(1, 64) < MEMORY_LIMIT < need.of(2, 128)
    gc.collect()
    gc.disable()  # variables must not wait for it to be freed
    tracemalloc.start()
    try:
        outcome = interpret(chosen, 4, result, races=races)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.enable()
    assert outcome.events == ()
    np.testing.assert_array_equal(result, np.arange(256) * 3)
    assert peak < MEMORY_LIMIT

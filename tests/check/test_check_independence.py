"""Shaders in which nothing depends on subgroups: few runs stand for those of all sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vkgroup.check import checking, state
from vkgroup.check.checking import check
from vkgroup.check.independence import are_alike, is_independent
from vkgroup.check.request import CheckRequest
from vkgroup.compiler import compile_source
from vkgroup.reference.interpreter.execution.program import ExecutableShader

_START = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_ARB_shader_clock : enable
#extension GL_EXT_shader_realtime_clock : enable
#extension GL_EXT_shader_atomic_float : enable
#extension GL_NV_compute_shader_derivatives : enable
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
layout(binding = 2) buffer F { float f[]; };
shared uint part[64];
"""
_INDEPENDENT = {
    "positions": "b[i] = a[i] + gl_WorkGroupID.x + gl_NumWorkGroups.x;",
    "shared memory": "part[l] = a[i]; barrier(); b[i] = part[63u - l];",
    "a loop": "uint n = 0u; for (uint k = 0u; k < (a[i] & 7u); k++) n += k; b[i] = n;",
    "atomics whose results nobody uses": "atomicAdd(b[0], a[i]); atomicAdd(part[0], l);",
    "a reduction": "part[l] = a[i]; barrier();\nfor (uint k = 32u; k > 0u; k /= 2u) {"
    " if (l < k) part[l] += part[l + k]; barrier(); }\nif (l == 0u) b[gl_WorkGroupID.x] = part[0];",
}
_DEPENDENT = {
    "an operation": "b[i] = subgroupAdd(a[i]);",
    "a size": "b[i] = a[i] * gl_SubgroupSize;",
    "a number": "b[i] = gl_SubgroupID;",
    "a barrier of the subgroup": "part[l] = a[i]; subgroupBarrier(); b[i] = part[l];",
    "a scope": "atomicAdd(b[0], 1u, gl_ScopeSubgroup, 0, 0);",
    "an order": "b[atomicAdd(part[0], 1u)] = a[i];",
    "an order in a branch": "uint n = 0u; if (a[i] > 3u) n = atomicAdd(b[0], 1u); a[i] = n;",
    "a sum of floats": "atomicAdd(f[0], 1.5);",
    "two kinds of atomics": "atomicAdd(b[0], a[i]); atomicMax(b[0], 9u);",
    "the last value": "atomicExchange(b[0], i);",
    "one of several values": "atomicCompSwap(b[0], 0u, i);",
    "a stored value": "atomicStore(b[0], i, gl_ScopeDevice, 0, 0);",
    "a clock": "b[i] = uint(clockRealtimeEXT());",
    "a loop that waits": "while (part[0] == 0u) { if (l == 0u) part[0] = 1u; }",
}


def _compiled(body: str) -> ExecutableShader:
    source = (
        f"{_START}void main() {{ uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;\n{body}\n}}"
    )
    return ExecutableShader(compile_source(source, stage="comp"))


@pytest.mark.parametrize("name", _INDEPENDENT)
def test_a_shader_without_subgroups_is_independent(name: str) -> None:
    assert is_independent(_compiled(_INDEPENDENT[name]))


@pytest.mark.parametrize("name", _DEPENDENT)
def test_a_shader_with_subgroups_or_an_order_is_not(name: str) -> None:
    assert not is_independent(_compiled(_DEPENDENT[name]))


def _runs(shader: Path | str, monkeypatch: pytest.MonkeyPatch) -> list[state.CheckedRun]:
    """Return the runs of a check that stands for none of them."""
    kept: list[state.CheckedRun] = []

    def all_of(self: state.CheckState, sizes: list[int]) -> None:
        run(self, sizes)
        kept.extend(self.runs)

    run = state.CheckState.run_reference
    with monkeypatch.context() as patch:
        patch.setattr(state, "is_independent", lambda program: False)
        patch.setattr(state.CheckState, "run_reference", all_of)
        checking.perform(CheckRequest(shader))
    return kept


@pytest.mark.parametrize("name", _INDEPENDENT)
def test_all_runs_of_an_independent_shader_are_alike(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shader = tmp_path / "shader.comp"
    shader.write_text(
        f"{_START}void main() {{ uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;\n"
        f"{_INDEPENDENT[name]}\n}}"
    )
    runs = _runs(shader, monkeypatch)
    assert len(runs) == 14
    assert are_alike(runs)
    report = check(shader)
    assert report.findings == ()
    assert [run.subgroup_size for run in report.covered.configurations] == [
        run.configuration.subgroup_size for run in runs
    ]
    assert any("stand for the others" in note for note in report.covered.notes)


def test_a_shader_with_an_error_runs_at_all_sizes(tmp_path: Path) -> None:
    shader = tmp_path / "race.comp"
    shader.write_text(
        f"{_START}void main() {{ uint l = gl_LocalInvocationIndex;\npart[l] = l; b[l] = part[63u - l];\n}}"
    )
    report = check(shader)
    assert {finding.kind for finding in report.findings} >= {"race"}
    assert not any("stand for the others" in note for note in report.covered.notes)


def test_runs_with_other_outputs_are_not_alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shader = tmp_path / "shader.comp"
    shader.write_text(f"{_START}void main() {{ b[gl_GlobalInvocationID.x] = 1u; }}")
    first, second, *_ = _runs(shader, monkeypatch)
    place = next(place for place, data in second.outputs.items() if data.any())
    second.outputs[place] = np.zeros_like(second.outputs[place])
    assert not are_alike([first, second])

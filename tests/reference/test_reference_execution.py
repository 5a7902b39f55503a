"""The entry of the reference model without a device: `vkgroup.reference.execution.run`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import InvalidDispatch, InvalidModule, Unsupported, VkgroupError
from vkgroup.reference.execution import run

ROOT = Path(vkgroup.__file__).parents[1]
SUM = ROOT / "shaders/tutorial/sum.comp"
HEAD = "#version 460\n#extension GL_KHR_shader_subgroup_shuffle : require\n"


def source_of(body: str, head: str = "layout(local_size_x = 8) in;") -> str:
    """Return the source of a shader that writes to `data` at binding 0."""
    buffer = "layout(std430, binding = 0) buffer Data { uint data[]; };"
    return f"{HEAD}{head}\n{buffer}\nvoid main() {{ {body} }}"


def module_of(*parts: str) -> vkgroup.Module:
    """Return the module of `source_of`."""
    return vkgroup.compile(source_of(*parts), stage="comp")


def test_the_example_of_the_page_needs_only_the_layers_up_to_reference(tmp_path: Path) -> None:
    text = (ROOT / "docs/python/reference.md").read_text("utf-8")
    (example,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "reference.execution" in block
    )
    np.frombuffer(vkgroup.compile_file(SUM).to_bytes(), np.uint32).tofile(tmp_path / "sum.spv")
    loaded = "import sys; print(*(name for name in sys.modules if name.split('.')[0] == 'vkgroup'))"
    done = subprocess.run(
        [sys.executable, "-c", f"{example}\n{loaded}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    printed, modules = done.stdout.splitlines()
    assert example.rstrip().endswith(f"# {printed}")
    folders = {name.split(".")[1] for name in modules.split() if "." in name}
    assert folders == {"base", "reference", "spec", "spirv"}


@pytest.mark.parametrize("subgroup_size", [1, 4, 32, 128])
def test_the_results_are_those_of_the_reference_device(subgroup_size: int) -> None:
    module = vkgroup.compile_file(SUM)
    values, sums = np.arange(512, dtype=np.uint32), np.full(512, 7, np.uint32)
    execution = run(module, 4, {(0, 0): values, (0, 1): sums}, subgroup_size=subgroup_size)
    with vkgroup.open("reference", subgroup_size=subgroup_size) as device:
        result = device.run(module, 4, {"values": values, "sums": sums})
    np.testing.assert_array_equal(execution.arrays[0, 1], result["sums"])
    np.testing.assert_array_equal(execution.arrays[0, 0], values)
    assert execution.defined[0, 1].all()
    assert execution.events == ()
    assert (sums == 7).all()


def test_words_bytes_and_modules_are_the_same() -> None:
    module = vkgroup.compile_file(SUM)
    arrays = {(0, 0): np.arange(128, dtype=np.uint32), (0, 1): np.zeros(128, np.uint32)}
    forms = (module, module.to_bytes(), np.frombuffer(module.to_bytes(), np.uint32).astype(np.int64))
    results = [run(form, (1, 1), arrays).arrays[0, 1].tolist() for form in forms]
    assert results[0] == results[1] == results[2]


def test_what_is_undefined_is_marked_with_its_event() -> None:
    module = module_of(
        "uint i = gl_LocalInvocationIndex; if (i < 4) data[i] = subgroupShuffle(i, i + 2); else data[i] = i;"
    )
    execution = run(module, 1, {(0, 0): np.zeros((2, 4), np.uint32)}, subgroup_size=8)
    assert execution.defined[0, 0].tolist() == [[True, True, False, False], [True] * 4]
    assert {event.kind for event in execution.events} == {"undefined"}
    assert execution.arrays[0, 0][0, :2].tolist() == [2, 3]


def test_what_depends_on_the_order_of_atomics_is_not_ordered() -> None:
    module = module_of("data[gl_LocalInvocationIndex + 1] = atomicAdd(data[0], 1u);")
    execution = run(module, 1, {(0, 0): np.zeros(9, np.uint32)})
    assert execution.defined[0, 0].all()
    assert execution.ordered[0, 0].tolist() == [True] + [False] * 8
    assert execution.arrays[0, 0][0] == 8


def test_races_are_searched_for_when_asked() -> None:
    module = module_of("data[0] = gl_LocalInvocationIndex;")
    arrays = {(0, 0): np.zeros(1, np.uint32)}
    assert "race" in {event.kind for event in run(module, 1, arrays, races=True).events}
    assert "race" not in {event.kind for event in run(module, 1, arrays).events}


def test_push_and_specialization_constants_are_taken() -> None:
    head = (
        "layout(local_size_x = 8) in; layout(constant_id = 3) const uint factor = 1u;"
        "layout(push_constant) uniform Push { uint added; };"
    )
    module = module_of("data[gl_LocalInvocationIndex] = factor * 10u + added;", head)
    execution = run(
        module, 1, {(0, 0): np.zeros(8, np.uint32)}, push=np.uint32(5).tobytes(), specialization={3: 4}
    )
    assert execution.arrays[0, 0].tolist() == [45] * 8


def test_an_array_of_descriptors_is_a_list() -> None:
    shader = f"""{HEAD}layout(local_size_x = 1) in;
    layout(std430, binding = 0) buffer Data {{ uint data[]; }} buffers[2];
    void main() {{ buffers[1].data[0] = 9; }}"""
    arrays = [np.zeros(1, np.uint32), np.zeros(2, np.uint32)]
    execution = run(vkgroup.compile(shader, stage="comp"), 1, {(0, 0): arrays})
    assert [array.tolist() for array in execution.arrays[0, 0]] == [[0], [9, 0]]
    assert [array.shape for array in execution.defined[0, 0]] == [(1,), (2,)]


IMAGE = """#version 460
layout(local_size_x = 1) in;
layout(rgba8, binding = 2) uniform image2D picture;
void main() { imageStore(picture, ivec2(0), vec4(1)); }"""
PUSH = source_of(
    "data[0] = wanted.y;",
    "layout(local_size_x = 1) in; layout(push_constant) uniform Push { layout(offset = 16) uvec2 wanted; };",
)
DATA = {(0, 0): np.zeros(8, np.uint32)}
STORE = source_of("data[0] = 1;")


@pytest.mark.parametrize(
    ("error", "named", "arguments", "options"),
    [
        (InvalidModule, ["float64"], (np.zeros(4), 1, DATA), {}),
        (InvalidModule, ["2^32"], (np.array([-1]), 1, DATA), {}),
        (InvalidModule, [], (b"abc", 1, DATA), {}),
        (InvalidModule, ["other"], (STORE, 1, DATA), {"entry_point": "other"}),
        (InvalidDispatch, ["-1"], (STORE, -1, DATA), {}),
        (InvalidDispatch, ["1.5"], (STORE, 1.5, DATA), {}),
        (InvalidDispatch, ["(1, 1, 1, 1)"], (STORE, (1, 1, 1, 1), DATA), {}),
        (InvalidDispatch, ["set 0, binding 0", "Data"], (STORE, 1, {}), {}),
        (InvalidDispatch, ["(1, 2)", "(0, 0)"], (STORE, 1, {**DATA, (1, 2): np.zeros(1)}), {}),
        (InvalidDispatch, ["mask"], (STORE, 1, {(0, 0): np.ma.masked_equal([1, 2], 1)}), {}),
        (InvalidDispatch, ["tuple"], (STORE, 1, {(0, 0): (1, 2)}), {}),
        (InvalidDispatch, ["24", "16"], (PUSH, 1, DATA), {"push": bytes(16)}),
        (InvalidDispatch, ["3"], (STORE, 1, DATA), {"subgroup_size": 3}),
        (Unsupported, ["storage_image", "picture"], (IMAGE, 1, {}), {}),
    ],
)
def test_wrong_input_is_refused(
    error: type[VkgroupError], named: list[str], arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    words, *others = arguments
    module = vkgroup.compile(words, stage="comp") if isinstance(words, str) else words
    with pytest.raises(error) as caught:
        run(module, *others, **options)
    message = str(caught.value)
    assert [word for word in named if word not in message] == []

"""Fragment shaders: wrong ones are reported at the expected lines and nowhere else, right ones pass.

``// expect: KIND, …`` at the end of a line says which findings belong there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from refusals import lacks

from vkgroup.base.errors import InvalidInput
from vkgroup.check import check
from vkgroup.drivers import CachedDriver

_HERE = Path(__file__).parent
_WRONG = sorted((_HERE / "wrong_fragments").glob("*.frag"))
_RIGHT = sorted((_HERE / "right_fragments").glob("*.frag"))
_SIZES = [4, 8, 16, 32, 64, 128]
_MARK = "// expect:"


def _expected(text: str) -> set[tuple[int, str]]:
    return {
        (number, kind.strip())
        for number, line in enumerate(text.split("\n"), 1)
        if _MARK in line
        for kind in line.split(_MARK)[1].split(",")
    }


def _lines(report: dict[str, Any]) -> set[tuple[int, str]]:
    return {(finding["place"]["line"], finding["kind"]) for finding in report["findings"]}


def _remarks(report: dict[str, Any]) -> str:
    """The notes and the remedies of all findings."""
    notes = [note["message"] for finding in report["findings"] for note in finding["notes"]]
    return "\n".join([*notes, *(finding["help"] for finding in report["findings"])])


@pytest.mark.parametrize("file", _WRONG, ids=lambda file: file.stem)
def test_a_wrong_fragment_shader_is_reported(file: Path, checked) -> None:
    text = file.read_text()
    report = checked(file)
    assert _lines(report) == _expected(text)
    assert report["code"] == 1
    for finding in report["findings"]:
        assert finding["place"]["text"] == text.split("\n")[finding["place"]["line"] - 1]
        assert set(finding["sizes"]) <= set(_SIZES)
        assert finding["sizes"]


@pytest.mark.parametrize("file", _RIGHT, ids=lambda file: file.stem)
def test_a_right_fragment_shader_passes(file: Path, checked) -> None:
    report = checked(file)
    assert report["code"] == 0, report["error"]
    assert report["findings"] == []
    covered = report["covered"]
    assert covered["compared"] > 0
    assert covered["undefined"] == 0
    assert covered["sizes"] == _SIZES
    assert covered["not_covered"] == []


def test_the_collections_are_complete() -> None:
    assert len(_WRONG) >= 10
    assert len(_RIGHT) >= 10
    assert not any(_expected(file.read_text()) for file in _RIGHT)
    assert all(_expected(file.read_text()) for file in _WRONG)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("derivative_in_a_branch", ("Derivative Operations", "compute the derivative before the branch")),
        ("texture_in_a_branch", ("level of detail", "textureGrad")),
        ("discard_before_a_texture", ("level of detail", "demote")),
        (
            "count_of_fragments",
            ("if they take part, and", "Helper Invocations", "gl_HelperInvocation is false"),
        ),
        ("neighbour_by_a_shuffle", ("Helper Invocations", "gl_HelperInvocation is false")),
    ],
)
def test_a_finding_has_its_rule_and_a_hint(name: str, words: tuple[str, ...], checked) -> None:
    report = checked(_HERE / "wrong_fragments" / f"{name}.frag")
    for word in words:
        assert word in _remarks(report)


def test_the_text_names_pixels_and_the_target(checked) -> None:
    report = checked(_HERE / "wrong_fragments" / "texture_in_a_branch.frag", "--size", "21,13")
    assert "two triangles in 21x13 pixels" in report["text"]
    assert "for example pixel (" in report["text"]
    assert "input uv: 0 to 1, linear" in report["text"]
    assert "workgroup" not in report["text"]
    assert "--size 21,13 --subgroup-size 4,8,16,32,64,128" in report["text"]


def test_push_constants_and_images_can_be_given(checked) -> None:
    file = _HERE / "right_fragments" / "two_targets_and_flat_inputs.frag"
    report = checked(file, "--push", "gain=0.5", "--subgroup-size", "8,32", "--lanes", "linear")
    assert report["code"] == 0
    assert report["covered"]["sizes"] == [8, 32]
    assert "push constant gain = 0.5" in json.dumps(report)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--groups", "4"), "no workgroups"),
        (("--full-subgroups",), "cannot be required"),
        (("--size", "15"), "width and a height"),
        (("--size", "4096,4096"), "invalid"),
    ],
)
def test_options_of_compute_shaders_are_refused(words: tuple[str, ...], message: str, checked) -> None:
    report = checked(_HERE / "right_fragments" / "average_of_the_quad.frag", *words)
    assert report["code"] == 2
    assert message in report["error"]


def test_a_compute_shader_has_no_size(checked, written) -> None:
    shader = written("#version 450\nlayout(local_size_x = 64) in;\nvoid main() {}\n")
    report = checked(shader, "--size", "15,9")
    assert report["code"] == 2
    assert "--groups" in report["error"]


def test_what_cannot_be_generated_is_named(written) -> None:
    shader = written(
        """#version 450
layout(input_attachment_index = 0, set = 0, binding = 0) uniform subpassInput before;
layout(location = 0) out vec4 color;
void main() { color = subpassLoad(before); }
""",
        "shader.frag",
    )
    with lacks("subpassInput"):
        check(shader)


def test_a_matrix_input_is_refused(written) -> None:
    shader = written(
        """#version 450
layout(location = 0) in mat3 frame;
layout(location = 0) out vec4 color;
void main() { color = vec4(frame[0], 1.0); }
""",
        "shader.frag",
    )
    with lacks("MatrixType"):
        check(shader)


def test_an_endless_loop_is_a_hang(checked, written) -> None:
    shader = written(
        """#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main()
{
    float sum = 0.0;
    while (sum < 2.0)
        sum = uv.x;
    color = vec4(sum);
}
""",
        "shader.frag",
    )
    report = checked(shader, "--step-limit", "100")
    assert _lines(report) == {(7, "hang")}


def test_helper_invocations_branch_on_undefined_results_of_atomics(checked, written) -> None:
    shader = written(
        """#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) buffer Count { uint count; uint list[]; };
void main()
{
    color = vec4(uv, dFdx(uv));
    uint slot = atomicAdd(count, 1u);
    if (slot < uint(list.length()))
        list[slot] = uint(gl_FragCoord.x);
}
""",
        "shader.frag",
    )
    assert checked(shader)["findings"] == []


def test_an_invalid_size_is_refused_by_the_function() -> None:
    with pytest.raises(InvalidInput, match="width and a height"):
        check(_RIGHT[0], size=(1, 2, 3))


def test_a_reproduction_folder_is_refused(checked, tmp_path: Path) -> None:
    report = checked(_RIGHT[0], "--repro", str(tmp_path / "repro"))
    assert report["code"] == 2
    assert "compute shaders only" in report["error"]


def test_sizes_without_a_quad_are_not_covered(checked) -> None:
    report = checked(_RIGHT[0], "--subgroup-size", "2,8")
    assert report["covered"]["sizes"] == [8]
    ((what, reason),) = report["covered"]["not_covered"]
    assert what == "size 2"
    assert "quads" in reason
    assert checked(_RIGHT[0], "--subgroup-size", "1,2")["code"] == 2


# SwiftShader compares the first component only (docs/results/index.md).
_ALL_EQUAL = """#version 450
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main()
{
    color = vec4(0.0, sin(uv), 1.0);
    if (!gl_HelperInvocation && subgroupBallotBitCount(subgroupBallot(true)) > 1u) {
        uvec2 value = uvec2(7u, uint(gl_FragCoord.y) * 64u + uint(gl_FragCoord.x));
        color.x = subgroupAllEqual(value) ? 0.001 : 0.0;
    }
}
"""


@pytest.mark.parametrize(
    "name",
    [
        "append_to_a_list",
        "average_of_the_quad",
        "count_without_helpers",
        "derivative_before_the_branch",
        "discard_after_the_texture",
        "early_out_by_a_vote",
    ],
)
def test_right_shaders_agree_with_real_devices(
    name: str, checked, swiftshader: CachedDriver, lavapipe: CachedDriver
) -> None:
    report = checked(_HERE / "right_fragments" / f"{name}.frag", devices=(swiftshader.name, lavapipe.name))
    assert report["findings"] == []
    assert len(report["covered"]["devices"]) == 2


def test_an_error_of_a_device_is_reported(
    checked, written, swiftshader: CachedDriver, lavapipe: CachedDriver
) -> None:
    report = checked(written(_ALL_EQUAL, "shader.frag"), devices=(swiftshader.name, lavapipe.name))
    (finding,) = report["findings"]
    assert finding["kind"] == "differs"
    assert len(finding["devices"]) == 1
    assert swiftshader.name in finding["devices"][0]
    assert finding["element"].startswith("color[")


def test_a_device_may_let_helper_invocations_take_part(checked, swiftshader: CachedDriver) -> None:
    report = checked(_HERE / "wrong_fragments" / "count_of_fragments.frag", devices=(swiftshader.name,))
    (finding,) = report["findings"]
    assert finding["devices"] == []

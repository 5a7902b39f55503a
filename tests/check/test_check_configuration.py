"""Configurations: ``--with`` and options agree, ``--save-with`` repeats a check, wrong files are refused."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import InvalidDispatch, InvalidInput
from vkgroup.check.configured import ConfiguredInputs
from vkgroup.cli.main import main
from vkgroup.compiler import compile_source
from vkgroup.configuration import read
from vkgroup.configuration.fields import FIELDS
from vkgroup.configuration.rules import RULES

_WRONG, _RIGHT = Path(__file__).parent / "wrong", Path(__file__).parent / "right"

SHADER = """#version 450
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint ADDED = 2;
layout(binding = 0) readonly buffer Source { float source[]; };
layout(binding = 1) writeonly buffer Target { float target[]; };
layout(binding = 2) buffer Mixed { uint count; float scale; vec3 corners[4]; ivec2 pairs[]; } mixed;
struct Particle { vec3 position; float mass; };
layout(binding = 3, std430) readonly buffer Particles { Particle particles[]; };
layout(binding = 4, r32f) uniform readonly image2D picture;
layout(push_constant) uniform Push { uint n; float factor; vec2 offset; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        target[i] = source[i] * factor + float(ADDED) + mixed.scale + float(mixed.pairs[i].x)
            + particles[i].position.y * particles[i].mass + imageLoad(picture, ivec2(i, 0)).x + offset.y;
}
"""


@pytest.fixture
def shader(written: Callable[..., Path]) -> Path:
    return written(SHADER)


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., Path]:
    """Write a configuration and return its file."""

    def write(data: Any, name: str = "with.json") -> Path:
        file = tmp_path / name
        file.write_text(data if isinstance(data, str) else json.dumps(data))
        return file

    return write


def arrays(code: str, folder: Path, seed: int = 0, **inputs: Any) -> dict[str, np.ndarray]:
    """Return the arrays that the inputs of a configuration give, by binding."""
    module = compile_source(code, stage="compute")
    given = ConfiguredInputs(module, inputs, "x.json", lambda name: folder / name, seed, lambda: 100)
    names = {(entry.set, entry.binding): entry.name for entry in module.reflection.bindings}
    return {names[place]: array for place, array in given.arrays().items()}  # type: ignore[index]


# --- what a configuration gives ---------------------------------------------------------------------------


def test_a_configuration_gives_what_the_options_give(checked, configured, tmp_path: Path) -> None:
    file = _WRONG / "butterfly_in_the_guard.comp"
    np.save(tmp_path / "x.npy", np.ones(512, np.uint32))
    options = ["--in", f"source={tmp_path / 'x.npy'}", "--push", "n=300", "--groups", "4", "--seed", "7"]
    options += ["-D", "A=1", "--lanes", "linear", "--step-limit", "500", "--no-size-control"]
    by_options = checked(file, *options, "--subgroup-size", "8,16")
    given = {
        **{"groups": 4, "seed": 7, "lanes": "linear", "step_limit": 500, "size_control": False},
        **{"subgroup_sizes": [8, 16], "defines": {"A": 1}, "push": {"n": 300}, "inputs": {"source": "x.npy"}},
    }
    by_file = checked(file, "--with", str(configured(given)))
    assert by_file["code"] == by_options["code"] == 1
    assert by_file["covered"] == by_options["covered"]
    for one, other in zip(by_file["findings"], by_options["findings"], strict=True):
        assert {**one, "command": ""} == {**other, "command": ""}


def test_the_command_of_a_finding_names_the_configuration(
    checked, configured, capsys: pytest.CaptureFixture[str]
) -> None:
    file = configured({"configurations": [{"name": "small", "groups": 1}, {"name": "large", "groups": 4}]})
    report = checked(
        _WRONG / "reversal_without_a_barrier.comp", "--with", str(file), "--configuration", "large"
    )
    (finding,) = report["findings"]
    words = shlex.split(finding["command"])
    assert words[3:7] == ["--with", str(file), "--configuration", "large"]
    assert main([*words[1:], "--json", "-"]) == 1
    again = json.loads(capsys.readouterr().out)
    assert again["findings"][0]["message"] == finding["message"]
    assert again["covered"]["groups"] == [4, 1, 1]


def test_the_command_has_defaults_that_replace_values_of_the_file(checked, configured) -> None:
    file = configured({"groups": 2, "seed": 3, "lanes": "linear", "step_limit": 50})
    options = ["--seed", "0", "--lanes", "any"]
    report = checked(_WRONG / "reversal_without_a_barrier.comp", "--with", str(file), *options)
    assert report["covered"]["assumed"] == []
    words = shlex.split(report["findings"][0]["command"])
    assert words[3:9] == ["--with", str(file), *options]


def test_options_replace_values_of_the_file(checked, shader: Path, configured) -> None:
    given = {
        **{"groups": 2, "seed": 3, "lanes": "linear", "push": {"n": 5, "factor": 2.0}},
        **{"specialization": {"ADDED": 7}, "defines": {"A": 1}, "inputs": {"source": {"fill": 1}}},
    }
    file = configured(given)
    options = ["--groups", "1", "--lanes", "any", "--push", "n=9", "--spec", "3=4", "--subgroup-size", "8"]
    covered = checked(shader, "--with", str(file), *options)["covered"]
    assert covered["groups"] == [1, 1, 1]
    assert covered["assumed"] == []
    assert {"push constant n = 9", "push constant factor = 2.0", "Source: given"} <= set(covered["inputs"])
    assert covered["specialization"][0]["value"] == 4


def test_the_shader_may_be_named_by_the_file(configured, shader: Path) -> None:
    file = configured({"shader": "shader.comp", "groups": 1, "subgroup_sizes": 8})
    assert main(["check", "--with", str(file), "--device", "none"]) == 0
    with pytest.raises(SystemExit):
        main(["check", "--device", "none"])


def test_toml_is_read(checked, shader: Path, configured) -> None:
    text = "groups = [2, 1]\nsubgroup_sizes = 16\n[push]\nn = 3\noffset = [0.5, 1.5]\n"
    text += "[inputs]\nsource = [1, 2]\n"
    covered = checked(shader, "--with", str(configured(text, "with.toml")))["covered"]
    assert covered["groups"] == [2, 1, 1]
    assert covered["sizes"] == [16]
    assert "push constant offset = [0.5, 1.5]" in covered["inputs"]


def test_relative_paths_belong_to_the_file(
    checked, configured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "amount.glsl").write_text("const uint AMOUNT = 3;\n")
    np.save(tmp_path / "parts" / "x.npy", np.arange(64, dtype=np.uint32))
    (tmp_path / "including.comp").write_text(
        "#version 450\n#extension GL_GOOGLE_include_directive : require\nlayout(local_size_x = 64) in;\n"
        '#include "amount.glsl"\nlayout(binding = 0) buffer Data { uint data[]; };\n'
        "void main() { data[gl_GlobalInvocationID.x] += AMOUNT; }\n"
    )
    file = configured({"groups": 1, "include": ["parts"], "inputs": {"data": {"from": "parts/x.npy"}}})
    monkeypatch.chdir("/")
    report = checked(tmp_path / "including.comp", "--with", str(file), "--subgroup-size", "32")
    assert report["code"] == 0, report["error"]
    assert report["covered"]["inputs"] == ["Data: given"]


def test_the_target_decides_what_compiles(checked, written, configured) -> None:
    shader = written(
        "#version 450\n#extension GL_KHR_shader_subgroup_basic : require\nlayout(local_size_x = 32) in;\n"
        "layout(binding = 0) buffer Data { uint data[]; };\n"
        "void main() { if (subgroupElect()) data[gl_GlobalInvocationID.x] = 1; }\n"
    )
    sizes = {"subgroup_sizes": [8], "outputs": ["data"]}
    assert checked(shader, "--with", str(configured({"target": "1.0", **sizes})))["code"] == 2
    assert checked(shader, "--with", str(configured({"target": "1.3", **sizes})))["code"] in (0, 1)


# --- several configurations -------------------------------------------------------------------------------


def test_each_configuration_has_a_heading_and_an_entry(
    configured, shader: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = _WRONG / "reversal_without_a_barrier.comp"
    entries = [{"name": "one", "push": {"n": 3}}, {"name": "two", "groups": 3}, {"shader": str(wrong)}]
    entries.append({"name": "missing", "shader": "no.comp"})
    common = {"shader": "shader.comp", "groups": 1, "subgroup_sizes": [8], "push": {"factor": 1.5}}
    file = configured({**common, "configurations": entries})
    # The last two have other push constants.
    entries[2]["push"] = {}
    report = tmp_path / "report.json"
    code = main(["check", "--with", str(file), "--device", "none", "--json", str(report)])
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if line.startswith("===")] == [
        *("=== one ===", "=== two ==="),
        *(f"=== {wrong} ===", "=== missing ==="),
    ]
    found = json.loads(report.read_text())["configurations"]
    assert [entry["name"] for entry in found] == ["one", "two", str(wrong), "missing"]
    assert [entry["outcome"] for entry in found] == ["clean", "clean", "error", "error"]
    assert [entry["exit_code"] for entry in found] == [0, 0, 2, 2]
    assert found[0]["report"]["covered"]["groups"] == [1, 1, 1]
    assert found[1]["report"]["covered"]["groups"] == [3, 1, 1]
    inputs = [set(entry["report"]["covered"]["inputs"]) for entry in found[:2]]
    assert {"push constant n = 3", "push constant factor = 1.5"} <= inputs[0]
    assert "push constant n = 3" not in inputs[1]
    assert code == 2


def test_findings_decide_the_exit_code_of_several(configured) -> None:
    wrong, right = _WRONG / "reversal_without_a_barrier.comp", _RIGHT / "wide_sums.comp"
    entries = [{"name": "bad", "shader": str(wrong)}, {"name": "good", "shader": str(right)}]
    file = configured({"subgroup_sizes": [8], "groups": 1, "configurations": entries})
    assert main(["check", "--with", str(file), "--device", "none"]) == 1
    assert main(["check", "--with", str(file), "--device", "none", "--configuration", "go*"]) == 0
    assert main(["check", "--with", str(file), "--device", "none", "--configuration", "other"]) == 2


# --- inputs -----------------------------------------------------------------------------------------------


def test_rules_make_arrays(tmp_path: Path) -> None:
    made = arrays(
        SHADER,
        tmp_path,
        source={"random": [-1, 1], "length": 4096},
        target={"zeros": 12},
        mixed={"count": 4, "scale": 0.5, "corners": {"fill": 2}, "pairs": {"indices_of": "source"}},
        picture={"fill": 0.25, "shape": [3, 5]},
    )
    source = made["Source"]
    assert (source.dtype, source.shape) == (np.float32, (4096,))
    assert -1 <= source.min() < -0.9
    assert 0.9 < source.max() < 1
    assert np.array_equal(made["Target"], np.zeros(12, np.float32))
    assert np.array_equal(made["picture"], np.full((3, 5), 0.25, np.float32))
    mixed = made["mixed"].view(np.uint8).reshape(-1)
    # std430: count, scale, padding, corners at 16 with 16 bytes each, pairs at 80.
    assert mixed[:4].view(np.uint32)[0] == 4
    assert mixed[4:8].view(np.float32)[0] == 0.5
    corners = mixed[16:80].view(np.float32).reshape(4, 4)
    assert np.array_equal(corners, [[2, 2, 2, 0]] * 4)
    pairs = mixed[80:].view(np.int32).reshape(-1, 2)
    assert pairs.shape == (100, 2)  # one element for each invocation
    assert pairs.min() >= 0
    assert 3000 < pairs.max() < 4096


def test_structures_are_given_by_element_or_by_member(tmp_path: Path) -> None:
    by_element = [{"position": [1, 2, 3], "mass": 4}, {"position": [5, 6, 7], "mass": 8}]
    by_member = {"position": [[1, 2, 3], [5, 6, 7]], "mass": [4, 8]}
    for value in (by_element, by_member, {"particles": by_member}):
        made = arrays(SHADER, tmp_path, particles=value)
        assert np.array_equal(made["Particles"].reshape(-1), np.arange(1, 9, dtype=np.float32))
    filled = arrays(SHADER, tmp_path, particles={"fill": 3, "length": 2})
    assert np.array_equal(filled["Particles"].reshape(-1), np.full(8, 3, np.float32))


def test_sequences_and_lists_have_the_type_of_the_binding(tmp_path: Path) -> None:
    source = "\n".join(
        [
            "#version 450\n#extension GL_EXT_shader_explicit_arithmetic_types : require",
            "layout(binding = 0) buffer A { uint8_t a[]; }; layout(binding = 1) buffer B { f16vec2 b[]; };",
            "layout(binding = 2) buffer C { int64_t c[4]; }; layout(binding = 3) uniform D { float d; };",
            "void main() { a[0] = uint8_t(b[0].x) + uint8_t(c[0]) + uint8_t(d); }",
        ]
    )
    made = arrays(source, tmp_path, a={"arange": [10, 0, -5]}, b={"arange": 6}, c=[1, 2, 3, 1 << 40], d=1.5)
    assert np.array_equal(made["A"], np.array([10, 5], np.uint8))
    assert made["B"].dtype == np.float16
    assert np.array_equal(made["B"], [[0, 1], [2, 3], [4, 5]])
    assert made["C"].tolist() == [1, 2, 3, 1 << 40]
    assert made["D"].tolist() == 1.5
    for wrong in (
        {"a": [256]},
        {"a": [0.5]},
        {"b": {"arange": 3}},
        {"c": [1, 2]},
        {"c": {"fill": 1, "length": 5}},
    ):
        with pytest.raises(InvalidInput, match=r"^x\.json, inputs"):
            arrays(source, tmp_path, **wrong)


def test_random_numbers_depend_on_the_seed_and_the_name_only(tmp_path: Path) -> None:
    rule = {"random": [0, 9], "length": 50}
    first = arrays(SHADER, tmp_path, source=rule)["Source"]
    again = arrays(SHADER, tmp_path, target=rule, source=rule)
    assert np.array_equal(again["Source"], first)
    assert not np.array_equal(again["Target"], first)
    assert not np.array_equal(arrays(SHADER, tmp_path, seed=1, source=rule)["Source"], first)


def test_random_integers_include_both_ends(tmp_path: Path) -> None:
    source = "#version 450\nlayout(binding = 0) buffer A { uint a[]; }; void main() { a[0] = 1; }"
    made = arrays(source, tmp_path, a={"random": [0, 1], "length": 100})["A"]
    assert made.dtype == np.uint32
    assert set(made.tolist()) == {0, 1}


def test_indices_may_be_of_their_own_buffer(tmp_path: Path) -> None:
    source = "#version 450\nlayout(binding = 0) buffer A { uint next[]; }; void main() { next[0] = 1; }"
    made = arrays(source, tmp_path, next={"indices_of": "next", "length": 30})["A"]
    assert len(made) == 30
    assert made.max() < 30


# --- saving -----------------------------------------------------------------------------------------------


def saved(
    checked, shader: Path, tmp_path: Path, *options: str
) -> tuple[dict[str, Any], dict[str, Any], Path]:
    """Check a shader, save the configuration, and check again with it; return both reports and the file."""
    file = tmp_path / "saved" / "with.json"
    file.parent.mkdir(exist_ok=True)
    first = checked(shader, *options, "--save-with", str(file))
    again = checked(shader, "--with", str(file))
    return first, again, file


def same(first: dict[str, Any], again: dict[str, Any]) -> None:
    for report in (first, again):
        for finding in report["findings"]:
            finding["command"] = ""
    assert again["findings"] == first["findings"]
    assert again["covered"] == first["covered"]
    assert again["code"] == first["code"]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--groups", "2", "--seed", "5", "--push", "n=9", "--spec", "ADDED=4", "--subgroup-size", "8,32"),
        ("--lanes", "linear", "--out", "target", "-D", "A=1", "-D", "B=x", "--step-limit", "77"),
        ("--full-subgroups", "--no-size-control", "--spec", "9=1"),
    ],
)
def test_a_saved_configuration_repeats_the_check(
    options: tuple[str, ...], checked, shader: Path, tmp_path: Path
) -> None:
    first, again, file = saved(checked, shader, tmp_path, *options)
    same(first, again)
    data = json.loads(file.read_text())
    assert data["shader"] == "../shader.comp"
    assert set(data["inputs"]) >= {"Source", "mixed", "Particles", "picture"}
    assert ("Target" in data["inputs"]) == ("--out" not in options)
    assert {"inputs.Source", "push.offset"} <= set(data["generated"])
    assert ("specialization.ADDED" in data["generated"]) == ("ADDED=4" not in options)


@pytest.mark.parametrize(
    "name",
    ["total_from_lane_thirty_one", "more_partials_than_lanes", "butterfly_in_the_guard",
     "reversal_without_a_barrier"],
)  # fmt: skip
def test_findings_are_repeated_by_a_saved_configuration(name: str, checked, tmp_path: Path) -> None:
    first, again, _ = saved(checked, _WRONG / f"{name}.comp", tmp_path)
    assert first["findings"]
    same(first, again)


def test_arrays_are_saved_as_rules_lists_or_files(checked, shader: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "arange.npy", np.arange(5, 261, dtype=np.float32))
    np.save(tmp_path / "short.npy", np.array([0.1, 0.7, 3], np.float32))
    given = ["--in", f"source={tmp_path / 'arange.npy'}", "--in", f"target={tmp_path / 'short.npy'}"]
    *_, file = saved(checked, shader, tmp_path, *given, "--push", "n=2", "--groups", "1")
    data = json.loads(file.read_text())
    assert data["inputs"]["Source"] == {"arange": [5, 261, 1]}
    assert data["inputs"]["Target"] == [0.1, 0.7, 3.0]
    assert data["inputs"]["mixed"]["pairs"] == "with-mixed.pairs.npy"
    assert len(np.load(file.with_name("with-mixed.pairs.npy"))) == 64
    assert not {"inputs.Source", "inputs.Target", "push.n"} & set(data["generated"])
    assert data["push"]["n"] == 2
    assert data["specialization"] == {"ADDED": 2}


def test_only_values_that_were_edited_are_given(checked, shader: Path, tmp_path: Path) -> None:
    *_, file = saved(checked, shader, tmp_path, "--groups", "2", "--subgroup-size", "8")
    data = json.loads(file.read_text())
    data["inputs"]["Target"] = {"zeros": 128}
    data["push"]["factor"] = 3.0
    data["specialization"]["ADDED"] = 9
    file.write_text(json.dumps(data))
    covered = checked(shader, "--with", str(file))["covered"]
    assert {"Target: given", "push constant factor = 3.0", "Source: source[] random"} <= set(
        covered["inputs"]
    )
    assert covered["specialization"][0]["value"] == 9
    # An edited .npy file is given, too.
    np.save(file.with_name("with-Source.npy"), np.ones(128, np.float32))
    assert "Source: given" in checked(shader, "--with", str(file))["covered"]["inputs"]


def test_run_uses_the_generated_values(checked, written, tmp_path: Path) -> None:
    shader = written(
        "#version 450\nlayout(local_size_x = 32) in;\nlayout(push_constant) uniform Push { uint n; };\n"
        "layout(binding = 0) buffer Data { uint data[]; };\n"
        "void main() { if (gl_GlobalInvocationID.x < n) data[gl_GlobalInvocationID.x] += 1; }\n"
    )
    *_, file = saved(checked, shader, tmp_path)
    before = np.load(file.with_name("with-Data.npy"))
    words = ["--device", "reference", "--out", f"data={tmp_path / 'data.npy'}"]
    assert main(["run", "--with", str(file), *words]) == 0
    n = json.loads(file.read_text())["push"]["n"]
    assert np.array_equal(np.load(tmp_path / "data.npy"), before + (np.arange(len(before)) < n))


def test_descriptor_arrays_are_saved(checked, written, tmp_path: Path) -> None:
    shader = written(
        "#version 450\nlayout(local_size_x = 32) in;\n"
        "layout(binding = 0, r32f) uniform readonly image2D pictures[3];\n"
        "layout(binding = 1) buffer Sums { float sums[]; };\n"
        "void main() { uint i = gl_GlobalInvocationID.x; sums[i] = imageLoad(pictures[0], ivec2(i, 0)).x\n"
        "    + imageLoad(pictures[2], ivec2(i, 0)).x; }\n"
    )
    first, again, file = saved(checked, shader, tmp_path)
    same(first, again)
    assert len(json.loads(file.read_text())["inputs"]["pictures"]["each"]) == 3


def test_configurations_are_saved_together(checked, configured, shader: Path, tmp_path: Path) -> None:
    entries = [{"name": "one", "groups": 1}, {"name": "two", "groups": 2}]
    file = configured({"shader": "shader.comp", "subgroup_sizes": [8], "configurations": entries})
    copy = tmp_path / "copy.json"
    assert main(["check", "--with", str(file), "--device", "none", "--save-with", str(copy)]) == 0
    found = json.loads(copy.read_text())["configurations"]
    assert [(entry["name"], entry["groups"]) for entry in found] == [("one", [1, 1, 1]), ("two", [2, 1, 1])]
    assert found[0]["inputs"]["Source"] != found[1]["inputs"]["Source"]
    assert main(["check", "--with", str(copy), "--device", "none"]) == 0


def test_a_reproduction_folder_has_the_inputs_of_the_configuration(
    checked, configured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = configured(
        {"groups": 2, "push": {"n": 100}, "inputs": {"source": {"random": [0, 9], "length": 128}}}
    )
    folder = tmp_path / "repro"
    shader = _WRONG / "butterfly_in_the_guard.comp"
    report = checked(shader, "--with", str(file), "--repro", str(folder))
    assert report["code"] == 1
    assert json.loads((folder / "repro.json").read_text())["push"] == {"n": 100}
    assert main(["run", str(folder), "--device", "reference"]) == 1
    assert report["findings"][0]["message"] in capsys.readouterr().out


# --- run --------------------------------------------------------------------------------------------------


def test_run_takes_the_same_file(checked, shader: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "source.npy", np.arange(128, dtype=np.float32))
    given = ["--in", f"source={tmp_path / 'source.npy'}", "--push", "n=100", "--push", "factor=2"]
    *_, file = saved(checked, shader, tmp_path, *given, "--groups", "2", "--out", "target")
    options = ["--device", "reference", "--out", f"target={tmp_path / 'target.npy'}"]
    assert main(["run", "--with", str(file), *options]) == 0
    first = np.load(tmp_path / "target.npy")
    assert first.shape == (128,)
    assert (first[:100] >= 2 * np.arange(100)).all()
    assert not first[100:].any()
    assert main(["run", str(shader), "--with", str(file), *options, "--push", "n=10", "--groups", "1"]) == 0
    assert np.array_equal(np.load(tmp_path / "target.npy"), np.where(np.arange(64) < 10, first[:64], 0))


def test_run_requires_the_only_subgroup_size(configured, written, tmp_path: Path) -> None:
    written(
        "#version 450\n#extension GL_KHR_shader_subgroup_basic : require\nlayout(local_size_x = 32) in;\n"
        "layout(binding = 0) buffer Data { uint size; }; void main() { size = gl_SubgroupSize; }\n"
    )
    given = {"shader": "shader.comp", "groups": 1, "subgroup_sizes": 16, "outputs": ["size"]}
    out = tmp_path / "out.npy"
    words = ["--device", "reference", "--out", f"size={out}"]
    assert main(["run", "--with", str(configured(given)), *words]) == 0
    assert np.load(out) == 16
    assert main(["run", "--with", str(configured({**given, "subgroup_sizes": [8, 16]})), *words]) == 0
    assert np.load(out) == 32
    assert main(["run", "--with", str(configured(given)), *words, "--subgroup-size", "8"]) == 0
    assert np.load(out) == 8


def test_run_needs_one_configuration(configured, shader: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = configured({"shader": "shader.comp", "configurations": [{"name": "a"}, {"name": "b"}]})
    assert main(["run", "--with", str(file)]) == 2
    assert "choose one of them with --configuration NAME. There are: a, b." in capsys.readouterr().err


def test_a_shader_takes_its_own_configurations(configured, shader: Path, tmp_path: Path) -> None:
    entries = [{"name": "a", "shader": shader.name}, {"name": "b"}, {"name": "c", "shader": "c.comp"}]
    file = configured({"configurations": entries})
    words = ["check", str(shader), "--with", str(file), "--device", "none", "--json", str(tmp_path / "x")]
    assert main(words) == 0
    assert [entry["name"] for entry in json.loads((tmp_path / "x").read_text())["configurations"]] == [
        "a",
        "b",
    ]
    configured({"configurations": [entries[2], {**entries[2], "name": "d"}]})
    assert main(words) == 2
    assert main([*words, "--configuration", "c"]) == 0


def test_a_shader_is_relative_to_the_file_or_else_to_the_folder(configured, tmp_path: Path, capsys) -> None:
    (tmp_path / "inner").mkdir()
    file = configured({"configurations": [{"shader": "a.comp"}, {"shader": "b.comp"}]})
    for place in ("a.comp", "inner/a.comp", "inner/b.comp"):
        (tmp_path / place).write_text("void main() {}")
    words = ["--with", str(file), "--device", "none", "--json", str(tmp_path / "x")]
    main(["check", str(tmp_path / "inner"), *words])
    shaders = [entry["shader"] for entry in json.loads((tmp_path / "x").read_text())["configurations"]]
    assert shaders == [str(tmp_path / "a.comp"), str(tmp_path / "inner/b.comp")]
    capsys.readouterr()
    assert main(["check", *words, "--configuration", "b.comp"]) == 2
    assert f"{tmp_path} has no b.comp. Did you mean" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "compile", "equal", "cost"])
def test_a_shader_that_does_not_exist_is_named(command: str, shader: Path, capsys) -> None:
    for name in (shader.parent / "shadr.comp", shader.parent / "shadr"):
        assert main([command, str(name)]) == 2
        error = capsys.readouterr().err
        assert f"{name} cannot be read: No such file or directory" in error
        assert repr(str(shader)) in error


# --- files that are wrong ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"grops": [1]}, "with.json: unknown field 'grops'. Did you mean 'groups'?"),
        ({"groups": ["a"]}, "with.json: groups[0]: expected an integer, not text."),
        ({"groups": [0]}, "with.json: groups: expected one to three positive integers, not [0]."),
        ({"subgroup_sizes": [33]}, "with.json: subgroup_sizes: 33 is not a power of two from 1 to 128."),
        ({"lanes": "liner"}, "with.json: lanes: 'liner' is not one of any, linear. Did you mean 'linear'?"),
        ({"stage": "comput"}, "with.json: stage: 'comput' is not one of vertex, vert, "),
        ({"push": [1]}, "with.json: push: expected an object, not a list."),
        ("{", "with.json is not valid JSON: "),
        ('{"seed": 1, "seed": 2}', "with.json is not valid JSON: 'seed' is given twice in one object."),
        ({"configurations": []}, "with.json: configurations: the list is empty."),
        (
            {"configurations": [{"name": "a", "inptus": {}}]},
            "with.json, configuration 'a': unknown field 'inptus'. Did you mean 'inputs'?",
        ),
        ({"configurations": [{"name": "a"}] * 2}, "with.json: 2 configurations have the name 'a'."),
        (
            {"inputs": {"sorce": [1]}},
            "with.json, inputs: the shader has no binding 'sorce'. Did you mean 'source'?"
            " There are: Source, Target, mixed, Particles, picture.",
        ),
        (
            {"inputs": {"source": "with.json"}},
            "with.json cannot be read as an .npy file: it does not begin like one.",
        ),
        (
            {"inputs": {"source": {"zeros": 0}}},
            "with.json, inputs.source: 'zeros' takes an integer from 1 to 268435456, not 0.",
        ),
        (
            {"inputs": {"source": {"zeros": 1, "shape": [1]}}},
            "with.json, inputs.source: 'zeros' gives the length itself; leave out 'shape'.",
        ),
        (
            {"inputs": {"picture": {"fill": 1, "shape": [100000, 100000]}}},
            "with.json, inputs.picture: 'shape' takes a list of positive integers with a product of at most"
            " 268435456, not [100000, 100000].",
        ),
        ({"inputs": {"source": "no.npy"}}, "no.npy cannot be read: No such file or directory."),
        (
            {"inputs": {"source": {"random": [0, 1], "lenght": 3}}},
            "with.json, inputs.source: a rule has no field 'lenght'. Did you mean 'length'?",
        ),
        (
            {"inputs": {"source": {"indices_of": "target"}}},
            "with.json, inputs.source: 'indices_of' needs integers; the binding has float32.",
        ),
        (
            {"inputs": {"mixed": [1]}},
            "with.json, inputs.mixed: give an object with a value for each of count, scale, corners, pairs.",
        ),
        ({"inputs": {"picture": {"fill": 1}}}, "or a rule with 'shape'."),
        (
            {"push": {"nn": 1}},
            "with.json, push: the shader has no push constant 'nn'. Did you mean 'n'?"
            " There are: n, factor, offset.",
        ),
        ({"push": {"n": -1}}, "with.json, push.n: -1 is not a number of type uint32."),
        (
            {"specialization": {"ADED": 1}},
            "with.json, specialization: The module has no specialization constant 'ADED'.",
        ),
        (
            {"generated": {"input.Source": ""}},
            "'input.Source' does not begin with inputs, push, specialization.",
        ),
        ({"include": ["nodir"]}, "with.json, include: there is no folder "),
        ({"outputs": ["targt"]}, "with.json, outputs: the shader has no binding 'targt'."),
    ],
)
def test_a_wrong_file_gives_one_sentence(
    data: Any, message: str, configured, shader: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = configured(data)
    assert main(["check", str(shader), "--with", str(file), "--device", "none"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith(f"vkgroup: {file}")
    assert error.count("\n") == 1


@pytest.mark.parametrize("option", ["--push", "--spec"])
def test_a_value_is_given_once(option: str, shader: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`run` refuses this too; the last value is not silently used."""
    assert main(["check", str(shader), "--device", "none", option, "n=1", option, "n=2"]) == 2
    assert f"{option} n=2: n is given twice; give one value for each name." in capsys.readouterr().err


def test_a_byte_order_mark_is_ignored(checked, shader: Path, tmp_path: Path) -> None:
    """Editors on Windows write one."""
    file = tmp_path / "with.json"
    file.write_bytes(b'\xef\xbb\xbf{"groups": 2}')
    assert checked(shader, "--with", str(file))["code"] == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.toml", "give a name that ends in .json"),
        ("shader.comp", "would replace"),
        ("no/x.json", "cannot be written: there is no folder"),
        (".", "cannot be written: it is a folder"),
    ],
)
def test_files_that_cannot_be_written_are_refused_first(
    name: str, message: str, shader: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(shader), "--device", "none", "--save-with", str(tmp_path / name)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out


# --- a run of Python --------------------------------------------------------------------------------------


def test_a_run_exports_its_configuration(shader: Path, tmp_path: Path) -> None:
    particles = np.random.default_rng(0).random(128 * 4, np.float32)
    bindings = {
        "source": np.arange(128, dtype=np.float32),
        "target": np.zeros(128, np.float32),
        "mixed": np.zeros(80 + 128 * 8, np.uint8),
        (0, 3): particles,
        4: np.full((1, 128), 2, np.float32),
    }
    push = {"n": 100, "factor": 2.5, "offset": [1, 3]}
    with vkgroup.open("reference") as device:
        for number, given in enumerate((shader, compile_source(SHADER, stage="compute"), SHADER)):
            result = device.run(given, (2,), bindings, push=push, specialization={"ADDED": 7})
            file = tmp_path / f"run{number}.json"
            result.configuration.save(file)
            data = json.loads(file.read_text())
            assert data["shader"] == ("shader.comp", "run1.spv", "run2.comp")[number]
            assert data["groups"] == [2]
            assert data["push"] == {"n": 100, "factor": 2.5, "offset": [1.0, 3.0]}
            assert data["inputs"]["source"] == {"arange": 128}
            assert data["inputs"]["target"] == {"fill": 0.0, "length": 128}
            assert data["inputs"]["4"] == {"fill": 2.0, "shape": [1, 128]}
            out = tmp_path / "target.npy"
            words = ["--device", "reference", "--out", f"target={out}"]
            assert main(["run", "--with", str(file), *words]) == 0
            assert np.array_equal(np.load(out), result["target"])
    assert main(["check", "--with", str(file), "--device", "none"]) == 0


def test_only_results_of_device_run_have_a_configuration() -> None:
    with pytest.raises(InvalidDispatch, match=r"result of Device\.run"):
        _ = vkgroup.RunResult({}, {}, None).configuration


def test_a_result_of_submit_refuses_its_configuration() -> None:
    """The host may change the arrays after `Device.submit`, so they cannot be saved later."""
    source = (
        "#version 450\nlayout(local_size_x = 4) in;\nlayout(binding = 0) buffer B { uint b[]; };\n"
        "void main() { b[gl_GlobalInvocationID.x] = 1u; }\n"
    )
    with vkgroup.open("reference") as device:
        module = compile_source(source, stage="compute")
        pending = device.submit(module, groups=1, bindings={"B": np.zeros(4, np.uint32)})
        with pytest.raises(InvalidDispatch):
            _ = pending.result().configuration


# --- the documentation ------------------------------------------------------------------------------------


def test_the_page_has_every_field_and_valid_examples(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/shaders/configuration.md").read_text()
    for name in FIELDS:
        assert f"`{name}`" in text, name
    for rule in RULES:
        assert f'{{"{rule}": ' in text, rule
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    for number, block in enumerate(blocks):
        file = tmp_path / f"{number}.json"
        file.write_text(block)
        assert len(read(file)) == 1 + number


def test_a_pipe_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reading a FIFO would wait for a writer."""
    pipe = tmp_path / "x.json"
    os.mkfifo(pipe)
    assert main(["check", "x.comp", "--with", str(pipe)]) == 2
    assert "x.json cannot be read: it is a pipe; give a regular file" in capsys.readouterr().err

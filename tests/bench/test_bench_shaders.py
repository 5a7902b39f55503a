"""``vkgroup bench`` with shaders and definitions of a user."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from vkgroup.cli.main import main

SUBGROUP = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { TYPE value[]; };
layout(binding = 1) writeonly buffer B { TYPE sum[]; };
shared TYPE part[64];
void main() {
    TYPE mine = subgroupAdd(value[gl_GlobalInvocationID.x]);
    if (subgroupElect())
        part[gl_SubgroupID] = mine;
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        TYPE all = TYPE(0);
        for (uint k = 0u; k < gl_NumSubgroups; ++k)
            all += part[k];
        sum[gl_WorkGroupID.x] = all;
    }
}
"""
SHARED = """#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { TYPE value[]; };
layout(binding = 1) writeonly buffer B { TYPE sum[]; };
shared TYPE part[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    part[t] = value[gl_GlobalInvocationID.x];
    barrier();
    for (uint half_size = 32u; half_size > 0u; half_size /= 2u) {
        if (t < half_size)
            part[t] += part[t + half_size];
        barrier();
    }
    if (t == 0u)
        sum[gl_WorkGroupID.x] = part[0];
}
"""
IN_PLACE = """#version 460
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { TYPE value[]; };
void main() { value[gl_GlobalInvocationID.x] FACTOR; }
"""

Write = Callable[..., None]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write two shaders and their configuration to the folder of the test."""
    monkeypatch.chdir(tmp_path)

    def write(first: str, second: str, kind: str = "uint", **fields: object) -> None:
        given = {"groups": 4, "inputs": {"value": {"random": [0, 1000], "length": 256}}, **fields}
        (tmp_path / "with.json").write_text(json.dumps(given))
        for name, text in (("a.comp", first), ("b.comp", second)):
            (tmp_path / name).write_text(text.replace("TYPE", kind))

    return write


def _bench(*words: str) -> int:
    return main(["bench", "a.comp", "--against", "b.comp", "--with", "with.json", *words])


@pytest.mark.usefixtures("swiftshader")
class TestShaders:
    """Two shaders on SwiftShader."""

    def test_two_shaders_are_timed_with_the_same_inputs(
        self, written: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written(SUBGROUP, SHARED, outputs=["sum"])
        assert _bench("--device", "swiftshader", "--seconds", "0.1", "--json", "x.json") == 0
        assert "Outputs: the same bits." in capsys.readouterr().out
        data = json.loads(Path("x.json").read_text())["benchmarks"]
        for name in ("a.comp", "b.comp"):
            medians = [row for row in data if row["name"] == f"a.comp/256/{name}_median"]
            assert [row["real_time"] > 0 for row in medians] == [True]

    def test_floats_may_differ_by_rounding(self, written: Write, capsys: pytest.CaptureFixture[str]) -> None:
        written(SUBGROUP, SHARED, "float", outputs=["sum"])
        assert _bench("--device", "swiftshader", "--smoke") == 0
        assert "equal on the reference device" in capsys.readouterr().out

    def test_shaders_with_other_results_are_not_timed(
        self, written: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written(SUBGROUP, SHARED.replace("+= part", "+= 1u + part"), outputs=["sum"])
        assert _bench("--device", "swiftshader") == 1
        shown = capsys.readouterr().out
        assert "differs: sum[0] is " in shown
        assert "sum[gl_WorkGroupID.x] = all;" in shown
        assert "Not timed" in shown

    def test_a_shader_that_changes_its_inputs_gets_them_again(
        self, written: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written(
            IN_PLACE.replace("FACTOR", "*= 3u"),
            IN_PLACE.replace("FACTOR", "+= 2u * value[gl_GlobalInvocationID.x]"),
        )
        # Results are verified again after the timed rounds.
        assert _bench("--device", "swiftshader", "--seconds", "0.1") == 0
        shown = capsys.readouterr().out
        assert "A run changes its inputs" in shown
        assert "WRONG" not in shown

    def test_an_error_of_the_driver_is_not_timed(
        self, written: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        head = """#version 460
#extension GL_KHR_shader_subgroup_vote : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint value[]; };
layout(binding = 1) writeonly buffer B { uint equal[]; };
"""
        body = "void main() { uint i = gl_GlobalInvocationID.x; equal[i] = uint(subgroupAllEqual(VALUE)); }"
        shaders = [head + body.replace("VALUE", text) for text in ("uvec2(7u, value[i])", "value[i]")]
        zeros = {"B": {"zeros": 256}}
        written(*shaders, inputs={"A": {"arange": 256}, **zeros})
        # SwiftShader compares only the first components (docs/results/swiftshader.md).
        assert _bench("--device", "swiftshader") == 1
        shown = capsys.readouterr().out
        assert "although the reference device gives equal outputs" in shown
        assert "Not timed" in shown

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"inputs": {}}, "a.comp: A has no value; give it in inputs"),
            ({"groups": None}, "number of workgroups"),
        ],
    )
    def test_what_is_missing_is_named(
        self, fields: dict[str, object], message: str, written: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written(SUBGROUP, SHARED, outputs=["sum"], **fields)
        assert _bench("--device", "swiftshader") == 2
        assert message in capsys.readouterr().err

    def test_outputs_without_a_verdict_have_one_message(
        self, written: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        undefined = IN_PLACE.replace("FACTOR", "= unset").replace("main() {", "main() { uint unset;")
        written(IN_PLACE.replace("FACTOR", "= 5u"), undefined)
        assert _bench("--device", "reference:32") == 1
        assert [line[:19] for line in capsys.readouterr().out.splitlines()] == ["b.comp: not timed: "]

    def test_an_error_names_the_shader(self, written: Write, capsys: pytest.CaptureFixture[str]) -> None:
        written(SUBGROUP, SHARED.replace("sum[", "total["), outputs=["sum"])
        assert _bench("--device", "reference:32") == 2
        assert capsys.readouterr().err.startswith("vkgroup: b.comp: with.json, ")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--size", "64"), "--size: not for shaders of your own"),
            (("--against", "b.comp"), "b.comp is named twice"),
            (("--against", "absent.comp"), "absent.comp cannot be read"),
            (("--configuration", "x"), "with.json has no configuration 'x'"),
        ],
    )
    def test_wrong_use(
        self, words: tuple[str, ...], message: str, written: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written(SUBGROUP, SHARED, outputs=["sum"])
        assert _bench("--device", "swiftshader", *words) == 2
        assert message in capsys.readouterr().err

    def test_definitions_of_a_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        page = (Path(__file__).parents[2] / "docs/benchmarks/definitions.md").read_text()
        code = page.partition("```python\n")[2].partition("```")[0]
        file = tmp_path / "mine.py"
        file.write_text(code.replace("reduce.sum", "mine.total"))
        words = [
            "bench",
            "--definitions",
            str(file),
            "mine.total.uint32",
            "--device",
            "swiftshader",
            "--smoke",
        ]
        assert main(words) == 0
        assert "mine.total.uint32" in capsys.readouterr().out
        file.write_text("import nothing_like_this")
        assert main(words) == 2
        assert f"{file} cannot be loaded" in capsys.readouterr().err


def test_a_configuration_is_only_for_shaders(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "reduce", "--with", "x.json"]) == 2
    assert "only with --against" in capsys.readouterr().err

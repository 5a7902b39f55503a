"""``vkgroup cost`` on compile-only devices: quantities, sizes, comparison, baselines, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gpu_process import run_code

from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver

_SUBGROUP = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 128) in;
layout(binding = 0) buffer Data { uint data[]; };
layout(constant_id = 0) const uint ROUNDS = 1u;
void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint sum = subgroupAdd(data[i]);
    for (uint round = 0u; round < ROUNDS; ++round)
        sum = subgroupShuffle(sum, gl_SubgroupInvocationID ^ 1u) * 3u + data[i + round];
    data[i] = sum;
    data[i + 1u] = subgroupBallotBitCount(subgroupBallot(sum > 7u));
}
"""

_SHARED = """#version 450
layout(local_size_x = 128) in;
layout(binding = 0) buffer Data { uint data[]; };
shared uint sums[128];
void main()
{
    uint i = gl_LocalInvocationIndex;
    sums[i] = data[gl_GlobalInvocationID.x];
    for (uint step = 64u; step > 0u; step >>= 1u)
    {
        barrier();
        if (i < step)
            sums[i] += sums[i + step];
    }
    barrier();
    data[gl_GlobalInvocationID.x] = sums[0];
}
"""

GPU = "turnip:740"


@pytest.fixture
def shaders(tmp_path: Path, turnip: CachedDriver) -> Path:
    """Return a folder with a shader of subgroup operations and one of shared memory."""
    (tmp_path / "subgroup.comp").write_text(_SUBGROUP)
    (tmp_path / "shared.comp").write_text(_SHARED)
    return tmp_path


def cost(folder: Path, *arguments: str, code: int = 0) -> Any:
    """Return the JSON data of a command."""
    file = folder / "cost.json"
    assert main(["cost", *arguments, "--json", str(file)]) == code
    return json.loads(file.read_text())


def test_every_allowed_size_has_its_cost(shaders: Path, turnip: CachedDriver) -> None:
    (found,) = cost(shaders, str(shaders / "subgroup.comp"), "--device", f"{GPU},turnip:830")
    costs = {(entry["device"], entry["subgroup_size"]): entry for entry in found["costs"]}
    assert set(costs) == {(f"{turnip.name}:740", 64), (f"{turnip.name}:740", 128), (f"{turnip.name}:830", 64)}
    for entry in costs.values():
        assert entry["status"] == "Compiled"
        assert {"vector_registers", "instructions", "code_size", "waves"} <= set(entry["quantities"])
        statistics = entry["statistics"]
        # The driver counts dwords.
        assert entry["quantities"]["code_size"] == 4 * statistics["Code size"]
        assert entry["quantities"]["instructions"] == statistics["Instruction Count"] > 10
    small, large = costs[f"{turnip.name}:740", 64], costs[f"{turnip.name}:740", 128]
    # A ballot of 128 lanes has more words.
    assert small["quantities"]["instructions"] < large["quantities"]["instructions"]


def test_shared_memory_is_the_shader_s(shaders: Path) -> None:
    (found,) = cost(shaders, str(shaders / "shared.comp"), "--device", GPU, "--subgroup-size", "64")
    (entry,) = found["costs"]
    assert entry["quantities"]["shared_memory"] == 512
    (found,) = cost(shaders, str(shaders / "subgroup.comp"), "--device", GPU, "--subgroup-size", "64")
    assert found["costs"][0]["quantities"]["shared_memory"] == 0


def test_specialization_constants_change_the_code(shaders: Path) -> None:
    sizes = []
    for rounds in (1, 8):
        (found,) = cost(
            shaders, str(shaders / "subgroup.comp"), "--device", GPU, "--subgroup-size", "64",
            "--spec", f"ROUNDS={rounds}",
        )  # fmt: skip
        sizes.append(found["costs"][0]["quantities"]["code_size"])
    assert sizes[0] != sizes[1]


def test_two_shaders_are_compared_side_by_side(shaders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = [str(shaders / "subgroup.comp"), "--against", str(shaders / "shared.comp"), "--wide"]
    (found,) = cost(shaders, *both, "--device", GPU, "--subgroup-size", "64")
    before, after = found["costs"][0]["quantities"], found["against_costs"][0]["quantities"]
    out = capsys.readouterr().out
    assert f"{before['instructions']:g} → {after['instructions']:g}" in out
    assert "0 → 512" in out


def test_a_regression_against_a_baseline_exits_with_1(
    shaders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shader = shaders / "subgroup.comp"
    options = [str(shader), "--device", GPU, "--subgroup-size", "64"]
    baseline = shaders / "baseline.json"
    assert main(["cost", *options, "--json", str(baseline)]) == 0
    options += ["--baseline", str(baseline)]
    assert main(["cost", *options]) == 0
    assert "No cost is worse" in capsys.readouterr().out
    shader.write_text(_SUBGROUP.replace("data[i] = sum;", "data[i] = sum / max(data[i + 9u], 1u);"))
    assert main(["cost", *options]) == 1
    assert "Regression: " in capsys.readouterr().out
    assert main(["cost", *options, "--threshold", "900"]) == 0


@pytest.mark.parametrize(("bisect", "code"), [((), 2), (("--bisect",), 125)])
def test_a_device_or_size_that_the_baseline_lacks_is_an_error(
    shaders: Path, bisect: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = shaders / "baseline.json"
    command = ["cost", str(shaders / "subgroup.comp"), *bisect]
    assert main([*command, "--device", GPU, "--subgroup-size", "64", "--json", str(baseline)]) == 0
    for others in (["--device", "turnip:830"], ["--device", GPU, "--subgroup-size", "64,128"]):
        assert main([*command, *others, "--baseline", str(baseline)]) == code
        assert "not compared" in capsys.readouterr().err
    # A regression is a verdict, even if other sizes were not compared.
    data = json.loads(baseline.read_text())
    data[0]["costs"][0]["quantities"]["instructions"] = 1.0
    baseline.write_text(json.dumps(data))
    assert main([*command, "--device", GPU, "--baseline", str(baseline)]) == 1


def test_builds_of_a_driver_are_compared_by_the_gpu(shaders: Path, turnip: CachedDriver) -> None:
    baseline = shaders / "baseline.json"
    command = ["cost", str(shaders / "subgroup.comp")]
    build = f"{GPU}@{turnip.icd}"
    assert main([*command, "--device", build, "--json", str(baseline)]) == 0
    assert main([*command, "--device", GPU, "--baseline", str(baseline)]) == 0


def test_a_size_that_the_device_lacks_is_no_verdict(shaders: Path) -> None:
    (found,) = cost(shaders, str(shaders / "subgroup.comp"), "--device", GPU, "--subgroup-size", "16", code=3)
    (entry,) = found["costs"]
    assert entry["status"] == "NotSupported"
    assert "16" in entry["detail"]


def test_sizes_with_one_failure_are_one_line(shaders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(shaders / "shared.comp"), "--device", "reference"]) == 3
    assert capsys.readouterr().out.count("VK_KHR_pipeline_executable_properties") == 1


def test_the_file_of_a_build_is_printed_once(
    shaders: Path, turnip: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    build = f"@{turnip.icd}"
    options = [str(shaders / "shared.comp"), "--subgroup-size", "64", "--device"]
    assert main(["cost", *options, f"turnip:740{build},turnip:830{build}"]) == 0
    first = capsys.readouterr().out
    assert main(["cost", *options, f"turnip:740{build},turnip:740"]) == 0
    second = capsys.readouterr().out
    assert [text.count(str(turnip.icd)) for text in (first, second)] == [1, 1]
    rows = [line.split()[0] for line in (first + second).splitlines() if line.startswith("turnip:")]
    assert rows == ["turnip:740@1", "turnip:830@1", "turnip:740@1", "turnip:740"]


def test_a_device_without_the_extension_says_so(shaders: Path, swiftshader: CachedDriver) -> None:
    (found,) = cost(shaders, str(shaders / "shared.comp"), "--device", swiftshader.name, code=3)
    assert "VK_KHR_pipeline_executable_properties" in found["costs"][0]["detail"]


def test_without_assembly_the_command_says_so(shaders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [str(shaders / "subgroup.comp"), "--device", GPU, "--subgroup-size", "64", "--isa"]
    assert main(["cost", *options]) == 0
    assert "The driver provides no assembly." in capsys.readouterr().out


def test_a_configuration_names_the_shader(shaders: Path) -> None:
    file = shaders / "with.json"
    file.write_text(json.dumps({"shader": "subgroup.comp", "subgroup_sizes": [64], "defines": {"X": 1}}))
    (found,) = cost(shaders, "--with", str(file), "--device", GPU)
    assert [entry["subgroup_size"] for entry in found["costs"]] == [64]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["absent.comp", "--device", GPU], 2, "cannot be read"),
        (["shader.geom", "--device", GPU], 3, "shader.geom: Costs are those of"),
        (["blocks.frag", "--device", GPU], 3, "is no scalar or vector"),
        (["shared.comp", "--device", "turnip:1"], 3, "has no GPU '1'"),
        (["shared.comp", "--device", GPU, "--against", "glslagn"], 2, "Did you mean 'glslang'?"),
        (["shared.comp", "--device", GPU, "--baseline", "absent.json"], 2, "cannot be read"),
        (["shared.comp", "--device", GPU, "--baseline", "shared.comp"], 2, "not JSON"),
    ],
)
def test_wrong_input(
    shaders: Path,
    arguments: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(shaders)
    Path("shader.geom").write_text(
        "#version 450\nlayout(points) in;\nlayout(points, max_vertices = 1) out;\nvoid main() {}\n"
    )
    Path("blocks.frag").write_text(
        "#version 450\nlayout(location = 0) in vec4 values[2];\nlayout(location = 0) out vec4 color;\n"
        "void main() { color = values[0]; }\n"
    )
    assert main(["cost", *arguments]) == code
    assert message in capsys.readouterr().err


def test_without_drivers_the_command_to_fetch_them_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "empty"))
    (tmp_path / "shared.comp").write_text(_SHARED)
    assert main(["cost", str(tmp_path / "shared.comp")]) == 3
    assert "vkgroup drivers fetch radv" in capsys.readouterr().err


@pytest.mark.slow
def test_radv_s_numbers_are_those_of_its_own_dump(shaders: Path, radv: CachedDriver) -> None:
    import re

    shader = shaders / "subgroup.comp"
    (found,) = cost(shaders, str(shader), "--device", "radv:navi31", "--subgroup-size", "64")
    program = (
        "import sys, vkgroup\n"
        "from vkgroup.device.discovery import inspect_in_own_process\n"
        "with vkgroup.open(inspect_in_own_process('radv:navi31')[0]) as device:\n"
        "    device.pipeline(device.compile(sys.argv[1]), subgroup_size=64)\n"
    )
    dump = run_code("radv:navi31", program, str(shader), RADV_DEBUG="shaderstats")
    text = dump.stdout + dump.stderr
    (entry,) = found["costs"]
    for name in ("SGPRs", "VGPRs", "Code size", "Instructions", "Latency", "Inverse Throughput"):
        value = re.search(rf"^{name}: (\d+)", text, re.MULTILINE)
        assert value is not None, text
        assert int(value[1]) == entry["statistics"][name]


@pytest.mark.slow
@pytest.mark.usefixtures("radv")
def test_waves_of_radv_on_rdna_are_those_of_32_lanes(shaders: Path) -> None:
    file = shaders / "empty.comp"
    file.write_text("#version 450\nlayout(local_size_x = 64) in;\nvoid main() {}\n")
    (found,) = cost(shaders, str(file), "--device", "radv:navi31,radv:vega10")
    waves = {
        (entry["device"][-6:], entry["subgroup_size"]): entry["quantities"]["waves"]
        for entry in found["costs"]
    }
    # A SIMD of RDNA 3 holds 16 subgroups, of either size.
    assert waves == {("navi31", 32): 16, ("navi31", 64): 32, ("vega10", 64): 10}


@pytest.mark.slow
def test_instructions_of_subgroup_operations_are_counted_in_radv_s_assembly(
    shaders: Path, radv: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--device", "radv:navi31", "--subgroup-size", "64"]
    (found,) = cost(shaders, str(shaders / "subgroup.comp"), *options, "--isa")
    (entry,) = found["costs"]
    assert entry["kinds"]["DPP"] >= 4
    assert "quad_perm" in entry["assembly"]
    assert "s_endpgm" in capsys.readouterr().out
    (found,) = cost(shaders, str(shaders / "shared.comp"), *options)
    (entry,) = found["costs"]
    assert entry["quantities"]["subgroup_instructions"] == 0
    assert entry["kinds"]["LDS"] > 2
    assert entry["kinds"]["barrier"] >= 1


def test_a_size_that_the_driver_replaces_is_left_out(shaders: Path) -> None:
    shader = shaders / "small.comp"
    shader.write_text(_SHARED.replace("local_size_x = 128", "local_size_x = 32"))
    (found,) = cost(shaders, str(shader), "--device", GPU)
    sizes = [entry["subgroup_size"] for entry in found["costs"]]
    assert len(sizes) == len(set(sizes))
    assert 64 in sizes

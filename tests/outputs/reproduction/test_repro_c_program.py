"""The C program of a reproduction folder: its text, and in the second tier its results on both drivers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from mutants.driver_errors import empty_ballot, wrong_vote

from vkgroup.conformance import Status
from vkgroup.conformance import select as select_cases
from vkgroup.conformance.execute import Transform
from vkgroup.drivers import CachedDriver, cache_folder, fetch_package
from vkgroup.outputs.reproduction.cases import make
from vkgroup.outputs.reproduction.folder import read
from vkgroup.outputs.reproduction.standalone import literals
from vkgroup.outputs.reproduction.standalone.literals import content_of
from vkgroup.workers.opening import select

CASE = "vote.compute.subgroupAll.bool.all.exact"


def words_of(text: str, name: str) -> list[int]:
    """Return the words of an array in a C program."""
    found = re.search(rf"{name}\[\d+\] = \{{(.*?)\}};", text, re.DOTALL)
    assert found is not None
    return [int(word, 0) for word in found[1].replace("\n", " ").split(",")]


@pytest.mark.usefixtures("swiftshader")
def test_the_program_has_shader_inputs_and_expected_values(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    assert make(select("swiftshader"), CASE, folder, transform=wrong_vote).status is Status.FAIL
    text = (folder / "repro.c").read_text()
    spirv = np.fromfile(folder / "shaders/0.comp.spv", np.uint32)
    assert words_of(text, "compute_code") == spirv.tolist()
    runs = np.reshape(words_of(text, "binding_0"), (-1, 2))
    inputs = np.load(folder / "inputs/step0-Inputs.npy").reshape(-1).view(np.uint32)
    if f"binding_0[{len(inputs)}]" in text:
        assert words_of(text, "binding_0") == inputs.tolist()
    else:
        np.testing.assert_array_equal(np.repeat(runs[:, 1], runs[:, 0]), inputs)
    assert f"{CASE}: Fail on SwiftShader" in text
    assert "subgroupAll(" in text  # the source of the shader
    for line in read(folder)["result"]["detail"].splitlines():
        assert line[:40] in text


@pytest.mark.parametrize("length", [1, 7, 8, 9, 100])
def test_contents_are_written_as_runs_where_that_is_shorter(length: int) -> None:
    words = np.full(length, 5, np.uint32)
    content = content_of(words)
    values = [int(word, 0) for word in content.text.replace("\n", " ").split(",")]
    assert len(values) == content.elements
    assert values == ([length, 5] if length >= 8 else words.tolist())
    assert content.runs == (length >= 8)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("vote.mesh.subgroupAll.bool.all.exact", "compute, fragment, vertex shaders, and not for mesh ones"),
        ("vote.fragment.subgroupAll.bool.all.exact.framebuffer", "not in one storage buffer"),
        ("basic.compute.subgroupBarrier.uint.all.exact.buffer", "not in one storage buffer"),
        ("compute_model.litmus.message_passing.*", "not compared lane by lane"),
    ],
)
def test_the_readme_says_why_there_is_no_program(
    lavapipe: CachedDriver, tmp_path: Path, case: str, reason: str
) -> None:
    make(select(lavapipe.name), select_cases((case,))[0].name, tmp_path / "folder")
    assert not (tmp_path / "folder/repro.c").exists()
    assert reason in (tmp_path / "folder/README.md").read_text()


# --- the second tier, which needs a C compiler ------------------------------------------------------------


@pytest.fixture(scope="session")
def headers() -> Path:
    """Return the folder of vulkan/vulkan.h, from the distribution's package."""
    folder = cache_folder() / "test-packages" / "libvulkan-dev"
    if not (folder / "usr/include/vulkan/vulkan.h").is_file():
        fetch_package(["libvulkan-dev"], folder, dependencies=False)
    return folder / "usr/include"


def built(folder: Path, driver: CachedDriver, headers: Path) -> Path:
    """Compile a program without any warning, and return the executable."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler is not None, "this test needs a C compiler: sudo apt-get install gcc"
    program = folder / "a.out"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{headers}"]
    linked = [str(driver.loader), f"-Wl,-rpath,{driver.loader.parent}"]
    command = [compiler, *flags, str(folder / "repro.c"), *linked, "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def executed(program: Path, driver: CachedDriver, *arguments: str) -> tuple[int, str]:
    """Run a program under the validation layer; return its exit code and what it printed."""
    environment = {**os.environ, "VK_DRIVER_FILES": str(driver.icd), "VK_LAYER_PATH": str(driver.layers),
                   "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation"}  # fmt: skip
    environment.pop("VK_ICD_FILENAMES", None)
    found = subprocess.run(
        [str(program), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return found.returncode, found.stdout + found.stderr


DRAWN_AND_DISPATCHED = [
    ("swiftshader", CASE),
    ("swiftshader", "vote.fragment.subgroupAll.bool.nested.exact"),
    ("swiftshader", "vote.vertex.subgroupAll.bool.data_mask.exact"),
    ("lavapipe", CASE),
    ("lavapipe", "vote.fragment.subgroupAll.bool.partial.exact"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "case"), DRAWN_AND_DISPATCHED)
@pytest.mark.parametrize("transform", [None, wrong_vote])
def test_the_program_is_wrong_with_an_error_and_right_without(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    headers: Path,
    family: str,
    case: str,
    transform: Transform | None,
) -> None:
    driver: CachedDriver = request.getfixturevalue(family)
    result = make(select(driver.name), case, tmp_path / "folder", transform=transform)
    code, text = executed(built(tmp_path / "folder", driver, headers), driver)
    assert code == (0 if transform is None else 1), text
    assert "Validation" not in text
    lanes = read(tmp_path / "folder")["lanes"]["files"]
    recorded = int(np.load(tmp_path / "folder" / lanes["recorded"]).sum())
    wrong = int(np.load(tmp_path / "folder" / lanes["wrong"]).any(axis=-1).sum())
    assert f"{recorded} of {recorded} results compared, {wrong} wrong" in text
    if transform is not None:
        place = re.match(r".* lane \d+", result.detail.splitlines()[1])
        assert place is not None
        assert place[0] in text or "vertex" in case  # vertices are recorded in any order
        assert "expected false got true" in text


@pytest.mark.slow
@pytest.mark.parametrize("case", ["ballot.compute.subgroupBallot.bool.nested.exact",
                                  "ballot.fragment.subgroupBallot.bool.partial.exact"])  # fmt: skip
def test_wrong_active_masks_are_found(
    swiftshader: CachedDriver, tmp_path: Path, headers: Path, case: str
) -> None:
    """The same program, with the module that is right, finds nothing."""
    folder = tmp_path / "folder"
    assert make(select(swiftshader.name), case, folder, transform=empty_ballot).status is Status.FAIL
    code, text = executed(built(folder, swiftshader, headers), swiftshader)
    assert (code, "Validation" in text) == (1, False), text
    assert "got 0x0" in text
    wrong = (folder / "repro.c").read_text()
    assert make(select(swiftshader.name), case, folder).status is Status.PASS
    right = words_of((folder / "repro.c").read_text(), f"{case.split('.')[1]}_code")
    lines = literals.lines_of(np.array(right, np.uint32))
    name = f"{case.split('.')[1]}_code"
    wrong = re.sub(rf"{name}\[\d+\]", f"{name}[{len(right)}]", wrong)
    wrong = re.sub(rf"({name}\[\d+\] = \{{\n).*?\}};", rf"\g<1>{lines}}};", wrong, flags=re.DOTALL)
    (folder / "repro.c").write_text(wrong)
    code, text = executed(built(folder, swiftshader, headers), swiftshader)
    assert (code, ", 0 wrong" in text) == (0, True), text


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        "arithmetic.compute.subgroupAdd.f16vec3.all.rounding",
        "arithmetic.compute.subgroupMin.double.nested.special",
        "shuffle.compute.subgroupShuffle.int64_t.loop.exact.last",
        "shuffle.compute.subgroupShuffle.u8vec3.loop.exact.last",
        "rotate.compute.subgroupRotate.int.all.exact.by1",
        "vote.compute.subgroupAllEqual.vec3.partial.exact.2d",
        "basic.compute.gl_SubgroupID.uint.all.exact",
        "vote.compute.subgroupAll.bool.all.exact.size8",
        "clustered.compute.subgroupClusteredOr.bvec3.all.exact.c1",
        "ballot.compute.subgroupBallotFindMSB.uvec4.nested.exact",
    ],
)
def test_programs_of_all_kinds_of_values_are_right_on_lavapipe(
    lavapipe: CachedDriver, tmp_path: Path, headers: Path, case: str
) -> None:
    assert make(select(lavapipe.name), case, tmp_path / "folder").status is Status.PASS
    code, text = executed(built(tmp_path / "folder", lavapipe, headers), lavapipe)
    assert (code, "Validation" in text) == (0, False), text


@pytest.mark.slow
def test_a_device_is_chosen_by_name_or_index_and_must_fit(
    swiftshader: CachedDriver, lavapipe: CachedDriver, tmp_path: Path, headers: Path
) -> None:
    """SwiftShader's real error: exit code 1 there, 3 where the program cannot run, 2 for wrong usage."""
    case = "vote.compute.subgroupAllEqual.vec3.all.exact"
    assert make(select(swiftshader.name), case, tmp_path / "folder").status is Status.FAIL
    program = built(tmp_path / "folder", swiftshader, headers)
    for wanted in ("SwiftShader", "0"):
        assert executed(program, swiftshader, wanted)[0] == 1
    for wanted in ("1", "GeForce", ""):
        code, text = executed(program, swiftshader, wanted) if wanted else executed(program, lavapipe)
        assert code == 3, text
    assert "the subgroup size differs" in executed(program, lavapipe)[1]
    assert executed(program, swiftshader, "0", "0")[0] == 2


@pytest.mark.slow
def test_a_missing_feature_is_named(
    swiftshader: CachedDriver, lavapipe: CachedDriver, tmp_path: Path, headers: Path
) -> None:
    case = "arithmetic.compute.subgroupAdd.double.all.exact"
    make(select(lavapipe.name), case, tmp_path / "folder")
    code, text = executed(built(tmp_path / "folder", lavapipe, headers), swiftshader)
    assert (code, text.strip().endswith("the device lacks: shaderFloat64")) == (3, True), text

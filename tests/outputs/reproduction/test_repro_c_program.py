"""The C program of a reproduction folder: its recipe, and in the second tier its results on both drivers."""

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
from vkgroup.outputs.reproduction.program import SOURCE
from vkgroup.workers.opening import select

CASE = "vote.compute.subgroupAll.bool.all.exact"


def lines_of(folder: Path) -> dict[str, list[list[str]]]:
    """Return the values of the recipe's lines by key; lines of instances and lanes begin with a number."""
    lines = [line.split() for line in (folder / "repro.txt").read_text().splitlines()]
    found: dict[str, list[list[str]]] = {}
    for key, *values in lines:
        found.setdefault(key, []).append(values)
    return found


@pytest.mark.usefixtures("swiftshader")
def test_the_recipe_names_shaders_inputs_and_expected_values(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    assert make(select("swiftshader"), CASE, folder, transform=wrong_vote).status is Status.FAIL
    assert (folder / "repro.c").read_bytes() == SOURCE.read_bytes()
    lines = lines_of(folder)
    assert lines["shader"] == [["32", "1", "shaders/0.comp.spv"]]
    files = {number: folder / file for number, file in lines["binding"]}
    inputs = np.load(files["0"])
    np.testing.assert_array_equal(inputs, np.load(folder / "inputs/step0-Inputs.npy"))
    for file in files.values():  # the program reads the elements in this order
        assert np.load(file).flags.c_contiguous
    record = read(folder)
    arrays = {name: np.load(folder / file) for name, file in record["lanes"]["files"].items()}
    rows, size = arrays["active"].shape
    assert lines["instances"] == [[str(rows)]]
    text = (folder / "repro.txt").read_text()
    lanes = [line.split() for line in text.splitlines() if line.startswith("  ")]
    assert len(lanes) == rows * size
    np.testing.assert_array_equal([int(lane[0]) for lane in lanes], arrays["recorded"].reshape(-1))
    expected = [int(lane[-1], 0) for lane in lanes]
    np.testing.assert_array_equal(expected, arrays["least"].reshape(-1))
    assert f"# {CASE}: Fail on SwiftShader" in text
    for line in record["result"]["detail"].splitlines():
        assert line[:40] in text


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
    (file,) = {file for _, tested, file in lines_of(folder)["shader"] if tested == "1"}
    assert make(select(swiftshader.name), case, tmp_path / "right").status is Status.PASS
    shutil.copyfile(tmp_path / "right" / file, folder / file)
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
    assert executed(program, swiftshader, "0", str(tmp_path / "folder"))[0] == 1
    assert executed(program, swiftshader, "0", str(tmp_path))[0] == 2
    assert executed(program, swiftshader, "0", str(tmp_path / "folder"), "0")[0] == 2


@pytest.mark.slow
def test_a_damaged_recipe_is_no_verdict(swiftshader: CachedDriver, tmp_path: Path, headers: Path) -> None:
    folder = tmp_path / "folder"
    make(select(swiftshader.name), CASE, folder)
    program, recipe = built(folder, swiftshader, headers), (folder / "repro.txt").read_text()
    for damaged, said in (
        (recipe + "dance 1\n", "unknown key: dance"),
        (recipe[: len(recipe) // 2], "ends early"),
        (recipe.replace("inputs/", "nothing/"), "cannot be read"),
        ("feature 1 x\n" * 65, "no such feature"),
        ("", "is incomplete"),
    ):
        (folder / "repro.txt").write_text(damaged)
        code, text = executed(program, swiftshader)
        assert (code, said in text) == (2, True), text


@pytest.mark.slow
def test_a_missing_feature_is_named(
    swiftshader: CachedDriver, lavapipe: CachedDriver, tmp_path: Path, headers: Path
) -> None:
    case = "arithmetic.compute.subgroupAdd.double.all.exact"
    make(select(lavapipe.name), case, tmp_path / "folder")
    code, text = executed(built(tmp_path / "folder", lavapipe, headers), swiftshader)
    assert (code, text.strip().endswith("the device lacks: shaderFloat64")) == (3, True), text

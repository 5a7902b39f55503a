"""`vkgroup conform --show`: descriptions of cases of every family, without a device."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import vkgroup
from vkgroup.base.errors import InvalidInput
from vkgroup.conformance import all_families, case_named, cases_by_name
from vkgroup.conformance.show import named, show

SAMPLE = 200
SUM = "arithmetic.compute.subgroupAdd.float.all.exact"
WITHOUT_SHADERS = r"cooperative_matrix\.list\.|size_control\.properties\."
TITLES = ["Axes", "Requirements", "Rule", "Expected", "Commands"]


@cache
def sample() -> tuple[str, ...]:
    """Return a case of each family, and names from all families alike."""
    chosen = random.Random(37)
    names = [chosen.choice(list(family.cases())).name for family in all_families()]
    by_start: dict[str, list[str]] = {}
    for name in cases_by_name():
        by_start.setdefault(".".join(name.split(".")[:2]), []).append(name)
    starts = chosen.sample(sorted(by_start), SAMPLE)
    return *names, *(chosen.choice(by_start[start]) for start in starts)


def sections_of(text: str) -> dict[str, str]:
    parts = re.split(r"^(\S.*)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("part", range(4))
def test_cases_of_all_families_are_shown(part: int) -> None:
    for name in sample()[part::4]:
        case = case_named(name)
        assert case is not None
        text = show(case)
        sections = sections_of(text)
        assert text.splitlines()[:2] == [name, case.sentence]
        (file,) = re.findall(r"^Family: \S+ \((\S+)\)$", text, re.MULTILINE)
        assert (Path(vkgroup.__file__).parents[1] / file).is_file()
        assert [title for title in sections if title in TITLES] == TITLES, name
        for title in TITLES[:4]:
            assert sections[title].strip() != "none" or title == "Requirements", (name, title)
        shaders = [body for title, body in sections.items() if title.startswith("Shader: ")]
        assert bool(shaders) != bool(re.match(WITHOUT_SHADERS, name)), name
        assert all("main" in shader for shader in shaders)


def test_the_expected_sum_is_that_of_the_shown_inputs() -> None:
    case = case_named("arithmetic.compute.subgroupAdd.float.all.exact.size16")
    assert case is not None
    lines = sections_of(show(case))["Expected"].splitlines()
    values = {name.strip(): texts for name, _, texts in (line.partition(": ") for line in lines[1:])}
    inputs = [float(text) for text in values["input"].split(", ")]
    assert len(inputs) == 16
    assert [float(text) for text in values["expected"].split(", ")] == [sum(inputs)] * 16


def test_the_seed_changes_the_data() -> None:
    case = named(SUM)
    assert show(case, 0) == show(case, 0) != show(case, 1)


def test_the_requirements_of_a_case() -> None:
    lines = sections_of(show(named("rotate.mesh.subgroupRotate.int64_t.all.exact.by2.size64")))
    assert [line.strip() for line in lines["Requirements"].strip().splitlines()] == [
        "subgroup operations in the mesh stage (supportedStages)",
        "VK_SUBGROUP_FEATURE_ROTATE_BIT",
        "shaderSubgroupRotate",
        "meshShader",
        "a subgroup size of at least 4 (the fragments of a draw are shaded in quads)",
        "shaderInt64",
        "shaderSubgroupExtendedTypes",
        "subgroupSizeControl",
        "requiredSubgroupSizeStages with the mesh stage",
        "a subgroup size of 64",
        "maxComputeWorkgroupSubgroups of at least 2",
    ]


def test_an_unknown_name_gives_similar_ones() -> None:
    with pytest.raises(InvalidInput, match=re.escape(SUM)):
        named("arithmetic.compute.subgroupAd.float.all.exact")
    with pytest.raises(InvalidInput, match=r"similar names:\nreconvergence\."):
        named("reconvergance.nothing")


def test_no_device_and_no_loader_is_used(tmp_path: Path) -> None:
    code = (
        "import sys; from vkgroup.cli.main import main; code = main(sys.argv[1:]);"
        "assert not [name for name in sys.modules if name == 'vulkan' or name.startswith('vulkan.')];"
        "sys.exit(code)"
    )
    environment = {**os.environ, "VK_DRIVER_FILES": str(tmp_path / "none.json"), "VKGROUP_DEVICE": "none"}
    arguments = [sys.executable, "-c", code, "conform", "--show", SUM]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == show(named(SUM))

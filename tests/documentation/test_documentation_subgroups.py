"""The pictures of subgroups are those of the execution, and the notebook prints what it shows."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from vkgroup.check import Guarantees, check

sys.path.insert(0, str(Path(__file__).parent))
from notebooks import NOTEBOOK, code_cells, printed_by
from subgroup_pictures import PICTURES, SHADERS, drawn

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/start/subgroups.md").read_text("utf-8")
NAMES = sorted(path.stem for path in SHADERS.glob("*.comp"))
VALUES = np.array([3, 1, 4, 1, 5, 9, 2, 6])
SVG = "{http://www.w3.org/2000/svg}"


def rows_of(name: str, label: str) -> list[list[str]]:
    """Return the texts in the boxes of the rows whose label fits a pattern, from above."""
    texts = list(ElementTree.parse(PICTURES / f"{name}.svg").iter(f"{SVG}text"))
    heights = [
        text.get("y") for text in texts if text.get("x") == "8" and re.fullmatch(label, str(text.text))
    ]
    return [
        [str(text.text) for text in texts if text.get("y") == height and text.get("x") != "8"]
        for height in heights
    ]


def numbers_of(name: str, label: str) -> list[list[int]]:
    return [[int(text) for text in row] for row in rows_of(name, label)]


def test_the_pictures_are_those_of_the_execution() -> None:
    made = {path.stem: path.read_text("utf-8") for path in PICTURES.iterdir()}
    assert sorted(made) == NAMES
    assert {name: text for name, text in drawn().items() if made[name] != text} == {}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_the_shader_and_the_picture_with_a_text(name: str) -> None:
    (alternative,) = re.findall(rf"!\[(.*)\]\(\.\./images/subgroups/{name}\.svg\)", PAGE)
    assert len(alternative) > 40
    assert f'include("docs/pictures/{name}.comp", "glsl", start="void main")' in PAGE
    root = ElementTree.parse(PICTURES / f"{name}.svg").getroot()
    assert all(root.findtext(f"{SVG}{tag}") for tag in ("title", "desc"))


@pytest.mark.parametrize("name", NAMES)
def test_the_shaders_have_the_errors_that_the_page_names(name: str) -> None:
    path = SHADERS / f"{name}.comp"
    size = 4 if name == "sizes" else 8
    host = Guarantees(full_subgroups=True, linear_lanes=True)
    found = check(path, sizes=[size], groups=[1], host=host).findings
    assert [str(each.kind.value) for each in found] == (["undefined"] if name == "undefined" else [])


def test_the_scans_are_those_of_numpy() -> None:
    inclusive = np.cumsum(VALUES)
    assert numbers_of("scan", "gives") == [VALUES.tolist()] * 2
    assert numbers_of("scan", "gets") == [inclusive.tolist(), (inclusive - VALUES).tolist()]


def test_the_shuffles_are_those_of_numpy() -> None:
    lanes = np.arange(8)
    (asked,), (back, pair, left) = rows_of("shuffle", "from"), rows_of("shuffle", "gets")
    assert asked == list(map(str, 7 - lanes))
    assert back == list(map(str, VALUES[7 - lanes]))
    assert pair == list(map(str, VALUES[lanes ^ 1]))
    assert left == ["?", *map(str, VALUES[:-1])]


def test_the_quads_and_clusters_are_those_of_numpy() -> None:
    quads = VALUES.reshape(2, 2, 2)
    expected = [quads[:, :, ::-1], quads[:, ::-1, ::-1], np.repeat(quads[:, 1, 1], 4)]
    assert numbers_of("quad", "gets") == [each.ravel().tolist() for each in expected]
    assert numbers_of("cluster", "gets") == [np.repeat(VALUES.reshape(2, 4).sum(1), 4).tolist()]


def test_the_sides_of_the_branch_are_those_of_numpy() -> None:
    odd = VALUES % 2 == 1
    sides = [[VALUES[odd].sum()] * odd.sum(), [100 * (~odd).sum()] * (~odd).sum()]
    assert numbers_of("divergence", "5 lanes") + numbers_of("divergence", "3 lanes") == sides
    total = np.where(odd, VALUES[odd].sum(), 100 * (~odd).sum()) + 8
    assert rows_of("divergence", "8 lanes")[-1] == list(map(str, total))


def test_twenty_invocations_fill_the_subgroups_in_order() -> None:
    expected = [
        list(range(first, min(first + size, 20))) for size in (4, 8, 16) for first in range(0, 20, size)
    ]
    assert numbers_of("sizes", r"\d+ lanes") == expected
    sums = list(map(len, expected))
    assert all(len(rows_of("sizes", f"{number} lanes")) == sums.count(number) for number in sums)


def test_the_notebook_prints_what_it_shows() -> None:
    cells = code_cells(json.loads(NOTEBOOK.read_text("utf-8")))
    shown = ["".join(text for output in cell["outputs"] for text in output["text"]) for cell in cells]
    assert len(cells) >= 6
    assert shown == printed_by(NOTEBOOK)

"""The static cost of the kernels is recorded for every kernel pair."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from vkgroup.cost import FIELDS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernel_cost", ROOT / "bench" / "kernel_cost.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_kernel_pair_is_recorded(script: ModuleType) -> None:
    rows = json.loads(script.DATA.read_text())["costs"]
    assert {row["kernel"] for row in rows} == {name for name, _, _ in script.pairs()}
    assert script.COLUMNS.keys() <= {(row["device"], row["subgroup_size"]) for row in rows}
    for row in rows:
        assert set(row["quantities"]) <= set(FIELDS)


def test_a_pair_is_bold_where_the_shared_version_is_smaller(script: ModuleType) -> None:
    assert script._cell((10.0, 9.0)) == "**10/9**"
    assert script._cell((9.0, 9.0)) == "9/9"
    assert script._cell(None) == "–"

"""The static cost of other projects' shaders is recorded for every shader and GPU."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from vkgroup.cost import FIELDS
from vkgroup.drivers.gpus import GPUS

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("foreign_cost")


def test_every_shader_is_recorded_for_every_gpu(script: ModuleType) -> None:
    rows = json.loads(script.DATA.read_text())["costs"]
    assert len(script.SHADERS) == 30
    recorded = {(row["project"], row["shader"], row["device"]) for row in rows}
    wanted = {(shader.project, shader.title, gpu.choice) for shader in script.SHADERS for gpu in GPUS}
    assert recorded == wanted
    for row in rows:
        assert set(row["quantities"]) <= set(FIELDS)

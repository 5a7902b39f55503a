"""The generated tables of `vkgroup.spec.registry` against the installed registry files."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from vkgroup.spec import registry
from vkgroup.spec.stages import STAGES


@pytest.fixture
def generator(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import generate_registry

    yield generate_registry
    del sys.modules["generate_registry"]


def test_the_module_is_what_the_generator_writes(generator) -> None:
    sources = ", ".join(f"{package} {version(package)}" for package in generator.PACKAGES)
    written = generator.TARGET.read_text("utf-8")
    assert written.replace(registry.SOURCES, sources) == generator.generate() or sources != registry.SOURCES
    # Newer packages may add rows, but never change one.
    for name, (_, rows, _) in generator.tables().items():
        assert getattr(registry, name).items() <= rows.items()


def test_every_stage_has_its_row_of_the_registry() -> None:
    for stage in STAGES:
        assert registry.STAGES[stage.name] == (stage.bit, stage.glslang, stage.execution_models)
    assert list(registry.STAGES) == [stage.name for stage in STAGES]

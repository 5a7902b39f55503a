"""The layers of the code: a module imports only what stands above its own folder in this list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import vkgroup

PACKAGE = Path(vkgroup.__file__).parent

#: Lowest first. What shares a line does not know of each other.
LAYERS = (
    "errors",
    "choices archives processes closing garbage_collection files formats",
    "resources sampler",
    "spirv",
    "compiler",
    "drivers",
    "bootstrap device",
    "dispatch",
    "dispatch.vulkan",
    "reference.semantics",
    "reference",
    "reference.interpreter",
    "reference.drawing",
    "reference.device",
    "opening",
    "gl interop",
    "kernels",
    "results",
    "results.history",
    "runner",
    "conformance",
    "bench check runner.cluster probe random_programs",
    "results.diff results.exports results.reproduction testing",
    "results.report",
    "__init__",
    "cli pytest_plugin",
    "__main__",
)
RANKS = {layer: rank for rank, line in enumerate(LAYERS) for layer in line.split()}

#: Imports that go up all the same, as "importer -> imported", each with its reason.
ALLOWED: dict[str, str] = {}


def layer_of(module: str) -> str:
    """Return the layer of a module, such as ``"reference.drawing"``; of one in no layer its folder."""
    parts = module.split(".")[1:] or ["__init__"]
    for length in (2, 1):
        if ".".join(parts[:length]) in RANKS:
            return ".".join(parts[:length])
    return parts[0]


def imports_of(source: str, modules: frozenset[str]) -> Iterator[str]:
    """Yield the modules of vkgroup that a source imports, those in functions and for types alone too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "vkgroup")
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name whole modules"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            if (node.module or "").partition(".")[0] == "vkgroup":
                yield from (name if name in modules else str(node.module) for name in names)


def upward(module: str, source: str, modules: frozenset[str]) -> list[str]:
    """Return what a module imports from layers that do not stand below its own."""
    own = layer_of(module)
    found = {(imported, layer_of(imported)) for imported in imports_of(source, modules)}
    return sorted(
        f"{module} -> {imported}" for imported, layer in found if layer != own and RANKS[layer] >= RANKS[own]
    )


def sources() -> dict[str, str]:
    """Return the text of every module by its name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path.read_text("utf-8")
    return found


def test_every_module_is_in_a_layer() -> None:
    assert {layer_of(module) for module in sources()} == RANKS.keys()


def test_no_module_imports_from_above() -> None:
    texts = sources()
    modules = frozenset(texts)
    found = {entry for module, text in texts.items() for entry in upward(module, text, modules)}
    assert found == ALLOWED.keys()


@pytest.mark.parametrize(
    "source",
    [
        "import vkgroup.conformance",
        "from vkgroup import conformance",
        "from vkgroup.conformance import run",
        "from vkgroup.conformance.run import run",
        "def late():\n    from vkgroup.conformance import run",
        "if TYPE_CHECKING:\n    from vkgroup.conformance.run import run",
    ],
)
def test_an_import_from_above_is_seen(source: str) -> None:
    modules = frozenset(sources())
    assert len(upward("vkgroup.reference.operations", source, modules)) == 1
    assert upward("vkgroup.conformance.plan", source, modules) == []
    assert upward("vkgroup.cli.conform", source, modules) == []
    # Beside each other.
    assert upward("vkgroup.probe.run", "from vkgroup.check import judge", modules)

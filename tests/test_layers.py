"""Layers of the code: a module imports only from lower layers, and imports form no cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import vkgroup

PACKAGE = Path(vkgroup.__file__).parent

#: Lowest first. What shares a line does not know of each other.
LAYERS = (
    "spec",
    "errors",
    "byte_sizes choices processes closing garbage_collection files formats reading wheels peak_memory",
    "archives resources sampler configuration",
    "spirv",
    "compiler",
    "drivers",
    "bootstrap device",
    "dispatch",
    "dispatch.vulkan",
    "reference.semantics",
    "reference",
    "reference.interpreter.values",
    "reference.interpreter.program",
    "reference.interpreter.operations",
    "reference.interpreter.execution",
    "reference.interpreter",
    "reference.drawing",
    "reference.device",
    "programs",
    "opening",
    "gl interop",
    "kernels",
    "results",
    "results.history",
    "runner",
    "conformance",
    "bench check cost runner.cluster probe programs.campaign",
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
    for length in (3, 2, 1):
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
    layers = {imported: layer_of(imported) for imported in imports_of(source, modules)}
    return sorted(
        f"{module} -> {imported}"
        for imported, layer in layers.items()
        if layer != own and RANKS[layer] >= RANKS[own]
    )


def sources() -> dict[str, str]:
    """Return the text of every module by its name."""
    texts = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        texts[name] = path.read_text("utf-8")
    return texts


def cycles_in(texts: dict[str, str]) -> set[frozenset[str]]:
    """Return the import cycles between modules: sets of modules that all reach each other.

    Imports in functions and under TYPE_CHECKING count. The order of depth-first visits on the imports, then
    depth-first visits against them in reverse of that order (Kosaraju's algorithm).
    """
    modules = frozenset(texts)
    imports = {
        module: {imported for imported in imports_of(text, modules) if imported in modules} - {module}
        for module, text in texts.items()
    }
    importers: dict[str, set[str]] = {module: set() for module in modules}
    for module, imported in imports.items():
        for name in imported:
            importers[name].add(module)
    order: list[str] = []
    visited: set[str] = set()
    for module in sorted(modules):
        order += visits(module, imports, visited)
    visited = set()
    components = [frozenset(visits(module, importers, visited)) for module in reversed(order)]
    return {component for component in components if len(component) > 1}


def visits(start: str, edges: dict[str, set[str]], visited: set[str]) -> list[str]:
    """Return the modules reached from `start` and not yet visited, each after those reached from it."""
    if start in visited:
        return []
    visited.add(start)
    finished = []
    stack = [(start, iter(sorted(edges[start])))]
    while stack:
        module, rest = stack[-1]
        following = next((name for name in rest if name not in visited), None)
        if following is None:
            finished.append(module)
            stack.pop()
        else:
            visited.add(following)
            stack.append((following, iter(sorted(edges[following]))))
    return finished


def test_every_module_is_in_a_layer() -> None:
    assert {layer_of(module) for module in sources()} == RANKS.keys()


def test_no_module_imports_from_above() -> None:
    texts = sources()
    modules = frozenset(texts)
    imports = {entry for module, text in texts.items() for entry in upward(module, text, modules)}
    assert imports == ALLOWED.keys()


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert cycles_in(sources()) == set()


@pytest.mark.parametrize(
    "back",
    [
        "from vkgroup.a import x",
        "def late():\n    from vkgroup.a import x",
        "if TYPE_CHECKING:\n    from vkgroup.a import x",
    ],
)
def test_a_cycle_is_seen(back: str) -> None:
    texts = {"vkgroup.a": "from vkgroup.b import y", "vkgroup.b": "import vkgroup.c", "vkgroup.c": back}
    assert cycles_in(texts) == {frozenset(texts)}
    # A longer way to a module is no cycle.
    assert cycles_in({**texts, "vkgroup.c": "", "vkgroup.d": "import vkgroup.a, vkgroup.c"}) == set()


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
    assert len(upward("vkgroup.reference.registry", source, modules)) == 1
    assert upward("vkgroup.conformance.plan", source, modules) == []
    assert upward("vkgroup.cli.conform", source, modules) == []
    # Beside each other.
    assert upward("vkgroup.probe.run", "from vkgroup.check import checking", modules)

"""Layers of the code: a folder imports only from folders before it, and imports form no circles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import vkgroup

PACKAGE = Path(vkgroup.__file__).parent

#: The folders of the package, lowest first, each with the most lines of Python that it may have. Whoever
#: needs more changes the number in the same commit and says why there. ``__init__`` stands for the public
#: names: the modules of the package's own folder, except ``__main__``.
LAYERS = {
    "spec": 2_050,
    "base": 1_500,
    "amd": 7_000,
    "spirv": 4_230,
    "reference": 17_480,
    "configuration": 870,
    "compiler": 7_650,
    "drivers": 2_130,
    "bootstrap": 590,
    "device": 6_370,
    "dispatch": 10_930,
    "amber": 2_380,
    "record": 1_690,
    "workers": 3_220,
    "programs": 3_050,
    "conformance": 25_650,
    "check": 11_790,
    "probe": 2_820,
    "cost": 740,
    "kernels": 6_850,
    "bench": 4_560,
    "gl": 1_570,
    "outputs": 9_720,
    "__init__": 180,
    "testing": 510,
    "cli": 8_860,
    "__main__": 30,
}

#: The most lines that a module may have.
MOST_LINES = 400

#: Modules that are imported by a string, as "importer -> imported"; a folder if the rest of the name is
#: computed. All go down or stay in their folder. Workers also import the modules of the setups and jobs that
#: they unpickle, which are of layers above them.
BY_STRING = {
    "vkgroup.bootstrap.__main__ -> vkgroup.bootstrap.receiving",
    "vkgroup.cli.conform_start -> vkgroup.conformance.run",
    "vkgroup.cli.main -> vkgroup.cli",
    "vkgroup.cli.main -> vkgroup.cli.conform",
    "vkgroup.cli.main -> vkgroup.device.discovery",
    "vkgroup.cli.main -> vkgroup.cli.conform_start",
    "vkgroup.cli.main -> vkgroup.cli.console",
    "vkgroup.cli.main -> vkgroup.device.fetched",
    "vkgroup.cli.main -> vkgroup.device.launch",
    "vkgroup.cli.main -> vkgroup.drivers.gpus",
    "vkgroup.compiler -> vkgroup.base.choices",
    "vkgroup.compiler -> vkgroup.compiler.front",
    "vkgroup.compiler -> vkgroup.compiler.gl.interface",
    "vkgroup.compiler -> vkgroup.compiler.optimizer",
    "vkgroup.compiler -> vkgroup.compiler.request",
    "vkgroup.compiler -> vkgroup.compiler.tools",
    "vkgroup.compiler.installed -> vkgroup.compiler.shaderc",
    "vkgroup.compiler.isolated -> vkgroup.compiler.isolated_worker",
    "vkgroup.conformance.families -> vkgroup.conformance",
    "vkgroup.device.discovery -> vkgroup.device.inspect",
    "vkgroup.workers.spare -> vkgroup.workers.worker",
}


def layer_of(module: str) -> str:
    """Return the layer of a module: its folder in the package."""
    parts = module.split(".")[1:]
    if not parts or (len(parts) == 1 and not (PACKAGE / parts[0]).is_dir() and parts[0] != "__main__"):
        return "__init__"
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


def strings_of(source: str, modules: frozenset[str]) -> Iterator[str]:
    """Yield the modules that string literals of a source name, with or without a function.

    Of a name whose end is computed (``f"vkgroup.cli.{command}"``) the folder is yielded.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0].removesuffix(".")
            if name in modules and name != "vkgroup":
                yield name


def upward(module: str, source: str, modules: frozenset[str]) -> list[str]:
    """Return what a module imports, also by a string, from layers that do not stand before its own."""
    order = list(LAYERS)
    own = layer_of(module)
    imported = {*imports_of(source, modules), *strings_of(source, modules)}
    return sorted(
        f"{module} -> {name}" for name in imported if order.index(layer_of(name)) > order.index(own)
    )


@cache
def sources() -> dict[str, str]:
    """Return the text of every module by its name."""
    texts = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        texts[name] = path.read_text("utf-8")
    return texts


def graph_of(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module imports, also in functions and for types."""
    modules = frozenset(texts)
    return {
        module: {imported for imported in imports_of(text, modules) if imported in modules} - {module}
        for module, text in texts.items()
    }


def rooms_of(folder: str, graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the imports between the modules and sub-folders of a folder, a sub-folder as one."""

    def room(module: str) -> str:
        return ".".join(module.split(".")[: folder.count(".") + 2])

    inside = {module for module in graph if module == folder or module.startswith(f"{folder}.")}
    rooms: dict[str, set[str]] = {room(module): set() for module in inside}
    for module in inside:
        rooms[room(module)] |= {room(name) for name in graph[module] & inside} - {room(module)}
    return rooms


def cycles_in(imports: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the circles of a graph: sets of nodes that all reach each other.

    The order of depth-first visits on the imports, then depth-first visits against them in reverse of that
    order (Kosaraju's algorithm).
    """
    importers: dict[str, set[str]] = {module: set() for module in imports}
    for module, imported in imports.items():
        for name in imported:
            importers[name].add(module)
    order: list[str] = []
    visited: set[str] = set()
    for module in sorted(imports):
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


def lines_by_layer() -> dict[str, int]:
    """Return the lines of Python in each layer."""
    counts = dict.fromkeys(LAYERS, 0)
    for module, text in sources().items():
        counts[layer_of(module)] += text.count("\n")
    return counts


def long_modules(texts: dict[str, str]) -> dict[str, int]:
    """Return the number of lines of each module that has too many."""
    return {module: lines for module, text in texts.items() if (lines := text.count("\n")) > MOST_LINES}


def test_every_module_is_in_a_layer() -> None:
    assert {layer_of(module) for module in sources()} == LAYERS.keys()


def test_no_module_imports_from_above() -> None:
    texts = sources()
    modules = frozenset(texts)
    assert [entry for module, text in texts.items() for entry in upward(module, text, modules)] == []


def test_the_modules_imported_by_a_string_are_listed() -> None:
    texts = sources()
    modules = frozenset(texts)
    assert {
        f"{module} -> {name}"
        for module, text in texts.items()
        for name in strings_of(text, modules)
        if module != "vkgroup"
    } == BY_STRING


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycles_in(graph_of(sources())) == set()


def test_no_folder_has_a_circle_of_modules_and_sub_folders() -> None:
    graph = graph_of(sources())
    folders = {module.rpartition(".")[0] for module in graph} - {"", "vkgroup"}
    circles = {circle for folder in folders for circle in cycles_in(rooms_of(folder, graph))}
    assert circles == set()


def test_no_folder_has_more_lines_than_its_budget() -> None:
    lines = lines_by_layer()
    assert {layer: count for layer, count in lines.items() if count > LAYERS[layer]} == {}


def test_no_module_is_too_long() -> None:
    assert long_modules(sources()) == {}


def test_a_long_module_is_seen() -> None:
    assert long_modules({"vkgroup.a": "x = 1\n" * 400, "vkgroup.b": "x = 1\n" * 401}) == {"vkgroup.b": 401}


def test_the_page_of_source_folders_has_the_same_list() -> None:
    page = (PACKAGE.parent / "docs" / "development" / "source.md").read_text("utf-8")
    listed = re.findall(r"^\| `([\w/]+)` \|", page, re.MULTILINE)
    assert [name.removeprefix("vkgroup/") for name in listed if name.startswith("vkgroup/")] == list(LAYERS)


@pytest.mark.parametrize(
    "back",
    [
        "from vkgroup.a import x",
        "def late():\n    from vkgroup.a import x",
        "if TYPE_CHECKING:\n    from vkgroup.a import x",
    ],
)
def test_a_circle_is_seen(back: str) -> None:
    texts = {"vkgroup.a": "from vkgroup.b import y", "vkgroup.b": "import vkgroup.c", "vkgroup.c": back}
    assert cycles_in(graph_of(texts)) == {frozenset(texts)}
    # A longer way to a module is no circle.
    texts = {**texts, "vkgroup.c": "", "vkgroup.d": "import vkgroup.a, vkgroup.c"}
    assert cycles_in(graph_of(texts)) == set()


def test_a_circle_of_sub_folders_is_seen() -> None:
    graph = {
        "vkgroup.a.b": {"vkgroup.a.c.d"},
        "vkgroup.a.c.d": set(),
        "vkgroup.a.c.e": {"vkgroup.a.b"},
    }
    assert cycles_in(graph) == set()
    assert cycles_in(rooms_of("vkgroup.a", graph)) == {frozenset({"vkgroup.a.b", "vkgroup.a.c"})}


@pytest.mark.parametrize(
    "source",
    [
        "import vkgroup.conformance",
        "from vkgroup import conformance",
        "from vkgroup.conformance import run",
        "from vkgroup.conformance.run import run",
        "def late():\n    from vkgroup.conformance import run",
        "if TYPE_CHECKING:\n    from vkgroup.conformance.run import run",
        'import_module("vkgroup.conformance.run")',
        'setup = "vkgroup.conformance.run:run"',
        'import_module(f"vkgroup.conformance.{name}")',
    ],
)
def test_an_import_from_above_is_seen(source: str) -> None:
    modules = frozenset(sources())
    assert len(upward("vkgroup.reference.registry", source, modules)) == 1
    assert upward("vkgroup.conformance.plan", source, modules) == []
    assert upward("vkgroup.cli.conform", source, modules) == []


def test_an_import_of_the_public_names_is_upward() -> None:
    modules = frozenset(sources())
    assert len(upward("vkgroup.dispatch.device", "from vkgroup.errors import NoDevice", modules)) == 1


def test_a_public_class_name_exists_once() -> None:
    modules: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}

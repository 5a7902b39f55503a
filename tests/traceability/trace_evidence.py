"""Evidence: cases that a glob selects, test functions, examples of the tutorial, files."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable
from fnmatch import translate
from functools import cache
from re import compile as compile_pattern
from re import split

from trace_model import ROOT, Evidence


class Names:
    """Names of cases, in which globs are looked up.

    The suite has more than a hundred thousand cases and the documents ask for hundreds of globs; names are
    sorted, and only those that begin as the glob does are matched.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._sorted = sorted(names)
        self._found: dict[str, list[str]] = {}

    def matching(self, glob: str) -> list[str]:
        """Return the names that match a glob as a whole, in order."""
        if glob not in self._found:
            self._found[glob] = self._look(glob)
        return self._found[glob]

    def _look(self, glob: str) -> list[str]:
        prefix = split(r"[*?\[]", glob, maxsplit=1)[0]
        first = bisect_left(self._sorted, prefix)
        end = bisect_left(self._sorted, prefix + "\U0010ffff")
        match = compile_pattern(translate(glob)).match
        return [name for name in self._sorted[first:end] if match(name)]


@cache
def suite() -> Names:
    """Return the names of all cases of the conformance suite; needs no device."""
    from vkgroup.conformance import all_cases

    return Names(case.name for case in all_cases())


@cache
def _tree(path: str) -> ast.Module:
    file = ROOT / path
    return ast.parse(file.read_text(encoding="utf-8") if file.is_file() else "")


@cache
def words_of(path: str) -> frozenset[str]:
    """Return the texts that a file quotes, among them the parameters of its tests."""
    nodes = ast.walk(_tree(path))
    return frozenset(
        node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


@cache
def functions_of(path: str) -> frozenset[str]:
    """Return the test functions that a file defines, ``Class::name`` for those of classes."""
    found = set()
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            members = (part for part in node.body if isinstance(part, ast.FunctionDef))
            found.update(f"{node.name}::{member.name}" for member in members)
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


def exists(evidence: Evidence) -> bool:
    """Return whether the evidence exists: a matching case, a test function, an example, a file."""
    if evidence.kind == "case":
        return bool(suite().matching(evidence.name))
    if evidence.kind == "test":
        path, _, test = evidence.name.partition("::")
        name, bracket, parameter = test.partition("[")
        return name in functions_of(path) and (not bracket or parameter.removesuffix("]") in words_of(path))
    if evidence.kind == "tutorial":
        return (ROOT / "shaders" / "tutorial" / f"{evidence.name}.py").is_file()
    return (ROOT / evidence.name).is_file()

"""Evidence: cases that a glob selects, files of tests, examples of the tutorial, other files."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable
from fnmatch import fnmatch, translate
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
def _has_tests(path: str) -> bool:
    """Return whether pytest collects a file of this name, and the file defines a test."""
    file = ROOT / path
    if not fnmatch(file.name, "test_*.py") or not file.is_file():
        return False
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in nodes)


def exists(evidence: Evidence) -> bool:
    """Return whether the evidence exists: a matching case, a file of tests, an example, a file."""
    if evidence.kind == "case":
        return bool(suite().matching(evidence.name))
    if evidence.kind == "test":
        return _has_tests(evidence.name)
    if evidence.kind == "tutorial":
        return (ROOT / "shaders" / "tutorial" / f"{evidence.name}.py").is_file()
    return (ROOT / evidence.name).is_file()

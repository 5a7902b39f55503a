"""Finding benchmarks by name, and their sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from bench_fakes import definition

from vkgroup.base.errors import InvalidInput
from vkgroup.bench import catalogue
from vkgroup.bench.catalogue import parse_size, power_text
from vkgroup.bench.measure import largest_within

FILE = """
from vkgroup.bench import Definition
DEFINITIONS = [Definition("NAME", "a title", lambda device, size, tuning: None)]
"""
NAMES = ("ceiling.copy", "micro.add", "reduce.sum.float32", "reduce.sum.uint32", "scan.inclusive.float32")
ALL = tuple(definition({}, name=name) for name in NAMES)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), NAMES[2:]),
        (("reduce",), NAMES[2:4]),
        (("reduce.",), NAMES[2:4]),
        (("*.float32",), (NAMES[2], NAMES[4])),
        (("scan.inclusive.float32",), NAMES[4:]),
        (("micro", "ceiling.copy"), NAMES[:2]),
        (("scan", "reduce"), NAMES[2:]),
    ],
)
def test_names_are_globs_or_beginnings(patterns: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert tuple(one.name for one in catalogue.choose(patterns, ALL)) == expected


@pytest.mark.parametrize("pattern", ["nonesuch", "red", "sum"])
def test_a_name_that_fits_none_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInput, match=pattern):
        catalogue.choose(("reduce", pattern), ALL)


def test_files_are_loaded_by_name_and_those_with_an_underscore_are_not(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(FILE.replace("NAME", "a.second"))
    (tmp_path / "a.py").write_text(FILE.replace("NAME", "b.first"))
    (tmp_path / "_shared.py").write_text("raise ValueError")
    assert [one.name for one in catalogue.load(tmp_path)] == ["a.second", "b.first"]


def test_a_file_without_definitions_and_a_name_twice_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FILE)
    (tmp_path / "b.py").write_text(FILE)
    with pytest.raises(InvalidInput, match="two benchmarks NAME"):
        catalogue.load(tmp_path)
    (tmp_path / "b.py").write_text("")
    with pytest.raises(InvalidInput, match="DEFINITIONS"):
        catalogue.load(tmp_path)


def test_our_own_are_well_formed() -> None:
    found = catalogue.definitions()
    assert {"ceiling.copy", "ceiling.shared", "ceiling.arithmetic.float32"} <= {one.name for one in found}
    for one in found:
        assert re.fullmatch(r"[a-z0-9_]+(\.[A-Za-z0-9_]+)+", one.name), one.name
        assert one.title
        assert list(one.sizes) == sorted(set(one.sizes))
        assert one.smoke
        assert min(*one.sizes, *one.smoke) > 0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1000003", 1000003),
        ("2^20", 1 << 20),
        ("2**10", 1024),
        ("64k", 65536),
        ("1M", 1 << 20),
        ("2Gi", 1 << 31),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-4", "1.5M", "2^", "2^99", "9^60", "1T", "ten"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="size"):
        parse_size(text)


@pytest.mark.parametrize(("size", "text"), [(1 << 20, "2^20"), (1024, "2^10"), (512, "512"), (1000, "1000")])
def test_sizes_are_written(size: int, text: str) -> None:
    assert power_text(size) == text


SIZES = tuple(1 << exponent for exponent in range(10, 29))


@pytest.mark.parametrize(
    ("spent", "expected"),
    [
        (lambda size: size * 1e-9, 1 << 26),  # in proportion: 0.067 s
        (lambda size: 0.01 + size * 1e-9, 1 << 26),  # small sizes seem dear
        (lambda size: size**2 * 1e-16, 1 << 24),  # grows faster than its size
        (lambda size: 1.0, 1 << 10),  # nothing is affordable
        (lambda size: 1e-7, 1 << 28),  # everything is
    ],
)
def test_the_largest_affordable_size_is_found(spent: Callable[[int], float], expected: int) -> None:
    asked: list[int] = []

    def noted(size: int) -> float:
        asked.append(size)
        return spent(size)

    found = largest_within(SIZES, 0.1, noted)
    assert found == expected or found == expected >> 1
    assert len(asked) <= 10
    assert all(later <= earlier << 6 for earlier, later in pairwise(asked))
    assert sum(map(spent, asked)) < 2 or found == SIZES[0]

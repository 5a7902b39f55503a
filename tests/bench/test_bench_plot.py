"""Pictures: that they are drawn, whatever the rows have."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import FakeCandidate, FakePeer, ceiling, definition
from matplotlib import pyplot
from refusals import lacks

import vkgroup
from vkgroup.base.errors import InvalidInput
from vkgroup.bench import plot
from vkgroup.bench.row import BenchmarkRow
from vkgroup.bench.run import BenchmarkOptions, run
from vkgroup.dispatch import Device


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with vkgroup.open("reference") as opened:
        yield opened


def _rows(device: Device, sweep: str | None) -> tuple[BenchmarkRow, ...]:
    held = definition(
        {"subgroup": FakeCandidate([1e-3, 1.1e-3]), "shared": FakeCandidate([2e-3])},
        needs={"top": 128},
        peers={"other": FakeCandidate([3e-3])},
        tuning={"items": (1, 2, 4)},
    )
    cycles = definition(
        {"subgroup": FakeCandidate([31.0])}, name="fake.cycles", unit="cycles", tuning=held.tuning
    )
    options = BenchmarkOptions(seed=1, seconds=0.001, sizes=(32,), sweep=sweep)
    found = run(device, [held, cycles], options, ceilings=[ceiling([1e-3], 128)], peers={"other": FakePeer()})
    return found.rows


def _size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG (its header, W3C PNG 11.2.2)."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


@pytest.mark.parametrize("sweep", [None, "size", "items"])
def test_a_picture_is_drawn(device: Device, tmp_path: Path, sweep: str | None) -> None:
    path = tmp_path / "picture.png"
    plot.plot(_rows(device, sweep), path, "a device", sweep)
    width, height = _size(path)
    assert width > 600
    assert height > 300


def test_every_version_and_ceiling_is_in_the_picture(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    plot.plot(_rows(device, "size"), path, "a device of this name", "size")
    # matplotlib writes each text into a comment beside its outlines.
    text = path.read_text()
    for words in (
        "a device of this name",
        "subgroup",
        "shared",
        "other",
        "top ceiling",
        "fake.double",
        "GB/s",
    ):
        assert f"<!-- {words} -->" in text


def test_rows_without_a_time_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nothing to draw"):
        plot.plot([BenchmarkRow("a", "b", 1)], tmp_path / "picture.png", "a device")


def test_rows_without_a_time_are_left_out(device: Device, tmp_path: Path) -> None:
    rows = _rows(device, None)
    plot.plot([*rows, replace(rows[0], variants={}, peers={})], tmp_path / "picture.png", "a device")
    assert _size(tmp_path / "picture.png")


@pytest.mark.parametrize(("name", "words"), [("picture.xyz", "png"), ("none/picture.png", "no folder")])
def test_what_cannot_be_written_is_refused_before(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        plot.require_drawable(tmp_path / name)


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with lacks("matplotlib"):
        plot.require_drawable(Path("picture.png"))


@pytest.mark.parametrize("sweep", [None, "size"])
@pytest.mark.parametrize("words", [1, 3, 8])
def test_title_and_legend_lie_inside_the_picture(
    device: Device, tmp_path: Path, sweep: str | None, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = {f"a peer with a long name {number}": FakeCandidate([3e-3]) for number in range(2 * words % 9)}
    held = definition({"subgroup": FakeCandidate([1e-3]), "shared": FakeCandidate([2e-3])}, peers=peers)
    options = BenchmarkOptions(seed=1, seconds=0.001, sizes=(32,), sweep=sweep)
    rows = run(device, [held], options, peers={name: FakePeer() for name in peers}).rows
    kept: list[Any] = []
    monkeypatch.setattr(pyplot, "close", kept.append)
    plot.plot(rows, tmp_path / "plot.png", " ".join(["NVIDIA H100 80GB HBM3"] * words), sweep)
    (figure,) = kept
    figure.canvas.draw()
    whole = figure.bbox
    for part in (figure._suptitle, *figure.legends):
        box = part.get_window_extent()
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1

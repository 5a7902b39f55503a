"""Which processors serve the GPU's interrupts, and that measurements stay away from them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vkgroup.bench import interrupts
from vkgroup.bench.interrupts import away_from_interrupts
from vkgroup.dispatch import Device

CPUS = sorted(os.sched_getaffinity(0))


class Table:
    """A table of interrupts like Linux', in which reads of a buffer count."""

    def __init__(self, path: Path, device: int, clock: int) -> None:
        self.path, self.counts = path, {"42": {device: 0}, "LOC": {clock: 0}, "7": {clock: 5}}
        self.write()

    def write(self) -> None:
        cpus = range(max(CPUS) + 1)
        lines = ["     " + " ".join(f"CPU{cpu}" for cpu in cpus)]
        for name, counts in self.counts.items():
            numbers = " ".join(str(counts.get(cpu, 0)) for cpu in cpus)
            lines.append(f"{name:>4}: {numbers} PCI-MSIX-0000:00:06 0-edge nvidia")
        self.path.write_text("\n".join([*lines, "ERR: 0"]) + "\n")

    def counted(self, call: Callable[..., object]) -> Callable[..., object]:
        def counting(*arguments: object, **named: object) -> object:
            for name in ("42", "LOC"):
                for cpu in self.counts[name]:
                    self.counts[name][cpu] += 1
            self.write()
            return call(*arguments, **named)

        return counting


def plant(table: Table, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the table take the place of Linux', and count the reads of the device's buffers."""
    buffer = type(device.buffer(4))
    monkeypatch.setattr(interrupts, "_INTERRUPTS", table.path)
    monkeypatch.setattr(buffer, "read", table.counted(buffer.read))


def test_measurements_leave_the_processor_that_serves_the_device(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, clock = CPUS[-1], CPUS[0]
    plant(Table(tmp_path / "interrupts", busy, clock), device, monkeypatch)
    with away_from_interrupts(device) as note:
        inside = os.sched_getaffinity(0)
    assert inside == set(CPUS) - {busy}
    assert f"processor {busy}," in note
    assert os.sched_getaffinity(0) == set(CPUS)


def test_the_only_processor_is_not_left(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(Table(tmp_path / "interrupts", CPUS[0], CPUS[0]), device, monkeypatch)
    os.sched_setaffinity(0, {CPUS[0]})
    try:
        with away_from_interrupts(device) as note:
            assert (os.sched_getaffinity(0), note) == ({CPUS[0]}, "")
    finally:
        os.sched_setaffinity(0, CPUS)


@pytest.mark.parametrize("text", [None, "", "  CPU0\n  1: x\n"], ids=["absent", "empty", "damaged"])
def test_nothing_changes_without_a_table(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    path = tmp_path / "interrupts"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(interrupts, "_INTERRUPTS", path)
    with away_from_interrupts(device) as note:
        assert (os.sched_getaffinity(0), note) == (set(CPUS), "")

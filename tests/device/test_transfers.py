"""Transfers through staging buffers and from arrays in pinned memory, on devices treated as discrete GPUs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import DeviceLost, InvalidDispatch
from vkgroup.device import transfers
from vkgroup.device.transfers import STAGING_BUFFERS
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver

PIECE_BYTES = 1 << 20
"""Smaller pieces than usual, so that the arrays of the tests can be small."""

TRIPLE = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint d[]; } b;
void main() { b.d[gl_GlobalInvocationID.x] *= 3u; }"""


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "PIECE_BYTES", PIECE_BYTES)


@pytest.fixture
def staged(swiftshader: CachedDriver) -> Iterator[Device]:
    """A software device that is treated as a GPU with separate memory."""
    with vkgroup.open(swiftshader.name) as opened:
        opened.logical.capabilities = replace(opened.capabilities, type="discrete_gpu")
        opened.logical.__dict__["window_type"] = None  # else the host writes by itself
        yield opened


def numbers(nbytes: int) -> np.ndarray:
    return np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)


def test_large_transfers_use_all_staging_buffers(staged: Device) -> None:
    data = numbers(3 * STAGING_BUFFERS * PIECE_BYTES + 77)
    with staged.buffer(data) as buffer:
        assert np.array_equal(buffer.read(), data)
        assert staged.logical.transfers._made <= STAGING_BUFFERS


def test_an_upload_may_be_changed_after_the_write(staged: Device) -> None:
    data = numbers(2 * PIECE_BYTES)
    expected = data.copy()
    with staged.buffer(data) as buffer:
        data[:] = 0
        assert np.array_equal(buffer.read(), expected)


def test_work_after_a_write_sees_it_and_a_read_sees_the_work(staged: Device) -> None:
    data = np.arange(64 * 1000, dtype=np.uint32)
    with staged.buffer(data) as buffer, staged.pipeline(staged.compile(TRIPLE)).bind({"b": buffer}) as work:
        for _ in range(5):
            buffer.write(data)
            work.dispatch(1000, wait=False)
            assert np.array_equal(buffer.read(), data * 3)


def test_reads_into_a_given_array(device: Device) -> None:
    data = numbers(PIECE_BYTES + 16).view(np.uint32)
    with device.buffer(data) as buffer:
        out = np.zeros((2, data.size // 2), np.uint32)
        assert buffer.read(out=out) is out
        assert np.array_equal(out.reshape(-1), data)
        part = np.zeros(3, np.uint32)
        buffer.read(offset=8, out=part)
        assert np.array_equal(part, data[2:5])


def test_arrays_that_cannot_be_read_into_are_refused(device: Device) -> None:
    with device.buffer(np.arange(16, dtype=np.uint32)) as buffer:
        fixed = np.zeros(4, np.uint32)
        fixed.flags.writeable = False
        for out in (np.zeros((4, 4), np.uint32).T[1:], np.zeros(8, np.uint32)[::2], fixed, [0] * 4):
            with pytest.raises(InvalidDispatch, match="C order"):
                buffer.read(out=out)  # type: ignore[arg-type]
        with pytest.raises(InvalidDispatch, match="leave dtype and shape out"):
            buffer.read(np.uint32, out=np.zeros(4, np.uint32))
        with pytest.raises(InvalidDispatch):
            buffer.read(out=np.zeros(17, np.uint32))


def test_pinned_arrays_are_copied_without_staging(staged: Device) -> None:
    source = staged.host_array((3, PIECE_BYTES), np.uint8)
    source[...] = numbers(source.size).reshape(source.shape)
    with staged.buffer(source) as buffer:
        target = staged.host_array(source.shape, np.uint8)
        buffer.read(out=target)
        assert np.array_equal(source, target)
        target[...] = 0
        buffer.read(out=target[1])
        assert np.array_equal(target[1], source[0])
        assert not target[0].any()
        buffer.write(source[2], offset=5)
        assert np.array_equal(buffer.read(offset=5, shape=source.shape[1]), source[2])
    assert staged.logical.transfers._made == 1, "for the last read alone"


def test_pinned_arrays_are_plain_arrays_that_outlive_their_device(swiftshader: CachedDriver) -> None:
    device = vkgroup.open(swiftshader.name)
    device.logical.capabilities = replace(device.capabilities, type="discrete_gpu")
    array = device.host_array(1000, np.float64)
    array[:] = np.arange(1000)
    part = array[10:20]
    device.close()
    del array, device
    gc.collect()
    assert np.array_equal(part, np.arange(10, 20))


def test_memory_of_pinned_arrays_is_given_back(staged: Device) -> None:
    before = staged.memory().in_use
    array = staged.host_array((1024, 1024))
    assert staged.memory().in_use == before + array.nbytes
    view = array[1:]
    del array
    assert staged.memory().in_use > before
    del view
    gc.collect()
    assert staged.memory().in_use == before
    assert not staged.logical.host_memory._starts


def test_invalid_pinned_arrays_are_refused(device: Device) -> None:
    for shape, dtype in ((0, np.float32), ((3, 0), np.float32), (4, object)):
        with pytest.raises(InvalidDispatch, match="array of the host"):
            device.host_array(shape, dtype)
    assert device.host_array((2, 3), np.int16).shape == (2, 3)


def test_threads_transfer_side_by_side(staged: Device) -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            data = np.random.default_rng(seed).integers(0, 256, 5 * PIECE_BYTES + seed, np.uint8)
            for _ in range(3):
                with staged.buffer(data) as buffer:
                    assert np.array_equal(buffer.read(), data)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def with_few_staging_buffers(
    staged: Device, monkeypatch: pytest.MonkeyPatch, *, pieces: int, count: int
) -> tuple[list[Any], list[Any]]:
    """Permit five staging buffers, keep none, and return arrays of some pieces with their buffers."""
    monkeypatch.setattr(transfers, "STAGING_BUFFERS", 5)
    data = [numbers(pieces * PIECE_BYTES + number) for number in range(count)]
    buffers = [staged.buffer(each) for each in data]
    staged.trim()
    return data, buffers


def test_more_downloads_than_staging_buffers_do_not_wait_for_each_other(
    staged: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, buffers = with_few_staging_buffers(staged, monkeypatch, pieces=5, count=8)
    with ThreadPoolExecutor(len(data)) as threads:
        read = list(threads.map(lambda buffer: buffer.read(), buffers))
    assert all(map(np.array_equal, read, data))
    assert staged.logical.transfers._made <= 5


def test_downloads_beside_uploads_do_not_wait_for_each_other(
    staged: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, buffers = with_few_staging_buffers(staged, monkeypatch, pieces=40, count=6)

    def work(number: int) -> bool:
        buffer, expected = buffers[number], data[number]
        for _ in range(3):
            if number % 2:
                buffer.write(expected)
        return np.array_equal(buffer.read(), expected)

    with ThreadPoolExecutor(len(data)) as threads:
        assert all(threads.map(work, range(len(data))))


@pytest.mark.parametrize("function", ["_copy", "_wait"])
def test_an_error_in_a_piece_of_a_download_is_raised_and_loses_no_staging_buffer(
    staged: Device, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    data = numbers(20 * PIECE_BYTES)
    with staged.buffer(data) as buffer:
        done, calls = getattr(transfers.Transfers, function), [0]

        def fail_once(*arguments: object, **options: object) -> object:
            calls[0] += 1
            if calls[0] == 7:
                raise DeviceLost("made up", "VK_ERROR_DEVICE_LOST")
            return done(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(transfers.Transfers, function, fail_once)
            with pytest.raises(DeviceLost, match="made up"):
                buffer.read()
        made = staged.logical.transfers._made
        assert staged.logical.transfers._idle.qsize() == made
        assert np.array_equal(buffer.read(), data)
        assert staged.logical.transfers._made <= STAGING_BUFFERS


def test_an_error_in_a_piece_is_raised_and_loses_no_staging_buffer(
    staged: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = numbers(20 * PIECE_BYTES)
    with staged.buffer(data) as buffer:
        copy, calls = transfers.CopyCommands.submit, [0]

        def fail_once(*arguments: object) -> int:
            calls[0] += 1
            if calls[0] == 5:
                raise DeviceLost("made up", "VK_ERROR_DEVICE_LOST")
            return copy(*arguments)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(transfers.CopyCommands, "submit", fail_once)
            with pytest.raises(DeviceLost, match="made up"):
                buffer.write(data[::-1].copy())
        buffer.write(data)
        assert np.array_equal(buffer.read(), data)
        assert staged.logical.transfers._made <= STAGING_BUFFERS


def test_transfers_work_with_one_staging_buffer(staged: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "STAGING_BUFFERS", 1)
    data = numbers(9 * PIECE_BYTES)
    with staged.buffer(data) as buffer:
        assert np.array_equal(buffer.read(), data)


def test_kept_copies_are_not_closed_before_they_are_submitted(
    staged: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = transfers.Transfers._kept
    trims: list[threading.Thread] = []

    def trimmed(*arguments: object) -> object:
        commands = kept(*arguments)  # type: ignore[arg-type]
        trims.append(threading.Thread(target=staged.trim))
        trims[-1].start()
        trims[-1].join(0.2)
        return commands

    monkeypatch.setattr(transfers.Transfers, "_kept", trimmed)
    data, out = numbers(1 << 16), staged.host_array(1 << 16, np.uint8)
    with staged.buffer(data) as buffer:
        for _ in range(3):
            out[:] = 0
            buffer.read(out=out)
            assert np.array_equal(out, data)
    for thread in trims:
        thread.join()


def test_kept_copies_do_not_keep_arrays_alive(staged: Device) -> None:
    with staged.buffer(numbers(1 << 20)) as buffer:
        for _ in range(3):
            buffer.read(out=staged.host_array(1 << 20, np.uint8))
        staged.synchronize()
        gc.collect()
        assert staged.memory().in_use < 3 << 20

"""Reading what shared libraries need, and the order to load them in."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest
from elf_files import write_library

from vkgroup.drivers import CachedDriver
from vkgroup.drivers.build import Dynamic, load_order, read_dynamic


def test_reads_soname_and_needed_libraries(tmp_path: Path) -> None:
    library = write_library(tmp_path / "x.so", "libx.so.3", ("liby.so.1", "libc.so.6"))
    assert read_dynamic(library) == Dynamic("libx.so.3", ("liby.so.1", "libc.so.6"))


def test_reads_a_real_library(swiftshader: CachedDriver) -> None:
    loader = read_dynamic(swiftshader.loader)
    assert loader is not None
    assert loader.soname == "libvulkan.so.1"
    assert "libc.so.6" in loader.needed


def test_a_hand_made_library_is_one_that_the_dynamic_linker_loads(tmp_path: Path) -> None:
    ctypes.CDLL(str(write_library(tmp_path / "x.so", "libvkgroup-made-by-hand.so.1")))


@pytest.mark.parametrize("length", [0, 4, 63, 64, 100, 200, 250])
def test_what_is_no_library_has_no_dynamic_section(tmp_path: Path, length: int) -> None:
    whole = write_library(tmp_path / "x.so", "libx.so.3", ("liby.so.1",)).read_bytes()
    (tmp_path / "cut.so").write_bytes(whole[:length])
    assert read_dynamic(tmp_path / "cut.so") is None


def test_a_text_and_a_32_bit_library_have_no_dynamic_section(tmp_path: Path) -> None:
    (tmp_path / "script.so").write_text("INPUT(libreal.so.1) " * 10)
    assert read_dynamic(tmp_path / "script.so") is None
    data = bytearray(write_library(tmp_path / "x.so", "libx.so.3").read_bytes())
    data[4] = 1
    (tmp_path / "x32.so").write_bytes(data)
    assert read_dynamic(tmp_path / "x32.so") is None


@pytest.mark.parametrize("offset", [1 << 40, 1 << 63, (1 << 64) - 1])
def test_a_table_outside_of_the_file_is_no_error(tmp_path: Path, offset: int) -> None:
    data = bytearray(write_library(tmp_path / "x.so", "libx.so.3").read_bytes())
    struct.pack_into("<Q", data, 32, offset)
    (tmp_path / "x.so").write_bytes(data)
    assert read_dynamic(tmp_path / "x.so") is None


def test_loads_each_library_after_what_it_needs(tmp_path: Path) -> None:
    names = {"a": ("libb.so", "libc.so.6"), "b": ("libd.so",), "d": ("libe.so",), "e": (), "unused": ()}
    paths = {n: write_library(tmp_path / f"{n}.file", f"lib{n}.so", needed) for n, needed in names.items()}
    driver = write_library(tmp_path / "driver.so", "driver.so", ("libe.so", "liba.so"))
    order = load_order(driver, list(paths.values()))
    assert order == [paths["e"], paths["d"], paths["b"], paths["a"]]


def test_libraries_that_need_each_other_are_each_loaded_once(tmp_path: Path) -> None:
    a = write_library(tmp_path / "a", "liba.so", ("libb.so",))
    b = write_library(tmp_path / "b", "libb.so", ("liba.so",))
    driver = write_library(tmp_path / "driver.so", "driver.so", ("liba.so",))
    assert load_order(driver, [a, b]) == [b, a]

"""Excerpts of what drivers print before they reject a shader or end the process."""

from __future__ import annotations

import os
from pathlib import Path

from vkgroup.workers.driver_output import LENGTH, excerpt, position, printed_since

_PANIC = "thread '<unnamed>' panicked at src/nouveau/compiler/nak/from_nir.rs:9:5:\nnot implemented"
_DUMP = "\n".join(f"MESA: error: line {number}" for number in range(100))


def test_the_reason_before_a_long_dump_is_kept() -> None:
    text = excerpt(f"{_PANIC}\n{_DUMP}")
    assert text.startswith(_PANIC)
    assert text.endswith("line 99")
    assert len(text) < len(_PANIC) + LENGTH + 10


def test_a_reason_in_the_end_is_there_once() -> None:
    assert excerpt(f"{_DUMP}\n{_PANIC}").count("panicked") == 1
    assert excerpt("short") == "short"


def test_lines_of_the_shim_are_left_out() -> None:
    assert excerpt("Unknown DRM_IOCTL_MSM_GET_PARAM 21\nAssertion `x' failed.\n") == "Assertion `x' failed."


def test_output_since_a_position_is_read_from_the_file_of_standard_error(tmp_path: Path) -> None:
    before = os.dup(2)
    file = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)
    try:
        os.dup2(file, 2)
        os.write(2, b"earlier\n")
        start = position()
        os.write(2, b"later\n")
        printed = printed_since(start)
        os.write(2, b"last\n")
    finally:
        os.dup2(before, 2)
        os.close(file)
        os.close(before)
    assert printed == "later"
    assert (tmp_path / "log").read_text() == "earlier\nlater\nlast\n"
    assert printed_since(-1) == ""

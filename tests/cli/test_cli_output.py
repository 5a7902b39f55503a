"""JSON that commands write is whole at any time."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from vkgroup.base import files
from vkgroup.base.errors import InvalidInput
from vkgroup.cli.output import write_json


def test_what_was_there_stays_where_writing_is_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Ctrl-C: neither half a file nor a second one is left."""
    file = tmp_path / "a.json"
    write_json({"row": 1}, str(file))

    def broken_off(path: Path, text: str) -> None:
        path.write_text(text[: len(text) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_write", broken_off)
    with pytest.raises(KeyboardInterrupt):
        write_json({"row": 2}, str(file))
    assert json.loads(file.read_text()) == {"row": 1}
    assert os.listdir(tmp_path) == ["a.json"]


def test_links_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("")
    (tmp_path / "link.json").symlink_to("real.json")
    write_json([1], str(tmp_path / "link.json"))
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text()) == [1]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_json([2], str(pipe))
    reader.join(10)
    assert json.loads(found[0]) == [2]
    assert pipe.is_fifo()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_json({}, str(tmp_path))

"""Archives whose names, kinds and sizes of members are not trusted."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from vkgroup.base import archives
from vkgroup.base.archives import DamagedArchive, extract_files


def write(path: Path, *members: tuple[str, bytes]) -> Path:
    """Write an archive of files."""
    with tarfile.open(path, "w") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def refusal(archive: Path, folder: Path) -> str:
    """Return the message for an archive, which is one line and writes nothing outside of its folder."""
    around = sorted(path for path in folder.parent.rglob("*") if folder not in (path, *path.parents))
    with pytest.raises(DamagedArchive) as caught:
        extract_files(archive, folder)
    after = sorted(path for path in folder.parent.rglob("*") if folder not in (path, *path.parents))
    assert after == around
    (line,) = str(caught.value).splitlines()
    return line


@pytest.mark.parametrize("name", ["../outside", "/tmp/vkgroup-outside", "a/../../outside"])
def test_paths_outside(tmp_path: Path, name: str) -> None:
    archive = write(tmp_path / "a.tar", ("good", b"1"), (name, b"x"))
    assert "outside of the archive" in refusal(archive, tmp_path / "folder")


def test_links_and_devices_are_skipped(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for kind, target in ((tarfile.SYMTYPE, ".."), (tarfile.LNKTYPE, "good"), (tarfile.FIFOTYPE, "")):
            member = tarfile.TarInfo(f"link{kind.decode()}")
            member.type, member.linkname = kind, target
            tar.addfile(member)
        member = tarfile.TarInfo(f"link{tarfile.SYMTYPE.decode()}/file")
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    extract_files(tmp_path / "a.tar", tmp_path / "folder")
    paths = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert paths == ["a.tar", "folder/link2/file"]


@pytest.mark.parametrize("kind", ["gnu", "pax"])
def test_a_name_of_gigabytes_is_not_read(tmp_path: Path, kind: str) -> None:
    """A compressed archive of a megabyte can have a name of a gigabyte."""
    header = tarfile.TarInfo("././@LongLink")
    header.type = tarfile.GNUTYPE_LONGNAME if kind == "gnu" else tarfile.XHDTYPE
    header.size = 1 << 40
    (tmp_path / "a.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert "take 1099511627776 bytes; 1048576 are allowed" in refusal(tmp_path / "a.tar", tmp_path / "folder")


@pytest.mark.parametrize("form", ["old", "1.0"])
def test_files_with_holes_are_refused(tmp_path: Path, form: str) -> None:
    """A list of millions of holes takes gigabytes of memory."""
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("file")
        if form == "old":
            member.type = tarfile.GNUTYPE_SPARSE
        else:
            member.pax_headers = {
                "GNU.sparse.major": "1",
                "GNU.sparse.minor": "0",
                "GNU.sparse.realsize": "9",
            }
            member.size = 512
        tar.addfile(member, io.BytesIO(b"1\n0\n9\n".ljust(512, b"\0")))
    assert refusal(tmp_path / "a.tar", tmp_path / "folder") == "it contains a file with holes"


def test_a_long_name_is_read(tmp_path: Path) -> None:
    name = "/".join(["folder"] * 30)
    extract_files(write(tmp_path / "a.tar", (name, b"1")), tmp_path / "folder")
    assert (tmp_path / "folder" / name).read_bytes() == b"1"


def test_two_files_of_one_name(tmp_path: Path) -> None:
    assert "twice" in refusal(write(tmp_path / "a.tar", ("a", b"1"), ("./a", b"2")), tmp_path / "folder")


def test_a_file_inside_of_a_file(tmp_path: Path) -> None:
    assert refusal(write(tmp_path / "a.tar", ("a", b"1"), ("a/b", b"2")), tmp_path / "folder")


def test_sizes_and_numbers_of_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = write(tmp_path / "a.tar", ("a", b"1" * 600), ("b", b"2" * 600))
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    assert "more than" in refusal(archive, tmp_path / "folder")
    assert not (tmp_path / "folder" / "b").exists()
    monkeypatch.undo()
    monkeypatch.setattr(archives, "MOST_MEMBERS", 1)
    assert "more than" in refusal(archive, tmp_path / "other")


def test_a_huge_size_without_content(tmp_path: Path) -> None:
    member = tarfile.TarInfo("huge")
    member.size = 1 << 40
    (tmp_path / "a.tar").write_bytes(member.tobuf() + b"x" * 1024)
    assert "more than 4 GiB" in refusal(tmp_path / "a.tar", tmp_path / "folder")


def header(name: str, kind: bytes, size: int) -> bytes:
    """Return a header with any size; `tarfile` writes no negative ones."""
    member = tarfile.TarInfo(name)
    member.type = kind
    data = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    data[124:136] = (size % (1 << 96)).to_bytes(12, "big") if size < 0 else b"%011o\0" % size
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data)
    return bytes(data)


def test_a_negative_size_makes_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a link is not followed by content, so that the next header is read."""
    content = header("a", tarfile.REGTYPE, 512) + b"1" * 512
    (tmp_path / "a.tar").write_bytes(header("link", tarfile.SYMTYPE, -(1 << 40)) + content + bytes(1024))
    monkeypatch.setattr(archives, "MOST_BYTES", 100)
    assert "negative size: 'link'" in refusal(tmp_path / "a.tar", tmp_path / "folder")


def test_thousands_of_headers_for_one_file(tmp_path: Path) -> None:
    """`tarfile` calls itself for each header of a long name."""
    headers = (header("long", tarfile.GNUTYPE_LONGNAME, 1) + b"n".ljust(512, b"\0")) * 3000
    (tmp_path / "a.tar").write_bytes(headers + header("a", tarfile.REGTYPE, 0) + bytes(1024))
    assert "headers for one file" in refusal(tmp_path / "a.tar", tmp_path / "folder")


@pytest.mark.parametrize("content", [b"", b"no archive", b"\xfd7zXZ\0\0\4", b"\x1f\x8b\x08\0"])
def test_no_archives(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar.xz").write_bytes(content)
    assert refusal(tmp_path / "a.tar.xz", tmp_path / "folder")


def test_truncated_archives(tmp_path: Path) -> None:
    whole = tmp_path / "whole.tar.xz"
    with tarfile.open(whole, "w:xz") as tar:
        member = tarfile.TarInfo("a")
        member.size = 5000
        tar.addfile(member, io.BytesIO(os.urandom(5000)))
    data = whole.read_bytes()
    for length in (1, 100, 3000, 4500):
        (tmp_path / "a.tar.xz").write_bytes(data[:length])
        assert refusal(tmp_path / "a.tar.xz", tmp_path / f"folder{length}")


def test_devices_and_missing_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    assert "it is a pipe" in refusal(tmp_path / "pipe", tmp_path / "folder")
    assert "it is a device" in refusal(tmp_path / "device", tmp_path / "folder")
    assert "No such file" in refusal(tmp_path / "missing", tmp_path / "folder")

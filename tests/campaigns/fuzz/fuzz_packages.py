"""Targets that read archives, bundles, packages, configurations and recorded costs."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import lzma
import os
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import fuzz_corpora as corpora
import fuzz_inputs as make
from fuzz_target import Call, Damage, Errors, Target
from hypothesis import strategies as st

from vkgroup import drivers
from vkgroup.base.archives import DamagedArchive, extract_files
from vkgroup.base.errors import DriverFetchError, InvalidInput
from vkgroup.bootstrap import bundle
from vkgroup.bootstrap.environment import SetupError
from vkgroup.cli.cost import _read as read_costs
from vkgroup.configuration import read as read_configurations
from vkgroup.drivers.apt import extract
from vkgroup.drivers.build import load_order, manifest_of
from vkgroup.drivers.unpacked import file_of, libraries_of

DRIVER = "swiftshader-1.0"

_NAMES = (
    "a", "./a", "a/b", "a/../../out", "../out", "/tmp/vkgroup-fuzz-out", "a/b/c", "..", ".", "/", "",
    "a\0b", "a\nb", "x" * 300, "usr/lib/x86_64-linux-gnu/libvulkan.so.1", "usr/lib/x86_64-linux-gnu",
    "usr", "icd.json", "driver.json",
    f"{DRIVER}/driver.json", f"{DRIVER}/icd.json", f"{DRIVER}/libvulkan.so.1",
)  # fmt: skip
_LINKS = ("", "a", "..", "../../out", "/tmp", "/dev/zero", "/etc/passwd", "usr", "../libvulkan.so.1")
_KINDS = (tarfile.REGTYPE,) * 4 + (
    *(tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE),
    *(tarfile.GNUTYPE_SPARSE, tarfile.CONTTYPE),
)
_SIZES = (0, 1, 511, 512, 5000, 1 << 33, (1 << 63) - 1)

Member = tuple[str, bytes, str, int, int]


class WroteOutside(AssertionError):
    """An archive changed files outside of its folder."""


def archive_of(members: list[Member]) -> bytes:
    """Return a tar archive: name, kind, link and the sizes that a header declares and the content has."""
    out = io.BytesIO()
    for name, kind, link, declared, length in members:
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.size = kind, link, declared
        try:
            out.write(member.tobuf(tarfile.PAX_FORMAT, errors="surrogateescape"))
        except (ValueError, UnicodeError):
            continue
        out.write(b"{}" * (length // 2) + b"\0" * (-length % 512))
    return out.getvalue() + b"\0" * 1024


def _members() -> st.SearchStrategy[list[Member]]:
    size = st.sampled_from(_SIZES)
    length = st.sampled_from(_SIZES[:5])
    kinds = st.sampled_from(_KINDS)
    member = st.tuples(st.sampled_from(_NAMES), kinds, st.sampled_from(_LINKS), size, length)
    return st.lists(st.one_of(member, member.map(lambda m: (*m[:3], m[4], m[4]))), max_size=6)


def _archives() -> make.Inputs:
    whole = st.builds(archive_of, _members())
    return st.one_of(whole, make.damaged((_driver_archive(),), make.in_bytes), make.random_bytes())


@functools.cache
def _driver_archive() -> bytes:
    """An archive of a small driver, as in a bundle."""
    files = {
        "libvulkan.so.1": b"\x7fELF" + bytes(60),
        "icd.json": b'{"ICD": {"library_path": "./libvulkan.so.1"}}',
    }
    listed = {
        name: {"size": len(data), "modified": 1, "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
    }
    metadata = {
        "family": "swiftshader", "version": "1.0", "package": "", "runtime": [], "icd": "icd.json",
        "loader": "libvulkan.so.1", "layers": None, "preload": [], "files": listed,
    }  # fmt: skip
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in {**files, "driver.json": json.dumps(metadata).encode()}.items():
            member = tarfile.TarInfo(f"{DRIVER}/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def _confined(call: Callable[[bytes, Path], object]) -> Call:
    """Return a call in an empty folder whose only changed part is its folder ``inside``."""

    def confined(data: bytes, folder: Path) -> None:
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (folder / "inside").mkdir()
        (folder / "out").write_text("mine")
        try:
            call(data, folder / "inside")
        finally:
            changed = {path.name for path in folder.iterdir()} != {"inside", "out"}
            if changed or (folder / "out").read_text() != "mine" or os.path.lexists("/tmp/vkgroup-fuzz-out"):
                raise WroteOutside(sorted(path.name for path in folder.iterdir()))

    return confined


def _extract(data: bytes, inside: Path) -> None:
    (inside / "a.tar").write_bytes(data)
    extract_files(inside / "a.tar", inside / "into")


def _unpack_driver(data: bytes, inside: Path) -> object:
    os.environ["VKGROUP_CACHE"] = str(inside / "cache")
    (inside / f"{DRIVER}.tar.xz").write_bytes(lzma.compress(data, preset=0))
    return drivers.unpack("swiftshader", inside)


def _package(data: bytes, inside: Path) -> None:
    """Unpack a package, and read its files as a driver is built from them."""
    members = ((b"debian-binary", b"2.0\n"), (b"control.tar", _CONTROL), (b"data.tar", data))
    archive = b"!<arch>\n"
    for name, content in members:
        archive += b"%-16s%-12d%-6d%-6d%-8d%-10d`\n" % (name, 0, 0, 0, 0o644, len(content))
        archive += content + b"\n" * (len(content) % 2)
    (inside / "a.deb").write_bytes(archive)
    root = inside / "root"
    root.mkdir()
    extract(inside / "a.deb", root)
    library = file_of(root, "usr/lib/*/libvulkan.so.1")
    load_order(library, libraries_of(root))
    manifest_of(file_of(root, "icd.json"), "./lib.so")


_CONTROL = archive_of([])


def _bundle(data: bytes, inside: Path) -> None:
    for name in (*bundle.LIBRARIES, bundle.WHEELS):
        (inside / name).write_bytes(_CONTROL)
    (inside / bundle.MANIFEST).write_bytes(data)
    bundle.check(inside)
    with bundle.unpacked_wheels(inside):
        pass


def _manifests() -> tuple[bytes, ...]:
    entry = {"size": len(_CONTROL), "sha256": hashlib.sha256(_CONTROL).hexdigest()}
    whole = {
        "format": bundle.FORMAT,
        "python": [f"{sys.version_info.major}.{sys.version_info.minor}"],
        "machine": os.uname().machine,
        "wheels": {},
        "files": dict.fromkeys((*bundle.LIBRARIES, bundle.WHEELS), entry),
    }
    return (json.dumps(whole).encode(),)


def _configurations() -> tuple[bytes, ...]:
    """The configurations of the repository, as JSON."""
    files = sorted((corpora.ROOT / "bench").rglob("*.json")) + sorted(
        (corpora.ROOT / "tests").rglob("*.json")
    )
    own = b'{"shader": "a.comp", "groups": [1, 1, 1], "inputs": {"0": "a.npy"}, "specialization": {"3": 2}}'
    many = b'{"defaults": {"seed": 1}, "configurations": [{"name": "a", "groups": [2, 1, 1]}, {"name": "b"}]}'
    return (
        own,
        many,
        *(data for data in map(Path.read_bytes, files) if b'"groups"' in data and len(data) < 20_000),
    )


def _toml() -> tuple[bytes, ...]:
    return (
        b'shader = "a.comp"\ngroups = [1, 1, 1]\n[inputs]\n0 = "a.npy"\n'
        b"[specialization]\n3 = 2\nSTEP = 1.5\n",
        b'[defaults]\nseed = 1\n[[configurations]]\nname = "a"\nsubgroup_size = [4, 8]\n'
        b'[[configurations]]\nname = "b"\npush = { count = 4, scale = [1.0, 2.0] }\n',
    )


def _costs() -> tuple[bytes, ...]:
    cost = {
        "device": "radv-26.1.6:navi31", "gpu": "NAVI31", "subgroup_size": 32, "status": "compiled",
        "detail": "", "quantities": {"vgprs": 12, "code": 800.0}, "kinds": {"shuffle": 2},
        "statistics": {"VGPRs": 12}, "assembly": "",
    }  # fmt: skip
    return (json.dumps([{"shader": "a.comp", "vkgroup": "0.1.0", "costs": [cost, cost]}]).encode(),)


def _configured(suffix: str) -> Call:
    def call(data: bytes, folder: Path) -> object:
        (folder / f"a{suffix}").write_bytes(data)
        return [one.fields for one in read_configurations(folder / f"a{suffix}")]

    return call


def _recorded_costs(data: bytes, folder: Path) -> object:
    (folder / "cost.json").write_bytes(data)
    return read_costs(folder / "cost.json")


def _files(corpus: Callable[[], tuple[bytes, ...]], damage: Damage) -> Callable[[], make.Inputs]:
    return lambda: make.damaged(corpus(), damage)


_TABLE: tuple[tuple[str, int, Callable[[], make.Inputs], Call, Errors], ...] = (
    ("archive", 4_000, _archives, _confined(_extract), (DamagedArchive,)),
    ("driver_archive", 1_000, _archives, _confined(_unpack_driver), (DriverFetchError,)),
    ("package", 1_000, _archives, _confined(_package), (DriverFetchError,)),
    ("bundle", 2_000, _files(_manifests, make.in_json), _confined(_bundle), (SetupError,)),
    ("with_json", 3_000, _files(_configurations, make.in_json), _configured(".json"), (InvalidInput,)),
    ("with_toml", 2_000, _files(_toml, make.in_tokens), _configured(".toml"), (InvalidInput,)),
    ("cost_baseline", 2_000, _files(_costs, make.in_json), _recorded_costs, (InvalidInput,)),
)
"""Name, share, inputs, what is called, and the errors by which it may refuse; see `Target`."""

TARGETS = [Target(*row) for row in _TABLE]
"""The targets of this file."""

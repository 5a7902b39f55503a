"""Files that are devices, pipes or sockets: every reader refuses them without opening them."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import vkgroup
from vkgroup.base.files import NotRegular, read_array, read_bytes, read_text, require_regular
from vkgroup.cli.conform_run import OWN_FILES as OWN_FILES_OF_RUNS

PACKAGE = Path(vkgroup.__file__).parent

SECONDS = 60
"""Time limit of a command; before, each blocked for ever."""

OWN_FILES = {
    "amd/requests.py": "libraries of this process, and a file of the kernel in /proc",
    "bench/interrupts.py": "a file of the kernel in /proc",
    "bench/machine.py": "files of the kernel in /sys",
    "bootstrap/environment.py": "vkgroup's own environment",
    "bootstrap/making.py": "vkgroup's own project file",
    "check/outcome_cache.py": "cache",
    "cli/memory.py": "files of the kernel in /proc and /sys",
    "compiler/build.py": "package data",
    "compiler/cache.py": "cache",
    "compiler/installed.py": "cache",
    "compiler/optimizer.py": "temporary file",
    "configuration/generated.py": "package data",
    "conformance/caselist.py": "package data",
    "drivers/build.py": "unpacked packages, and drivers that vkgroup builds",
    "drivers/cache.py": "cache",
    "base/files.py": "the helper functions",
    "base/processes.py": "a file of the kernel in /proc",
    "reference/interpreter/program/site.py": "package data",
    "record/causes/findings.py": "package data",
    "outputs/report/page.py": "package data",
    "outputs/standalone.py": "package data",
    "outputs/trace/__init__.py": "package data",
    "workers/cluster/offer.py": "package data",
    "spirv/grammar.py": "package data",
}
"""Modules that read only vkgroup's own files without `vkgroup.base.files`, each with what it reads."""


OPENERS = {
    "base/archives.py": "an archive, after `require_regular`",
    "bootstrap/bundle.py": "a file of a bundle, after `require_regular`",
    "bootstrap/making.py": "files of a bundle that is made",
    "cli/main.py": "the null device",
    "cli/memory.py": "files of the kernel in /proc",
    "compiler/cache.py": "cache",
    "conformance/expectations.py": "a file of expectations, after `require_regular`",
    "drivers/apt.py": "a pipe to apt",
    "drivers/build.py": "files of unpacked packages, which `file_of` checks",
    "drivers/cache.py": "cache; libraries of a bundle, after `require_regular`",
    "drivers/compilers.py": "files of unpacked packages, which `file_of` checks",
    "drivers/own_c_library.py": "files of unpacked packages, which `file_of` checks",
    "base/files.py": "the helper functions, and output files",
    "base/processes.py": "a pipe between processes",
    "outputs/history/connection.py": "a database, after `require_regular_if_exists`",
    "outputs/history/files.py": "a database, after `require_regular`",
    "outputs/reproduction/program.py": "the C program, which is package data",
    "record/journal.py": "results, after `require_regular_if_exists`",
    "workers/driver_output.py": "a file of this process",
}
"""Modules that open or copy files in other ways, each with what it opens."""

LIBRARIES = frozenset(("tarfile", "lzma", "zipfile", "os"))
"""Modules of Python whose functions open files."""


Call = tuple[str, str, ast.Call]
"""A call: owner of a method ("" for functions, "…" for no plain name), name, and the call."""


def calls(source: str) -> list[Call]:
    """Return the calls of functions and methods."""
    named = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value.id if isinstance(node.func.value, ast.Name) else "…"
            named.append((owner, node.func.attr, node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named.append(("", node.func.id, node))
    return named


def reads_directly(named: list[Call]) -> bool:
    """Return whether a call is ``read_bytes`` or ``read_text`` of a path, or ``load`` of NumPy."""
    return any(
        (owner and name in ("read_bytes", "read_text"))
        or (owner == "np" and name in ("load", "fromfile", "memmap"))
        for owner, name, _ in named
    )


def opens_directly(named: list[Call]) -> bool:
    """Return whether a call opens or copies files with functions of Python."""
    for owner, name, call in named:
        if name in ("copyfile", "copytree", "copy2", "ZipFile", "fdopen"):
            return True
        if (name == "open" and owner in LIBRARIES | {""}) or (owner, name) == ("sqlite3", "connect"):
            return True
        mode = call.args[0] if call.args else None
        is_mode = isinstance(mode, ast.Constant) and isinstance(mode.value, str)
        if name == "open" and (is_mode or any(keyword.arg == "encoding" for keyword in call.keywords)):
            return True
    return False


def test_every_reader_uses_the_helper_functions() -> None:
    files = {file.relative_to(PACKAGE).as_posix(): calls(file.read_text()) for file in PACKAGE.rglob("*.py")}
    assert {name for name, named in files.items() if reads_directly(named)} == set(OWN_FILES)
    assert {name for name, named in files.items() if opens_directly(named)} == set(OPENERS)


@pytest.fixture
def special(tmp_path: Path) -> dict[str, Path]:
    """A pipe, a device and a socket, by their words in messages."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    (tmp_path / "link").symlink_to("/dev/zero")
    return {"a pipe": tmp_path / "pipe", "a device": tmp_path / "link", "a socket": tmp_path / "socket"}


def test_special_files_are_not_opened(special: dict[str, Path]) -> None:
    for kind, path in special.items():
        for read in (require_regular, read_bytes, read_text, read_array):
            with pytest.raises(NotRegular, match=f"it is {kind}; give a regular file"):
                read(path)


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    for name in ("a\0b", "a\ud800b"):
        with pytest.raises(OSError, match="no file name can have"):
            read_bytes(tmp_path / name)


def test_other_errors_are_those_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path)
    (tmp_path / "a").write_text("\ufeffé", encoding="utf-8")
    assert read_text(tmp_path / "a", "utf-8-sig") == "é"


COMMANDS = (
    "conform --device reference --caselist FILE",
    "conform --device reference --filter vote.* --skips FILE",
    "conform --device reference --filter vote.* --flakes FILE",
    "conform --device reference --filter vote.* --baseline FILE",
    "probe --device FILE.json",
    "report FILE",
    "report FOLDER",
    "report --db FILE latest",
    "diff FILE FILE",
    "history add new.db FILE",
    "history export FILE latest --out OUT",
    "bench --compare FILE FILE",
    "run good.comp --groups 1,1,1 --in 0=FILE.npy --device reference",
    "run FILE.spv --groups 1,1,1 --device reference",
    "run FILE.comp --groups 1,1,1 --device reference",
    "run FOLDER --device reference",
    "check FILE.spvasm",
    "check FILE.comp",
    "check good.comp --with FILE.json",
    "compile FILE.hlsl --stage comp",
    "worker FILE.json",
    *(
        f"conform --device reference --filter vote.*.bool.all.exact --out RUN-{name} {option}"
        for name in (*OWN_FILES_OF_RUNS, "report.html")
        for option in ("", "--resume")
    ),
    "conform --device reference --filter vote.* --db FILE",
    "conform --device reference --filter vote.* --db good.db",
)

RUN_ALL = """
import sys
from vkgroup.cli.main import main
for command in sys.argv[1:]:
    print("$", command, file=sys.stderr, flush=True)
    print("exit code", main(command.split()), file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_commands_refuse_them(kind: str, tmp_path: Path) -> None:
    """One process runs every command, because a command that opened a pipe would never return."""

    def create(path: Path) -> None:
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")

    (tmp_path / "good.comp").write_text("#version 450\nvoid main() {}\n")
    (tmp_path / "FOLDER").mkdir()
    for name in ("", ".json", ".npy", ".spv", ".spvasm", ".comp", ".hlsl"):
        create(tmp_path / f"FILE{name}")
    for name in ("results.jsonl", "repro.json"):
        create(tmp_path / "FOLDER" / name)
    for name in (*OWN_FILES_OF_RUNS, "report.html"):
        (tmp_path / f"RUN-{name}").mkdir()
        create(tmp_path / f"RUN-{name}" / name)
    create(tmp_path / "good.db-wal")
    command = [sys.executable, "-c", RUN_ALL, *COMMANDS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    said = done.stderr.split("$ ")[1:]
    assert [part.splitlines()[0] for part in said] == list(COMMANDS)
    for part in said:
        assert part.endswith(("exit code 2\n", "exit code 3\n")), part
        refusals = f"it is a {kind}; give a regular file", "FOLDER holds no run", "lies outside of the folder"
        assert any(words in part for words in refusals), part

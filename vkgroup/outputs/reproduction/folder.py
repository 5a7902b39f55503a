"""A reproduction folder on disk: its creation and its record ``repro.json``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vkgroup.base.errors import InvalidInput, describe
from vkgroup.base.files import Unwritable, printable, read_bytes, read_text, write_whole, writing
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.outputs.reproduction import schema
from vkgroup.outputs.reproduction.values import Json, inside, load

RECORD, README, DEVICE = "repro.json", "README.md", "device.json"

PROGRAM = "repro.c"
"""The C program that repeats the case without vkgroup."""

RECIPE = "repro.txt"
"""What the C program reads."""

ISSUE = "issue.md"
"""A report for a bug tracker."""

SCRIPTS = {"amber": "case.amber", "vkrunner": "case.shader_test", "offload": "case.yaml"}
"""The case as a script of Amber, VkRunner and LLVM's offload-test-suite."""

FORMAT = 1
"""Format version of `RECORD`; folders with a later version are rejected."""

SHRUNK = "shrunk"
"""Name of the folder, inside that of a case, of a smaller program with the same failure."""

_DECIDING = ("inputs", "expected")

_PARTS = ("shaders", "inputs", "outputs", "expected", SHRUNK)


def begin(folder: Path) -> None:
    """Make an empty folder; an earlier reproduction folder is replaced."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file; give a new or empty folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RECORD).is_file():
        raise InvalidInput(f"{folder} contains other files; give a new or empty folder.")
    if not _replaceable(folder / SHRUNK):
        raise InvalidInput(f"{folder / SHRUNK} contains other files and would be replaced; move it away.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_contents(folder)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be created: {error.strerror or error}") from error


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make an empty folder, which the block fills; if it cannot be written, it is removed again."""
    begin(folder)
    try:
        yield
    except Unwritable:
        # Without its record, the rest would not be recognized as a folder that may be replaced.
        with suppress(OSError):
            _remove_contents(folder)
            folder.rmdir()
        raise


def _remove_contents(folder: Path) -> None:
    for part in _PARTS:
        if (folder / part).is_dir():
            shutil.rmtree(folder / part)
    for file in (RECORD, README, DEVICE, PROGRAM, RECIPE, ISSUE, *SCRIPTS.values()):
        (folder / file).unlink(missing_ok=True)


def _replaceable(smaller: Path) -> bool:
    """Return whether the folder of a smaller program does not exist, or contains only vkgroup's files."""
    if smaller.is_symlink() or not smaller.is_dir():
        return not (smaller.is_symlink() or smaller.exists())
    return {file.name for file in smaller.iterdir()} <= {*_PARTS, RECORD, README, DEVICE, PROGRAM, RECIPE}


def write(folder: Path, record: Json) -> None:
    """Write the record atomically."""
    head = {"format": FORMAT, "vkgroup": version("vkgroup")}
    with writing(folder / RECORD):
        write_whole(folder / RECORD, json.dumps(head | record, indent=1) + "\n")


def read(folder: Path) -> dict[str, Any]:
    """Read the record."""
    path = inside(folder, RECORD)
    try:
        record = json.loads(read_text(path))
    except OSError as error:
        raise InvalidInput(
            f"{folder} is not a reproduction folder: {path.name} cannot be read ({error.strerror}). Such "
            "folders are made by vkgroup conform --repro CASE DIR, and by check and run with --repro DIR; "
            "run also takes folders of Amber scripts (*.amber)."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from error
    if not isinstance(record, dict) or record.get("kind") not in ("case", "check", "run"):
        raise InvalidInput(f"{path} is not the record of a reproduction folder.")
    if record.get("format") != FORMAT:
        raise InvalidInput(
            f"{folder} has format {record.get('format')}, and this vkgroup reads {FORMAT}: update vkgroup, "
            "or make the folder again."
        )
    schema.check(record, path)
    return record


DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Exceptions that values of the right types raise in a damaged folder, such as a missing step's number."""


def damaged(folder: Path, error: BaseException) -> str:
    """Return the message for a folder whose values do not fit together."""
    reason = f"{folder} cannot be repeated ({describe(error)}): it is damaged."
    return f"{reason} Make the folder again; if the error remains, report it."


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each array that decides a verdict, by its file: inputs and expected values."""
    files = sorted(file for part in _DECIDING for file in (folder / part).glob("*.npy"))
    return {file.relative_to(folder).as_posix(): sha256(read_bytes(file)).hexdigest() for file in files}


def verify(folder: Path, record: Json) -> None:
    """Raise InvalidInput if an array that decides the verdict of a case was changed."""
    for file, digest in record.get("digests", {}).items():
        load(folder, file)  # a missing or unreadable file, or one outside of the folder, has its own message
        if sha256(read_bytes(folder / file)).hexdigest() != digest:
            raise InvalidInput(
                f"{folder / file} is damaged: its content is not what was recorded. Make the folder again."
            )


def write_readme(folder: Path, lines: Iterable[str]) -> None:
    """Write the README."""
    with writing(folder / README):
        (folder / README).write_text(printable("\n".join(lines).rstrip()) + "\n", encoding="utf-8")


def device_record(capabilities: Capabilities, info: DeviceInfo) -> Json:
    """Return the device's entry in a record, with the choice of one that no name chooses."""
    return {
        **({"choice": info.choice} if info.own_process else {}),
        "name": capabilities.name,
        "driver": f"{capabilities.driver_name} {capabilities.driver_info}".strip(),
        "subgroup_size": capabilities.subgroup.size,
    }


def write_device(folder: Path, data: Json) -> None:
    """Write the device's capabilities and the results of experiments, as ``vkgroup probe --json`` does."""
    with writing(folder / DEVICE):
        (folder / DEVICE).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

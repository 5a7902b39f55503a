"""Fuzzing targets: a table of everything in vkgroup that reads files from outside.

A target takes bytes and a folder of its own, and gives them to the product as a user would. It ends without a
word, or with an error of its `allowed`; whatever else comes out is a finding.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import fuzz_corpora as corpora
import fuzz_inputs as make
import fuzz_packages
import fuzz_runs
from fuzz_target import Call, Damage, Errors, Target
from hypothesis import strategies as st

from vkgroup.base.errors import CompileError, InvalidInput, InvalidModule, VkgroupError
from vkgroup.bench.compare import compare
from vkgroup.cli import main as command_line
from vkgroup.cli import pairs
from vkgroup.compiler import assemble, compile_source, disassemble, interface_of, validate
from vkgroup.compiler import cache as module_cache
from vkgroup.conformance.caselist import read_caselist
from vkgroup.device.manifests import read_manifest
from vkgroup.drivers import cache as driver_cache
from vkgroup.record.journal import RESULTS, RUN, Journal
from vkgroup.spirv import Module


class WrongEnd(AssertionError):
    """A command that ended with another exit code than the documented ones, or printed a traceback."""


# --- what is called -----------------------------------------------------------------------------------


def _look_at_module(data: bytes, _: Path) -> None:
    """Read all that can be read of a module; each look may refuse it by itself."""
    module = Module.from_bytes(data)
    for look in (lambda: module.instructions, lambda: _resolve(module), lambda: interface_of(module)):
        with contextlib.suppress(InvalidModule):
            look()
    for use in (validate, disassemble):
        with contextlib.suppress(InvalidModule):
            use(module)


def _resolve(module: Module) -> None:
    for entry in module.reflection.entry_points:
        if entry.local_size is not None:
            entry.local_size.resolve({})
    for binding in module.reflection.bindings:
        assert isinstance(binding.type.glsl, str)


def _compile(stage: str, dialect: str) -> Call:
    def call(data: bytes, _: Path) -> object:
        return compile_source(
            data.decode("utf-8", "surrogateescape"), stage=stage, dialect=dialect, cache=False
        )

    return call


def _assemble(data: bytes, _: Path) -> object:
    return assemble(data.decode("latin-1"))


def _npy(data: bytes, folder: Path) -> object:
    return pairs.read(_file(folder, "a.npy", data))


def _manifest(data: bytes, folder: Path) -> object:
    return read_manifest(_file(folder, "icd.json", data))


def _driver(data: bytes, folder: Path) -> object:
    _file(folder, "icd.json", b"{}")
    return driver_cache.load(_file(folder, driver_cache.METADATA, data).parent)


def _cached(data: bytes, folder: Path) -> object:
    payload, dependencies = module_cache._unpack("", data)
    return Module.from_bytes(payload) if dependencies.still_hold() else None


def _resumed(name: str) -> Call:
    """Resume a run whose results, or whose description, are the input."""

    def call(data: bytes, folder: Path) -> object:
        _file(folder, RESULTS, corpora.lines()[0])
        _file(folder, RUN, json.dumps(corpora.IDENTITY).encode())
        _file(folder, name, data)
        with Journal(folder, corpora.IDENTITY, resume=True) as store:
            return store.done

    return call


def _compared(data: bytes, folder: Path) -> object:
    file = _file(folder, "new.json", data)
    old = _file(folder, "old.json", corpora.recorded()[0])
    _command("bench", "--compare", str(old), str(file))
    return compare(file, old)


def _listed(data: bytes, folder: Path) -> object:
    return read_caselist(_file(folder, "cases.txt", data))


def _compile_command(data: bytes, folder: Path) -> None:
    name = "a.spv" if data[:4] == b"\x03\x02\x23\x07" else "a.comp"
    _command("compile", str(_file(folder, name, data)), "--disassemble")


def _run_command(data: bytes, folder: Path) -> None:
    name = "a.spv" if data[:4] == b"\x03\x02\x23\x07" else "a.comp"
    _command(
        "run", str(_file(folder, name, data)), "--device", "reference", "--groups", "1", "--timeout", "1",
        "--out", "0=uint[64]", "--out", "1=uint[64]",
    )  # fmt: skip


def _arrays_command(data: bytes, folder: Path) -> None:
    shader, array = _file(folder, "copy.comp", _COPY), _file(folder, "a.npy", data)
    _command(
        "run", str(shader), "--device", "reference", "--groups", "1", "--in", f"0={array}",
        "--out", f"0={folder / 'b.npy'}",
    )  # fmt: skip


def _devices_command(data: bytes, folder: Path) -> None:
    os.environ["VK_DRIVER_FILES"] = str(_file(folder, "icd.json", data))
    _command("devices")


def _check_command(data: bytes, folder: Path) -> None:
    _command(
        "check", str(_file(folder, "a.comp", data)), "--device", "none", "--subgroup-size", "4",
        "--groups", "1", "--timeout", "2", "--step-limit", "100",
    )  # fmt: skip


_COPY = b"""#version 460
// Adds one to each of four words (binding 0).
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Words { uint words[]; };
void main() { words[gl_GlobalInvocationID.x] += 1u; }
"""


def _file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def _command(*words: str) -> None:
    """Run a command as `vkgroup` does, in this process; what it prints and how it ends is judged."""
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        try:
            code: object = command_line.main(words)
        except SystemExit as end:
            code = end.code
    if code not in (0, 1, 2, 3) or "Traceback" in printed.getvalue() + errors.getvalue():
        raise WrongEnd(f"exit code {code}: {errors.getvalue()[-400:]}")


# --- the table ----------------------------------------------------------------------------------------


def _files(corpus: Callable[[], tuple[bytes, ...]], damage: Damage) -> Callable[[], make.Inputs]:
    return lambda: make.damaged(corpus(), damage)


def _either(*inputs: Callable[[], make.Inputs]) -> Callable[[], make.Inputs]:
    return lambda: st.one_of(*(one() for one in inputs))


def _suffix(suffix: str) -> Callable[[], tuple[bytes, ...]]:
    return lambda: corpora.sources(suffix)


_ENTRY: Errors = (ValueError, KeyError, TypeError, AttributeError, InvalidModule)
"""Stand-in for a cache entry that `module_cache.load` does not find."""

_TABLE: tuple[tuple[str, int, Callable[[], make.Inputs], Call, Errors], ...] = (
    ("spirv_words", 18_000, _files(corpora.modules, make.in_words), _look_at_module, (InvalidModule,)),
    ("spirv_bytes", 8_000, _files(corpora.modules, make.in_bytes), _look_at_module, (InvalidModule,)),
    (
        "spirv_random",
        12_000,
        _either(make.random_words, make.random_bytes),
        _look_at_module,
        (InvalidModule,),
    ),
    ("spirv_gl_record", 4_000, _files(corpora.gl_modules, make.in_bytes), _look_at_module, (InvalidModule,)),
    ("spirv_text", 4_000, _files(corpora.assembly, make.in_tokens), _assemble, (VkgroupError,)),
    ("glsl", 7_000, _files(_suffix(".comp"), make.in_tokens), _compile("compute", "vulkan"), (CompileError,)),
    (
        "glsl_bytes",
        3_000,
        _files(_suffix(".comp"), make.in_bytes),
        _compile("compute", "vulkan"),
        (CompileError,),
    ),
    (
        "glsl_opengl",
        2_000,
        _files(corpora.gl_sources, make.in_tokens),
        _compile("compute", "gl"),
        (CompileError,),
    ),
    (
        "glsl_fragment",
        1_000,
        _files(_suffix(".frag"), make.in_tokens),
        _compile("fragment", "vulkan"),
        (CompileError,),
    ),
    (
        "hlsl",
        2_000,
        _files(corpora.hlsl_sources, make.in_tokens),
        _compile("compute", "hlsl"),
        (CompileError,),
    ),
    ("npy", 10_000, _files(corpora.arrays, make.in_bytes), _npy, (InvalidInput,)),
    ("npy_random", 2_000, make.random_bytes, _npy, (InvalidInput,)),
    ("icd_manifest", 5_000, _files(corpora.manifests, make.in_json), _manifest, ()),
    ("icd_manifest_bytes", 2_000, _files(corpora.manifests, make.in_bytes), _manifest, ()),
    ("driver_metadata", 3_000, _files(corpora.metadata, make.in_json), _driver, ()),
    ("module_cache", 2_000, _files(corpora.entries, make.in_bytes), _cached, _ENTRY),
    ("results", 6_000, _files(corpora.lines, make.in_json_lines), _resumed(RESULTS), (InvalidInput,)),
    ("run_description", 2_000, _files(corpora.descriptions, make.in_json), _resumed(RUN), (InvalidInput,)),
    ("bench_json", 3_000, _files(corpora.recorded, make.in_json), _compared, (InvalidInput,)),
    ("caselist", 300, _files(corpora.caselists, make.in_tokens), _listed, (InvalidInput,)),
    (
        "command_compile",
        1_500,
        _either(_files(corpora.modules, make.in_words), _files(_suffix(".comp"), make.in_tokens)),
        _compile_command,
        (),
    ),
    (
        "command_run",
        1_500,
        _either(_files(corpora.modules, make.in_words), _files(corpora.checked, make.in_tokens)),
        _run_command,
        (),
    ),
    ("command_arrays", 700, _files(corpora.arrays, make.in_bytes), _arrays_command, ()),
    ("command_devices", 60, _files(corpora.manifests, make.in_json), _devices_command, ()),
    ("command_check", 500, _files(corpora.checked, make.in_tokens), _check_command, ()),
)
"""Name, share, inputs, what is called, and the errors by which it may refuse; see `Target`."""

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (*(Target(*row) for row in _TABLE), *fuzz_runs.targets(_command), *fuzz_packages.TARGETS)
}
"""All targets by name."""

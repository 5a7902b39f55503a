"""What is fuzzed: a table of everything of vkgroup that reads a file of others.

A target takes bytes and a folder of its own, and gives them to the product as a user would. It ends without a
word, or with an error of its `allowed`; whatever else comes out is a finding.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import fuzz_inputs as make
import numpy as np
from hypothesis import strategies as st

from vkgroup import conformance
from vkgroup.bench.compare import compare
from vkgroup.cli import main as command_line
from vkgroup.cli import pairs
from vkgroup.compiler import Target as VulkanTarget
from vkgroup.compiler import assemble, compile_source, disassemble, interface_of, validate
from vkgroup.compiler import cache as module_cache
from vkgroup.compiler.includes import Dependencies
from vkgroup.conformance.caselist import read_caselist
from vkgroup.conformance.store import RESULTS, RUN, Store
from vkgroup.device.manifests import read_manifest
from vkgroup.drivers import cache as driver_cache
from vkgroup.errors import CompileError, InvalidInput, InvalidModule, VkgroupError
from vkgroup.spirv import Module

ROOT = Path(__file__).resolve().parents[2]
_MOST_BYTES = 20_000

Call = Callable[[bytes, Path], object]
Damage = Callable[[bytes, list[make.Edit], bytes], bytes]
Errors = tuple[type[BaseException], ...]


@dataclass(frozen=True)
class Target:
    """One thing that reads what others wrote.

    Attributes
    ----------
    name : unique.
    share : of 100,000 inputs, how many are its own.
    inputs : makes the strategy that draws inputs.
    call : reads an input; the folder is empty but for what earlier calls left.
    allowed : errors by which an input may be refused.
    """

    name: str
    share: int
    inputs: Callable[[], make.Inputs]
    call: Call
    allowed: Errors


class WrongEnd(AssertionError):
    """A command that ended with another exit code than the documented ones, or printed a traceback."""


# --- corpora ------------------------------------------------------------------------------------------


@cache
def _sources(*suffixes: str) -> tuple[bytes, ...]:
    """Shaders of the repository, by suffix; those that are long cost time and find no more."""
    folders = ("shaders", "kernels", "tests/check", "tests/programs/shaders", "bench/shaders")
    files = sorted(
        file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in suffixes
    )
    return tuple(data for data in (file.read_bytes() for file in files) if len(data) < _MOST_BYTES)


@cache
def _checked() -> tuple[bytes, ...]:
    return tuple(file.read_bytes() for file in sorted((ROOT / "tests/check/right").glob("*.comp")))


@cache
def _modules() -> tuple[bytes, ...]:
    """Real modules: compiled from the repository's shaders, each third one with debug information."""
    found = []
    for number, source in enumerate(_sources(".comp")):
        with contextlib.suppress(CompileError):
            text = source.decode()
            module = compile_source(
                text, stage="compute", target=VulkanTarget.VULKAN_1_3, debug=number % 3 == 0
            )
            found.append(module.to_bytes())
    return tuple(data for data in found if len(data) < _MOST_BYTES)


def _gl_sources() -> tuple[bytes, ...]:
    return (
        b"#version 450\nlayout(local_size_x = 4) in;\nuniform vec4 colors[3];\nuniform mat3 turn;\n"
        b"layout(binding = 1) uniform atomic_uint count;\nlayout(binding = 0) buffer B { vec4 found[]; };\n"
        b"void main() { atomicCounterIncrement(count); \n"
        b"    found[gl_LocalInvocationIndex] = colors[1] * turn[0][1]; }",
        b"#version 430\nlayout(local_size_x = 8) in;\nstruct S { float a; ivec2 b[2]; };\nuniform S light;\n"
        b"layout(binding = 2) uniform sampler2D image;\n"
        b"layout(std430, binding = 0) buffer B { float v[]; };\n"
        b"void main() { v[gl_GlobalInvocationID.x] = light.a + light.b[1].x\n"
        b"    + texture(image, vec2(0.5)).x; }\n",
    )


def _hlsl_sources() -> tuple[bytes, ...]:
    return (
        b"RWStructuredBuffer<uint> found : register(u0);\n[numthreads(8, 1, 1)]\n"
        b"void main(uint3 id : SV_DispatchThreadID) \n"
        b"{ found[id.x] = WaveActiveSum(id.x) + WaveGetLaneCount(); }\n",
        b"cbuffer C { float4 scale; float4x4 turn; };\nRWBuffer<float> data;\ngroupshared float kept[64];\n"
        b"[numthreads(64, 1, 1)]\nvoid main(uint3 id : SV_DispatchThreadID, uint i : SV_GroupIndex)\n"
        b"{ kept[i] = data[id.x]; GroupMemoryBarrierWithGroupSync();\n"
        b"  data[id.x] = mul(turn, scale).x * kept[63 - i]; }\n",
    )


@cache
def _gl_modules() -> tuple[bytes, ...]:
    return tuple(
        compile_source(source.decode(), stage="compute", dialect="gl").to_bytes() for source in _gl_sources()
    )


@cache
def _assembly() -> tuple[bytes, ...]:
    return tuple(disassemble(Module.from_bytes(data)).encode() for data in _modules()[:40])


@cache
def _arrays() -> tuple[bytes, ...]:
    arrays = (
        np.arange(64, dtype="<u4"),
        np.zeros((3, 5), ">f8"),
        np.ones((2, 2, 2), np.float16, order="F"),
        np.array(True),
        np.array([("a", 1)], [("name", "U4"), ("value", "<i8")]),
    )
    found = []
    for array in arrays:
        for version in ((1, 0), (2, 0), (3, 0)):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, array, version=version)
            found.append(stream.getvalue())
    stream = io.BytesIO()
    np.savez(stream, a=arrays[0])
    return (*found, stream.getvalue())


def _manifests() -> tuple[bytes, ...]:
    return (
        b'{"file_format_version": "1.0.1", "ICD": {"library_path": "./libvk_x.so", "api_version": "1.3.0"}}',
        b'{"ICD": {"library_path": "libvk_x.so", "library_arch": "64", "is_portability_driver": false}}',
    )


_IDENTITY = {"device": "SwiftShader Device", "driver": "SwiftShader driver", "seed": 0, "vkgroup": "0.1.0"}


@cache
def _lines() -> tuple[bytes, ...]:
    """Results files: as a run writes them, one with a line that was cut off."""
    rows = [
        conformance.Result("vote.compute.subgroupAll.bool.all.exact", conformance.Status.PASS, 0.25, 512, 0),
        conformance.Result(
            "vote.compute.subgroupAny.bool.odd.exact", conformance.Status.FAIL, 0.5, 9, 1, "ü\n"
        ),
        conformance.Result(
            "basic.compute.subgroupElect.bool.all.exact", conformance.Status.CRASH, detail="x"
        ),
    ]
    text = "".join(json.dumps(row.to_json(), ensure_ascii=False) + "\n" for row in rows).encode()
    return text, text * 5, text[:-7]


def _descriptions() -> tuple[bytes, ...]:
    return (json.dumps(_IDENTITY).encode(),)


@cache
def _recorded() -> tuple[bytes, ...]:
    """Benchmarks as they were recorded, and as Google's library writes them."""
    files = sorted((ROOT / "bench/results").glob("*/bench_*.json"))
    # The first rows of each: a whole file takes a hundredth of a second to parse, and has no more to damage.
    found = []
    for file in files:
        data = json.loads(file.read_bytes())
        data["benchmarks"] = data["benchmarks"][:12]
        found.append(json.dumps(data).encode())
    plain = b'{"context": {}, "benchmarks": [{"name": "a", "run_name": "a", "run_type": "iteration", '
    return (*found, plain + b'"iterations": 5, "real_time": 1.5, "cpu_time": 1.5, "time_unit": "us"}]}')


def _caselists() -> tuple[bytes, ...]:
    return (
        b"# ours\nvote.compute.subgroupAll.bool.all.exact\narithmetic.compute.subgroupAdd.*\n\n"
        b"dEQP-VK.subgroups.vote.compute.subgroupallequal_bool\n",
        b"dEQP-VK.subgroups.arithmetic.framebuffer.subgroupadd_float_vertex\n"
        b"dEQP-VK.subgroups.clustered.graphics.subgroupclusteredmin_ivec3\nshuffle.*.uint.*\n",
    )


@cache
def _metadata() -> tuple[bytes, ...]:
    entries = {
        "family": "lavapipe", "version": "25.0.7", "package": "mesa", "icd": "icd.json", "loader": "x.so",
        "layers": None, "runtime": ["a"], "preload": ["b.so"], "format": driver_cache._FORMAT,
        "files": {"icd.json": {"size": 0, "modified": 1, "sha256": "00"}},
    }  # fmt: skip
    return (json.dumps(entries).encode(),)


@cache
def _entries() -> tuple[bytes, ...]:
    """Entries of the cache of modules, with included files and without."""
    module = Module.from_bytes(_modules()[0])
    known = Dependencies()
    known.present = {"/nonexistent/a.glsl": bytes(32)}
    known.absent = {"/nonexistent/b.glsl"}
    return tuple(module_cache._pack(module, dependencies) for dependencies in (Dependencies(), known))


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
    payload, dependencies = module_cache._unpack(data)
    return Module.from_bytes(payload) if dependencies.still_hold() else None


def _resumed(name: str) -> Call:
    """Resume a run whose results, or whose description, are the input."""

    def call(data: bytes, folder: Path) -> object:
        _file(folder, RESULTS, _lines()[0])
        _file(folder, RUN, json.dumps(_IDENTITY).encode())
        _file(folder, name, data)
        with Store(folder, _IDENTITY, resume=True) as store:
            return store.done

    return call


def _compared(data: bytes, folder: Path) -> object:
    file = _file(folder, "new.json", data)
    old = _file(folder, "old.json", _recorded()[0])
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
    return lambda: _sources(suffix)


_ENTRY: Errors = (ValueError, KeyError, TypeError, AttributeError, InvalidModule)
"""What `module_cache.load` takes for an entry that is not there."""

_TABLE: tuple[tuple[str, int, Callable[[], make.Inputs], Call, Errors], ...] = (
    ("spirv_words", 18_000, _files(_modules, make.in_words), _look_at_module, (InvalidModule,)),
    ("spirv_bytes", 8_000, _files(_modules, make.in_bytes), _look_at_module, (InvalidModule,)),
    (
        "spirv_random",
        12_000,
        _either(make.random_words, make.random_bytes),
        _look_at_module,
        (InvalidModule,),
    ),
    ("spirv_gl_record", 4_000, _files(_gl_modules, make.in_bytes), _look_at_module, (InvalidModule,)),
    ("spirv_text", 4_000, _files(_assembly, make.in_tokens), _assemble, (VkgroupError,)),
    ("glsl", 7_000, _files(_suffix(".comp"), make.in_tokens), _compile("compute", "vulkan"), (CompileError,)),
    (
        "glsl_bytes",
        3_000,
        _files(_suffix(".comp"), make.in_bytes),
        _compile("compute", "vulkan"),
        (CompileError,),
    ),
    ("glsl_opengl", 2_000, _files(_gl_sources, make.in_tokens), _compile("compute", "gl"), (CompileError,)),
    (
        "glsl_fragment",
        1_000,
        _files(_suffix(".frag"), make.in_tokens),
        _compile("fragment", "vulkan"),
        (CompileError,),
    ),
    ("hlsl", 2_000, _files(_hlsl_sources, make.in_tokens), _compile("compute", "hlsl"), (CompileError,)),
    ("npy", 10_000, _files(_arrays, make.in_bytes), _npy, (InvalidInput,)),
    ("npy_random", 2_000, make.random_bytes, _npy, (InvalidInput,)),
    ("icd_manifest", 5_000, _files(_manifests, make.in_json), _manifest, ()),
    ("icd_manifest_bytes", 2_000, _files(_manifests, make.in_bytes), _manifest, ()),
    ("driver_metadata", 3_000, _files(_metadata, make.in_json), _driver, ()),
    ("module_cache", 2_000, _files(_entries, make.in_bytes), _cached, _ENTRY),
    ("results", 6_000, _files(_lines, make.in_json_lines), _resumed(RESULTS), (InvalidInput,)),
    ("run_description", 2_000, _files(_descriptions, make.in_json), _resumed(RUN), (InvalidInput,)),
    ("bench_json", 3_000, _files(_recorded, make.in_json), _compared, (InvalidInput,)),
    ("caselist", 300, _files(_caselists, make.in_tokens), _listed, (InvalidInput,)),
    (
        "command_compile",
        1_500,
        _either(_files(_modules, make.in_words), _files(_suffix(".comp"), make.in_tokens)),
        _compile_command,
        (),
    ),
    (
        "command_run",
        1_500,
        _either(_files(_modules, make.in_words), _files(_checked, make.in_tokens)),
        _run_command,
        (),
    ),
    ("command_arrays", 700, _files(_arrays, make.in_bytes), _arrays_command, ()),
    ("command_devices", 60, _files(_manifests, make.in_json), _devices_command, ()),
    ("command_check", 500, _files(_checked, make.in_tokens), _check_command, ()),
)
"""Name, share, inputs, what is called, and the errors by which it may refuse; see `Target`."""

TARGETS: dict[str, Target] = {row[0]: Target(*row) for row in _TABLE}
"""All targets by name."""

"""Files that fuzzing damages: the repository's own shaders and records, and what vkgroup writes."""

from __future__ import annotations

import contextlib
import io
import json
from functools import cache
from pathlib import Path

import numpy as np

from vkgroup import conformance
from vkgroup.base.errors import CompileError
from vkgroup.compiler import TargetEnvironment, compile_source, disassemble
from vkgroup.compiler import cache as module_cache
from vkgroup.compiler.includes import Dependencies
from vkgroup.drivers import cache as driver_cache
from vkgroup.spirv import Module

ROOT = Path(__file__).resolve().parents[3]
_MOST_BYTES = 20_000


@cache
def sources(*suffixes: str) -> tuple[bytes, ...]:
    """Shaders of the repository, by suffix; those that are long cost time and find no more."""
    folders = ("shaders", "kernels", "tests/check", "tests/handwritten_programs/shaders", "bench/shaders")
    files = sorted(
        file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in suffixes
    )
    return tuple(data for data in (file.read_bytes() for file in files) if len(data) < _MOST_BYTES)


@cache
def checked() -> tuple[bytes, ...]:
    return tuple(file.read_bytes() for file in sorted((ROOT / "tests/check/right").glob("*.comp")))


@cache
def modules() -> tuple[bytes, ...]:
    """Real modules: compiled from the repository's shaders, each third one with debug information."""
    found = []
    for number, source in enumerate(sources(".comp")):
        with contextlib.suppress(CompileError):
            text = source.decode()
            module = compile_source(
                text, stage="compute", target=TargetEnvironment.VULKAN_1_3, debug=number % 3 == 0
            )
            found.append(module.to_bytes())
    return tuple(data for data in found if len(data) < _MOST_BYTES)


def gl_sources() -> tuple[bytes, ...]:
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


def hlsl_sources() -> tuple[bytes, ...]:
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
def gl_modules() -> tuple[bytes, ...]:
    return tuple(
        compile_source(source.decode(), stage="compute", dialect="gl").to_bytes() for source in gl_sources()
    )


@cache
def assembly() -> tuple[bytes, ...]:
    return tuple(disassemble(Module.from_bytes(data)).encode() for data in modules()[:40])


@cache
def arrays() -> tuple[bytes, ...]:
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


def manifests() -> tuple[bytes, ...]:
    return (
        b'{"file_format_version": "1.0.1", "ICD": {"library_path": "./libvk_x.so", "api_version": "1.3.0"}}',
        b'{"ICD": {"library_path": "libvk_x.so", "library_arch": "64", "is_portability_driver": false}}',
    )


IDENTITY = {"device": "SwiftShader Device", "driver": "SwiftShader driver", "seed": 0, "vkgroup": "0.1.0"}


@cache
def lines() -> tuple[bytes, ...]:
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


def descriptions() -> tuple[bytes, ...]:
    return (json.dumps(IDENTITY).encode(),)


@cache
def recorded() -> tuple[bytes, ...]:
    """Benchmarks as they were recorded, and as Google's library writes them."""
    files = sorted((ROOT / "bench/results").glob("*/bench*.json"))
    # Some rows of each: a whole file takes a hundredth of a second to parse, and has no more to damage.
    found = []
    for file in files:
        data = json.loads(file.read_bytes())
        data["benchmarks"] = data["benchmarks"][::64]
        found.append(json.dumps(data).encode())
    plain = b'{"context": {}, "benchmarks": [{"name": "a", "run_name": "a", "run_type": "iteration", '
    return (*found, plain + b'"iterations": 5, "real_time": 1.5, "cpu_time": 1.5, "time_unit": "us"}]}')


def caselists() -> tuple[bytes, ...]:
    return (
        b"# ours\nvote.compute.subgroupAll.bool.all.exact\narithmetic.compute.subgroupAdd.*\n\n"
        b"dEQP-VK.subgroups.vote.compute.subgroupallequal_bool\n",
        b"dEQP-VK.subgroups.arithmetic.framebuffer.subgroupadd_float_vertex\n"
        b"dEQP-VK.subgroups.clustered.graphics.subgroupclusteredmin_ivec3\nshuffle.*.uint.*\n",
    )


@cache
def metadata() -> tuple[bytes, ...]:
    entries = {
        "family": "lavapipe", "version": "25.0.7", "package": "mesa", "icd": "icd.json", "loader": "x.so",
        "layers": None, "runtime": ["a"], "preload": ["b.so"], "format": driver_cache._FORMAT,
        "files": {"icd.json": {"size": 0, "modified": 1, "sha256": "00"}},
    }  # fmt: skip
    return (json.dumps(entries).encode(),)


@cache
def entries() -> tuple[bytes, ...]:
    """Entries of the cache of modules, with included files and without."""
    module = Module.from_bytes(modules()[0])
    known = Dependencies()
    known.present = {"/nonexistent/a.glsl": bytes(32)}
    known.absent = {"/nonexistent/b.glsl"}
    return tuple(module_cache._pack("", module, dependencies) for dependencies in (Dependencies(), known))

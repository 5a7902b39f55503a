"""WGSL: entry points, names, lines, errors, options, and what happens without tint."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import CompileError, CompilerUnavailable
from vkgroup.cli.main import main
from vkgroup.compiler import compile_file, compile_source, disassemble, validate
from vkgroup.compiler import tint as tint_module
from vkgroup.compiler.front_ends import compiler_name
from vkgroup.compiler.installed import InstalledCompiler
from vkgroup.compiler.wgsl import read_wgsl
from vkgroup.spirv import StructType
from vkgroup.spirv.lines import LineTable

SOURCE = """enable subgroups;
struct Params { count: u32, scale: f32, rows: array<vec4f, 2> }
@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
@group(1) @binding(2) var<uniform> params: Params;
override width: u32 = 64u;
fn shared_part(x: u32) -> u32 {
    return x % 32u;
}
@compute @workgroup_size(width)
fn reduce(@builtin(global_invocation_id) id: vec3u) {
    let sum = subgroupAdd(src[id.x]);
    if (id.x < params.count) {
        dst[id.x] = sum + u32(params.rows[1].y) +
            shared_part(id.x); /* a { comment; /* in a comment */ } */
    }
    for (var k = 0u; k < 3u; k++) { dst[id.x] += k; }
}
@fragment
fn shade(@builtin(position) at: vec4f) -> @location(0) vec4f { return at * params.scale; }
"""


def _module(debug: bool = True, **options: object):
    return compile_source(SOURCE, stage="compute", dialect="wgsl", name="a.wgsl", debug=debug, **options)


def test_names_of_wgsl(tint: InstalledCompiler) -> None:
    reflection = _module().reflection
    names = {binding.place: (binding.name, binding.kind) for binding in reflection.bindings}
    assert names == {
        (0, 0): ("src", "storage_buffer"),
        (0, 1): ("dst", "storage_buffer"),
        (1, 2): ("params", "uniform_buffer"),
    }
    (uniform,) = (binding.type for binding in reflection.bindings if binding.kind == "uniform_buffer")
    assert isinstance(uniform, StructType)
    inner = uniform.members[0].type
    assert isinstance(inner, StructType)
    assert [(member.name, member.offset) for member in inner.members] == [
        ("count", 0),
        ("scale", 4),
        ("rows", 16),
    ]


def test_every_statement_has_its_line(tint: InstalledCompiler) -> None:
    module = _module()
    lines = LineTable(module)
    of = {}
    for entry in module.instructions:
        if entry.name in ("OpGroupNonUniformIAdd", "OpControlBarrier"):
            of[entry.name] = lines[entry.position].number
    assert of == {"OpGroupNonUniformIAdd": 12}
    stores = [lines[entry.position].number for entry in module.instructions if entry.name == "OpStore"]
    assert sorted(set(stores) - {0}) == [14, 17]
    assert lines.text(lines[next(e.position for e in module.instructions if e.name == "OpStore")])


def test_lines_change_nothing_else(tint: InstalledCompiler) -> None:
    def body(debug: bool) -> list[str]:
        names = [entry.name for entry in _module(debug).instructions]
        return [name for name in names[names.index("OpFunction") :] if name != "OpLine"]

    assert body(True) == body(False)
    validate(_module())
    assert "vkgroup_line" not in disassemble(_module())


def test_it_runs_with_the_values_of_its_names(tint: InstalledCompiler) -> None:
    params = np.zeros((), [("count", "u4"), ("scale", "f4"), ("pad", "u4", 2), ("rows", "f4", (2, 4))])
    params["count"], params["rows"][1, 1] = 40, 5.0
    src, dst = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    with vkgroup.open("reference") as device:
        result = device.run(
            _module(),
            2,
            {"src": src, "dst": dst, "params": np.frombuffer(params.tobytes(), np.uint8)},
            subgroup_size=32,
        )
    sums = src.reshape(-1, 32).sum(axis=1).repeat(32)
    index = np.arange(128)
    assert np.array_equal(result["dst"], np.where(index < 40, sums + 5 + index % 32, 0) + 3)


def test_entry_points(tint: InstalledCompiler, tmp_path: Path) -> None:
    file = tmp_path / "two.wgsl"
    file.write_text(SOURCE)
    assert compile_file(file).reflection.entry_points[0].stage == "compute"  # the only compute shader
    assert compile_file(file, entry_point="shade").reflection.entry_points[0].stage == "fragment"
    assert compile_file(file, stage="fragment").reflection.entry_points[0].stage == "fragment"
    with pytest.raises(CompileError) as missing:
        compile_file(file, entry_point="reduced")
    assert "'reduced'" in missing.value.diagnostics[0].message
    file.write_text(
        SOURCE + SOURCE[SOURCE.index("@compute") : SOURCE.index("@fragment")].replace("reduce", "again")
    )
    with pytest.raises(CompileError) as several:
        compile_file(file)
    assert "reduce (compute), shade (fragment), again (compute)" in several.value.diagnostics[0].message


_SHARED_PLACE = """struct P { n: u32 }
@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(0) var<uniform> p: P;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(1) fn first() { a[0] = arrayLength(&a); helper(); }
@compute @workgroup_size(1) fn second() { b[0] = p.n; }
fn helper() { b[1] = 2u; }
"""


def test_entry_points_may_share_a_binding(tint: InstalledCompiler) -> None:
    for entry, kinds in (
        ("first", {"a": "storage_buffer", "b": "storage_buffer"}),
        ("second", {"p": "uniform_buffer", "b": "storage_buffer"}),
    ):
        module = compile_source(_SHARED_PLACE, stage="compute", dialect="wgsl", entry_point=entry, debug=True)
        assert {binding.name: binding.kind for binding in module.reflection.bindings} == kinds


@pytest.mark.parametrize(("binding", "name"), [("0x2", "p"), ("2u", "p"), ("B", "p_block")])
def test_a_uniform_buffer_stays_one(binding: str, name: str, tint: InstalledCompiler) -> None:
    source = f"""const B = 2;
@group(0) @binding({binding}) var<uniform> p: vec4u;
@group(0) @binding(1) var<storage, read_write> b: array<u32>; // a comment \u2028
@compute @workgroup_size(1) fn main() {{ b[0] = p.y; }}
"""
    module = compile_source(source, stage="compute", dialect="wgsl", debug=True)
    (uniform,) = (entry for entry in module.reflection.bindings if entry.kind == "uniform_buffer")
    assert uniform.place == (0, 2)
    assert (uniform.name or uniform.block_name).startswith(name)


def test_small_uniforms_declare_their_capability(tint: InstalledCompiler) -> None:
    source = """enable f16;
struct P { scale: f16, n: u32 }
@group(0) @binding(0) var<uniform> p: P;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
@compute @workgroup_size(1) fn main() { b[0] = f32(p.scale); }
"""
    module = compile_source(source, stage="compute", dialect="wgsl")
    assert "UniformAndStorageBuffer16BitAccess" in module.reflection.capabilities


def test_a_member_of_the_source_keeps_its_name(tint: InstalledCompiler) -> None:
    source = """struct S { inner: u32, b: array<u32> }
@group(0) @binding(0) var<storage, read_write> s: S;
@compute @workgroup_size(1) fn main() { s.inner = arrayLength(&s.b); }
"""
    (binding,) = compile_source(source, stage="compute", dialect="wgsl").reflection.bindings
    assert isinstance(binding.type, StructType)
    assert [member.name for member in binding.type.members] == ["inner", "b"]


def test_names_like_marks_and_words_with_combining_marks(tint: InstalledCompiler) -> None:
    source = """@group(0) @binding(0) var<storage, read_write> हिन्दी: array<u32>;
fn vkgroup_line_3() -> u32 { return 5u; }
@compute @workgroup_size(1) fn मुख्य() {
    हिन्दी[0] = vkgroup_line_3();
}
"""
    module = compile_source(source, stage="compute", dialect="wgsl", debug=True)
    assert [binding.name for binding in module.reflection.bindings] == ["हिन्दी"]
    with vkgroup.open("reference") as device:
        assert device.run(module, 1, {"हिन्दी": np.zeros(1, np.uint32)})["हिन्दी"].tolist() == [5]


def test_a_condition_has_the_line_of_its_statement(tint: InstalledCompiler) -> None:
    source = """@group(0) @binding(0) var<storage, read_write> o: array<u32, 8>;
@compute @workgroup_size(1)
fn main() {
    if o[1] > 2u {
        o[2] = 1u;
    } else if o[3] > 4u {
        o[4] = 5u;
    }
}
"""
    module = compile_source(source, stage="compute", dialect="wgsl", debug=True)
    lines = LineTable(module)
    compared = [
        lines[entry.position].number for entry in module.instructions if entry.name == "OpUGreaterThan"
    ]
    assert compared == [4, 4]
    stores = [lines[entry.position].number for entry in module.instructions if entry.name == "OpStore"]
    assert stores == [5, 7]


def test_versions_without_spirv_1_3(tint: InstalledCompiler) -> None:
    with pytest.raises(CompileError) as error:
        compile_source(SOURCE, stage="compute", dialect="wgsl", target="1.0")
    assert "--target 1.1" in error.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("given", "line", "word"),
    [({}, 1, "-D NAME=V"), ({"flag": "yes"}, 0, "true or false"), ({"flag": "1,n=4"}, 0, "true or false")],
)
def test_errors_of_overrides(given: dict[str, str], line: int, word: str, tint: InstalledCompiler) -> None:
    source = """override flag: bool;
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(1) fn main() { o[0] = select(1u, 2u, flag); }
"""
    with pytest.raises(CompileError) as error:
        compile_source(source, stage="compute", dialect="wgsl", defines=given)
    (entry,) = error.value.diagnostics
    assert entry.line == line
    assert word in entry.message
    assert "\n" not in entry.message
    module = compile_source(source, stage="compute", dialect="wgsl", defines={"flag": "true"})
    with vkgroup.open("reference") as device:
        assert device.run(module, 1, {"o": np.zeros(1, np.uint32)})["o"].tolist() == [2]


def test_errors_have_line_and_column(tint: InstalledCompiler) -> None:
    source = SOURCE.replace("subgroupAdd(src[id.x])", "subgroupAdd(unknown)")
    with pytest.raises(CompileError) as error:
        compile_source(source, stage="compute", dialect="wgsl", name="a.wgsl", debug=True)
    (entry,) = error.value.diagnostics
    assert (entry.file, entry.line, entry.column) == ("a.wgsl", 12, 27)
    source = SOURCE.replace(
        "let sum = subgroupAdd(src[id.x]);", "if (id.x == 1u) { workgroupBarrier(); } let sum = 1u;"
    )
    with pytest.raises(CompileError) as error:
        compile_source(source, stage="compute", dialect="wgsl", name="a.wgsl")
    (entry,) = error.value.diagnostics
    assert (entry.line, entry.column) == (12, 23)
    assert "uniform" in entry.message


def test_overrides(tint: InstalledCompiler) -> None:
    local_size = _module(defines={"width": 32}).reflection.entry_points[0].local_size
    assert local_size is not None
    assert local_size.resolve() == (32, 1, 1)
    with pytest.raises(CompileError) as error:
        _module(defines={"height": 32})
    assert "height" in error.value.diagnostics[0].message


@pytest.mark.parametrize("option", ["robustness", "workgroup_zeros"])
def test_what_browsers_add_can_be_left_out(option: str, tint: InstalledCompiler) -> None:
    source = """var<workgroup> part: array<u32, 8>;
@group(0) @binding(0) var<storage, read_write> dst: array<u32>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) { dst[i] = part[dst[i + 1u]]; }
"""
    both = [
        len(compile_source(source, stage="compute", dialect="wgsl", **{option: on}).words)  # type: ignore[arg-type]
        for on in (True, False)
    ]
    assert both[0] > both[1]


def test_without_tint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "empty"))
    file = tmp_path / "a.wgsl"
    file.write_text(SOURCE)
    with pytest.raises(CompilerUnavailable):
        compile_file(file, stage="compute")
    for command in (["check", "--stage", "compute", "--device", "none"], ["compile", "--stage", "compute"]):
        assert main([command[0], str(file), *command[1:]]) == 3
        assert "vkgroup compilers fetch tint" in capsys.readouterr().err
    assert main(["compilers", "list"]) == 0
    assert "tint" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("script", "message"), [("kill -SEGV $$", "crashed (signal 11)"), ("sleep 60", "took longer than 1 s")]
)
def test_a_crash_and_a_time_limit_are_compile_errors(
    script: str, message: str, tint: InstalledCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tint"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(tint_module, "require_tint", lambda: replace(tint, loader=None, program=program))
    monkeypatch.setattr(tint_module, "SECONDS", 1.0)
    with pytest.raises(CompileError) as error:
        _module(cache=False)
    assert message in error.value.diagnostics[0].message


def test_its_name_and_the_compilers_of_the_dialect(tint: InstalledCompiler) -> None:
    assert compiler_name("tint", "wgsl") == compiler_name("glslang", "wgsl") == tint.name
    with pytest.raises(CompileError):
        _module(compiler="dxc")
    with pytest.raises(CompileError):
        compile_source("void main() {}", stage="compute", compiler="tint")


def test_wgsl_in_a_file_of_glsl_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "a.comp"
    file.write_text(SOURCE)
    with pytest.raises(CompileError) as error:
        compile_file(file)
    assert ".wgsl" in error.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("body", "statements"),
    [
        ("let a = 1; // ; { }\n let b = 2;", ["let a", "let b"]),
        ("if x { y(); } else if z { w(); } else { v(); }", ["if x", "y()", "w()", "v()"]),
        (
            "switch a { case 1, 2: { b(); } case 3 { c(); } default: { d(); } } e();",
            ["switch", "b()", "c()", "d()", "e()"],
        ),
        (
            "loop { if a { break; } continuing { b(); break if c; } }",
            ["loop", "if a", "break;", "b()", "break if"],
        ),
        ("for (var i = 0; i < 3; i++) { a(); }", ["for (", "a()"]),
        ("{ let a = f(g(1), 2); ; }", ["{", "let a"]),
        ("/* { /* ; */ ; */ a(); @diagnostic(off, x) if b { c(); }", ["a()", "@diag", "c()"]),
        ("let d = array<vec2<f32>, 2>(vec2(1.0, 2.0), vec2(1.0, 2.0)); return;", ["let d", "return"]),
    ],
)
def test_statements(body: str, statements: list[str]) -> None:
    source = read_wgsl(f"fn f() {{ {body} }}\n")
    found = [source.source[start:] for start in source.statements]
    assert len(found) == len(statements)
    assert all(text.startswith(word) for text, word in zip(found, statements, strict=True))


@pytest.mark.parametrize(
    "text", ["fn", "fn f(", "fn f() { /* ", "@", "@group(", "var<", "@compute fn main() { }}}", "}"]
)
def test_damaged_sources_are_errors(text: str, tint: InstalledCompiler) -> None:
    with pytest.raises(CompileError):
        compile_source(f"{text}\n", stage="compute", dialect="wgsl", cache=False)


def test_the_processes_environment_is_kept(tint: InstalledCompiler) -> None:
    before = dict(os.environ)
    _module(cache=False)
    assert dict(os.environ) == before

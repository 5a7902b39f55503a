"""``vkgroup compile`` and ``vkgroup run``: shaders from the shell."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from vkgroup.base import files
from vkgroup.cli.main import main
from vkgroup.spirv import Module

_SHADER = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint factor = 1;
layout(set = 0, binding = 0) readonly buffer Values { uint value[]; };
layout(set = 0, binding = 1) buffer Sums { uint sum[]; };
layout(push_constant) uniform Push { uint offset; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    sum[i] += factor * value[i] + offset + SHIFT + (subgroupAdd(1) > 0 ? 0 : 1);
}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a shader and an input."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "add.comp").write_text(_SHADER)
    np.save(tmp_path / "values.npy", np.arange(128, dtype=np.uint32))
    np.save(tmp_path / "sums.npy", np.full(128, 7, np.uint32))
    return tmp_path


@pytest.mark.parametrize("driver", ["swiftshader", "lavapipe"])
def test_run_reads_and_writes_files(
    here: Path, request: pytest.FixtureRequest, driver: str, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue(driver)
    words = "run add.comp -D SHIFT=5 --groups 2 --in Values=values.npy --out Sums=uint[128]:out.npy"
    words += f" --push offset=1000 --spec 3=2 --device {driver}"
    assert main(words.split()) == 0
    out = np.load(here / "out.npy")
    assert out.dtype == np.uint32
    assert np.array_equal(out, 2 * np.arange(128) + 1005)
    assert capsys.readouterr().out == ""


def test_run_updates_an_input_and_counts_bindings(here: Path, swiftshader: object) -> None:
    words = "run add.comp -DSHIFT=0 --groups 1,2,1 --in 0=values.npy --in 0.1=sums.npy --out 0.1=out.npy"
    assert main([*words.split(), "--push", "offset=1", "--device", "swiftshader"]) == 0
    once = np.arange(128) + 8
    found = np.load(here / "out.npy")
    assert np.array_equal(found[64:], np.full(64, 7))
    assert set(found[:64] - once[:64]) <= set(range(65))  # two groups in y add to the same sums


def test_run_prints_where_no_file_is_named(
    here: Path, swiftshader: object, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "run add.comp -D SHIFT --groups 2 --in Values=values.npy --out 1=uint32[128] --push offset=0x10"
    assert main([*words.split(), "--device", "swiftshader"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("1 = [ 17,  18,  19")
    assert "Ran on SwiftShader" in printed.err
    assert re.search(r"^Compiled by glslang \d+\.\d", printed.err, re.MULTILINE)


@pytest.mark.parametrize("suffix", [".spv", ".spvasm"])
def test_run_names_no_compiler_of_a_module(
    here: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", "add.comp", "-D", "SHIFT", "-o", "add.spv", "--disassemble"]) == 0
    (here / "add.spvasm").write_text(capsys.readouterr().out)
    words = f"run add{suffix} --groups 2 --in Values=values.npy --out 1=uint32[128] --push offset=0"
    assert main([*words.split(), "--device", "reference"]) == 0
    printed = capsys.readouterr().err
    assert "Ran on" in printed
    assert "Compiled by" not in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--out Sums=uint[128]:o.npy", "Values"),
        ("--in Values=nonesuch.npy --out Sums=uint[128]", "nonesuch.npy cannot be read"),
        ("--in Values=add.comp --out Sums=uint[128]", "add.comp cannot be read as an .npy file"),
        ("--in Values=values.npy --out Sums=nonesuch[128]", "the array cannot be created"),
        ("--in Values=values.npy --out Sums=float23[128]:s.npy", "Sums=float23[128]:s.npy: "),
        ("--in Values=values.npy --out Sums=float23[128]:s.npy", "Did you mean 'float32'?"),
        ("--in Values=nope.npy", "nope.npy cannot be read: No such file"),
        ("--entry-point other", "the entry point of GLSL is always main"),
        ("--in Values=values.npy --out Sums=o.npy", "needs its type and size"),
        ("--in Values=values.npy --in Sums=sums.npy --out Sums=uint[128]", "needs only the file"),
        ("--in Values=values.npy --out Sums=uint[128] --push offset=many", "neither a number"),
        ("--in Values=values.npy --out Sums=uint[128] --out Values=v.npy", "Values: the shader writes no"),
        ("--in Values=values.npy --out Sums=uint[128]:no/such/folder.npy", "cannot be written"),
        ("--in Values=values.npy --out Sums=uint[128] --in Extra=values.npy", "Extra"),
    ],
)
def test_run_refuses_bad_input(
    here: Path, swiftshader: object, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "add.comp", "-D", "SHIFT=0", "--groups", "2", "--device", "swiftshader"]
    push = [] if "--push" in words else ["--push", "offset=0"]
    assert main([*command, *push, *words.split()]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("shape", ["(99999999999999,)", "(9999999999999999999999,)", "(3," + "(" * 3000])
def test_run_refuses_arrays_whose_header_lies(
    here: Path, swiftshader: object, shape: str, capsys: pytest.CaptureFixture[str]
) -> None:
    header = f"{{'descr': '<u4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    (here / "liar.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert main(["run", "add.comp", "--groups", "1", "--in", "Values=liar.npy", "--out", "Sums=uint[4]"]) == 2
    assert "liar.npy cannot be read as an .npy file" in capsys.readouterr().err


def test_run_writes_what_it_can(here: Path, swiftshader: object) -> None:
    words = "run add.comp -D SHIFT=0 --groups 2 --in Values=values.npy --push offset=0 --device swiftshader"
    assert main([*words.split(), "--out", "Values=v.npy", "--out", "Sums=uint[128]:s.npy"]) == 2
    assert len(np.load(here / "s.npy")) == 128
    assert not (here / "v.npy").exists()


def test_run_refuses_a_folder_as_output_before_it_runs(
    here: Path, swiftshader: object, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "run add.comp -D SHIFT=0 --groups 2 --in Values=values.npy --push offset=0 --device swiftshader"
    assert main([*words.split(), "--out", "Sums=uint[128]:."]) == 2
    printed = capsys.readouterr().err
    assert "it is a folder" in printed
    assert "Ran on" not in printed


@pytest.mark.parametrize("seconds", ["nan", "-1", "0", "inf", "soon"])
def test_run_refuses_times_that_make_no_sense(
    here: Path, seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "add.comp", "--groups", "1", f"--timeout={seconds}"])
    assert ended.value.code == 2
    assert "--timeout" in capsys.readouterr().err


def test_run_without_the_device_or_what_it_lacks(here: Path, swiftshader: object) -> None:
    words = "run add.comp -D SHIFT=0 --groups 2 --in Values=values.npy --out Sums=uint[128] --push offset=0"
    assert main([*words.split(), "--device", "nonesuch"]) == 3
    assert main([*words.split(), "--device", "swiftshader", "--subgroup-size", "64"]) == 3


@pytest.mark.parametrize("words", ["--groups 1,2,3,4", "--groups=-1", "--groups x", "--groups 1 --in Values"])
def test_run_refuses_bad_usage(here: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "add.comp", *words.split()])
    assert ended.value.code == 2
    assert "usage: vkgroup run" in capsys.readouterr().err


def test_compile_writes_a_module_that_run_takes(
    here: Path, swiftshader: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", "add.comp", "-D", "SHIFT=0", "-o", "add.spv"]) == 0
    assert "SPIR-V 1.5" in capsys.readouterr().out
    assert Module.from_bytes((here / "add.spv").read_bytes()).version == (1, 5)
    words = "run add.spv --groups 2 --in 0=values.npy --out 1=uint[128]:out.npy --push offset=1"
    assert main([*words.split(), "--device", "swiftshader"]) == 0
    assert np.array_equal(np.load(here / "out.npy"), np.arange(128) + 1)


def test_compile_for_a_target_and_to_text_and_back(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            ["compile", "add.comp", "-D", "SHIFT=0", "--target", "1.3", "--optimize", "size", "--disassemble"]
        )
        == 0
    )
    text = capsys.readouterr().out
    assert "; Version: 1.6" in text
    assert "OpGroupNonUniformIAdd" in text
    assert (
        main(
            [
                "compile",
                "add.comp",
                "-D",
                "SHIFT=0",
                "--target",
                "1.3",
                "--optimize",
                "size",
                "-o",
                "add.spvasm",
            ]
        )
        == 0
    )
    assert (here / "add.spvasm").read_text() == text
    capsys.readouterr()
    assert main(["compile", "add.spvasm", "--target", "1.3"]) == 0
    assert "SPIR-V 1.6" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("add.comp", "add.comp:10: error: 'SHIFT'"),
        ("nonesuch.comp", "nonesuch.comp"),
        ("values.npy", "does not determine the stage"),
        ("nonesuch.spv", "cannot be read"),
        ("junk.spv", "junk.spv: not a SPIR-V module"),
        ("add.comp -D SHIFT=0 -o no/such/folder.spv", "cannot be written"),
    ],
)
def test_compile_refuses_bad_input(
    here: Path, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "junk.spv").write_bytes(b"junk" * 10)
    assert main(["compile", *words.split()]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("kind", ["", "ConstantBuffer"])
def test_push_constants_that_glslang_ignores_name_the_remedy(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shader, file = tmp_path / "a.hlsl", tmp_path / "a.json"
    shader.write_text(
        f"struct Params {{ uint n; }};\n[[vk::push_constant]] {kind}{'<Params>' if kind else 'Params'} p;\n"
        "RWStructuredBuffer<uint> b : register(u0);\n"
        "[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { b[id.x] = p.n; }\n"
    )
    file.write_text('{"push": {"n": 3}}')
    for given in (["--push", "n=3"], ["--with", str(file)]):
        assert main(["check", str(shader), "--device", "none", *given]) == (0 if kind else 2)
        assert ("ConstantBuffer<TYPE>" in capsys.readouterr().err) == (not kind)


def test_a_binding_given_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(4, np.uint32))
    for command in ("run", "check"):
        given = f"values={tmp_path / 'a.npy'}"
        shader = str(files.shader("tutorial/sum.comp"))
        words = [command, shader, "--in", given, "--in", given, "--groups", "1"]
        assert main(words) == 2
        assert "given twice" in capsys.readouterr().err


_FRAGMENT = """#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) buffer Count { uint count; };
void main() { color = vec4(at, 0.0, 1.0); atomicAdd(count, 1u); }
"""


@pytest.fixture
def pictures(here: Path) -> Path:
    """The working directory, with a fragment shader and values of its input at the three corners."""
    (here / "x.frag").write_text(_FRAGMENT)
    np.save(here / "at.npy", np.array([[0.5, 0.25], [0.5, 0.25], [0.5, 0.25]], np.float32))
    return here


def test_run_draws(pictures: Path, swiftshader: object, capsys: pytest.CaptureFixture[str]) -> None:
    words = "run x.frag --size 5,3 --vertices at=at.npy --color color=rgba32f --out color=c.npy --depth d32f"
    words += " --out depth=d.npy --out count=uint[1] --device swiftshader"
    assert main(words.split()) == 0
    assert np.array_equal(np.load(pictures / "c.npy"), np.tile([0.5, 0.25, 0, 1], (3, 5, 1)))
    assert (np.load(pictures / "d.npy") == 0).all()
    assert capsys.readouterr().out == "count = [15]\n"


def test_run_draws_with_a_vertex_shader(pictures: Path, swiftshader: object) -> None:
    (pictures / "x.vert").write_text(
        "#version 450\nlayout(location = 0) in vec2 where; layout(location = 0) out vec2 at;\n"
        "void main() { at = where; gl_Position = vec4(where, 0.0, 1.0); }"
    )
    np.save(pictures / "where.npy", np.array([[-1, -1], [3, -1], [-1, 3]], np.float32))
    words = "run x.frag --size 4x4 --vertex x.vert --vertices where=where.npy --samples 4 --all-samples"
    words += " --out color=c.npy --out count=uint[1]:n.npy --device swiftshader"
    assert main(words.split()) == 0
    found = np.load(pictures / "c.npy")
    assert found.shape == (4, 4, 4, 4)
    assert (np.diff(found[:, :, 0, 0], axis=1) > 0).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run absent", "absent cannot be read"),
        ("run absent.amb", "absent.amb cannot be read"),
        ("run case.yaml", "offload-test-suite"),
        ("run x.frag", "Give --groups X,Y,Z"),
        ("run x.frag --size 4,4 --groups 1", "Give --groups X,Y,Z"),
        ("run x.frag --groups 1 --in count=at.npy", "Draw it"),
        ("run x.frag --size 4,4 --out count=uint[1]", "inputs that nothing gives values: at"),
        ("run x.frag --size 4,4 --out count=uint[1] --vertices at=no.npy", "no.npy cannot be read"),
        (
            "run x.frag --size 4,4 --out count=uint[1] --vertices at=at.npy --vertices at=at.npy",
            "given twice",
        ),
        ("run x.frag --size 4,4 --out count=uint[1] --vertices at=at.npy --out colour=c.npy", "--out colour"),
        (
            "run x.frag --size 4,4 --out count=uint[1] --vertices at=at.npy --color colour=r8",
            "no output 'colour'",
        ),
    ],
)
def test_draws_that_make_no_sense(
    pictures: Path, swiftshader: object, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words.split(), "--device", "swiftshader"]) == 2
    assert message in capsys.readouterr().err


def test_a_size_is_two_positive_numbers(pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for size in ("4", "0,4", "4,-1", "a,b"):
        with pytest.raises(SystemExit):
            main(["run", "x.frag", "--size", size])
        assert "give two or three numbers of at least 1" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "compile", "run --groups 1", "cost --device none"])
@pytest.mark.parametrize("name", ["none.comp", "none.spv", "none.spvasm", "none.hlsl"])
def test_a_missing_file_is_not_called_a_shader_that_does_not_compile(
    command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), name]) in (2, 3)
    said = capsys.readouterr().err
    assert "does not compile" not in said
    if not command.startswith("cost"):
        assert f"{name} cannot be read: No such file or directory" in said

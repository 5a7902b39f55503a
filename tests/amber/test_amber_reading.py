"""Reading of Amber scripts: what is read, and the errors, with file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from amber.scripts import BUFFER, COLORED, DOUBLES, PIPELINE, START, write

from vkgroup.amber import Script, read_script
from vkgroup.base.errors import InvalidInput, Unsupported


def read(folder: Path, text: str) -> Script:
    return read_script(write(folder, text))


def line_of(text: str, word: str) -> int:
    """Return the last line that has a word."""
    return max(number for number, line in enumerate(text.split("\n"), 1) if word in line)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("RUN pipeline 1 1\n", "a number of workgroups is missing"),
        ("RUN pipeline 1 1 1 1\n", "'1' is one word too many"),
        ("RUN pipeline DRAW_RECT POS 0 0 SIZE 1 1\n", "'pipeline' is a compute pipeline"),
        ("RUN other 1 1 1\n", "there is no pipeline 'other'"),
        ("EXPECT data IDX 0 EQ\n", "a value is missing"),
        ("EXPECT data IDX 0 EQ x\n", "'x' is not a number"),
        ("EXPECT data IDX 0 NEAR 1\n", "expected IDX X, and one of EQ, NE, LT, LE, GT, GE"),
        ("EXPECT other IDX 0 EQ 1\n", "there is no buffer 'other'"),
        ("EXPECT data RMSE_BUFFER data\n", "expected TOLERANCE, not the end of the line"),
        ("COPY data data\n", "expected TO, not data"),
        ("REPEAT 2\nRUN pipeline 1 1 1\n", "END is missing"),
        ("REPEAT -1\nEND\n", "a number from 0 to"),
        ("hello\n", "unknown statement 'hello'"),
        (BUFFER, "there are two buffers 'data'"),
        ("BUFFER x DATA_TYPE what DATA 1 END\n", "unknown type 'what'"),
        ("BUFFER x DATA_TYPE int32 DATA 1.5 END\n", "int32 has integers"),
        ("BUFFER x DATA_TYPE int32 FILL 1\n", "SIZE is missing"),
        ("BUFFER x DATA_TYPE int32 SIZE 0 FILL 1\n", "a size is at least 1"),
        ("BUFFER x DATA_TYPE int32 DATA\n1 2\n", "END is missing"),
        ("BUFFER x DATA_TYPE int32 SIZE 1 FILE TEXT none.txt\n", "none.txt cannot be read"),
        ("IMAGE x FORMAT R32_UINT DIM_2D HEIGHT 4 FILL 0\n", "an IMAGE is DIM_1D, DIM_2D or DIM_3D"),
        ("SAMPLER s MAG_FILTER soft\n", "The sampler's filter must be one of"),
        ("SAMPLER s COLOR red\n", "unknown option 'COLOR' of a sampler"),
        ("SHADER compute s GLSL\nvoid main() {}\n", "END is missing"),
        ("SHADER compute s GLSL VIRTUAL_FILE a.glsl\n", "there is no VIRTUAL_FILE 'a.glsl'"),
        ("PIPELINE compute p\n  ATTACH none\nEND\n", "there is no shader 'none'"),
        ("PIPELINE graphics p\n  ATTACH doubles\nEND\n", "a graphics pipeline has no compute shader"),
        (PIPELINE, "there are two pipelines 'pipeline'"),
        ("DERIVE_PIPELINE p FROM q\nEND\n", "there is no pipeline 'q'"),
        ("EXPECT data IDX -4 EQ 1\n", "an index is at least 0, not -4"),
        ("EXPECT data IDX 0 -1 SIZE 1 1 EQ_RGBA 0 0 0 0\n", "y is at least 0, not -1"),
        ("EXPECT data IDX 0 0 SIZE 0 1 EQ_RGBA 0 0 0 0\n", "a width is at least 1, not 0"),
        ("EXPECT data IDX 0 0 SIZE 1 1 EQ_RGB 0 256 0\n", "a color is from 0 to 255, not 256"),
        ("EXPECT data IDX 0 0 SIZE 1 1 TOLERANCE 1 2 EQ_RGB 0 0 0\n", "expected IDX X Y SIZE W H"),
        ("EXPECT data IDX 0 0 SIZE 1 1 EQ_RGB 0 0 0 TOLERANCE 1 2\n", "one tolerance is expected, or 3"),
        ("EXPECT data IDX 0 TOLERANCE 1 LT 1\n", "TOLERANCE is for EQ"),
        ("EXPECT data IDX 0 EQ 1.5\n", "uint32 has integers"),
        ("EXPECT data IDX 0 EQ nan\n", "uint32 has integers"),
        ("EXPECT data RMSE_BUFFER data TOLERANCE nan\n", "a tolerance is finite, not nan"),
        ("BUFFER x DATA_TYPE int32 SIZE 2 FILL 1e999\n", "int32 has integers"),
        ("BUFFER x DATA_TYPE vec2<float> SIZE 2 SERIES_FROM 1 INC_BY 1\n", "SERIES_FROM is for scalars"),
        ("IMAGE x FORMAT R32_UINT DIM_2D WIDTH 2 HEIGHT 2 DATA 1 2 3 END\n", "4 numbers are expected, not 3"),
        ("IMAGE x FORMAT R32_UINT DIM_2D WIDTH 2 DATA 1 2 3 END\n", "2 numbers are expected, not 3"),
        ("BUFFER x DATA_TYPE uint32 SIZE 1 FILE BINARY a.amber\n", "bytes, and an element has 4"),
        ("VIRTUAL_FILE a\nEND\nVIRTUAL_FILE a\nEND\n", "there are two VIRTUAL_FILEs 'a'"),
        ("PIPELINE compute p\n  ATTACH doubles SPECIALIZE 0 AS int32 1.5\nEND\n", "int32 has integers"),
        ("PIPELINE compute p\n  ATTACH doubles SPECIALIZE 0 AS vec2<int32> 1\nEND\n", "unknown type"),
        ("PIPELINE compute p\n  hello\nEND\n", "unknown statement 'hello'"),
        ("PIPELINE graphics p\n  FRAMEBUFFER_SIZE 0 4\nEND\n", "a width is at least 1"),
        ("PIPELINE graphics p\n  VERTEX_DATA data data LOCATION 0\nEND\n", "expected LOCATION, not data"),
        (
            "PIPELINE compute p\n  SUBGROUP doubles\n    REQUIRED_SIZE nan\n  END\nEND\n",
            "a size is an integer, not nan",
        ),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, end: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, START + end)
    text = str(caught.value)
    assert reason in text
    first = START.count("\n") + 1
    line = int(text.removeprefix(f"{tmp_path / 'a.amber'}:").partition(":")[0])
    assert first <= line <= first + end.count("\n")


@pytest.mark.parametrize(
    ("end", "what"),
    [
        ("SHADER ray_generation r GLSL\nvoid main() {}\nEND\n", "SHADER ray_generation"),
        ("PIPELINE ray_tracing p\nEND\n", "PIPELINE ray_tracing"),
        ("SHADER compute c OPENCL-C\nEND\n", "SHADER compute OPENCL-C"),
        ("BUFFER x FORMAT R8_SRGB\n", "the format R8_SRGB"),
        ("BUFFER x FORMAT R8G8B8A8_UNORM FILE PNG a.png\n", "FILE PNG"),
        ("PIPELINE compute p\n  SHADER_OPTIMIZATION doubles\n  END\nEND\n", "SHADER_OPTIMIZATION"),
        ("DERIVE_PIPELINE p FROM pipeline\n  BLEND\n  END\nEND\n", "BLEND"),
        ("DERIVE_PIPELINE p FROM pipeline\n  STENCIL front\n  END\nEND\n", "STENCIL"),
        ("DERIVE_PIPELINE p FROM pipeline\n  POLYGON_MODE line\nEND\n", "POLYGON_MODE line"),
        ("DERIVE_PIPELINE p FROM pipeline\n  BIND BUFFER data KERNEL ARG_NUMBER 0\nEND\n", "OpenCL"),
        ("CLEAR_STENCIL pipeline 1\n", "CLEAR_STENCIL"),
        ("BUFFER x DATA_TYPE uint32 SIZE 99999999999 FILL 1\n", "more than 268435456 bytes"),
    ],
)
def test_what_is_not_supported_is_named(tmp_path: Path, end: str, what: str) -> None:
    with pytest.raises(Unsupported) as caught:
        read(tmp_path, START + end)
    assert what in str(caught.value)
    assert what in caught.value.missing[0]
    assert str(caught.value).startswith(f"{tmp_path / 'a.amber'}:")


@pytest.mark.parametrize("text", ["", "void main() {}\n", "BUFFER x DATA_TYPE int32 DATA 1 END\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="begins with the line #!amber"):
        read(tmp_path, text)
    (tmp_path / "b.amber").write_bytes(b"#!amber\n\xff\xfe")
    with pytest.raises(InvalidInput, match="not a text file"):
        read_script(tmp_path / "b.amber")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_script(tmp_path / "c.amber")


def test_contents(tmp_path: Path) -> None:
    (tmp_path / "numbers.txt").write_text("# three\n1 2\n3 # the last\n")
    (tmp_path / "bytes.bin").write_bytes(bytes(range(8)))
    script = read(
        tmp_path,
        "#!amber\n"
        "BUFFER filled DATA_TYPE vec2<float> SIZE 2 FILL 1.5\n"
        "BUFFER series DATA_TYPE int32 SIZE 4 SERIES_FROM 5 INC_BY -2\n"
        "BUFFER text DATA_TYPE uint16 SIZE 3 FILE TEXT numbers.txt\n"
        "BUFFER binary DATA_TYPE uint32 SIZE 2 FILE BINARY bytes.bin\n"
        "BUFFER words DATA_TYPE uint32 DATA # with a comment\n  0x10 \\\n 7\nEND\n"
        "BUFFER rectangle DATA_TYPE float WIDTH 2 HEIGHT 3 FILL 0\n",
    )

    def numbers(name: str) -> list[float]:
        buffer = script.buffers[name]
        assert buffer.data is not None
        return buffer.type.values(buffer.data).reshape(-1).tolist()

    assert numbers("filled") == [1.5] * 4
    assert numbers("series") == [5, 3, 1, -1]
    assert numbers("text") == [1, 2, 3]
    assert numbers("binary") == np.arange(8, dtype=np.uint8).view("<u4").tolist()
    assert numbers("words") == [16, 7]
    assert script.buffers["rectangle"].extent == (2, 3, 1)


def test_a_derived_pipeline_changes_a_copy(tmp_path: Path) -> None:
    end = "DERIVE_PIPELINE small FROM pipeline\n  FRAMEBUFFER_SIZE 4 4\nEND\n"
    script = read(tmp_path, COLORED + end)
    assert script.pipelines["pipeline"].size == (16, 8)
    small = script.pipelines["small"]
    assert (small.size, small.colors, small.shaders.keys()) == ((4, 4), {0: "frame"}, {"vertex", "fragment"})


def test_lines_of_a_shader_are_those_of_the_script(tmp_path: Path) -> None:
    text = "#!amber\n# a comment\n" + DOUBLES + "SHADER compute s SPIRV-ASM\nOpNothing\nEND\n"
    script = read(tmp_path, text)
    glsl, assembly = script.shaders["doubles"].source, script.shaders["s"].source
    assert glsl.split("\n")[line_of(text, "void main") - 1].startswith("void main")
    # Nothing may come before #version.
    assert glsl.startswith("#version 450\n")
    assert assembly.split("\n")[line_of(text, "OpNothing") - 1] == "OpNothing"


def test_virtual_files_and_files(tmp_path: Path) -> None:
    (tmp_path / "b.glsl").write_text("void main() { }\n")
    script = read(
        tmp_path,
        "#!amber\nVIRTUAL_FILE a.glsl\nvoid main() {}\nEND\n"
        "SHADER compute one GLSL VIRTUAL_FILE a.glsl\n"
        "SHADER compute two GLSL TARGET_ENV spv1.3 FILE b.glsl\n",
    )
    # At its lines of the script.
    assert script.shaders["one"].source == "\n\nvoid main() {}\n"
    assert (script.shaders["two"].source, script.shaders["two"].target) == ("void main() { }\n", "spv1.3")


def test_quotation_marks_and_a_byte_order_mark(tmp_path: Path) -> None:
    script = read(
        tmp_path,
        '\ufeff#!amber\nVIRTUAL_FILE "a.glsl"\nvoid main() {}\nEND\n'
        "SHADER compute one GLSL VIRTUAL_FILE a.glsl\n",
    )
    assert script.shaders["one"].source.strip() == "void main() {}"


def test_many_comments_before_the_first_statement(tmp_path: Path) -> None:
    comments = "# a comment\n\n" * 200
    assert read(tmp_path, f"#!amber\n{comments}{BUFFER}").buffers.keys() == {"data"}
    assert read(tmp_path, f"{comments}[require]\n").commands == []


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("[test]\nssbo 0.5 64\n", ":3: a binding is a number, or SET:NUMBER."),
        ("[test]\nssbo 0 subdata int -4 1\n", ":3: an offset is at least 0"),
        ("[test]\nprobe ssbo vec4 0 -16 == 1 1 1 1\n", ":3: an offset is at least 0"),
        ("[test]\nprobe ssbo int 0 0 == 1\n", ":3: there is no buffer '0:0'"),
        ("[test]\nprobe rect rgba (inf, 0, 1, 1) (0, 0, 0, 0)\n", ":3: x is finite"),
        ("[test]\nrelative probe rgba (-1, 0) (0, 0, 0, 0)\n", ":3: the probe is not in the framebuffer"),
        ("[test]\ncompute 1 1 1\n", ":3: the script has no compute shader"),
        ("[test]\nssbo 0 subdata int 0 inf\n", ":3: int32 has integers"),
        ("[test]\nssbo 0 subdata int 0 1\nprobe ssbo int 0 0 == 1.5\n", ":4: int32 has integers"),
        ("[indices]\n0 nan\n", ":3: uint32 has integers"),
        ("[test]\ntolerance 1 2\n", ":3: one tolerance is expected, or four"),
        ("[vertex data]\n0/R32_SFLOAT 1/R32_SFLOAT\n1\n", ":3: each line of [vertex data]"),
        ("[vertex data]\n0/R32_SFLOAT\n", ":3: each line of [vertex data]"),
    ],
)
def test_errors_in_scripts_of_vkrunner(tmp_path: Path, section: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, f"# a script\n{section}")
    assert f"{tmp_path / 'a.amber'}{reason}" in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("draw rect ortho 0 0 1 1", "draw rect ortho"),
        ("draw arrays instanced TRIANGLE_LIST 0 3", "draw arrays instanced"),
        ("draw arrays indexed TRIANGLE_LIST 1 3", "draw arrays indexed with a first vertex"),
        ("clear depth 1.0", "clear depth"),
        ("ssbo 0 subdata mat2 0 1 2 3 4", "the type mat2"),
        ("ssbo 0 99999999999", "more than 268435456 bytes"),
        ("patch parameter vertices 3", "patch"),
    ],
)
def test_what_is_not_supported_of_vkrunner(tmp_path: Path, statement: str, what: str) -> None:
    with pytest.raises(Unsupported) as caught:
        read(tmp_path, f"[test]\n{statement}\n")
    assert caught.value.missing == [what] or what in caught.value.missing[0]
    assert f"{tmp_path / 'a.amber'}:2: " in str(caught.value)


def test_continued_lines_and_comments_of_vkrunner(tmp_path: Path) -> None:
    text = "[comment]\nany words\n[indices]\n0 1\n2\n[test]\nssbo 0 \\\n  subdata \\\n int 0 7\n# no\nclear\n"
    script = read(tmp_path, text)
    assert [(command.line, command.word) for command in script.commands] == [(7, "WRITE"), (11, "CLEAR")]
    indices = script.buffers["indices"]
    assert indices.data is not None
    assert indices.type.values(indices.data).reshape(-1).tolist() == [0, 1, 2]

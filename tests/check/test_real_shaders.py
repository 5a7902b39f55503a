"""The table of real shaders (bench/real_shaders) and the translation of ncnn's macros."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from real_shaders.model import Mutant, Shader, fastdiv
from real_shaders.ncnn_source import macros_of, source_of
from real_shaders.running import mutated
from real_shaders.table import SHADERS

_GPU = """
int compile(const char* text)
{
    const bool support_fp16_storage = info.support_fp16_storage();
    const bool support_int16_arithmetic = info.physicalDevicefeatures().shaderInt16;

    if (opt.use_bf16_storage)
    {
        custom_defines.append("sfp", "bfloat16_t");
    }
    else if (opt.use_fp16_packed && !opt.use_fp16_storage)
    {
        // two in a word
        custom_defines.append("buffer_st1(buf,i,v)", "{buf[i]=pack(v);}");
    }
    else
    {
        custom_defines.append("sfp", "float");
    }
    custom_defines.append("aint16", support_int16_arithmetic ? "int16_t" : "int");
#if __APPLE__
    custom_defines.append("NCNN_moltenvk", 1);
#endif
    custom_defines.append("ncnn_glsl_version", 1);

    // fill device macros
    device_defines.append("a", 1);

    std::string custom_exts;
    if (opt.use_bf16_storage || support_fp16_storage)
    {
        custom_exts += "#extension GL_EXT_shader_16bit_storage: require\\n";
    }
    bool compile_success = true;
"""


@pytest.fixture
def gpu(tmp_path: Path) -> Path:
    path = tmp_path / "gpu.cpp"
    path.write_text(_GPU)
    return path


def test_macros_depend_on_options_and_on_the_device(gpu: Path) -> None:
    macros, extensions = macros_of(gpu, {}, {})
    assert macros == {"sfp": "float", "aint16": "int", "ncnn_glsl_version": 1}
    assert extensions == ""
    macros, extensions = macros_of(gpu, {"use_fp16_packed": True}, {"support_int16": True})
    assert macros["buffer_st1(buf,i,v)"] == "{buf[i]=pack(v);}"
    assert macros["aint16"] == "int16_t"
    macros, extensions = macros_of(gpu, {"use_bf16_storage": True}, {})
    assert macros["sfp"] == "bfloat16_t"
    assert extensions == "#extension GL_EXT_shader_16bit_storage: require\n"


def test_lines_keep_their_numbers(gpu: Path, tmp_path: Path) -> None:
    shader = tmp_path / "some.comp"
    shader.write_text("// some\n\n#version 450\nvoid main() {}\n")
    source = source_of(shader, gpu, {}, {}, {"subgroupSize": 32}, (4, 2, 1))
    assert source.startswith("// some\n\n#version 450\n")
    assert "#define sfp float\n" in source
    assert "#define ncnn_subgroupSize 32\n" in source
    assert "layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;\n" in source
    assert source.endswith(f'#line 4 "{shader}"\nvoid main() {{}}\n')


def test_a_mutant_replaces_one_match_and_names_its_line() -> None:
    text = "a;\nbarrier();\nb;\nbarrier();\n"
    assert mutated(text, Mutant("missing barrier", "barrier();", ";", 2)) == ("a;\nbarrier();\nb;\n;\n", 4)
    with pytest.raises(ValueError, match="occurs only 2 times"):
        mutated(text, Mutant("missing barrier", "barrier();", ";", 3))


@pytest.mark.parametrize("divisor", [1, 2, 3, 5, 75, 375, 1 << 20])
def test_division_by_a_constant(divisor: int) -> None:
    multiplier, shift = fastdiv(divisor)
    for number in (0, 1, divisor - 1, divisor, 3 * divisor - 1, 1 << 20):
        assert ((number * multiplier >> 32) + number) >> shift == number // divisor


@pytest.mark.parametrize("shader", SHADERS, ids=lambda shader: shader.name)
def test_a_shader_has_five_mutants_and_defined_results(shader: Shader) -> None:
    assert len(shader.mutants) == 5
    arrays = shader.inputs(np.random.default_rng(0))
    for key, expected in shader.expected(arrays).items():
        assert np.isfinite(expected.values).all()
        assert np.isfinite(expected.tolerance).all()
        size = shader.outputs[key][0] if key in shader.outputs else arrays[key].size
        assert expected.values.size <= size


def test_names_are_unique() -> None:
    names = [shader.name for shader in SHADERS]
    assert len(set(names)) == len(names) >= 30

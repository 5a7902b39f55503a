"""The record by which hosts find what OpenGL has by name and binding point, and the sources it survives."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from vkgroup.base.errors import CompileError, InvalidDispatch
from vkgroup.compiler import (
    TargetEnvironment,
    compile_file,
    compile_source,
    disassemble,
    interface_of,
    validate,
)
from vkgroup.compiler.gl.interface import GlInterface, with_interface
from vkgroup.spirv import Module

SOURCE = """#version 430
layout(local_size_x = 8, local_size_y = 2) in;
struct Light { vec3 color; float power[2]; bool on; };
uniform Light lights[2];
layout(location = 20) uniform mat4x3 matrix = mat4x3(1.0);
uniform int steps[4];
uniform float unused;
layout(binding = 2, offset = 8) uniform atomic_uint counters[3];
layout(binding = 3) uniform sampler2D textures[2];
uniform usampler3D volume;
layout(binding = 1, rgba8) uniform writeonly image2D picture;
layout(binding = 1) uniform Block { vec4 a; float b; } blocks[2];
layout(binding = 1) buffer Storage { uint count; float found[]; };
buffer Other { float other[]; };
layout(binding = 1) buffer Third { float third[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    vec4 texel = texture(textures[1], vec2(0)) + vec4(texture(volume, vec3(0)));
    found[i] = lights[1].color.x + lights[0].power[1] + float(lights[1].on) + matrix[3].z
        + float(steps[i % 4u]) + texel.x + blocks[1].b + other[i] + third[i];
    imageStore(picture, ivec2(i), texel);
    atomicCounterIncrement(counters[i % 3u]);
}
"""


def record(module: Module) -> GlInterface:
    found = interface_of(module)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def interface() -> GlInterface:
    return record(compile_source(SOURCE, stage="compute", dialect="gl", cache=False))


def test_uniforms_by_name(interface: GlInterface) -> None:
    found = {
        uniform.name: (uniform.type, uniform.length, uniform.offset, uniform.location)
        for uniform in interface.uniforms
    }
    assert found == {
        "lights[0].color": ("vec3", None, 0, 0),
        "lights[0].power": ("float", 2, 16, 1),
        "lights[0].on": ("bool", None, 48, 3),
        "lights[1].color": ("vec3", None, 64, 4),
        "lights[1].power": ("float", 2, 80, 5),
        "lights[1].on": ("bool", None, 112, 7),
        "matrix": ("mat4x3", None, 128, 20),
        "steps": ("int", 4, 192, 8),
    }
    assert interface.default_block_size == 256
    assert interface.local_size == (8, 2, 1)
    assert interface.stages == ("compute",)


def test_parts_of_uniforms_by_name(interface: GlInterface) -> None:
    uniform, element = interface.uniform("steps[2]")
    assert (uniform.name, element) == ("steps", 2)
    assert interface.uniform("lights[1].power[1]")[1] == 1
    for name in ("unused", "steps[4]", "matrix[0]", "lights", "lights[2].on", "steps[-1]"):
        with pytest.raises(KeyError):
            interface.uniform(name)


def test_resources_have_places_of_their_own(interface: GlInterface) -> None:
    places = [(entry.set, entry.binding) for entry in interface.resources]
    assert len(set(places)) == len(places) == 9
    found = {
        entry.name or entry.kind: (
            entry.kind,
            entry.gl_binding,
            entry.explicit,
            entry.length,
            entry.set,
            entry.binding,
        )
        for entry in interface.resources
    }
    assert found == {
        "default_block": ("default_block", -1, False, None, 1, 64),
        "atomic_counter_buffer": ("atomic_counter_buffer", 2, True, None, 0, 66),
        "textures": ("sampler", 3, True, 2, 2, 3),
        "volume": ("sampler", 0, False, None, 2, 0),
        "picture": ("image", 1, True, None, 3, 1),
        "Block": ("uniform_block", 1, True, 2, 1, 1),
        "Storage": ("storage_block", 1, True, None, 0, 1),
        "Third": ("storage_block", 1, True, None, 0, 2),
        "Other": ("storage_block", 0, False, None, 0, 0),
    }


def test_what_resources_are(interface: GlInterface) -> None:
    assert interface.resource("picture").type == "image2D"
    assert interface.resource("picture").format == "Rgba8"
    assert interface.resource("textures").type == "sampler2D"
    assert interface.resource("volume").type == "usampler3D"
    assert (interface.resource("Block").size, interface.resource("Storage").size) == (20, 4)
    (counters,) = interface.at("atomic_counter_buffer", 2)
    assert counters.size == 20
    assert [(c.name, c.binding, c.offset, c.length) for c in interface.counters] == [("counters", 2, 8, 3)]
    assert [entry.name for entry in interface.at("sampler", 4)] == ["textures"]
    assert {entry.name for entry in interface.at("storage_block", 1)} == {"Storage", "Third"}
    assert interface.at("image", 0) == ()
    with pytest.raises(KeyError):
        interface.resource("nothing")


def test_values_are_written_as_they_lie(interface: GlInterface) -> None:
    block = interface.initial_block()
    assert interface.uniform("matrix")[0].read(block).tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    uniform, element = interface.uniform("steps[2]")
    uniform.write(block, [-5, 6, 7], element)
    assert uniform.read(block).tolist() == [0, 0, -5, 6]
    assert block[192 + 32 : 192 + 36].view(np.int32).tolist() == [-5]
    on, _ = interface.uniform("lights[0].on")
    on.write(block, 2.5)
    assert block[48:52].view(np.uint32).tolist() == [1]
    with pytest.raises(InvalidDispatch, match="needs 12 components per element, not 5"):
        interface.uniform("matrix")[0].write(block, [1, 2, 3, 4, 5])
    with pytest.raises(InvalidDispatch, match="is not an array"):
        on.write(block, [1, 0])


def test_record_as_text(interface: GlInterface) -> None:
    assert GlInterface.from_json(interface.to_json()) == interface


def test_modules_of_other_dialects_have_none() -> None:
    module = compile_source("void main() {}", stage="compute")
    assert interface_of(module) is None


def test_record_is_replaced_and_may_be_long(interface: GlInterface) -> None:
    module = compile_source(SOURCE, stage="compute", dialect="gl", debug=True)
    long = GlInterface(("x" * 600_000,), (), (), (), 0, None, (), ())
    assert record(with_interface(module, long)) == long
    assert record(with_interface(with_interface(module, long), interface)) == interface
    assert with_interface(module, long).reflection.bindings == module.reflection.bindings
    validate(with_interface(module, long))


@pytest.mark.parametrize("target", list(TargetEnvironment))
def test_every_target(target: TargetEnvironment, interface: GlInterface) -> None:
    module = compile_source(SOURCE, stage="compute", dialect="gl", target=target)
    assert record(module) == interface
    assert module.version == target.spirv_version
    kinds = [binding.kind for binding in module.reflection.bindings]
    assert sorted(kinds) == sorted(
        ["storage_buffer"] * 4 + ["uniform_buffer"] * 2 + ["combined_image_sampler"] * 2 + ["storage_image"]
    )


def test_record_survives(interface: GlInterface, tmp_path: Path, modules: Path) -> None:
    """Optimisation, debug lines, the cache, files, other processes."""
    for options in (
        {"optimize": "performance"},
        {"optimize": "size"},
        {"debug": True},
        {"entry_point": "go"},
    ):
        module = compile_source(SOURCE, stage="compute", dialect="gl", **options)  # type: ignore[arg-type]
        assert record(module) == interface, options
    first = compile_source(SOURCE, stage="compute", dialect="gl")
    assert list(modules.rglob("*"))
    assert compile_source(SOURCE, stage="compute", dialect="gl") == first
    assert record(pickle.loads(pickle.dumps(first))) == interface
    (tmp_path / "x.spv").write_bytes(first.to_bytes())
    assert record(compile_file(tmp_path / "x.spv")) == interface


def test_shaderc_makes_the_same_of_it(glslc: Path) -> None:
    source = SOURCE.replace("uniform usampler3D volume", "layout(binding = 0) uniform usampler3D volume")
    source = source.replace("buffer Other", "layout(binding = 0) buffer Other")
    # Its limit of counters' binding points is not ours to set.
    source = source.replace("binding = 2, offset", "binding = 0, offset")
    first, second = (
        record(compile_source(source, stage="compute", dialect="gl", compiler=compiler))
        for compiler in ("glslang", "shaderc")
    )
    assert first.counters == second.counters
    assert {entry.name: entry for entry in first.resources} == {
        entry.name: entry for entry in second.resources
    }
    assert {(uniform.name, uniform.initial) for uniform in first.uniforms} == {
        (uniform.name, uniform.initial) for uniform in second.uniforms
    }


def test_debug_lines_are_those_of_the_source() -> None:
    module = compile_source(SOURCE, stage="compute", dialect="gl", debug=True, name="x.comp")
    assert module.debug_source == SOURCE
    lines = {instruction.operands[1] for instruction in module.instructions if instruction.name == "OpLine"}
    assert lines >= {17, 18, 20, 21}


@pytest.mark.parametrize("layout", ["shared", "packed", "std140", "binding = 0, shared"])
def test_block_layouts_that_the_implementation_chooses(layout: str) -> None:
    source = (
        f"#version 430\nlayout(local_size_x = 1) in;\nlayout({layout}) uniform U {{ float a; vec3 b; }};\n"
    )
    source += "shared vec3 s;\nvoid main() { s = a * b; }"
    module = compile_source(source, stage="compute", dialect="gl")
    (block,) = module.reflection.bindings
    assert block.layout == "std140"


def test_compatibility_profile() -> None:
    source = "#version 430 compatibility\nlayout(local_size_x = 1) in;\nvoid main() {}"
    assert record(compile_source(source, stage="compute", dialect="gl")).local_size == (1, 1, 1)
    # Of its errors one is ours to keep away: that there were no such profile.
    with pytest.raises(CompileError) as caught:
        compile_source(source.replace("{}", "{ x = 1; }"), stage="compute", dialect="gl")
    assert [entry.message for entry in caught.value.diagnostics] == ["'x' : undeclared identifier"]


def test_macros_and_includes_in_declarations(tmp_path: Path) -> None:
    (tmp_path / "sizes.glsl").write_text("\n\nlayout(local_size_x = SIZE) in;\nuniform float k = HALF;\n")
    file = tmp_path / "x.comp"
    file.write_text('#version 430\n#define HALF 0.5\n#include "sizes.glsl"\nvoid main() { float a = k; }\n')
    found = record(compile_file(file, dialect="gl", defines={"SIZE": 16}))
    assert found.local_size == (16, 1, 1)
    (tmp_path / "sizes.glsl").write_text("\n\nuniform atomic_uint c;\nlayout(local_size_x = SIZE) in;\n")
    with pytest.raises(CompileError) as caught:
        compile_file(file, dialect="gl", defines={"SIZE": 16})
    (diagnostic, *_) = caught.value.diagnostics
    assert (Path(diagnostic.file).name, diagnostic.line) in {("sizes.glsl", 3), ("x.comp", 4)}


def test_names_in_the_module() -> None:
    text = disassemble(compile_source(SOURCE, stage="compute", dialect="gl"))
    assert "gl_DefaultUniformBlock" in text
    assert "AtomicCounter " not in text
    assert "AtomicStorage" not in text


def test_counters_of_two_shaders_that_differ() -> None:
    vertex = "#version 430\nlayout(binding = 0, offset = 4) uniform atomic_uint c;\n"
    vertex += "void main() { gl_Position = vec4(atomicCounter(c)); }"
    module = compile_source(vertex, stage="vertex", dialect="gl")
    assert record(module).counters[0].offset == 4
    assert record(module).attributes == ()

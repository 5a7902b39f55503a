"""Program objects: linking, the queries of ARB_compute_shader, program pipelines, validation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vkgroup import gl
from vkgroup.base.errors import CompileError, InvalidDispatch
from vkgroup.dispatch import Device

_WRITE = """
#version 430
layout(local_size_x = 4, local_size_y = 2) in;
layout(std430, binding = {binding}) buffer Found {{ uint found[]; }};
void main() {{ found[gl_LocalInvocationIndex] = {value}u; }}
"""

_FRAGMENT = """
#version 430
uniform vec4 tint;
layout(location = 0) out vec4 color;
void main() { color = tint; }
"""


@pytest.fixture
def context(device: Device) -> gl.Context:
    return gl.Context(device)


def _write(value: int, binding: int = 0) -> str:
    return _WRITE.format(value=value, binding=binding)


# --- linking, and what may be asked -----------------------------------------------------------------


def test_the_size_of_a_workgroup(context: gl.Context) -> None:
    program = context.program(compute=_write(1))
    assert program.work_group_size == (4, 2, 1)
    assert program.get("GL_COMPUTE_WORK_GROUP_SIZE") == (4, 2, 1)


def test_the_size_of_a_workgroup_needs_a_linked_program_with_a_compute_shader(context: gl.Context) -> None:
    """INVALID_OPERATION before linking, after a failed link, and without compute shader."""
    program = context.create_program()
    with pytest.raises(gl.InvalidOperation) as caught:
        program.get("COMPUTE_WORK_GROUP_SIZE")
    assert caught.value.gl_error == "INVALID_OPERATION"
    program.attach("compute", "#version 430\nvoid main() { }")
    with pytest.raises(CompileError):
        program.link()
    assert program.get("LINK_STATUS") is False
    assert program.info_log
    with pytest.raises(gl.InvalidOperation):
        program.get("COMPUTE_WORK_GROUP_SIZE")
    with pytest.raises(gl.InvalidOperation, match="no compute shader"):
        context.program(fragment=_FRAGMENT).get("COMPUTE_WORK_GROUP_SIZE")


def test_compute_and_other_shaders_do_not_link(context: gl.Context) -> None:
    """ARB_compute_shader, 2.11.3 and "Errors"."""
    with pytest.raises(CompileError):
        context.program(compute=_write(1), fragment=_FRAGMENT)


def test_a_program_without_shaders_does_not_link(context: gl.Context) -> None:
    with pytest.raises(CompileError):
        context.create_program().link()


def test_unlinked_programs_cannot_be_used(context: gl.Context) -> None:
    program = context.create_program()
    with pytest.raises(gl.InvalidOperation):
        context.use(program)
    with pytest.raises(gl.InvalidOperation):
        program["x"] = 1


def test_files_are_sources(context: gl.Context, tmp_path: Path) -> None:
    file = tmp_path / "write.comp"
    file.write_text(_write(3))
    context.use(context.program(compute=file))
    found = context.bind("shader_storage", 0, np.zeros(8, np.uint32))
    context.dispatch_compute(1)
    assert found.read().tolist() == [3] * 8


def test_several_shaders_make_one_program(context: gl.Context) -> None:
    """One has main, one the size; all are compiled into one (issue 5)."""
    main = """
    #version 430
    layout(std430, binding = 0) buffer Found { uint found[]; };
    uint answer(uint index);
    void main() { found[gl_LocalInvocationIndex] = answer(gl_LocalInvocationIndex); }
    """
    rest = """
    #version 430
    layout(local_size_x = 8) in;
    uniform uint factor;
    uint answer(uint index) { return factor * index + gl_WorkGroupSize.x; }
    """
    program = context.program(compute=[main, rest])
    program["factor"] = 10
    context.use(program)
    found = context.bind("shader_storage", 0, np.zeros(8, np.uint32))
    context.dispatch_compute(1)
    assert found.read().tolist() == [8 + 10 * index for index in range(8)]
    assert program.work_group_size == (8, 1, 1)
    assert program.get("ATTACHED_SHADERS") == 2


def test_linking_again_brings_new_code_and_initial_uniforms(context: gl.Context) -> None:
    """A program in use runs what was linked last with success (OpenGL 4.2, 2.11.3)."""
    program = context.create_program()
    program.attach("compute", _write(5))
    program.link()
    context.use(program)
    found = context.bind("shader_storage", 0, np.zeros(8, np.uint32))
    program.attach("compute", "#version 430\nvoid main() { nonsense }")
    with pytest.raises(CompileError):
        program.link()
    context.dispatch_compute(1)
    assert found.read().tolist() == [5] * 8
    with pytest.raises(gl.InvalidOperation):
        context.use(program)


@pytest.mark.parametrize(
    ("limit", "declaration"),
    [
        ("MAX_COMPUTE_WORK_GROUP_SIZE", "layout(local_size_z = 2000) in;"),
        ("MAX_COMPUTE_WORK_GROUP_INVOCATIONS", "layout(local_size_x = 64, local_size_y = 64) in;"),
        ("MAX_COMPUTE_SHARED_MEMORY_SIZE", "layout(local_size_x = 1) in; shared uint big[100000];"),
    ],
)
def test_limits_are_kept(context: gl.Context, limit: str, declaration: str) -> None:
    """A program over a limit of the device does not compile or link."""
    use = "big[gl_LocalInvocationIndex] = 1u;" if "big" in declaration else ""
    with pytest.raises(CompileError):
        context.program(compute=f"#version 430\n{declaration}\nvoid main() {{ {use} }}")
    assert limit in context.limits()


# --- blocks and counters ----------------------------------------------------------------------------

_RESOURCES = """
#version 430
layout(local_size_x = 1) in;
layout(std140, binding = 3) uniform Numbers { vec4 numbers[2]; };
layout(std430, binding = 1) buffer Found { vec4 found; };
layout(binding = 2, offset = 4) uniform atomic_uint hits;
layout(binding = 2, offset = 0) uniform atomic_uint misses;
void main() {
    found = numbers[1];
    atomicCounterIncrement(hits);
    atomicCounterDecrement(misses);
}
"""


def test_blocks_and_counter_buffers_are_asked_by_stage(context: gl.Context) -> None:
    """UNIFORM_BLOCK_ and ATOMIC_COUNTER_BUFFER_REFERENCED_BY_COMPUTE_SHADER."""
    program = context.program(compute=_RESOURCES)
    block = program.uniform_blocks["Numbers"]
    assert (block.binding, block.size) == (3, 32)
    assert block.referenced_by("compute")
    assert not block.referenced_by("fragment")
    (buffer,) = program.atomic_counter_buffers
    assert (buffer.binding, buffer.size) == (2, 8)
    assert set(buffer.counters) == {"hits", "misses"}
    assert buffer.referenced_by("compute")
    assert not buffer.referenced_by("vertex")
    assert program.storage_blocks["Found"].binding == 1
    assert program.get("ACTIVE_UNIFORM_BLOCKS") == 1
    assert program.get("ACTIVE_ATOMIC_COUNTER_BUFFERS") == 1


def test_a_fragment_programs_blocks_are_not_referenced_by_compute(context: gl.Context) -> None:
    program = context.program(
        fragment="""
        #version 430
        layout(std140, binding = 0) uniform Colors { vec4 tint; };
        layout(location = 0) out vec4 color;
        void main() { color = tint; }
        """
    )
    block = program.uniform_blocks["Colors"]
    assert block.referenced_by("fragment")
    assert not block.referenced_by("compute")


def test_buffers_by_binding_point(context: gl.Context) -> None:
    context.use(context.program(compute=_RESOURCES))
    numbers = np.arange(8, dtype=np.float32)
    context.bind("uniform", 3, numbers)
    found = context.bind("shader_storage", 1, np.zeros(4, np.float32))
    counters = context.bind("atomic_counter", 2, np.array([7, 7], np.uint32))
    context.dispatch_compute(3)
    assert found.read().tolist() == [4, 5, 6, 7]
    assert counters.read().tolist() == [4, 10]
    assert context.bound("shader_storage", 1) is found
    assert context.bound("shader_storage", 0) is None


def test_blocks_move_to_other_binding_points(context: gl.Context) -> None:
    """UniformBlockBinding and ShaderStorageBlockBinding; a name selects the binding point that it uses."""
    program = context.program(compute=_RESOURCES)
    context.use(program)
    program.set_binding("Numbers", 7)
    program.set_binding("Found", 5)
    assert program.binding("Numbers") == 7
    context.bind("uniform", "Numbers", np.arange(8, dtype=np.float32))
    found = context.bind("shader_storage", "Found", np.zeros(4, np.float32))
    context.bind("atomic_counter", 2, np.zeros(2, np.uint32))
    assert context.bound("uniform", 7) is not None
    context.dispatch_compute(1)
    assert context.bound("shader_storage", 5) is found
    assert found.read().tolist() == [4, 5, 6, 7]
    with pytest.raises(gl.InvalidOperation, match="Numbers"):
        program.set_binding("Numbres", 1)
    with pytest.raises(gl.InvalidValue):
        program.set_binding("Numbers", -1)


def test_kinds_have_binding_points_of_their_own(context: gl.Context) -> None:
    """Number 0 of each kind is another place."""
    context.use(
        context.program(
            compute="""
            #version 430
            layout(local_size_x = 1) in;
            layout(std140, binding = 0) uniform Numbers { uint number; };
            layout(std430, binding = 0) buffer Found { uint found[4]; };
            layout(binding = 0) uniform atomic_uint counter;
            layout(binding = 0, r32ui) uniform uimage2D image;
            layout(binding = 0) uniform usampler2D texture_;
            void main() {
                found[0] = number;
                found[1] = atomicCounterIncrement(counter);
                found[2] = imageLoad(image, ivec2(1, 0)).x;
                found[3] = texelFetch(texture_, ivec2(0, 1), 0).x;
            }
            """
        )
    )
    context.bind("uniform", 0, np.array([10, 0, 0, 0], np.uint32))
    found = context.bind("shader_storage", 0, np.zeros(4, np.uint32))
    context.bind("atomic_counter", 0, np.array([20], np.uint32))
    context.bind("image", 0, np.array([[0, 30]], np.uint32))
    context.bind("texture", 0, np.array([[0], [40]], np.uint32))
    context.dispatch_compute(1)
    assert found.read().tolist() == [10, 20, 30, 40]


def test_nothing_bound_is_no_error_of_opengls(context: gl.Context) -> None:
    """The results are undefined, so nothing is run, and the message says what to bind."""
    context.use(context.program(compute=_write(1, binding=6)))
    with pytest.raises(InvalidDispatch, match=r"context\.bind\('shader_storage', 6") as caught:
        context.dispatch_compute(1)
    assert not isinstance(caught.value, gl.GLError)
    found = context.bind("shader_storage", 6, np.zeros(8, np.uint32))
    found.close()
    with pytest.raises(gl.InvalidOperation, match="closed"):
        context.dispatch_compute(1)


def test_binding_points_that_do_not_exist(context: gl.Context) -> None:
    zeros = np.zeros(4, np.uint32)
    with pytest.raises(gl.InvalidEnum, match="shader_storage"):
        context.bind("storage", 0, zeros)
    with pytest.raises(gl.InvalidEnum):
        context.bound("storage", 0)
    for point in (-1, context.get("MAX_UNIFORM_BUFFER_BINDINGS"), 0.5):
        with pytest.raises(gl.InvalidValue):
            context.bind("uniform", point, zeros)  # type: ignore[arg-type]
    with pytest.raises(gl.InvalidValue):
        context.bind("texture", context.get("MAX_COMBINED_TEXTURE_IMAGE_UNITS"), zeros)
    with pytest.raises(gl.InvalidOperation, match="in use"):
        context.bind("uniform", "Numbers", zeros)


# --- program pipelines (issue 7) --------------------------------------------------------------------


def test_the_program_in_use_goes_before_the_pipeline(context: gl.Context) -> None:
    """Without a program in use, the pipeline's program of the compute stage runs."""
    pipeline = context.create_pipeline()
    assert pipeline.compute_shader is None
    separable = context.program(separable=True, compute=_write(2))
    pipeline.use_stages("COMPUTE_SHADER_BIT", separable)
    assert pipeline.compute_shader is separable
    context.bind_pipeline(pipeline)
    context.use(context.program(compute=_write(1)))
    found = context.bind("shader_storage", 0, np.zeros(8, np.uint32))
    context.dispatch_compute(1)
    assert found.read()[0] == 1
    context.use(None)
    context.dispatch_compute(1)
    assert found.read()[0] == 2
    assert context.get("PROGRAM_PIPELINE_BINDING") is pipeline
    pipeline.use_stages("COMPUTE_SHADER_BIT", None)
    with pytest.raises(gl.InvalidOperation):
        context.dispatch_compute(1)


def test_stages_of_a_pipeline_are_separate(context: gl.Context) -> None:
    """Graphics programs in the other stages do not disturb, nor do they make a compute program active."""
    pipeline = context.create_pipeline()
    drawing = context.program(separable=True, fragment=_FRAGMENT)
    computing = context.program(separable=True, compute=_write(4))
    context.bind_pipeline(pipeline)
    pipeline.use_stages("ALL_SHADER_BITS", drawing)
    with pytest.raises(gl.InvalidOperation):
        context.dispatch_compute(1)
    pipeline.use_stages(["COMPUTE_SHADER_BIT"], computing)
    found = context.bind("shader_storage", 0, np.zeros(8, np.uint32))
    context.dispatch_compute(1)
    assert found.read()[0] == 4
    assert pipeline.program("fragment") is drawing


def test_only_separable_programs_become_part_of_a_pipeline(context: gl.Context) -> None:
    pipeline = context.create_pipeline()
    with pytest.raises(gl.InvalidOperation, match="separable"):
        pipeline.use_stages("COMPUTE_SHADER_BIT", context.program(compute=_write(1)))
    with pytest.raises(gl.InvalidOperation, match="linked"):
        pipeline.use_stages("COMPUTE_SHADER_BIT", context.create_program())
    wrong: list[str | list[str]] = ["COMPUTE_BIT", []]
    for stages in wrong:
        with pytest.raises(gl.InvalidValue, match="COMPUTE_SHADER_BIT"):
            pipeline.use_stages(stages, None)


def test_a_program_linked_anew_as_not_separable(context: gl.Context) -> None:
    """It invalidates the pipeline (OpenGL 4.2, 2.11.12), where no program is in use."""
    program = context.program(separable=True, compute=_write(6))
    pipeline = context.create_pipeline()
    pipeline.use_stages("COMPUTE_SHADER_BIT", program)
    context.bind_pipeline(pipeline)
    found = context.bind("shader_storage", 0, np.zeros(8, np.uint32))
    program.link()
    context.dispatch_compute(1)
    assert found.read()[0] == 6
    program.separable = False
    program.link()
    assert "linked anew" in context.problems()[0]
    with pytest.raises(gl.InvalidOperation, match="linked anew"):
        context.dispatch_compute(1)
    context.use(program)
    context.dispatch_compute(1)


# --- validation (issue 11) --------------------------------------------------------------------------


def test_samplers_of_different_types_on_one_unit(context: gl.Context) -> None:
    program = context.program(
        compute="""
        #version 430
        layout(local_size_x = 1) in;
        uniform sampler2D flat_;
        uniform sampler3D deep;
        layout(std430, binding = 0) buffer Found { float found[2]; };
        void main() {
            found[0] = texelFetch(flat_, ivec2(0), 0).x;
            found[1] = texelFetch(deep, ivec3(0), 0).x;
        }
        """
    )
    context.use(program)
    program["flat_"] = program["deep"] = 4
    found = context.bind("shader_storage", 0, np.zeros(2, np.float32))
    with pytest.raises(gl.InvalidOperation, match="texture unit 4"):
        context.dispatch_compute(1)
    program["deep"] = 5
    assert context.problems() == []
    context.bind("texture", "flat_", np.full((1, 1), 2, np.float32))
    context.bind("texture", "deep", np.full((1, 1, 1), 3, np.float32))
    context.dispatch_compute(1)
    assert found.read().tolist() == [2, 3]


def test_unknown_values_of_a_program(context: gl.Context) -> None:
    program = context.create_program()
    with pytest.raises(gl.InvalidEnum):
        program.get("LINKED")
    with pytest.raises(gl.InvalidEnum):
        program.attach("kernel", _write(1))


def test_graphics_programs_count_for_dispatches_too(context: gl.Context) -> None:
    """State that makes draws invalid also makes dispatches invalid, and vice versa (issue 11)."""
    sample = """
    #version 430
    layout(binding = 1) uniform {kind} image;
    layout(location = 0) out vec4 color;
    void main() {{ color = vec4(textureSize(image, 0).x); }}
    """
    compute = """
    #version 430
    layout(local_size_x = 1) in;
    layout(binding = 1) uniform sampler2D image;
    layout(std430, binding = 0) buffer Found { int found; };
    void main() { found = textureSize(image, 0).x; }
    """
    pipeline = context.create_pipeline()
    context.bind_pipeline(pipeline)
    pipeline.use_stages("COMPUTE_SHADER_BIT", context.program(separable=True, compute=compute))
    drawing = context.program(separable=True, fragment=sample.format(kind="sampler3D"))
    pipeline.use_stages("FRAGMENT_SHADER_BIT", drawing)
    context.bind("texture", 1, np.zeros((2, 5), np.float32))
    found = context.bind("shader_storage", 0, np.zeros(1, np.int32))
    with pytest.raises(gl.InvalidOperation, match="texture unit 1"):
        context.dispatch_compute(1)
    with pytest.raises(gl.InvalidOperation):
        context.draw((2, 2))
    drawing["image"] = 2
    context.dispatch_compute(1)
    assert found.read().tolist() == [5]


def test_samplers_are_counted_over_all_programs(context: gl.Context) -> None:
    """Their sum is at most MAX_COMBINED_TEXTURE_IMAGE_UNITS."""
    program = context.program(
        compute="""
        #version 430
        layout(local_size_x = 1) in;
        uniform sampler2D one[3];
        uniform sampler2D other;
        layout(std430, binding = 0) buffer Found { int found; };
        void main() { found = textureSize(one[1], 0).x + textureSize(other, 0).x; }
        """
    )
    context.use(program)
    most = context.limits()["MAX_COMBINED_TEXTURE_IMAGE_UNITS"]
    context._limits[most.name] = replace(most, value=4)
    assert context.problems() == []
    context._limits[most.name] = replace(most, value=3)
    (told,) = context.problems()
    assert told == "MAX_COMBINED_TEXTURE_IMAGE_UNITS is 3, and 4 samplers are active"

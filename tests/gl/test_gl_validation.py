"""Validation: what `Context.problems` says of programs and pipelines is what commands do (2.11.12)."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import lacks

from vkgroup import gl
from vkgroup.dispatch import Buffer, Device

_COMPUTE = """
#version 430
layout(local_size_x = 1) in;
uniform sampler2D flat_;
uniform sampler3D deep;
layout(std430, binding = 0) buffer Found { int found; };
void main() { found = textureSize(flat_, 0).x + textureSize(deep, 0).x; }
"""

_VERTEX = "#version 430\nout vec4 seen;\nvoid main() { gl_Position = seen = vec4(gl_VertexID); }"
_GEOMETRY = """
#version 430
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
void main() {
    for (int i = 0; i < 3; ++i) { gl_Position = gl_in[i].gl_Position; EmitVertex(); }
}
"""
_FRAGMENT = "#version 430\nin vec4 seen;\nlayout(location = 0) out vec4 color;\nvoid main() { color = seen; }"
_PLAIN = "#version 430\nlayout(location = 0) out vec4 color;\nvoid main() { color = vec4(1.0); }"


@pytest.fixture
def context(device: Device) -> gl.Context:
    """A context in which everything is bound that the compute program reads."""
    made = gl.Context(device)
    made.bind("texture", 4, np.zeros((1, 5), np.float32))
    made.bind("texture", 6, np.zeros((1, 1, 7), np.float32), dimension="3D")
    return made


@pytest.fixture
def found(context: gl.Context) -> Buffer:
    buffer: Buffer = context.bind("shader_storage", 0, np.zeros(1, np.int32))
    return buffer


@pytest.mark.parametrize("how", ["program", "pipeline"])
def test_commands_do_what_validation_says(context: gl.Context, found: Buffer, how: str) -> None:
    """ValidateProgram and ValidateProgramPipeline: after a success no error, after a failure the error."""
    program = context.program(separable=True, compute=_COMPUTE)
    if how == "program":
        context.use(program)
    else:
        pipeline = context.create_pipeline()
        pipeline.use_stages("COMPUTE_SHADER_BIT", program)
        context.bind_pipeline(pipeline)
    for right, unit in ((False, 4), (True, 6), (False, 4)):
        program["flat_"], program["deep"] = 4, unit
        said = context.problems()
        assert (said == []) is right
        if right:
            context.dispatch_compute(1)
            continue
        with pytest.raises(gl.InvalidOperation) as caught:
            context.dispatch_compute(1)
        assert caught.value.gl_error == "INVALID_OPERATION"
        assert said[0] in str(caught.value)
    assert found.read().tolist() == [12]


def test_a_program_between_the_stages_of_another(context: gl.Context, found: Buffer) -> None:
    """Draws and dispatches are refused alike; whose the compute program is does not count."""
    both = context.program(separable=True, vertex=_VERTEX, fragment=_FRAGMENT)
    between, computing = context.create_program(), context.program(separable=True, compute=_COMPUTE)
    computing["flat_"], computing["deep"] = 4, 6
    between.attach("geometry", _GEOMETRY)
    between.separable = True
    between.link()
    pipeline = context.create_pipeline()
    context.bind_pipeline(pipeline)
    pipeline.use_stages(["VERTEX_SHADER_BIT", "FRAGMENT_SHADER_BIT"], both)
    pipeline.use_stages("COMPUTE_SHADER_BIT", computing)
    assert context.problems() == []
    context.dispatch_compute(1)
    pipeline.use_stages("GEOMETRY_SHADER_BIT", between)
    assert "geometry" in context.problems()[0]
    with pytest.raises(gl.InvalidOperation, match="geometry stage"):
        context.dispatch_compute(1)
    with pytest.raises(gl.InvalidOperation):
        context.draw((2, 2))
    pipeline.use_stages("FRAGMENT_SHADER_BIT", context.program(separable=True, fragment=_PLAIN))
    assert context.problems() == []
    context.dispatch_compute(1)
    assert found.read().tolist() == [12]
    with lacks("geometry"):
        context.draw((2, 2))


def test_a_program_in_use_hides_the_pipeline(context: gl.Context, found: Buffer) -> None:
    """Errors of a pipeline count only if no program is in use."""
    program = context.program(separable=True, compute=_COMPUTE)
    pipeline = context.create_pipeline()
    pipeline.use_stages("COMPUTE_SHADER_BIT", program)
    context.bind_pipeline(pipeline)
    program.separable = False
    program.link()
    program["flat_"], program["deep"] = 4, 6
    assert context.problems() != []
    context.use(program)
    assert context.problems() == []
    context.dispatch_compute(1)
    assert found.read().tolist() == [12]

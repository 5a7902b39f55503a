"""ARB_compute_shader's rules on compiling and linking: each is an error that says what to do."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import CompileError, LinkError
from vkgroup.compiler import compile_source, interface_of, link

HEAD = "#version 430\n"
SIZE = "layout(local_size_x = 4) in;\n"
LIMITS = {
    "MAX_COMPUTE_WORK_GROUP_SIZE": (64, 32, 16),
    "MAX_COMPUTE_WORK_GROUP_INVOCATIONS": 128,
    "MAX_COMPUTE_SHARED_MEMORY_SIZE": 1024,
    "MAX_COMPUTE_ATOMIC_COUNTERS": 4,
    "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS": 2,
    "MAX_COMPUTE_IMAGE_UNIFORMS": 2,
    "MAX_COMPUTE_TEXTURE_IMAGE_UNITS": 2,
    "MAX_COMPUTE_UNIFORM_BLOCKS": 2,
    "MAX_COMPUTE_SHADER_STORAGE_BLOCKS": 2,
    "MAX_COMPUTE_UNIFORM_COMPONENTS": 16,
    "MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS": 40,
}

#: Source, line, and what the message has: sentences on compilation.
COMPILE_RULES = {
    "local size over the limit": (
        f"{HEAD}layout(local_size_x = 65) in;\nvoid main() {{}}",
        2,
        "declare a smaller workgroup",
    ),
    "local size over the limit of a dimension": (
        f"{HEAD}layout(local_size_z = 17) in;\nvoid main() {{}}",
        2,
        "declare a smaller workgroup",
    ),
    "local size declared twice differently": (
        f"{HEAD}{SIZE}layout(local_size_x = 5) in;\nvoid main() {{}}",
        3,
        "must be equal",
    ),
    "local size declared twice, a dimension left out": (
        f"{HEAD}\n{SIZE}layout(local_size_x = 4, local_size_y = 2) in;\nvoid main() {{}}",
        3,
        "omits y of the workgroup size, which means 1",
    ),
    "local size of zero": (f"{HEAD}layout(local_size_x = 0) in;\nvoid main() {{}}", 2, "at least 1"),
    "gl_WorkGroupSize before the size is declared": (
        f"{HEAD}uint n = gl_WorkGroupSize.x;\n{SIZE}void main() {{}}",
        2,
        "gl_WorkGroupSize has no value yet",
    ),
    "shared with an initialiser": (
        f"{HEAD}{SIZE}shared uint s = 3u;\nvoid main() {{}}",
        3,
        "assign in main(), then call barrier()",
    ),
    "built-in input redeclared": (
        f"{HEAD}{SIZE}in uvec3 gl_WorkGroupID;\nvoid main() {{}}",
        3,
        "cannot be redeclared: remove",
    ),
    "derived built-in redeclared": (
        f"{HEAD}{SIZE}in uint gl_LocalInvocationIndex;\nvoid main() {{}}",
        3,
        "cannot be redeclared: remove",
    ),
    "built-in constant redeclared": (
        f"{HEAD}{SIZE}const uvec3 gl_WorkGroupSize;\nvoid main() {{}}",
        3,
        "cannot be redeclared: remove",
    ),
    "user-defined input": (
        f"{HEAD}{SIZE}in uint a;\nvoid main() {{}}",
        3,
        "use a uniform, an image or a buffer",
    ),
    "user-defined output": (
        f"{HEAD}{SIZE}\nout uint a;\nvoid main() {{ a = 1u; }}",
        4,
        "use a uniform, an image or a buffer",
    ),
    "input block": (f"{HEAD}{SIZE}in B {{ uint a; }};\nvoid main() {{}}", 3, "use a uniform, an image"),
    "output block": (f"{HEAD}{SIZE}out B {{ uint a; }};\nvoid main() {{}}", 3, "use a uniform, an image"),
    "location on an input": (
        f"{HEAD}{SIZE}layout(location = 0) in uint a;\nvoid main() {{}}",
        3,
        "no inputs with locations",
    ),
    "location beside the local size": (
        f"{HEAD}layout(local_size_x = 4, location = 0) in;\nvoid main() {{}}",
        2,
        "no inputs with locations",
    ),
    "extension missing in 4.20": (
        f"#version 420\n{SIZE}void main() {{}}",
        2,
        "#extension GL_ARB_compute_shader : require",
    ),
    "atomic counter without binding": (
        f"{HEAD}{SIZE}uniform atomic_uint c;\nvoid main() {{ atomicCounter(c); }}",
        3,
        "needs a binding",
    ),
    "atomic counters at one place": (
        f"{HEAD}{SIZE}layout(binding = 0, offset = 0) uniform atomic_uint a;\n"
        "layout(binding = 0, offset = 0) uniform atomic_uint b;\nvoid main() {}",
        4,
        "sharing the same offset",
    ),
    "built-in assigned to": (
        f"{HEAD}{SIZE}void main() {{\ngl_NumWorkGroups.x = 1u; }}",
        4,
        "can't modify",
    ),
    "line numbers of the source": (
        f"{HEAD}{SIZE}#line 70\nvoid main() {{ uint a = 1.5; }}",
        70,
        "cannot convert",
    ),
}

#: Source, stage, line and message: what compute shaders alone have.
STAGE_RULES = {
    "shared in a fragment shader": (f"{HEAD}shared uint s;\nvoid main() {{}}", "fragment", 2, "only compute"),
    "shared in a vertex shader": (f"{HEAD}shared uint s;\nvoid main() {{}}", "vertex", 2, "only compute"),
    "memoryBarrierShared": (
        f"{HEAD}void main() {{ memoryBarrierShared(); }}",
        "fragment",
        2,
        "use memoryBarrier()",
    ),
    "groupMemoryBarrier": (
        f"{HEAD}void main() {{\n groupMemoryBarrier(); }}",
        "vertex",
        3,
        "use memoryBarrier()",
    ),
    "barrier": (
        f"{HEAD}void main() {{ barrier(); }}",
        "fragment",
        2,
        "only compute and tessellation control",
    ),
}

#: Sources of compute shaders, and what the message of the linker has.
LINK_RULES = {
    "no local size": ((f"{HEAD}void main() {{}}",), "add layout(local_size_x"),
    "no local size in either": (
        (f"{HEAD}void main() {{}}", f"{HEAD}void f() {{}}"),
        "add layout(local_size_x",
    ),
    "different local sizes": (
        (f"{HEAD}{SIZE}void main() {{}}", f"{HEAD}layout(local_size_x = 5) in;\nvoid f() {{}}"),
        "must declare the same size",
    ),
    "different local sizes, a dimension left out": (
        (
            f"{HEAD}{SIZE}void main() {{}}",
            f"{HEAD}layout(local_size_x = 4, local_size_y = 2) in;\nvoid f() {{}}",
        ),
        "must declare the same size",
    ),
    "no main": ((f"{HEAD}{SIZE}void f() {{}}", f"{HEAD}void g() {{}}"), "must define main()"),
    "two mains": ((f"{HEAD}{SIZE}void main() {{}}", f"{HEAD}void main() {{}}"), "must define main()"),
    "function without a body": (
        (f"{HEAD}{SIZE}void f();\nvoid main() {{ f(); }}", f"{HEAD}void g() {{}}"),
        "define it in one of",
    ),
    "uniforms of different types": (
        (
            f"{HEAD}{SIZE}uniform float k; float f(); shared float s;\nvoid main() {{ s = k + f(); }}",
            f"{HEAD}uniform int k; float f() {{ return float(k); }}",
        ),
        "Types must match",
    ),
    "workgroup of too many": (
        (f"{HEAD}layout(local_size_x = 64, local_size_y = 32) in;\nvoid main() {{}}",),
        "MAX_COMPUTE_WORK_GROUP_INVOCATIONS is 128, but the program uses 2048",
    ),
    "too much shared memory": (
        (f"{HEAD}{SIZE}shared uint s[257];\nvoid main() {{ s[0] = 1u; }}",),
        "MAX_COMPUTE_SHARED_MEMORY_SIZE is 1024, but the program uses 1028",
    ),
    "too much shared memory together": (
        (
            f"{HEAD}{SIZE}shared uint s[200]; void f();\nvoid main() {{ s[0] = 1u; f(); }}",
            f"{HEAD}shared uint t[200]; void f() {{ t[0] = 1u; }}",
        ),
        "MAX_COMPUTE_SHARED_MEMORY_SIZE is 1024, but the program uses 1600",
    ),
    "too many atomic counters": (
        (
            f"{HEAD}{SIZE}layout(binding = 0) uniform atomic_uint c[5];\n"
            "void main() { atomicCounterIncrement(c[4]); }",
        ),
        "MAX_COMPUTE_ATOMIC_COUNTERS is 4, but the program uses 5",
    ),
    "too many counter buffers": (
        (
            f"{HEAD}{SIZE}layout(binding = 0) uniform atomic_uint a;\n"
            "layout(binding = 1) uniform atomic_uint b;\nlayout(binding = 2) uniform atomic_uint c;\n"
            "void main() { atomicCounter(a); atomicCounter(b); atomicCounter(c); }",
        ),
        "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS is 2, but the program uses 3",
    ),
    "too many images": (
        (
            f"{HEAD}{SIZE}layout(r32f) uniform image2D a[3];\n"
            "void main() { imageStore(a[2], ivec2(0), vec4(0)); }",
        ),
        "MAX_COMPUTE_IMAGE_UNIFORMS is 2, but the program uses 3",
    ),
    "too many samplers": (
        (
            f"{HEAD}{SIZE}uniform sampler2D a[3]; shared float s;\n"
            "void main() { s = texture(a[2], vec2(0)).x; }",
        ),
        "MAX_COMPUTE_TEXTURE_IMAGE_UNITS is 2, but the program uses 3",
    ),
    "too many uniform blocks": (
        (f"{HEAD}{SIZE}uniform U {{ float x; }} u[3]; shared float s;\nvoid main() {{ s = u[2].x; }}",),
        "MAX_COMPUTE_UNIFORM_BLOCKS is 2, but the program uses 3",
    ),
    "too many buffer blocks": (
        (f"{HEAD}{SIZE}buffer B {{ float x; }} b[3];\nvoid main() {{ b[2].x = 0; }}",),
        "MAX_COMPUTE_SHADER_STORAGE_BLOCKS is 2, but the program uses 3",
    ),
    "too many loose uniforms": (
        (f"{HEAD}{SIZE}uniform mat4 m; uniform float k; shared vec4 s;\nvoid main() {{ s = m[0] * k; }}",),
        "MAX_COMPUTE_UNIFORM_COMPONENTS is 16, but the program uses 17",
    ),
    "too many uniform components in all": (
        (
            f"{HEAD}{SIZE}uniform mat4 m; uniform U {{ vec4 v[7]; }}; shared vec4 s;\n"
            "void main() { s = m[0] + v[6]; }",
        ),
        "MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS is 40, but the program uses 44",
    ),
}


@pytest.mark.parametrize("rule", COMPILE_RULES)
def test_compile_error(rule: str) -> None:
    source, line, message = COMPILE_RULES[rule]
    with pytest.raises(CompileError) as caught:
        compile_source(source, stage="compute", dialect="gl", name="x.comp", limits=LIMITS)
    assert not isinstance(caught.value, LinkError)
    assert any(found.line == line and message in found.message for found in caught.value.diagnostics), (
        caught.value
    )
    assert {found.file for found in caught.value.diagnostics} == {"x.comp"}


@pytest.mark.parametrize("rule", STAGE_RULES)
def test_what_compute_shaders_alone_have(rule: str) -> None:
    source, stage, line, message = STAGE_RULES[rule]
    with pytest.raises(CompileError) as caught:
        compile_source(source, stage=stage, dialect="gl")
    assert not isinstance(caught.value, LinkError)
    assert any(found.line == line and message in found.message for found in caught.value.diagnostics), (
        caught.value
    )


@pytest.mark.parametrize("rule", LINK_RULES)
def test_link_error(rule: str) -> None:
    sources, message = LINK_RULES[rule]
    with pytest.raises(LinkError) as caught:
        link([(source, "compute", f"{number}.comp") for number, source in enumerate(sources)], limits=LIMITS)
    assert any(message in found.message for found in caught.value.diagnostics), caught.value


@pytest.mark.parametrize("stage", ["vertex", "fragment", "geometry", "tessellation_control"])
def test_compute_and_another_stage_make_no_program(stage: str) -> None:
    shaders = [(f"{HEAD}{SIZE}void main() {{}}", "compute", "a"), (f"{HEAD}void main() {{}}", stage, "b")]
    with pytest.raises(LinkError, match=f"stages .{stage}."):
        link(shaders)


def test_a_program_has_shaders() -> None:
    with pytest.raises(LinkError, match="no shaders"):
        link([])


def test_one_shader_declares_the_size_for_all() -> None:
    declaring, other = f"{HEAD}{SIZE}void f() {{}}", f"{HEAD}void f();\nvoid main() {{ f(); }}"
    modules = link([(other, "compute", "a"), (declaring, "compute", "b")])
    interface = interface_of(modules["compute"])
    assert interface is not None
    assert interface.local_size == (4, 1, 1)


@pytest.mark.parametrize(
    "declarations",
    [
        "layout(local_size_x = 4) in; layout(local_size_x = 4, local_size_y = 1) in;",
        "layout(local_size_x = 2 + 2, local_size_z = 2) in; layout(local_size_z = 2, local_size_x = 4) in;",
    ],
)
def test_the_same_size_may_be_declared_again(declarations: str) -> None:
    source = f"#version 450\n{declarations}\nvoid main() {{}}"
    assert compile_source(source, stage="compute", dialect="gl").reflection.entry_points[0].local_size


def test_size_of_one_declared_is_declared() -> None:
    source = f"{HEAD}layout(local_size_y = 1) in;\nvoid main() {{}}"
    interface = interface_of(compile_source(source, stage="compute", dialect="gl"))
    assert interface is not None
    assert interface.local_size == (1, 1, 1)


def test_fragment_input_that_no_vertex_shader_writes() -> None:
    vertex = f"{HEAD}out vec2 other;\nvoid main() {{ gl_Position = vec4(other, 0, 1); }}"
    fragment = f"{HEAD}in vec3 a;\nout vec4 color;\nvoid main() {{ color = vec4(a, 1); }}"
    with pytest.raises(LinkError, match=r"fragment stage reads a, .* add out vec3 a; there"):
        link([(vertex, "vertex", "v"), (fragment, "fragment", "f")])


def test_stages_that_contradict_each_other() -> None:
    vertex = f"{HEAD}layout(binding = 1) uniform sampler2D s;\n"
    vertex += "void main() { gl_Position = texture(s, vec2(0)); }"
    fragment = f"{HEAD}layout(binding = 2) uniform sampler2D s;\nout vec4 color;\n"
    fragment += "void main() { color = texture(s, vec2(0)); }"
    with pytest.raises(LinkError, match=r"s has binding 1 in one stage and 2 in another|must match"):
        link([(vertex, "vertex", "v"), (fragment, "fragment", "f")])


def test_only_the_gl_dialect_is_linked() -> None:
    with pytest.raises(CompileError, match="dialect 'vulkan' cannot be linked"):
        link([("void main() {}", "compute", "a")], dialect="vulkan")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "layout(pixel_center_integer) in vec4 gl_FragCoord;\nout vec4 c;\n"
            "void main() { c = gl_FragCoord; }",
            "remove pixel_center_integer",
        ),
        (
            "layout(origin_upper_left) in vec4 gl_FragCoord;\nout vec4 c;\nvoid main() { c = gl_FragCoord; }",
            "remove origin_upper_left",
        ),
        (
            "uniform sampler2DRect s;\nout vec4 c;\nvoid main() { c = texture(s, vec2(0)); }",
            "no rectangle textures",
        ),
    ],
)
def test_what_vulkan_has_nothing_like(source: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_source(HEAD + source, stage="fragment", dialect="gl")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"MAX_COMPUTE_WORK_GROUP_SIZE": 4}, "takes three numbers, not 4"),
        ({"MAX_COMPUTE_IMAGE_UNIFORMS": (1, 2)}, "takes one number"),
        ({"maxComputeWorkGroupSize": (1, 1, 1)}, "is not the name of a limit"),
    ],
)
def test_limits_that_are_none(limits: dict[str, int | tuple[int, int, int]], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_source(f"{HEAD}{SIZE}void main() {{}}", stage="compute", dialect="gl", limits=limits)

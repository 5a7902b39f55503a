"""Case lists: ours are taken as they are, Khronos' names map to the cases that test the same."""

from __future__ import annotations

import re
from hashlib import sha256

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.cli.main import main
from vkgroup.conformance import all_cases, caselist, cases_by_name, coverage
from vkgroup.conformance.caselist import map_names, read_caselist
from vkgroup.conformance.families import select_names
from vkgroup.conformance.khronos import map_name
from vkgroup.conformance.khronos_groups import memory_model_names
from vkgroup.conformance.show import named

KHRONOS = "dEQP-VK.subgroups."


@pytest.mark.parametrize(
    ("name", "operation", "type_", "operands", "sized"),
    [
        ("arithmetic.compute.subgroupadd_dvec3", "subgroupAdd", "dvec3", None, None),
        (
            "arithmetic.compute.subgroupexclusivexor_i8vec2_requiredsubgroupsize",
            "subgroupExclusiveXor",
            "i8vec2",
            None,
            True,
        ),
        (
            "ballot_broadcast.compute.subgroupbroadcastfirst_bool",
            "subgroupBroadcastFirst",
            "bool",
            None,
            None,
        ),
        (
            "ballot_broadcast.compute.subgroupbroadcast_nonconst_vec4_requiredsubgroupsize32",
            "subgroupBroadcast",
            "vec4",
            {"dynamic"},
            True,
        ),
        (
            "shuffle.compute.subgroupshuffledown_f16vec3_constant",
            "subgroupShuffleDown",
            "f16vec3",
            {"by1", "by2", "half", "furthest", "beyond", "specialized"},
            None,
        ),
        (
            "shuffle.compute.subgroupshufflexor_uint_dynamically_uniform",
            "subgroupShuffleXor",
            "uint",
            {"dynamic"},
            None,
        ),
        (
            "quad.compute.subgroupquadbroadcast_nonconst_int",
            "subgroupQuadBroadcast",
            "int",
            {"dynamic"},
            None,
        ),
        ("clustered.compute.subgroupclusteredmax_u64vec2", "subgroupClusteredMax", "u64vec2", None, None),
        ("vote.compute.subgroupall_uint", "subgroupAll", "bool", None, None),
        ("vote.compute.subgroupallequal_bvec2", "subgroupAllEqual", "bvec2", None, None),
        ("ballot.compute.compute", "subgroupBallot", "bool", None, None),
        ("ballot_other.compute.subgroupballotfindmsb", "subgroupBallotFindMSB", "uvec4", None, None),
        ("basic.compute.subgroupmemorybarrierimage", "subgroupMemoryBarrierImage", "uint", {"image"}, None),
        ("builtin_var.compute.subgroupinvocationid_compute", "gl_SubgroupInvocationID", "uint", None, None),
        (
            "builtin_mask_var.compute.subgroupgemask_requiredsubgroupsize",
            "gl_SubgroupGeMask",
            "uvec4",
            None,
            True,
        ),
    ],
)
def test_a_khronos_name_maps_to_the_same_operation_type_and_size(
    name, operation, type_, operands, sized
) -> None:
    found = map_names([KHRONOS + name])
    assert not found.unmapped
    assert {case.operation for case in found.cases} == {operation}
    assert {case.type for case in found.cases} == {type_}
    if operands is not None:
        assert {case.operand for case in found.cases} == operands
    if sized:
        assert all(case.subgroup_size for case in found.cases)
    else:
        assert {case.pattern for case in found.cases} >= {"all", "partial", "nested"}
    assert {case.stage for case in found.cases} == {"compute"}


GRAPHICS = {"vertex", "tessellation_control", "tessellation_evaluation", "geometry", "fragment"}
RAYS = {"raygen", "any_hit", "closest_hit", "miss", "intersection", "callable"}


@pytest.mark.parametrize(
    ("name", "operation", "stages"),
    [
        ("arithmetic.graphics.subgroupadd_dvec3", "subgroupAdd", GRAPHICS),
        ("ballot.graphics.graphic", "subgroupBallot", GRAPHICS),
        ("arithmetic.ray_tracing.subgroupmul_vec4", "subgroupMul", RAYS),
        ("ballot.ray_tracing.test", "subgroupBallot", RAYS),
        ("basic.framebuffer.subgroupmemorybarrierimage_fragment", "subgroupMemoryBarrierImage", {"fragment"}),
        ("builtin_mask_var.mesh.subgroupgemask_task", "gl_SubgroupGeMask", {"task"}),
        ("builtin_var.mesh.numsubgroups_mesh", "gl_NumSubgroups", {"mesh"}),
        ("quad.mesh.subgroupquadbroadcast_nonconst_int_mesh", "subgroupQuadBroadcast", {"mesh"}),
        (
            "partitioned.framebuffer.subgroupinclusivexor_ivec2_tess_control",
            "subgroupPartitionedInclusiveXorNV",
            {"tessellation_control"},
        ),
        (
            "shuffle.ray_tracing.subgroupclusteredrotate_bool_constant",
            "subgroupClusteredRotate",
            RAYS,
        ),
    ],
)
def test_a_name_of_other_stages_maps_to_them(name, operation, stages) -> None:
    found = map_names([KHRONOS + name])
    assert {case.stage for case in found.cases} == stages
    assert {case.operation for case in found.cases} == {operation}


@pytest.mark.parametrize("stage", ["vertex", "tess_control", "tess_eval", "geometry"])
@pytest.mark.parametrize(
    "test", ["arithmetic.framebuffer.subgroupadd_uvec4_{}", "vote.framebuffer.subgroupall_uint_{}"]
)
def test_names_of_the_framebuffer_map_to_cases_without_buffers(test, stage) -> None:
    found = map_names([KHRONOS + test.format(stage)])
    assert {case.shape for case in found.cases} == {"framebuffer"}
    assert {case.pattern for case in found.cases} == {"all", "data_mask"}


@pytest.mark.parametrize(("end", "size"), [("_mesh", None), ("_requiredsubgroupsize16_mesh", 16)])
def test_required_sizes_map_to_the_same_size(end, size) -> None:
    found = map_names([f"{KHRONOS}ballot_broadcast.mesh.subgroupbroadcast_nonconst_vec4{end}"])
    assert {case.operand for case in found.cases} == {"dynamic"}
    sizes = {case.subgroup_size for case in found.cases}
    assert sizes == ({size} if size else {0})


@pytest.mark.parametrize("test", ["subgroupany_uint", "subgroupallequal_u16vec2"])
def test_votes_with_helper_invocations_map_to_cases_that_have_some(test) -> None:
    found = map_names([f"{KHRONOS}vote.frag_helper.{test}_fragment"])
    assert found.cases
    assert {(case.stage, case.pattern) for case in found.cases} == {("fragment", "partial")}


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("vote.ext_shader_subgroup_vote.compute.allinvocationsarb_uint", {"allInvocationsARB"}),
        ("ballot_mask.ext_shader_subgroup_ballot.mesh.gl_subgroupgemaskarb_task", {"gl_SubGroupGeMaskARB"}),
        (
            "ballot_broadcast.ext_shader_subgroup_ballot.compute.subgroupbroadcast_nonconst_uint_requiredsubgroupsize2",
            {"readInvocationARB", "OpSubgroupReadInvocationKHR"},
        ),
    ],
)
def test_the_older_ballots_and_votes_map_to_their_family(name, operations) -> None:
    found = map_names([KHRONOS + name])
    assert {case.category for case in found.cases} == {"legacy_ballot"}
    assert {case.operation for case in found.cases} == operations
    sizes = {case.subgroup_size for case in found.cases}
    assert sizes == {2} if name.endswith("size2") else 0 in sizes


@pytest.mark.parametrize(
    "name",
    [
        "subgroups.arithmetic.compute.subgroupadd_quaternion",
        "subgroups.arithmetic.hull.subgroupadd_int",
        "subgroups.votes.compute.subgrouphope_uint",
        "subgroups.size_control.compute.any_subgroup_size",
        "reconvergence.maximal.compute.nesting9.0.0",
        "reconvergence.",
    ],
)
def test_what_has_no_counterpart_says_so(name) -> None:
    found = map_names([f"dEQP-VK.{name}"])
    assert not found.cases
    (mapping,) = found.unmapped
    assert mapping.reason


@pytest.fixture(scope="module")
def khronos() -> list[str]:
    """The names of Khronos' lists of VK-GL-CTS (2026-07)."""
    names = list(caselist.listed())
    assert len(names) == 48_621 + 6_253 + 17_089 + 6
    return names


def test_every_name_of_khronos_lists_has_a_counterpart(khronos) -> None:
    found = map_names(khronos)
    assert [mapping.name for mapping in found.unmapped] == []
    assert len(found.mapped) == len(khronos)


def test_the_page_on_coverage_counts_every_name_and_case(khronos) -> None:
    page = coverage.page(khronos)
    met, total = re.search(r"names map to ([\d,]+) of the ([\d,]+) cases", page).groups()
    groups, _, beyond = page.partition("## What no name there asks for")
    names = re.findall(r"^\| `[\w.]+` \| ([\d,]+) \| ([\d,]+) \|", groups, re.MULTILINE)
    others = re.findall(r"^\| `\w+` \| ([\d,]+) \|", beyond, re.MULTILINE)
    number = {text: int(text.replace(",", "")) for text in {met, total, *others, *sum(names, ())}}
    assert sum(number[count] for count, _ in names) == len(khronos)
    assert sum(number[mapped] for _, mapped in names) == len(khronos)
    assert number[total] == len(all_cases())
    assert sum(number[count] for count in others) == number[total] - number[met]


def test_another_group_of_khronos_suite_is_said_to_be_one() -> None:
    assert "without subgroups" in map_name("dEQP-VK.api.info.instance").reason


# --- other groups -----------------------------------------------------------------------------------------

MEMORY_MODEL = "dEQP-VK.memory_model."
MATRIX = "dEQP-VK.compute.pipeline.cooperative_matrix."
DIGEST = "c21cb5eb862b61fa3deb04e976ada5cfc6d8725549496d415852efea960f0fd6"
DERIVATIVES = "dEQP-VK.spirv_assembly.instruction.compute.compute_shader_derivatives."


def test_the_names_of_the_memory_model_are_those_of_khronos_list() -> None:
    """The list of VK-GL-CTS c57d29f97 (2026-07-20), without `shared` and `padding`."""
    names = sorted(f"{MEMORY_MODEL}{name}" for name in memory_model_names())
    assert len(names) == len(set(names)) == 17_300 - 210 - 1
    assert sha256("\n".join(names).encode()).hexdigest() == DIGEST


def test_every_case_of_the_memory_model_has_a_name() -> None:
    found = map_names([f"{MEMORY_MODEL}{name}" for name in memory_model_names()])
    assert not found.unmapped
    own = {case.name for case in found.cases if case.category == "memory_model"}
    assert own == set(select_names(("memory_model.*",)))


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        (
            "message_passing.core11.u32.coherent.control_barrier.atomicwrite.subgroup.payload_local.image."
            "guard_nonlocal.buffer.comp",
            ["compute.message_passing.uint.glsl450.coherent.control_barrier.subgroup.image"],
        ),
        (
            "write_after_read.ext.u64.noncoherent.atomic_atomic.atomicrmw.queuefamily.payload_nonlocal.physbuffer."
            "guard_local.image.frag",
            [
                "fragment.write_after_read.uint64_t.vulkan.noncoherent.atomic_atomic.exchange.queue_family."
                "address.image"
            ],
        ),
        (
            "transitive.coherent.fence_atomic.payload_local.image.guard_local.buffer.transvis",
            ["compute.transitive.uint.vulkan.coherent.fence_atomic.device.image.buffer.first"],
        ),
        (
            "message_passing.permuted_index.release_acquire",
            [
                f"compute.message_passing.uint.vulkan.coherent.atomic_atomic.{write}.device.buffer.buffer"
                for write in ("store", "exchange")
            ],
        ),
    ],
)
def test_a_name_of_the_memory_model_maps_to_the_same_axes(name: str, cases: list[str]) -> None:
    found = map_names([MEMORY_MODEL + name])
    assert [case.name for case in found.cases] == [f"memory_model.{case}" for case in cases]


@pytest.mark.parametrize(
    ("name", "globs"),
    [
        ("khr_r.subgroupscope.matrixmuladd.float16_float32.buffer.rowmajor.linear",
         ["multiply_add.f16_f16_f32_f32.*.rrr"]),
        ("khr_r.subgroupscope.matrixmuladd_saturated.uint8_sint32.workgroup.colmajor.linear",
         ["multiply_add.u8_u8_s32_s32_saturating.*.ccc", "multiply_add.u8_u8_s32_s32.*.shared"]),
        ("khr_c.subgroupscope.matrixmuladd_cross.sint8_sint32.buffer.rowmajor.linear",
         ["multiply_add.[su]8_[su]8_[su]32_[su]32.*.rrr"]),
        ("khr_b.subgroupscope.add.sint8_sint8.workgroup.rowmajor.linear",
         ["arithmetic.s8.b.add.*", "load.s8.b.row.shared.tight", "store.s8.b.row.shared.tight"]),
        ("khr_a.subgroupscope.length.float16_float16.buffer.rowmajor.linear", ["elements.f16.a.length"]),
        ("khr_r.subgroupscope.matrixmuladd.floate4m3_float32.buffer.rowmajor.linear",
         ["multiply_add.e4m3_e4m3_f32_f32.*.rrr"]),
        ("khr_r.subgroupscope.reduce_min_rowcol.sint32_sint32.buffer.rowmajor.linear",
         ["reduce.s32.c.all.larger"]),
        ("khr_r.subgroupscope.per_element_op_row_col.float32_float32.buffer.rowmajor.linear",
         ["per_element.f32.c.coordinates"]),
        ("khr_r.subgroupscope.transpose_acc_to_b.float16_float16.buffer.rowmajor.linear",
         ["convert_use.f16.c.b_transposed"]),
        ("khr_r.subgroupscope.convert.input_float16_t_output_float32_t.buffer.rowmajor",
         ["convert.f16.f32.c"]),
        ("khr_r.subgroupscope.multicomponent.vec4.save.uint16_t.workgroup.rowmajor",
         ["store.u16.c.row.shared_vec4.*"]),
    ],
)  # fmt: skip
def test_a_name_of_matrices_maps_to_the_same_operation(name: str, globs: list[str]) -> None:
    found = map_names([MATRIX + name])
    assert found.cases
    assert list(found.mapped[0].globs) == [f"cooperative_matrix.{glob}" for glob in globs]


@pytest.mark.parametrize(
    ("name", "globs"),
    [
        ("derivative_value.fine.vec2_float32.quads.8_8_1",
         [f"quads.{stem}Fine.vec2.*" for stem in ("dFdx", "dFdy", "fwidth")]),
        ("derivative_value.normal.float32.quads.4_4_1_local_inv_index",
         ["quads.dFdx.*", "quads.dFdy.*", "quads.fwidth.*"]),
        ("verify_ndx.linear.128_1_1", ["linear.lane.*"]),
        ("lod_op.query.quads.4_4_1.mip_1", ["quads.lod.query.*"]),
    ],
)  # fmt: skip
def test_a_name_of_derivatives_in_compute_shaders_maps_to_derivative_groups(
    name: str, globs: list[str]
) -> None:
    found = map_names([f"{DERIVATIVES}compute.{name}"])
    assert found.cases
    assert list(found.mapped[0].globs) == [f"quad_control.derivative_group.{glob}" for glob in globs]


def test_a_quad_operation_maps_to_its_type_too() -> None:
    found = map_names([f"{DERIVATIVES}compute.quad_op.swap.vec3_float32.linear.4_4_1.diagonal"])
    assert {case.category for case in found.cases} == {"quad", "quad_control"}
    assert {case.type for case in found.cases if case.category == "quad"} == {"vec3"}


def test_the_loads_of_helper_invocations_map_to_their_memory() -> None:
    found = map_names(["dEQP-VK.glsl.helper_invocations.load_from_ubo"])
    assert {case.axes.memory for case in found.cases} == {"uniform"}
    assert {case.axes.scene for case in found.cases} >= {"triangle", "dots"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (f"{MEMORY_MODEL}shared.16bit.arrays.0", "the layout of variables in shared memory"),
        (f"{MEMORY_MODEL}padding.test", "bytes between the members"),
        (
            f"{MEMORY_MODEL}message_passing.ext.u32.coherent.split_control_barrier.atomicwrite.workgroup."
            "payload_local.buffer.guard_nonlocal.buffer.comp",
            "split barriers",
        ),
        (
            f"{MATRIX}khr_a.workgroupscope.add.float16_float16.buffer.rowmajor.linear",
            "scope of the workgroup",
        ),
        (f"{MATRIX}khr_a.subgroupscope.add.float16_float16.buffer.rowmajor.tensorlayout", "tensor layouts"),
        (
            f"{MATRIX}khr_r.subgroupscope.reduce_sum_2x2.float16_float16.buffer.rowmajor.linear",
            "reductions to another shape",
        ),
        (
            f"{MATRIX}khr_r.subgroupscope.convert_acc_to_a.float16_float32.buffer.rowmajor.linear",
            "conversions of use",
        ),
        (
            f"{MATRIX}khr_a.subgroupscope.mul.float16_float16.buffer_varptr.rowmajor.linear",
            "variable pointers",
        ),
        (
            f"{MATRIX}khr_a.subgroupscope.length.floate4m3_floate4m3.buffer.rowmajor.linear",
            "no case of that operation, type and size",
        ),
        (f"{MATRIX}nv.subgroupscope.add.float16_float16.buffer.rowmajor.linear", "VK_KHR_cooperative_matrix"),
        (f"{MATRIX}64b_indexing.coopmat_64b_rowmajor", "offsets of 64 bits"),
        (f"{MATRIX}op_constant_null.null_c", "OpConstantNull"),
        ("dEQP-VK.compute.shader_object_spirv.cooperative_matrix.op_constant_null.null_a", "shader objects"),
        ("dEQP-VK.compute.pipeline.basic.empty_shader", "compute shaders without subgroups"),
        (f"{DERIVATIVES}mesh.verify_ndx.linear.128_1_1", "derivatives in mesh shaders"),
        ("dEQP-VK.glsl.discard.basic_always", "GLSL without subgroups"),
        ("dEQP-VK.spirv_assembly.instruction.compute.opnop.all", "SPIR-V without subgroups"),
        (f"{MATRIX}khr_a.subgroupscope.hope.float16_float16.buffer.rowmajor.linear", "follows no rule"),
        (f"{MEMORY_MODEL}message_passing.ext.u33.coherent", "follows no rule"),
        (f"{DERIVATIVES}compute.hope.linear.128_1_1", "follows no rule"),
    ],
)
def test_what_stays_outside_says_why(name: str, reason: str) -> None:
    (mapping,) = map_names([name]).unmapped
    assert reason in mapping.reason


def listed_by(capsys: pytest.CaptureFixture[str], *filters: str) -> list[str]:
    arguments = [word for glob in filters for word in ("--filter", glob)]
    assert main(["conform", "--list", *arguments]) == 0
    return capsys.readouterr().out.split()


def test_a_filter_may_be_a_name_of_khronos_or_a_glob_over_them(capsys) -> None:
    name = f"{KHRONOS}vote.compute.subgroupany_uint"
    (glob,) = map_name(name).globs
    assert listed_by(capsys, name) == list(select_names((glob,)))
    both = listed_by(capsys, "dEQP-VK.glsl.helper_invocations.load_from_ubo", "reported.*.quad_index")
    assert {one.partition(".")[0] for one in both} == {"fragment", "reported"}
    some = listed_by(capsys, f"{MEMORY_MODEL}transitive.*.transvis")
    assert some
    assert all(one.endswith(".first") for one in some)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{MEMORY_MODEL}padding.test", "no case corresponds.*bytes between"),
        ("dEQP-VK.api.*", "matches none of"),
    ],
)
def test_a_filter_without_a_counterpart_is_refused_with_the_reason(name: str, message: str, capsys) -> None:
    assert main(["conform", "--list", "--filter", name]) == 2
    assert re.search(message, " ".join(capsys.readouterr().err.split()))


def test_a_file_mixes_both_kinds(tmp_path) -> None:
    ours = next(iter(cases_by_name()))
    path = tmp_path / "cases.txt"
    path.write_text(f"# a comment\n\n{ours}\nvote.*.all.exact\n{KHRONOS}vote.compute.subgroupany_uint\n")
    found = read_caselist(path)
    assert len(found.mapped) == 3
    assert ours in {case.name for case in found.cases}
    assert len(set(found.cases)) == len(found.cases)


@pytest.mark.parametrize("columns", [",Fail,swiftshader-all-equal-vector", ",ExpectedFail,0.100000,"])
def test_the_tables_of_a_run_are_case_lists(tmp_path, columns: str) -> None:
    ours = next(iter(cases_by_name()))
    path = tmp_path / "failures.csv"
    path.write_text(f"device.minimum_promises{columns}\n")
    with pytest.raises(InvalidInput, match="names no case"):
        read_caselist(path)
    path.write_text(f"device.minimum_promises{columns}\n{ours}{columns}\n")
    assert [case.name for case in read_caselist(path).cases] == [ours]


def test_names_of_vkgroup_need_no_index_of_all_names(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(caselist, "_by_prefix", lambda: pytest.fail("index of all names"))
    ours = ["vote.compute.subgroupAllEqual.int.all.exact", "hlsl_later.compute.*"]
    path = tmp_path / "cases.txt"
    path.write_text("\n".join(ours))
    found = {case.name for case in read_caselist(path).cases}
    assert found == {ours[0], *select_names((ours[1],))}


@pytest.mark.parametrize("call", [named, lambda name: main(["conform", "--repro", name, "folder"])])
def test_a_name_of_khronos_for_a_case_is_refused_with_its_globs(call, capsys) -> None:
    name = f"{KHRONOS}vote.compute.subgroupallequal_bvec2"
    try:
        call(name)
        message = capsys.readouterr().err
    except InvalidInput as error:
        message = str(error)
    (glob,) = map_name(name).globs
    assert glob in message
    assert "--caselist" in message


def test_the_names_of_khronos_for_a_case() -> None:
    case = "vote.compute.subgroupAllEqual.ivec2.nested.exact"
    name = f"{KHRONOS}vote.compute.subgroupallequal_ivec2"
    assert caselist.listed_names_of(case) == [name]
    assert caselist.listed_names_of(f"{case}.size8")[0].startswith(f"{name}_requiredsubgroupsize")
    assert caselist.listed_names_of("sm_builtins.compute.no_such") == []


def test_bad_lists_are_refused(tmp_path) -> None:
    path = tmp_path / "cases.txt"
    with pytest.raises(InvalidInput, match="cannot read"):
        read_caselist(path)
    path.write_text("# nothing\n")
    with pytest.raises(InvalidInput, match="names no case"):
        read_caselist(path)
    path.write_text("no.such.case\n")
    with pytest.raises(InvalidInput, match=r"no case matches 'no\.such\.case'"):
        read_caselist(path)
    ours = "vote.compute.subgroupAllEqual.int.all.exact"
    path.write_text(f"{ours}\n\n{ours}t,Fail\n")
    with pytest.raises(InvalidInput, match=rf"cases\.txt:3: no case matches '{ours}t'.*'{ours}'"):
        read_caselist(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput):
        read_caselist(path)

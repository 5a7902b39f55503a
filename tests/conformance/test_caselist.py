"""Case lists: ours are taken as they are, Khronos' names map to the cases that test the same."""

from __future__ import annotations

import pytest

from vkgroup.conformance import cases_by_name
from vkgroup.conformance.caselist import map_name, map_names, read_caselist
from vkgroup.errors import InvalidInput

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
            {"by1"},
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


@pytest.mark.parametrize(
    ("name", "operation", "type_"),
    [
        ("arithmetic.graphics.subgroupadd_dvec3", "subgroupAdd", "dvec3"),
        ("ballot.graphics.graphic", "subgroupBallot", "bool"),
        ("ballot_other.graphics.subgroupinverseballot", "subgroupInverseBallot", "uvec4"),
        ("basic.framebuffer.subgroupmemorybarrierimage_fragment", "subgroupMemoryBarrierImage", "uint"),
        ("builtin_mask_var.graphics.subgroupgemask", "gl_SubgroupGeMask", "uvec4"),
        ("quad.graphics.subgroupquadbroadcast_nonconst_int", "subgroupQuadBroadcast", "int"),
    ],
)
def test_names_of_the_fragment_stage_map_to_it(name, operation, type_) -> None:
    found = map_names([KHRONOS + name])
    assert {case.stage for case in found.cases} == {"fragment"}
    assert {case.operation for case in found.cases} == {operation}
    assert {case.type for case in found.cases} == {type_}
    assert {case.pattern for case in found.cases} >= {"all", "partial", "nested", "demote"}


@pytest.mark.parametrize("test", ["subgroupany_uint", "subgroupallequal_u16vec2"])
def test_votes_with_helper_invocations_map_to_cases_that_have_some(test) -> None:
    found = map_names([f"{KHRONOS}vote.frag_helper.{test}_fragment"])
    assert found.cases
    assert {(case.stage, case.pattern) for case in found.cases} == {("fragment", "partial")}


def test_required_sizes_of_the_fragment_stage_map_to_it() -> None:
    found = map_names([f"{KHRONOS}size_control.framebuffer.fragment_required_subgroup_size_max"])
    assert {case.stage for case in found.cases} == {"fragment"}
    assert all(case.subgroup_size for case in found.cases)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("arithmetic.mesh.subgroupadd_float_mesh", "stages other than compute and fragment"),
        ("arithmetic.ray_tracing.subgroupadd_float", "stages other than compute and fragment"),
        ("vote.framebuffer.subgroupall_uint_tess_eval", "stages other than compute and fragment"),
        ("partitioned.compute.subgroupPartitionedAddNV_int", "partitioned"),
        ("arithmetic.compute.subgroupadd_vec8_float", "long vectors"),
        ("shuffle.compute.subgrouprotate_int_constant", "rotate"),
        ("vote.ext_shader_subgroup_vote.compute.allinvocationsarb_uint", "legacy EXT"),
        ("size_control.compute.allow_varying_subgroup_size", "varying"),
        ("subgroup_uniform_control_flow.large_full.subgroup_reconverge00", "subgroup_uniform_control_flow"),
    ],
)
def test_what_has_no_counterpart_says_why(name, reason) -> None:
    mapping = map_name(KHRONOS + name)
    assert not mapping.globs
    assert reason in mapping.reason
    assert not map_names([KHRONOS + name]).cases


def test_another_group_of_khronos_suite_is_said_to_be_one() -> None:
    assert "other than subgroups" in map_name("dEQP-VK.api.info.instance").reason


def test_a_file_mixes_both_kinds(tmp_path) -> None:
    ours = next(iter(cases_by_name()))
    path = tmp_path / "cases.txt"
    path.write_text(f"# a comment\n\n{ours}\nvote.*.all.exact\n{KHRONOS}vote.compute.subgroupany_uint\n")
    found = read_caselist(path)
    assert len(found.mapped) == 3
    assert ours in {case.name for case in found.cases}
    assert len(set(found.cases)) == len(found.cases)


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
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="cannot read"):
        read_caselist(path)

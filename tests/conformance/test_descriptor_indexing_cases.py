"""The cases of descriptor indexing: drivers pass but for what is known, and wrong descriptors are seen."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from mutants.rewriting import Words, instructions, integer_constants, rewritten
from property_runs import assert_caught, chosen, judged

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.conformance import Status
from vkgroup.conformance.descriptor_indexing.family import DESCRIPTOR_INDEXING, completed, source_of
from vkgroup.conformance.descriptor_indexing.kinds import KINDS, WAYS
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES
from vkgroup.record.record import AGAINST_THE_DEVICE

ACCESS_CHAIN, IMAGE_WRITE, ATOMIC_ADD, ATOMIC_OR, NAME = 65, 99, 234, 241, 5
SAMPLED_IMAGE, DECORATE, NON_UNIFORM = 86, 71, 5300

#: See docs/driver-findings.md: SwiftShader takes the sampler of one invocation for all.
KNOWN = {
    "descriptor_indexing.compute.sampler.read.nonuniform",
    "descriptor_indexing.fragment.sampler.read.nonuniform",
}

pytestmark = pytest.mark.usefixtures("swiftshader", "lavapipe")


def test_every_kind_of_descriptor_has_every_way() -> None:
    # Vulkan lets acceleration structures be indexed by anything, without any feature.
    assert set(KINDS) == set(DESCRIPTOR_TYPES) - {"acceleration_structure"}
    for kind in KINDS.values():
        axes = [case.axes for case in DESCRIPTOR_INDEXING.cases()]
        own = {(one.stage, one.access, one.way) for one in axes if one.kind == kind.name}
        assert len(own) == len(kind.stages) * len(kind.accesses) * len(WAYS)


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("device", ["swiftshader", "lavapipe"])
def test_drivers_pass_but_for_what_is_known(device: str) -> None:
    found = judged(device, "descriptor_indexing.*")
    failed = {result.case for result in found if result.status in AGAINST_THE_DEVICE}
    assert failed == (KNOWN if device == "swiftshader" else set())
    assert sum(result.status is Status.PASS for result in found) > 130


def test_the_reference_device_passes() -> None:
    found = judged("reference:64", "descriptor_indexing.*.first", "descriptor_indexing.*.nonuniform")
    assert {result.status for result in found} == {Status.PASS}


def test_what_a_device_lacks_is_named() -> None:
    family, capabilities = DESCRIPTOR_INDEXING, capabilities_of(32)
    case = chosen("descriptor_indexing.compute.storage_texel_buffer.read.first")[0]
    assert family.missing(case, capabilities) == []
    fewer = replace(
        capabilities,
        features=capabilities.features - {"shaderStorageTexelBufferArrayDynamicIndexing"},
        limits={**capabilities.limits, "maxPerStageDescriptorStorageImages": 4},
    )
    assert family.missing(case, fewer) == [
        "shaderStorageTexelBufferArrayDynamicIndexing",
        "maxPerStageDescriptorStorageImages of 8 (it is 4)",
    ]
    (alone,) = family.missing(case, capabilities_of(1))
    assert "a subgroup size of at least 2" in alone
    nonuniform = chosen("descriptor_indexing.fragment.input_attachment.read.nonuniform")[0]
    assert "shaderInputAttachmentArrayNonUniformIndexing" in family.missing(nonuniform, capabilities)


@pytest.mark.parametrize("kind", ["sampler", "sampled_image"])
def test_what_glslang_does_not_mark_is_marked(kind: str) -> None:
    source = source_of("compute", kind, "read", "nonuniform")
    module = completed(
        compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_2, name="x"), KINDS[kind]
    )
    assert "SampledImageArrayNonUniformIndexing" in module.reflection.capabilities
    body = instructions(module.to_bytes())
    made = {i[2] for i in body if i[0] == SAMPLED_IMAGE}
    assert made
    assert made <= {i[1] for i in body if i[0] == DECORATE and i[2] == NON_UNIFORM}


def _data(body: list[Words]) -> int:
    """Return the id of the array of descriptors."""
    return next(i[1] for i in body if i[0] == NAME and i[2] == int.from_bytes(b"data", "little"))


def _always_first(data: bytes) -> bytes:
    """Let every access go to the first descriptor."""
    array = _data(instructions(data))
    zero = integer_constants(data)[0]

    def rewrite(i: Words) -> list[Words]:
        return [[*i[:4], zero, *i[5:]]] if i[0] == ACCESS_CHAIN and i[3] == array else [i]

    return rewritten(data, rewrite)


def _another(old: int, new: int, data: bytes) -> bytes:
    return rewritten(data, lambda i: [[new, *i[1:]]] if i[0] == old else [i])


def _without(opcode: int, data: bytes) -> bytes:
    return rewritten(data, lambda i: [] if i[0] == opcode else [i])


@pytest.mark.parametrize("kind", KINDS)
def test_another_descriptor_is_seen(kind: str) -> None:
    assert_caught("lavapipe", f"descriptor_indexing.fragment.{kind}.read.[fn]*", _always_first)


PLANTED = (
    ("stores go to the first", "storage_buffer.write.ballot", _always_first),
    ("image stores are lost", "storage_image.write.minimum", partial(_without, IMAGE_WRITE)),
    ("texel stores are lost", "storage_texel_buffer.write.subgroup", partial(_without, IMAGE_WRITE)),
    ("counting is Or", "storage_buffer.atomic.first", partial(_another, ATOMIC_ADD, ATOMIC_OR)),
    ("counting is Or (image)", "storage_image.atomic.subgroup", partial(_another, ATOMIC_ADD, ATOMIC_OR)),
)  # fmt: skip


@pytest.mark.parametrize(("what", "name", "mutate"), PLANTED, ids=[row[0] for row in PLANTED])
def test_a_wrong_access_is_seen(what: str, name: str, mutate) -> None:
    assert_caught("swiftshader", f"descriptor_indexing.compute.{name}", mutate)

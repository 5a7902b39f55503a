"""Variable and untyped pointers: what they access, on the reference device and drivers, and errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from check.pointer_modules import NON_UNIFORM, untyped_pointers, variable_pointers

import vkgroup
from vkgroup.base.errors import InvalidModule, NotValidated
from vkgroup.check import Report, check
from vkgroup.check.counted_loops import CountedLoops
from vkgroup.compiler import TargetEnvironment, assemble
from vkgroup.drivers import CachedDriver

Written = Callable[..., Path]
Arrays = dict[str, np.ndarray]

COUNT = 128
_INDEXING = 'OpExtension "SPV_EXT_descriptor_indexing"'
I = np.arange(COUNT, dtype=np.uint32)  # noqa: E741 (the name in the modules)


def _run(file: Path, device: str = "reference:8") -> Arrays:
    with vkgroup.open(device) as opened:
        result = opened.run(file, COUNT // 32, {"a": 100 + I, "b": 1000 + I})
        return {name: np.array(result[name]) for name in "ab"}


def _findings(report: Report) -> list[str]:
    return [finding.kind for finding in report.findings]


# --- variable pointers --------------------------------------------------------------------------------

_PARTS = """
    %is_odd = OpBitwiseAnd %uint %i %n1
    %odd = OpIEqual %bool %is_odd %n1
    %in_a = OpAccessChain %element %a %n0 %i
    %in_b = OpAccessChain %element %b %n0 %i
"""

_SELECTED = f"""{_PARTS}
    %p = OpSelect %element %odd %in_a %in_b
    OpStore %p %i
"""

_PHI = f"""{_PARTS}
    OpSelectionMerge %after None
    OpBranchConditional %odd %then %after
    %then = OpLabel
    %moved = OpPtrAccessChain %element %in_a %n0
    OpBranch %after
    %after = OpLabel
    %p = OpPhi %element %moved %then %in_b %entry
    OpStore %p %i
"""

_STORED = f"""{_PARTS}
    OpStore %holder %in_b
    OpSelectionMerge %after None
    OpBranchConditional %odd %then %after
    %then = OpLabel
    OpStore %holder %in_a
    OpBranch %after
    %after = OpLabel
    %p = OpLoad %element %holder
    OpStore %p %i
"""

_RETURNED = """
    %p = OpFunctionCall %element %choose %i
    OpStore %p %i
"""

_CHOOSE = f"""
    %choose = OpFunction %element None %chooser
    %parameter = OpFunctionParameter %uint
    %begin = OpLabel
    {_PARTS.replace("%i ", "%parameter ").replace("%n0 %i", "%n0 %parameter")}
    %chosen = OpSelect %element %odd %in_a %in_b
    OpReturnValue %chosen
    OpFunctionEnd
"""


def _returned() -> str:
    text = variable_pointers(_RETURNED, decorations=NON_UNIFORM, functions=_CHOOSE)
    return text.replace("%main = OpFunction", "%chooser = OpTypeFunction %element %uint\n%main = OpFunction")


CHOICES = {
    "select": variable_pointers(_SELECTED, decorations=NON_UNIFORM),
    "phi": variable_pointers(_PHI, decorations=NON_UNIFORM),
    "load": variable_pointers(
        _STORED, decorations=NON_UNIFORM, variables="%holder = OpVariable %held Function"
    ),
    "call": _returned(),
}


@pytest.mark.parametrize("way", CHOICES)
def test_a_pointer_that_each_lane_chooses(way: str, written: Written, lavapipe: CachedDriver) -> None:
    file = written(CHOICES[way], "choice.spvasm")
    odd = I % 2 == 1
    for device in ("reference:4", "reference:64", lavapipe.name):
        result = _run(file, device)
        assert result["a"].tolist() == np.where(odd, I, 100 + I).tolist()
        assert result["b"].tolist() == np.where(odd, 1000 + I, I).tolist()
    report = check(file)
    assert report.findings == ()
    assert report.covered.compared > 0


@pytest.mark.parametrize("way", CHOICES)
def test_different_buffers_in_a_subgroup_need_a_decoration(way: str, written: Written) -> None:
    """VUID-RuntimeSpirv-subgroupSize-10149; two lanes choose different buffers."""
    report = check(written(CHOICES[way].replace(NON_UNIFORM, ""), "uniform.spvasm"), sizes=[1, 32])
    assert {finding.kind for finding in report.findings} == {"undefined"}
    assert all("NonUniform" in finding.message for finding in report.findings)


@pytest.mark.parametrize("way", CHOICES)
def test_a_race_through_a_chosen_pointer_is_found(way: str, written: Written) -> None:
    """Half of the invocations write the same element of a, the other half that of b."""
    shader = CHOICES[way]
    for last in ("%i", "%parameter"):
        shader = shader.replace(f"%a %n0 {last}", "%a %n0 %n0").replace(f"%b %n0 {last}", "%b %n0 %n0")
    assert "race" in _findings(check(written(shader, "race.spvasm")))


def test_elements_after_a_pointer_into_shared_memory(written: Written, lavapipe: CachedDriver) -> None:
    body = """
    %own = OpAccessChain %shared_element %s %l
    OpStore %own %i
    OpControlBarrier %n2 %n2 %n264
    %last = OpAccessChain %shared_element %s %n31
    %back = OpSNegate %uint %l
    %mirrored = OpPtrAccessChain %shared_element %last %back
    %value = OpLoad %uint %mirrored
    %distance = OpPtrDiff %int %last %mirrored
    %steps = OpBitcast %uint %distance
    %out_a = OpAccessChain %element %a %n0 %i
    OpStore %out_a %value
    %out_b = OpAccessChain %element %b %n0 %i
    OpStore %out_b %steps
    """
    text = variable_pointers(body)
    file = written(text, "shared.spvasm")
    result = _run(file)
    assert result["a"].tolist() == I.reshape(-1, 32)[:, ::-1].reshape(-1).tolist()
    assert result["b"].tolist() == (I % 32).tolist()
    assert check(file).findings == ()
    # One element farther is outside of the copy of the workgroup, though inside of that of another.
    wrong = text.replace(
        "%last = OpAccessChain %shared_element %s %n31", "%last = OpAccessChain %shared_element %s %n5"
    )
    assert "bounds" in _findings(check(written(wrong, "outside.spvasm")))


def test_equal_pointers_and_the_null_pointer(written: Written) -> None:
    body = f"""{_PARTS}
    %p = OpSelect %element %odd %in_a %null
    %is_null = OpPtrEqual %bool %p %null
    %differs = OpPtrNotEqual %bool %p %in_a
    %both = OpLogicalAnd %bool %is_null %differs
    %value = OpSelect %uint %both %n1 %n0
    OpStore %in_b %value
    """
    text = variable_pointers(body).replace(
        "%main = OpFunction", "%null = OpConstantNull %element\n%main = OpFunction", 1
    )
    file = written(text, "null.spvasm")
    assert _run(file)["b"].tolist() == (1 - I % 2).tolist()
    assert check(file).findings == ()
    wrong = text.replace("OpStore %in_b %value", "%read = OpLoad %uint %p\nOpStore %in_b %read")
    (finding, *_) = check(written(wrong, "read.spvasm")).findings
    assert finding.kind == "bounds"
    assert "null pointer" in finding.message


@pytest.mark.parametrize("constant", ["OpConstant", "OpSpecConstant"])
def test_an_unsigned_constant_element_is_signed(
    constant: str, written: Written, lavapipe: CachedDriver
) -> None:
    """OpPtrAccessChain: Element "is treated as signed"."""
    body = """
    %next = OpIAdd %uint %i %n1
    %after = OpAccessChain %element %a %n0 %next
    %own = OpPtrAccessChain %element %after %all_bits
    %value = OpLoad %uint %own
    %in_b = OpAccessChain %element %b %n0 %i
    OpStore %in_b %value
    """
    text = variable_pointers(body)
    text = text.replace("%n0 =", f"%all_bits = {constant} %uint 4294967295\n    %n0 =", 1)
    file = written(text, "signed.spvasm")
    for device in ("reference:8", lavapipe.name):
        assert _run(file, device)["b"].tolist() == (100 + I).tolist()
    assert check(file).findings == ()


def test_a_large_element_does_not_wrap_around(written: Written) -> None:
    body = """
    %far = OpUConvert %ulong %i
    %farther = OpBitwiseOr %ulong %far %large
    %first = OpAccessChain %element %a %n0 %n0
    %own = OpPtrAccessChain %element %first %farther
    %value = OpLoad %uint %own
    %in_b = OpAccessChain %element %b %n0 %i
    OpStore %in_b %value
    """
    text = variable_pointers(body).replace("OpExtension", "OpCapability Int64\n    OpExtension", 1)
    text = text.replace(
        "%n0 =", "%ulong = OpTypeInt 64 0\n%large = OpConstant %ulong 4611686018427387904\n%n0 =", 1
    )
    assert _findings(check(written(text, "far.spvasm"))) == ["bounds"]


def test_atomics_of_two_sizes_on_one_word_race(written: Written) -> None:
    body = """
    %narrow = OpUntypedAccessChainKHR %untyped %words %b %n0
    %one = OpAtomicIAdd %uint %narrow %n1 %n0 %n1
    %wide = OpUntypedAccessChainKHR %untyped %longs %b %n0
    %other = OpAtomicIAdd %ulong %wide %n1 %n0 %long1
    """
    text = untyped_pointers(
        body,
        types="%ulong = OpTypeInt 64 0\n%longs = OpTypeRuntimeArray %ulong\n%long1 = OpConstant %ulong 1",
        decorations="OpDecorate %longs ArrayStride 8",
        capabilities="OpCapability Int64\nOpCapability Int64Atomics",
    )
    assert _findings(check(written(text, "sizes.spvasm"))) == ["race"]
    same = text.replace("%other = OpAtomicIAdd %ulong %wide %n1 %n0 %long1", "")
    assert check(written(same, "same.spvasm")).findings == ()


def test_a_matrix_is_seen_as_words(written: Written) -> None:
    """An access chain through another type starts at a member of a structure, which is a matrix."""
    body = """
    %at_matrix = OpUntypedAccessChainKHR %untyped %matrices %a %i %n0
    %at_word = OpUntypedAccessChainKHR %untyped %words %at_matrix %n3
    %value = OpLoad %uint %at_word
    %out = OpUntypedAccessChainKHR %untyped %words %b %i
    OpStore %out %value
    """
    types = """
    %vec2 = OpTypeVector %float 2
    %mat2 = OpTypeMatrix %vec2 2
    %part = OpTypeStruct %mat2
    %matrices = OpTypeRuntimeArray %part
    """
    decorations = """
    OpMemberDecorate %part 0 Offset 0
    OpMemberDecorate %part 0 ColMajor
    OpMemberDecorate %part 0 MatrixStride 8
    OpDecorate %matrices ArrayStride 16
    """
    file = written(untyped_pointers(body, types=types, decorations=decorations), "matrix.spvasm")
    with vkgroup.open("reference:8") as device:
        result = device.run(file, 1, {"a": np.arange(128, dtype=np.uint32), "b": np.zeros(32, np.uint32)})
        assert result["b"].tolist() == (4 * np.arange(32) + 3).tolist()
    assert check(file).findings == ()


def test_pointers_of_two_arrays_have_no_difference(written: Written) -> None:
    body = f"""{_PARTS}
    %distance = OpPtrDiff %int %in_a %in_b
    %steps = OpBitcast %uint %distance
    OpStore %in_b %steps
    """
    (finding, *_) = check(written(variable_pointers(body), "apart.spvasm")).findings
    assert finding.kind == "undefined"
    assert "one array" in finding.message


def test_an_unwritten_pointer_is_undefined(written: Written) -> None:
    body = f"""{_PARTS}
    %p = OpLoad %element %holder
    OpStore %p %i
    """
    text = variable_pointers(body, variables="%holder = OpVariable %held Function")
    assert "undefined" in _findings(check(written(text, "unwritten.spvasm")))


# --- untyped pointers ---------------------------------------------------------------------------------


def test_memory_seen_as_other_types(written: Written) -> None:
    """Words are read as floats, shared words as pairs, and a pair is stored over words."""
    body = """
    %in_a = OpUntypedAccessChainKHR %untyped %block %a %n0 %i
    %as_float = OpLoad %float %in_a
    %bits = OpBitcast %uint %as_float
    %own = OpUntypedAccessChainKHR %untyped_shared %few_laid_out %s %l
    OpStore %own %bits
    OpControlBarrier %n2 %n2 %n264
    %half = OpShiftRightLogical %uint %l %n1
    %pair = OpUntypedAccessChainKHR %untyped_shared %pairs %s %half
    %both = OpLoad %uvec2 %pair
    %second = OpCompositeExtract %uint %both 1
    %length = OpUntypedArrayLengthKHR %uint %block %a 0
    %sum = OpIAdd %uint %second %length
    %out = OpUntypedAccessChainKHR %untyped %words %b %i
    OpStore %out %sum
    """
    types = """
    %uvec2 = OpTypeVector %uint 2
    %n16 = OpConstant %uint 16
    %pairs = OpTypeArray %uvec2 %n16
    """
    text = untyped_pointers(
        body,
        types=types,
        decorations="OpDecorate %pairs ArrayStride 8",
    )
    file = written(text, "views.spvasm")
    assert _run(file)["b"].tolist() == (100 + (I | 1) + COUNT).tolist()
    report = check(file)
    assert report.findings == ()
    assert report.covered.compared == COUNT
    unordered = text.replace("OpControlBarrier %n2 %n2 %n264", "")
    assert "race" in _findings(check(written(unordered, "race.spvasm")))


@pytest.mark.parametrize(
    ("path", "kinds"), [("%bytes %b %i", []), ("%bytes %b %half", ["race"]), ("%few_bytes %b %i", ["bounds"])]
)
def test_atomics_and_narrow_numbers_through_untyped_pointers(
    path: str, kinds: list[str], written: Written
) -> None:
    """Bytes of a word: each invocation stores one; two that store the same one race."""
    body = f"""
    %half = OpShiftRightLogical %uint %i %n1
    %small = OpUConvert %uchar %i
    %byte = OpUntypedAccessChainKHR %untyped {path}
    OpStore %byte %small
    %in_a = OpUntypedAccessChainKHR %untyped %words %a %n0
    %before = OpAtomicIAdd %uint %in_a %n1 %n0 %n1
    """
    text = untyped_pointers(
        body,
        types="%uchar = OpTypeInt 8 0\n%bytes = OpTypeRuntimeArray %uchar\n"
        "%few_bytes = OpTypeArray %uchar %n32",
        decorations="OpDecorate %bytes ArrayStride 1\nOpDecorate %few_bytes ArrayStride 1",
        capabilities="OpCapability Int8\nOpCapability StorageBuffer8BitAccess\n"
        'OpExtension "SPV_KHR_8bit_storage"',
    )
    file = written(text, "bytes.spvasm")
    if not kinds:
        result = _run(file)
        assert result["b"].view(np.uint8)[:COUNT].tolist() == list(range(COUNT))
        assert result["a"][0] == 100 + COUNT
    assert _findings(check(file)) == kinds


def test_copies_of_bytes(written: Written) -> None:
    body = """
    %source = OpUntypedAccessChainKHR %untyped %block %a %n0 %i
    %target = OpUntypedAccessChainKHR %untyped %block %b %n0 %i
    OpCopyMemorySized %target %source %n4
    """
    text = untyped_pointers(body, types="%n4 = OpConstant %uint 4")
    file = written(text, "copy.spvasm")
    assert _run(file)["b"].tolist() == (100 + I).tolist()
    assert check(file).findings == ()
    six = text.replace("OpCopyMemorySized", "%six = OpIAdd %uint %n5 %n1\n    OpCopyMemorySized")
    (finding, *_) = check(written(six.replace("%source %n4", "%source %six"), "six.spvasm")).findings
    assert "not a multiple of 4" in finding.message


def test_a_copy_that_is_not_executed_is_named(written: Written) -> None:
    body = """
    %source = OpUntypedAccessChainKHR %untyped %block %a %n0 %i
    %target = OpUntypedAccessChainKHR %untyped %block %b %n0 %i
    %never = OpIEqual %bool %i %n5000
    OpSelectionMerge %after None
    OpBranchConditional %never %then %after
    %then = OpLabel
    OpCopyMemorySized %target %source %n4
    OpBranch %after
    %after = OpLabel
    """
    types = "%n4 = OpConstant %uint 4\n%n5000 = OpConstant %uint 5000"
    report = check(written(untyped_pointers(body, types=types), "never.spvasm"))
    assert len(report.covered.not_executed) == 1


def test_a_loop_over_an_untyped_buffer_ends(written: Written) -> None:
    """A buffer that no instruction writes limits it; its length decides how often it goes round."""
    body = """
    %at_end = OpUntypedAccessChainKHR %untyped %block %b %n0 %n0
    %at_i = OpUntypedAccessChainKHR %untyped %block %a %n0 %i
    OpBranch %head
    %head = OpLabel
    %k = OpPhi %uint %n0 %entry %next %continue
    OpLoopMerge %after %continue None
    OpBranch %condition
    %condition = OpLabel
    %end = OpLoad %uint %at_end
    %goes_on = OpULessThan %bool %k %end
    OpBranchConditional %goes_on %inside %after
    %inside = OpLabel
    OpBranch %continue
    %continue = OpLabel
    %next = OpIAdd %uint %k %n1
    OpBranch %head
    %after = OpLabel
    OpStore %at_i %k
    """
    module = assemble(untyped_pointers(body), TargetEnvironment.VULKAN_1_2)
    (addition,) = (entry for entry in module.instructions if entry.name == "OpIAdd")
    assert CountedLoops(module).ends(addition.position)


def test_an_access_must_be_aligned(written: Written) -> None:
    """VUID-RuntimeSpirv-OpTypeUntypedPointerKHR-11166."""
    body = """
    %byte = OpUntypedAccessChainKHR %untyped %bytes %a %i
    %value = OpLoad %uint %byte
    %out = OpUntypedAccessChainKHR %untyped %words %b %i
    OpStore %out %value
    """
    text = untyped_pointers(
        body,
        types="%uchar = OpTypeInt 8 0\n%bytes = OpTypeRuntimeArray %uchar",
        decorations="OpDecorate %bytes ArrayStride 1",
        capabilities="OpCapability Int8\nOpCapability StorageBuffer8BitAccess\n"
        'OpExtension "SPV_KHR_8bit_storage"',
    )
    (finding, *_) = check(written(text, "unaligned.spvasm")).findings
    assert finding.kind == "undefined"
    assert "not a multiple of 4" in finding.message


def test_a_chosen_untyped_pointer(written: Written) -> None:
    body = """
    %is_odd = OpBitwiseAnd %uint %i %n1
    %odd = OpIEqual %bool %is_odd %n1
    %p = OpSelect %untyped %odd %a %b
    %q = OpUntypedAccessChainKHR %untyped %words %p %i
    OpStore %q %i
    """
    capabilities = "OpCapability VariablePointers\nOpCapability StorageBufferArrayNonUniformIndexing"
    text = untyped_pointers(
        body, capabilities=capabilities, decorations="OpDecorate %p NonUniform\nOpDecorate %q NonUniform"
    )
    file = written(text.replace("OpMemoryModel", f"{_INDEXING}\nOpMemoryModel"), "chosen.spvasm")
    result, odd = _run(file), I % 2 == 1
    assert result["a"].tolist() == np.where(odd, I, 100 + I).tolist()
    assert result["b"].tolist() == np.where(odd, 1000 + I, I).tolist()
    assert check(file).findings == ()


# --- lengths of 64 bits -------------------------------------------------------------------------------


def test_a_length_of_64_bits_needs_its_mode(written: Written) -> None:
    """VUID-RuntimeSpirv-OpArrayLength-11807; the assembler and the validator do not know the mode."""
    body = """
    %length = OpArrayLength %ulong %a 0
    %eighth = OpShiftRightLogical %ulong %length %n3
    %part = OpUConvert %uint %eighth
    %wide = OpUConvert %ulong %i
    %in_b = OpAccessChain %element %b %n0 %wide
    OpStore %in_b %part
    """
    text = variable_pointers(body).replace(
        "%main = OpFunction", "%ulong = OpTypeInt 64 0\n%main = OpFunction", 1
    )
    text = text.replace(
        'OpExtension "SPV_KHR_variable_pointers"',
        'OpCapability Int64\nOpCapability !5426\nOpExtension "SPV_EXT_shader_64bit_indexing"\n'
        'OpExtension "SPV_KHR_variable_pointers"',
    )
    mode = text.replace("OpName %a", "OpExecutionMode %main !5427\nOpName %a", 1)
    with warnings.catch_warnings():
        # Newer tools, where they were fetched, validate it.
        warnings.simplefilter("ignore", NotValidated)
        assert _run(written(mode, "long.spvasm"))["b"].tolist() == [COUNT // 8] * COUNT
        assert check(written(mode, "long.spvasm")).findings == ()
        with pytest.raises(InvalidModule, match="OpArrayLength"):
            check(written(text, "short.spvasm"))

"""Defining sentences of built-in functions and variables, quoted verbatim, and the strength of a rule.

`tests/spec/compare_quotations.py` compares them with a published document.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Strength(StrEnum):
    """Strength of a rule; the value is its name in files."""

    VULKAN = "vulkan"
    EXTENSION = "extension"
    LATER = "later"


STRENGTHS: dict[str, str] = {
    Strength.VULKAN: "required by Vulkan or SPIR-V",
    Strength.EXTENSION: "required only by the text of a GLSL or OpenGL extension",
    Strength.LATER: "required only by a revision later than the device's version",
}
"""What each strength means, by its name."""


@dataclass(frozen=True)
class Document:
    """One edition of a published document."""

    name: str  # its name, ``"KHR_shader_subgroup"``
    revision: int  # the revision that is quoted
    date: str  # of that revision, year-month-day


@dataclass(frozen=True)
class Sentence:
    """The defining sentence of a built-in."""

    document: Document  # the document that has them
    section: str  # its number; of a SPIR-V extension also the instruction's name
    text: str  # the words, verbatim, with line breaks joined

    @property
    def place(self) -> str:
        """Document, revision and section: ``"KHR_shader_subgroup, revision 6, section 8.18"``."""
        return f"{self.document.name}, revision {self.document.revision}, section {self.section}"


DOCUMENTS: dict[str, Document] = {
    document.name: document
    for document in (
        Document("KHR_shader_subgroup", 6, "2018-02-28"),
        Document("KHR_shader_subgroup_rotate", 1, "2024-02-06"),
        Document("NV_shader_subgroup_partitioned", 1, "2018-03-16"),
        Document("EXT_shader_quad_control", 1, "2024-01-25"),
        Document("NV_shader_thread_group", 4, "2015-07-21"),
        Document("SPV_KHR_shader_ballot", 11, "2016-10-18"),
        Document("SPV_KHR_subgroup_vote", 6, "2016-10-05"),
        Document("SPV_KHR_subgroup_rotate", 1, "2022-03-02"),
    )
}
"""The quoted documents by name."""

#: A line "# document, section" before the sentences of each section; then ``name: sentence``, whose further
#: lines are indented.
_TEXT = """
# KHR_shader_subgroup, 7.1
gl_NumSubgroups: If the extension GL_KHR_shader_subgroup_basic is enabled, the variable <gl_NumSubgroups> is a
    compute-shader built-in containing the number of subgroups within the local workgroup. The value of this
    variable is at least 1, and is uniform across the invocation group.
gl_SubgroupID: If the extension GL_KHR_shader_subgroup_basic is enabled, the variable <gl_SubgroupID> is a
    compute-shader built-in containing the index of the subgroup within the local workgroup. The value of this
    variable is in the range 0 to <gl_NumSubgroups>-1.
gl_SubgroupSize: If the extension GL_KHR_shader_subgroup_basic is enabled, the variable <gl_SubgroupSize> is
    the number of invocations within a subgroup, and its value is always a power of 2.
gl_SubgroupInvocationID: If the extension GL_KHR_shader_subgroup_basic is enabled, the variable
    <gl_SubgroupInvocationID> is a built-in containing the index of an invocation within a subgroup. The value
    of this variable is in the range 0 to <gl_SubgroupSize>-1.
gl_SubgroupEqMask: gl_SubgroupEqMask | bit index == gl_SubgroupInvocationID
gl_SubgroupGeMask: gl_SubgroupGeMask | bit index >= gl_SubgroupInvocationID
gl_SubgroupGtMask: gl_SubgroupGtMask | bit index > gl_SubgroupInvocationID
gl_SubgroupLeMask: gl_SubgroupLeMask | bit index <= gl_SubgroupInvocationID
gl_SubgroupLtMask: gl_SubgroupLtMask | bit index < gl_SubgroupInvocationID
# KHR_shader_subgroup, 8.18
subgroupBarrier: The function subgroupBarrier() enforces that all active invocations within a subgroup must
    execute this function before any are allowed to continue their execution, and the results of any memory
    stores performed using coherent variables performed prior to the call will be visible to any future
    coherent access to the same memory performed by any other shader invocation within the same subgroup.
subgroupMemoryBarrier: The function subgroupMemoryBarrier() enforces the ordering of all memory transactions
    issued within a single shader invocation, as viewed by other invocations in the same subgroup.
subgroupMemoryBarrierBuffer: The function subgroupMemoryBarrierBuffer() enforces the ordering of all memory
    transactions to buffer variables issued within a single shader invocation, as viewed by other invocations
    in the same subgroup.
subgroupMemoryBarrierShared: The function subgroupMemoryBarrierShared() enforces the ordering of all memory
    transactions to shared variables issued within a single shader invocation, as viewed by other invocations
    in the same subgroup. Only available in compute shaders.
subgroupMemoryBarrierImage: The function subgroupMemoryBarrierImage() enforces the ordering of all memory
    transactions to images issued within a single shader invocation, as viewed by other invocations in the
    same subgroup.
subgroupElect: The function subgroupElect() returns true for exactly one invocation out of the set of active
    invocations that execute a dynamic instance of this instruction. All other active invocations will return
    false. The invocation chosen is the active invocation with the lowest <gl_SubgroupInvocationID>.
subgroupAll: The function subgroupAll() returns true if for all active invocations <value> evaluates to true.
subgroupAny: The function subgroupAny() returns true if for any active invocation its <value> evaluates to
    true.
subgroupAllEqual: The function subgroupAllEqual() returns true if <value> for all active invocations is equal
    across the subgroup.
subgroupBroadcast: The function subgroupBroadcast() returns the <value> from the invocation whose
    <gl_SubgroupInvocationID> is equal to <id>. <id> must be an integral constant expression. If the <id> is
    an inactive invocation or is greater than or equal to <gl_SubgroupSize>, an undefined value is returned.
subgroupBroadcastFirst: The function subgroupBroadcastFirst() returns the <value> from the active invocation
    with the lowest <gl_SubgroupInvocationID>.
subgroupBallot: The function subgroupBallot() returns a set of bitfields containing the result of evaluating
    the expression <value> in all active invocations in the subgroup. If <value> evaluates to true for an
    active invocation then the bit corresponding to the <gl_SubgroupInvocationID> for the invocation is set to
    one in the result, otherwise the bit is set to zero. Bits corresponding to inactive invocations are set to
    zero.
subgroupInverseBallot: The function subgroupInverseBallot() returns a bool that is true if the bit in <value>
    that corresponds to the current invocation's <gl_SubgroupInvocationID> in <value> is true. All active
    invocations must call subgroupInverseBallot() with the same <value>.
subgroupBallotBitExtract: The function subgroupBallotBitExtract() returns a bool that is true if the bit in
    <value> that corresponds to <index> (where <index> begins at bit 0 of the first vector component) is 1,
    and false otherwise. If <index> is greater than or equal to <gl_SubgroupSize>, an undefined result is
    returned.
subgroupBallotBitCount: The function subgroupBallotBitCount() returns the number of bits that are set to 1 in
    the bits used to hold the subgroup invocations of <value>. The bits are counted across the components of
    <value>.
subgroupBallotInclusiveBitCount: The function subgroupBallotInclusiveBitCount() returns the number of bits
    that are set to 1 in the ballot value for subgroup invocations with a lower, or equal to,
    <gl_SubgroupInvocationID>. The bits are inclusively counted across the components of <value>.
subgroupBallotExclusiveBitCount: The function subgroupBallotExclusiveBitCount() returns the number of bits
    that are set to 1 in the ballot value for subgroup invocations with a lower <gl_SubgroupInvocationID>. The
    bits are exclusively counted across the components of <value>.
subgroupBallotFindLSB: The function subgroupBallotFindLSB() returns the bit number of the least significant
    bit set to 1 in the bits used to hold the subgroup invocations of <value>. If <value> is 0, an undefined
    value is returned.
subgroupBallotFindMSB: The function subgroupBallotFindMSB() returns the bit number of the most significant bit
    set to 1 in the bits used to hold the subgroup invocations of <value>. If <value> is 0, an undefined value
    is returned.
subgroupShuffle: The function subgroupShuffle() returns the <value> whose <gl_SubgroupInvocationID> is equal
    to <id>. If the <id> is an inactive invocation or is greater than or equal to <gl_SubgroupSize>, an
    undefined value is returned.
subgroupShuffleXor: The function subgroupShuffleXor() returns the <value> whose <gl_SubgroupInvocationID> is
    equal to the current invocation's <gl_SubgroupInvocationID> xored with <mask>. If the calculated index is
    an inactive invocation or is greater than or equal to <gl_SubgroupSize>, an undefined value is returned.
subgroupShuffleUp: The function subgroupShuffleUp() returns the <value> whose <gl_SubgroupInvocationID> is
    equal to this invocation's <gl_SubgroupInvocationID> minus <delta>. If <gl_SubgroupInvocationID> minus
    <delta> is an inactive invocation or is less than zero, an undefined value is returned.
subgroupShuffleDown: The function subgroupShuffleDown() returns the <value> whose <gl_SubgroupInvocationID> is
    equal to this invocation's <gl_SubgroupInvocationID> plus <delta>. If <gl_SubgroupInvocationID> plus
    <delta> is an inactive invocation or is greater than or equal to <gl_SubgroupSize>, an undefined value is
    returned.
subgroupQuadBroadcast: The function subgroupQuadBroadcast() returns the <value> from the invocation within the
    quad whose <gl_SubgroupInvocationID> % 4 is equal to <id>. <id> must be an integral constant expression.
    If the <id> is an inactive invocation or is greater than or equal to 4, an undefined value is returned.
subgroupQuadSwapHorizontal: The function subgroupQuadSwapHorizontal() swaps the <value>s, within the quad
    horizontally.
subgroupQuadSwapVertical: The function subgroupQuadSwapVertical() swaps the <value>s, within the quad
    vertically.
subgroupQuadSwapDiagonal: The function subgroupQuadSwapDiagonal() swaps the <value>s, within the quad
    diagonally.
# KHR_shader_subgroup_rotate, 8.18
subgroupRotate: The function subgroupRotate() returns the <value> whose <gl_SubgroupInvocationID> is equal to
    the remainder of the division of this invocation's <gl_SubgroupInvocationID> plus <delta> by
    <gl_SubgroupSize>. If the selected invocation is inactive, an undefined value is returned. <delta> must be
    dynamically uniform within the calling subgroub.
# SPV_KHR_subgroup_rotate, Instructions, OpGroupNonUniformRotateKHR
subgroupClusteredRotate: Return the Value of the invocation whose id within the group is calculated as
    follows: LocalId = SubgroupLocalInvocationId if Execution is Subgroup or LocalInvocationId if Execution is
    Workgroup RotationGroupSize = ClusterSize when ClusterSize is present, otherwise RotationGroupSize =
    SubgroupMaxSize if the Kernel capability is declared and SubgroupSize if not. Invocation ID = ( (LocalId +
    Delta) & (RotationGroupSize - 1) ) + (LocalId & ~(RotationGroupSize - 1))
# NV_shader_subgroup_partitioned, 8.18
subgroupPartitionNV: The function subgroupPartitionNV() returns a ballot that is a valid partition of the
    active invocations such that all invocations in each subset of the partition have the same value of
    <value>. For any two invocations in different subsets of the partition, either their values of <value>
    must not be equal or one must be a floating point NaN.
# EXT_shader_quad_control, 8.18
subgroupQuadAll: The function subgroupQuadAll() returns true if for all active invocations in the quad <value>
    evaluates to true.
subgroupQuadAny: The function subgroupQuadAny() returns true if for any active invocation in the quad its
    <value> evaluates to true.
# SPV_KHR_shader_ballot, 3.32.21, OpSubgroupBallotKHR
ballotARB: Computes a bitfield value combining the Predicate value from all invocations in the current
    Subgroup that execute the same dynamic instance of this instruction. The bit is set to one if the
    corresponding invocation is active and the predicate is evaluated to true; otherwise, it is set to zero.
# SPV_KHR_shader_ballot, 3.32.21, OpSubgroupFirstInvocationKHR
readFirstInvocationARB: Return the Value from the invocation in the current subgroup which has the lowest
    subgroup local invocation ID, and which executes the same dynamic instance of this instruction.
# SPV_KHR_shader_ballot, 3.32.21, OpSubgroupReadInvocationKHR
readInvocationARB: Return the Value from the invocation in the subgroup with an invocation ID equal to Index.
    The Index must be the same for all active invocations in the subgroup, otherwise the results are
    undefined.
# SPV_KHR_subgroup_vote, 3.32.21, OpSubgroupAllKHR
allInvocationsARB: Evaluates a predicate for all invocations in the current Subgroup that execute the same
    dynamic instance of this instruction, resulting in true if Predicate evaluates to true for all such
    invocations, otherwise the result is false.
# SPV_KHR_subgroup_vote, 3.32.21, OpSubgroupAnyKHR
anyInvocationARB: Evaluates a predicate for all invocations in the current Subgroup that execute the same
    dynamic instance of this instruction, resulting in true if Predicate evaluates to true for any such
    invocations, otherwise the result is false.
# SPV_KHR_subgroup_vote, 3.32.21, OpSubgroupAllEqualKHR
allInvocationsEqualARB: Evaluates a predicate for all invocations in the current Subgroup that execute the
    same dynamic instance of this instruction, resulting in true if Predicate evaluates the same for such
    invocations, otherwise the result is false.
# NV_shader_thread_group, 7.1
gl_ThreadInWarpNV: The variable gl_ThreadInWarpNV hold the id of the thread within the thread group(or warp).
    This variable is in the range 0 to gl_WarpSizeNV-1, where gl_WarpSizeNV is the total number of thread in a
    warp.
gl_ThreadEqMaskNV: The variable gl_ThreadEqMaskNV is a bitfield in which the bit equal to the current thread
    id is set.
gl_ThreadGeMaskNV: The variable gl_ThreadGeMaskNV is a bitfield in which bits greater or equal to the current
    thread id are set.
gl_ThreadGtMaskNV: The variable gl_ThreadGtMaskNV is a bitfield in which bits greater than the current thread
    id are set.
gl_ThreadLeMaskNV: The variable gl_ThreadLeMaskNV is a bitfield in which bits lower or equal to the current
    thread id are set.
gl_ThreadLtMaskNV: The variable gl_ThreadLtMaskNV is a bitfield in which bits lower than the current thread id
    are set.
gl_WarpIDNV: The variable gl_WarpIDNV hold the warp id of the executing thread. This variable is in the range
    0 to gl_WarpsPerSMNV-1, where gl_WarpsPerSMNV is the maximum number of warp executing on a SM.
gl_SMIDNV: The variable gl_SMIDNV hold the SM id of the executing thread. This variable is in the range 0 to
    gl_SMCountNV-1, where gl_SMCountNV is the number of SM on the GPU.
gl_HelperThreadNV: The variable gl_HelperThreadNV specifies if the current thread is a helper thread.
# NV_shader_thread_group, 7.4
gl_WarpSizeNV: The variable gl_WarpSizeNV is the total number of thread in a warp.
gl_WarpsPerSMNV: The variable gl_WarpsPerSMNV is the maximum number of warp executing on a SM.
gl_SMCountNV: The variable gl_SMCountNV is the number of SM on the GPU.
# NV_shader_thread_group, 8.3
activeThreadsNV: In the value returned by activeThreadsNV(), bit <N> is set to 1 if the corresponding thread
    in the SIMD thread group is executing the call to activeThreadsNV() and 0 otherwise.
ballotThreadNV: The function ballotThreadNV() computes a 32-bit bitfield. It looks at the condition <value>
    for each active thread of a thread group and set to 1 each bit for which the condition in the
    corresponding thread is true. Bits for threads with false condition are set to 0. Bits for inactive
    threads are also set to 0.
quadSwizzle0NV: quadSwizzle0NV will read the <swizzledValue> operand from the fragment 0: result[thread N] =
    swizzledValue[thread 0] + unswizzledValue[thread N]
quadSwizzle1NV: quadSwizzle1NV will read the <swizzledValue> operand from the fragment 1: result[thread N] =
    swizzledValue[thread 1] + unswizzledValue[thread N]
quadSwizzle2NV: quadSwizzle2NV will read the <swizzledValue> operand from the fragment 2: result[thread N] =
    swizzledValue[thread 2] + unswizzledValue[thread N]
quadSwizzle3NV: quadSwizzle3NV will read the <swizzledValue> operand from the fragment 3: result[thread N] =
    swizzledValue[thread 3] + unswizzledValue[thread N]
quadSwizzleXNV: quadSwizzleXNV will read the <swizzledValue> operand for each fragment from its neighbor in X:
    result[thread 0] = swizzledValue[thread 1] + unswizzledValue[thread 0] result[thread 1] =
    swizzledValue[thread 0] + unswizzledValue[thread 1] result[thread 2] = swizzledValue[thread 3] +
    unswizzledValue[thread 2] result[thread 3] = swizzledValue[thread 2] + unswizzledValue[thread 3]
quadSwizzleYNV: quadSwizzleYNV will read the <swizzledValue> operand for each fragment from its neighbor in Y:
    result[thread 0] = swizzledValue[thread 2] + unswizzledValue[thread 0] result[thread 1] =
    swizzledValue[thread 3] + unswizzledValue[thread 1] result[thread 2] = swizzledValue[thread 0] +
    unswizzledValue[thread 2] result[thread 3] = swizzledValue[thread 1] + unswizzledValue[thread 3]
# NV_shader_thread_group, 2.X.8.Z
TGBALLOT: The TGBALLOT instruction produces a result vector by reading a vector operand for each active thread
    in the current thread group and comparing each component to zero. A result vector component contains an
    integer bitmask value (described below) for which the bits in a component bitmask are set if the value in
    the operand vector is non-zero for the corresponding thread, and not set otherwise.
"""


def _quoted(text: str) -> dict[str, Sentence]:
    """Return the sentences of a text like `_TEXT` by the names of the built-ins that they define."""
    sentences: dict[str, Sentence] = {}
    document, section = "", ""
    for entry in text.strip().replace("\n    ", " ").split("\n"):
        if entry.startswith("# "):
            document, section = entry.removeprefix("# ").split(", ", 1)
        else:
            name, words = entry.split(": ", 1)
            sentences[name] = Sentence(DOCUMENTS[document], section, words)
    return sentences


_RESULTS = {"Add": "summation", "Mul": "multiplication", "Min": "minimum <value>", "Max": "maximum <value>"}
_LOGIC = {
    "And": ("bitwise AND", "logical AND"),
    "Or": ("bitwise OR", "logical inclusive OR"),
    "Xor": ("bitwise XOR", "logical exclusive OR"),
}
_SUBSET = " in the invocation's subset of the partition"
_CLUSTER = " within a cluster"


def _combining(document: str, names: str, form: str, where: str = "") -> dict[str, Sentence]:
    """Return the sentences of the seven reductions or scans of a kind.

    The documents use the same words for all of them, except the function, the operation and these two parts.

    Parameters
    ----------
    names : of the functions, with ``{}`` in place of the operation.
    form : the words before "the summation of"; the documents then write "invocation-provided", but without
        such words mostly "invocation provided".
    where : the words after "<value>s".
    """
    size = ", with a cluster size of <clusterSize>" if where == _CLUSTER else ""
    method = (
        f"The method {'' if form else 'that is '}used to perform the operation on each active invocation's"
    )
    method += " <value> is implementation defined."
    texts = {}
    for operator, result in _RESULTS.items():
        values = "invocation provided" if operator == "Add" and not form else "invocation-provided"
        result = result.removesuffix(" <value>") if size else result
        text = f"The function {{}}() returns {form}the {result} of all active {values} <value>s{where}{size}."
        texts[operator] = f"{text} {method}" if operator in ("Add", "Mul") else text
    values = "invocation-provided" if form else "invocation provided"
    for operator, results in _LOGIC.items():
        bitwise, logical = (
            f"the function {{}}() returns {form}the {result} of all active {values} <value>s{where}."
            for result in results
        )
        texts[operator] = f"For genIType and genUType, {bitwise} For genBType, {logical}"
    return {
        name: Sentence(DOCUMENTS[document], "8.18", text.replace("{}", name))
        for name, text in ((names.format(operator), text) for operator, text in texts.items())
    }


_INCLUSIVE, _EXCLUSIVE = "an inclusive scan operation that is ", "an exclusive scan operation that is "

SENTENCES: dict[str, Sentence] = {
    **_quoted(_TEXT),
    **_combining("KHR_shader_subgroup", "subgroup{}", ""),
    **_combining("KHR_shader_subgroup", "subgroupInclusive{}", _INCLUSIVE),
    **_combining("KHR_shader_subgroup", "subgroupExclusive{}", _EXCLUSIVE),
    **_combining("KHR_shader_subgroup", "subgroupClustered{}", "a clustered operation that is ", _CLUSTER),
    **_combining("NV_shader_subgroup_partitioned", "subgroupPartitioned{}NV", "", _SUBSET),
    **_combining("NV_shader_subgroup_partitioned", "subgroupPartitionedInclusive{}NV", _INCLUSIVE, _SUBSET),
    **_combining("NV_shader_subgroup_partitioned", "subgroupPartitionedExclusive{}NV", _EXCLUSIVE, _SUBSET),
}
"""Every sentence by the name of the GLSL built-in or the assembly instruction that it defines."""

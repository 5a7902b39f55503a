"""Sentences of SPIR-V and Vulkan that a failure can violate, quoted verbatim from their documents.

Built-ins of GLSL have a sentence of their extension in `vkgroup.spec.sentences`, too. The sentences here are
those of the instruction or the variable that the driver gets, so they are the stronger rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.spec.sentences import Strength


@dataclass(frozen=True)
class Rule:
    """A sentence of a specification that a case tests."""

    document: str  # with revision and section: ``"SPIR-V 1.6, revision 6, section 2.2.5, Tangle"``
    quote: str  # the words, verbatim, with line breaks joined
    strength: Strength = Strength.VULKAN
    #: First Vulkan version for which the sentence holds, if earlier revisions did not have it.
    since: tuple[int, ...] = ()

    def holds(self, api_version: tuple[int, ...] | None) -> bool:
        """Return whether the sentence is in the revision for a Vulkan version; None: for an unknown one."""
        return not self.since or (api_version is not None and api_version >= self.since)

    def to_json(self, api_version: tuple[int, ...] | None = None) -> dict[str, str]:
        """Return document, quote and strength; the strength depends on the device's Vulkan version."""
        strength = self.strength if self.holds(api_version) else Strength.LATER
        return {"document": self.document, "quote": self.quote, "strength": strength.value}


DOCUMENTS = {
    "SPIR-V": "SPIR-V 1.6, revision 6",
    "Vulkan": "Vulkan 1.4.360",
    "GLSL.std.450": "SPIR-V Extended Instructions for GLSL, version 1.00, revision 16",
    "SPV_KHR_maximal_reconvergence": "SPV_KHR_maximal_reconvergence, revision 1",
    "SPV_KHR_subgroup_uniform_control_flow": "SPV_KHR_subgroup_uniform_control_flow, revision 2",
    "SPV_KHR_quad_control": "SPV_KHR_quad_control, revision 1",
    "SPV_KHR_cooperative_matrix": "SPV_KHR_cooperative_matrix, revision 10",
    "SPV_NV_cooperative_matrix2": "SPV_NV_cooperative_matrix2, revision 2",
    "SPV_KHR_shader_clock": "SPV_KHR_shader_clock",
    "SPV_EXT_split_barrier": "SPV_EXT_split_barrier, revision 1",
    "SPV_KHR_untyped_pointers": "SPV_KHR_untyped_pointers, revision 4",
    "SPV_KHR_workgroup_memory_explicit_layout": "SPV_KHR_workgroup_memory_explicit_layout, revision 1",
    "SPV_EXT_replicated_composites": "SPV_EXT_replicated_composites, revision 1",
    "SPV_KHR_fma": "SPV_KHR_fma, revision 2",
    "SPV_KHR_terminate_invocation": "SPV_KHR_terminate_invocation",
    "SPV_NV_shader_subgroup_partitioned": "SPV_NV_shader_subgroup_partitioned",
    "SPV_NV_shader_sm_builtins": "SPV_NV_shader_sm_builtins",
}
"""The quoted documents with their revisions, by the names in `_TEXT`."""

#: A line "# document, section" before the sentences of each section; then ``name: sentence``, whose further
#: lines are indented. ``@`` in a section is replaced by the name of the sentence.
_TEXT = """
# SPIR-V, section 3.3.24, @
OpGroupNonUniformElect: Result is true only in the tangled invocation with the lowest id within the
    Execution scope, otherwise result is false.
OpGroupNonUniformAll: Evaluates a predicate for all tangled invocations within the Execution scope,
    resulting in true if predicate evaluates to true for all tangled invocations within the Execution scope,
    otherwise the result is false.
OpGroupNonUniformAny: Evaluates a predicate for all tangled invocations within the Execution scope,
    resulting in true if predicate evaluates to true for any tangled invocations within the Execution scope,
    otherwise the result is false.
OpGroupNonUniformAllEqual: The result is true if Value is equal for all tangled invocations within the
    Execution scope. Otherwise, the result is false.
OpGroupNonUniformBroadcast: Result is the Value of the invocation identified by the id Id to all tangled
    invocations within the Execution scope.
OpGroupNonUniformBroadcastFirst: Result is the Value of the invocation from the tangled invocations with the
    lowest id within the Execution scope to all tangled invocations within the Execution scope.
OpGroupNonUniformBallot: The bit is set to 1 if the corresponding invocation is part of the tangled
    invocations within the Execution scope and the Predicate for that invocation evaluated to true;
    otherwise, it is set to 0.
OpGroupNonUniformInverseBallot: Evaluates a value for all tangled invocations within the Execution scope,
    resulting in true if the bit in Value for the corresponding invocation is set to 1, otherwise the result
    is false.
OpGroupNonUniformBallotBitExtract: Evaluates a value for all tangled invocations within the Execution scope,
    resulting in true if the bit in Value that corresponds to Index is set to one, otherwise the result is
    false.
OpGroupNonUniformBallotBitCount: Result is the number of bits that are set to 1 in Value, considering only
    the bits in Value required to represent all bits of the scope restricted tangle.
OpGroupNonUniformBallotFindLSB: Find the least significant bit set to 1 in Value, considering only the bits
    in Value required to represent all bits of the scope restricted tangle.
OpGroupNonUniformBallotFindMSB: Find the most significant bit set to 1 in Value, considering only the bits
    in Value required to represent all bits of the scope restricted tangle.
OpGroupNonUniformShuffle: Result is the Value of the invocation identified by the id Id.
OpGroupNonUniformShuffleXor: Result is the Value of the invocation identified by the current invocation’s id
    within the scope xor’ed with Mask.
OpGroupNonUniformShuffleUp: Result is the Value of the invocation identified by the current invocation’s id
    within the scope - Delta.
OpGroupNonUniformShuffleDown: Result is the Value of the invocation identified by the current invocation’s
    id within the scope + Delta.
OpGroupNonUniformIAdd: An integer add group operation of all Value operands contributed by all tangled
    invocations within the Execution scope.
OpGroupNonUniformFAdd: A floating point add group operation of all Value operands contributed by all tangled
    invocations within the Execution scope.
OpGroupNonUniformIMul: An integer multiply group operation of all Value operands contributed by all tangled
    invocations within the Execution scope.
OpGroupNonUniformFMul: A floating point multiply group operation of all Value operands contributed by all
    tangled invocations within the Execution scope.
OpGroupNonUniformSMin: A signed integer minimum group operation of all Value operands contributed by all
    tangled invocations within the Execution scope.
OpGroupNonUniformUMin: An unsigned integer minimum group operation of all Value operands contributed by all
    tangled invocations within the Execution scope.
OpGroupNonUniformFMin: A floating point minimum group operation of all Value operands contributed by all
    tangled invocations within the Execution scope.
OpGroupNonUniformSMax: A signed integer maximum group operation of all Value operands contributed by all
    tangled invocations within the Execution scope.
OpGroupNonUniformUMax: An unsigned integer maximum group operation of all Value operands contributed by all
    tangled invocations within the Execution scope.
OpGroupNonUniformFMax: A floating point maximum group operation of all Value operands contributed by all
    tangled invocations within the Execution scope.
OpGroupNonUniformBitwiseAnd: A bitwise and group operation of all Value operands contributed by all tangled
    invocations within the Execution scope.
OpGroupNonUniformBitwiseOr: A bitwise or group operation of all Value operands contributed by all tangled
    invocations within the Execution scope.
OpGroupNonUniformBitwiseXor: A bitwise xor group operation of all Value operands contributed by all tangled
    invocations within the Execution scope.
OpGroupNonUniformLogicalAnd: A logical and group operation of all Value operands contributed by all tangled
    invocations within the Execution scope.
OpGroupNonUniformLogicalOr: A logical or group operation of all Value operands contributed by all tangled
    invocations within the Execution scope.
OpGroupNonUniformLogicalXor: A logical xor group operation of all Value operands contributed by all tangled
    invocations within the Execution scope.
OpGroupNonUniformQuadBroadcast: Result is the Value of the invocation within the quad with a quad index
    equal to Index.
OpGroupNonUniformQuadSwap: The value returned in Result is the value provided to Value by another invocation
    in the same quad scope instance. The invocation providing this value is determined according to
    Direction.
# SPIR-V, section 3.3.24, OpGroupNonUniformFMin and OpGroupNonUniformFMax
nan: From the set of Value(s) provided by the tangled invocations within a subgroup, if for any two Values
    one of them is a NaN, the other is chosen.
# SPIR-V, section 3.3.20, @
OpControlBarrier: An invocation will not execute dynamic instances that are program-ordered after a dynamic
    instance of this instruction (X') until all invocations in its scope restricted tangle have executed X'.
OpMemoryBarrier: Ensures that memory accesses issued before this instruction are observed before memory
    accesses issued after this instruction.
# SPIR-V, section 3.3.18, OpAtomicIAdd and the other atomic instructions
atomic: Perform the following steps atomically with respect to any other atomic accesses within Memory to
    the same location
# SPIR-V, section 2.2.5, Uniform Control Flow
uniform_control_flow: If control flow is uniform upon entry into a structured loop or selection, and all
    invocations leave that loop or selection via the header block’s declared merge block, then control flow
    reconverges to be uniform at that merge block.
# SPIR-V, section 2.2.5, Tangle
tangle: The set of invocations that execute the same dynamic instance of an instruction.
# SPV_KHR_subgroup_uniform_control_flow, section 3.6, SubgroupUniformControlFlowKHR
subgroup_uniform_control_flow: Extends the definition of Uniform Control Flow to apply to each Subgroup
    scope instance in addition to the invocation group.
# SPV_KHR_maximal_reconvergence, Maximal Reconvergence, Reconvergence
maximal_reconvergence: 'T(L)' will include all non-escaping invocations in 'T(M)'
# SPV_KHR_quad_control, section 3.42.24, @
OpGroupNonUniformQuadAllKHR: Evaluates a predicate for all active invocations in the quad, resulting in true
    if predicate evaluates to true for all active invocations in the quad, otherwise the result is false.
OpGroupNonUniformQuadAnyKHR: Evaluates a predicate for all active invocations in the quad, resulting in true
    if predicate evaluates to true for any active invocation in the quad, otherwise the result is false.
# SPV_KHR_quad_control, section 3.6, RequireFullQuadsKHR
full_quads: Helper invocations must be spawned such that all quad groups start with four active invocations.
# SPV_KHR_quad_control, section 3.6, QuadDerivativesKHR
quad_derivatives: The derivative group must be equivalent to the quad group.
# SPV_KHR_cooperative_matrix, @
OpCooperativeMatrixLoadKHR: Load a cooperative matrix through a pointer.
OpCooperativeMatrixStoreKHR: Store a cooperative matrix through a pointer.
OpCooperativeMatrixMulAddKHR: Linear-algebraic matrix multiply of 'A' by 'B' and then component-wise add
    'C'.
OpCooperativeMatrixLengthKHR: Number of components of a cooperative matrix type accessible to the current
    invocation when treated as a composite.
# SPV_KHR_cooperative_matrix, section 2.2.2, Cooperative Matrix
cooperative_matrix: It can be used as a composite for all operations that act on composite types.
# SPV_NV_cooperative_matrix2, @
OpCooperativeMatrixReduceNV: Computes a matrix where each element of the result matrix is computed from a
    row, column, or neighborhood of the source matrix.
OpCooperativeMatrixPerElementOpNV: Applies an operation to each element of a cooperative matrix.
OpCooperativeMatrixConvertNV: Converts a cooperative matrix to another cooperative matrix with different Use.
# SPV_KHR_shader_clock, @
OpReadClockKHR: The sampled value read by this instruction consists of the least significant bits of the
    idealized clock's tick count at the time the instruction was executed.
# SPV_EXT_split_barrier, section 3.3.20, @
OpControlBarrierWaitEXT: This ensures that memory accesses issued before arriving at the split barrier are
    observed before memory accesses issued after this instruction.
# SPIR-V, section 3.3.8, @
OpLoad: Load through a pointer.
OpArrayLength: Length of a run-time array.
# SPV_KHR_untyped_pointers, "Untyped Pointers"
untyped_access: That is, the instruction will access exactly the same memory locations and interpret the data
    there as if using the corresponding strongly typed pointer.
# SPV_KHR_workgroup_memory_explicit_layout, section 2.18.2
aliased: The Aliased decoration can be used to express that certain memory object declarations may alias.
# SPV_EXT_replicated_composites, @
OpCompositeConstructReplicateEXT: Construct a new composite object whose constituents all have the same value.
# SPV_KHR_fma, section 3.49.13, @
OpFmaKHR: Floating-point fused multiply add, (Operand 1 * Operand 2) + Operand 3.
# GLSL.std.450, @
Floor: Result is the value equal to the nearest whole number that is less than or equal to x.
FMax: Result is y if x < y. otherwise x.
SMin: Result is y if y < x; otherwise result is x, where x and y are interpreted as signed integers.
SMax: Result is y if x < y; otherwise result is x, where x and y are interpreted as signed integers.
UMin: Result is y if y < x; otherwise result is x, where x and y are interpreted as unsigned integers.
UMax: Result is y if x < y; otherwise result is x, where x and y are interpreted as unsigned integers.
SClamp: Result is min(max(x, minVal), maxVal), where x, minVal and maxVal are interpreted as signed integers.
SAbs: Result is x if x ≥ 0; otherwise result is -x, where x is interpreted as a signed integer.
FindUMsb: Results in the bit number of the most-significant 1-bit in the binary representation of Value. If
    Value is 0, the result has all bits set
PackDouble2x32: Otherwise, the bit-level representation of v is preserved. The first vector component
    specifies the 32 least significant bits; the second component specifies the 32 most significant bits.
UnpackDouble2x32: The bit-level representation of v is preserved. The first component of the vector contains
    the 32 least significant bits of the double; the second component consists of the 32 most significant
    bits.
PackHalf2x16: Result is the unsigned integer obtained by converting the components of a two-component
    floating-point vector to the 16-bit OpTypeFloat, and then packing these two 16-bit integers into a 32-bit
    unsigned integer.
UnpackHalf2x16: Result is the two-component floating-point vector with components obtained by unpacking a
    32-bit unsigned integer into a pair of 16-bit values, interpreting those values as 16-bit floating-point
    numbers according to the OpenGL Specification, and converting them to 32-bit floating-point values.
# SPV_KHR_terminate_invocation, section 3.22.17, @
OpTerminateInvocation: Ceases all further processing in any invocation that executes it: Only instructions
    these invocations executed before OpTerminateInvocation will have observable side effects.
# SPV_NV_shader_subgroup_partitioned, @
OpGroupNonUniformPartitionNV: Computes a ballot result that is a valid partition of the active invocations
    such that all invocations in each subset of the partition have the same value of value.
# SPV_NV_shader_subgroup_partitioned, section 3.28
PartitionedReduceNV: A reduction operation performed across the invocations in a subset of a partition
    value, with a unique value computed for each subset.
PartitionedInclusiveScanNV: An inclusive scan operation performed across the invocations in a subset of a
    partition value, with a unique value computed for each subset.
PartitionedExclusiveScanNV: An exclusive scan operation performed across the invocations in a subset of a
    partition value, with a unique value computed for each subset.
# SPV_NV_shader_sm_builtins, section 3.21
WarpsPerSMNV: The maximum number of warps executing simultaneously on a streaming multiprocessor.
SMCountNV: The number of streaming multiprocessors on the physical device.
WarpIDNV: An integer index in the range [0, WarpsPerSMNV) such that the execution of two warps with the same
    warp ID and the same SM ID do not overlap.
SMIDNV: An integer index in the range [0, SMCountNV) uniquely identifying which streaming multiprocessor the
    invocation is executing on.
# Vulkan, Lost Device
finite_time: Commands that wait indefinitely for device execution (namely vkDeviceWaitIdle, vkQueueWaitIdle,
    vkWaitForFences or vkAcquireNextImageKHR with a maximum timeout, and vkGetQueryPoolResults with the
    VK_QUERY_RESULT_WAIT_BIT bit set in flags) must return in finite time even in the case of a lost device,
    and return either VK_SUCCESS or VK_ERROR_DEVICE_LOST.
# Vulkan, Built-In Variables, @
NumSubgroups: Decorating a variable with the NumSubgroups built-in decoration will make that variable
    contain the number of subgroups in the local workgroup.
SubgroupId: Decorating a variable with the SubgroupId built-in decoration will make that variable contain
    the index of the subgroup within the local workgroup. This variable is in range [0, NumSubgroups-1].
SubgroupSize: If the shader does not allow varying subgroup sizes, the variable decorated with SubgroupSize
    will match subgroupSize.
SubgroupLocalInvocationId: Decorating a variable with the SubgroupLocalInvocationId builtin decoration will
    make that variable contain the index of the invocation within the subgroup. This variable is in range
    [0,SubgroupSize-1].
SubgroupEqMask: The bit corresponding to the SubgroupLocalInvocationId is set in the variable decorated with
    SubgroupEqMask. All other bits are set to zero.
SubgroupGeMask: The bits corresponding to the invocations greater than or equal to SubgroupLocalInvocationId
    through SubgroupSize-1 are set in the variable decorated with SubgroupGeMask. All other bits are set to
    zero.
SubgroupGtMask: The bits corresponding to the invocations greater than SubgroupLocalInvocationId through
    SubgroupSize-1 are set in the variable decorated with SubgroupGtMask. All other bits are set to zero.
SubgroupLeMask: The bits corresponding to the invocations less than or equal to SubgroupLocalInvocationId
    are set in the variable decorated with SubgroupLeMask. All other bits are set to zero.
SubgroupLtMask: The bits corresponding to the invocations less than SubgroupLocalInvocationId are set in the
    variable decorated with SubgroupLtMask. All other bits are set to zero.
NumWorkgroups: Each component is equal to the values of the workgroup count parameters passed into the
    dispatching commands.
WorkgroupId: Decorating a variable with the WorkgroupId built-in decoration will make that variable contain
    the global coordinate of the local workgroup that the current invocation is a member of.
WorkgroupSize: Decorating an object with the WorkgroupSize built-in decoration will make that object contain
    the dimensions of a local workgroup.
LocalInvocationId: Each component ranges from zero through to the size of the workgroup in that dimension
    minus one.
GlobalInvocationId: Each component is equal to the index of the local workgroup multiplied by the size of
    the local workgroup plus LocalInvocationId.
LocalInvocationIndex: Decorating a variable with the LocalInvocationIndex built-in decoration will make that
    variable contain a one-dimensional representation of LocalInvocationId.
HelperInvocation: This variable is non-zero if the current fragment being shaded is a helper invocation and
    zero otherwise.
SampleId: Decorating a variable with the SampleId built-in decoration will make that variable contain the
    coverage index for the current fragment shader invocation.
SampleMask: A variable in the Input storage class decorated with SampleMask will contain a bitmask of the
    set of samples covered by the primitive generating the fragment during rasterization.
PrimitiveId: Decorating a variable with the PrimitiveId built-in decoration will make that variable contain
    the index of the current primitive.
FragCoord: Decorating a variable with the FragCoord built-in decoration will make that variable contain the
    coordinates (x,y,z,1/w) of the fragment being processed.
# Vulkan, Group Operations, Arithmetic Group Operations
reduction: For reductions, every invocation in a group will obtain the cumulative result of these operators
    applied to all values in the group.
ExclusiveScan: For exclusive scans, each invocation in a group will obtain the cumulative result of these
    operators applied to all values in invocations with a lower index in the group.
InclusiveScan: Inclusive scans are identical to exclusive scans, except the cumulative result includes the
    operator applied to the value in the current invocation.
# Vulkan, Group Operations, Clustered Group Operations
ClusteredReduce: The clustered group operations allow invocations to perform an operation among partitions
    of a group, such that the operation is only performed within the group invocations within a partition.
# Vulkan, Group Operations, Rotate Group Operations
rotate: The rotate group operations allow invocations to read values from other invocations within the group
    relative to the current invocation and modulo the size of the group.
# Vulkan, Precision and Operation of SPIR-V Instructions
denormals: All bit-preserving operations and the following instructions must not flush denormalized values
# Vulkan, Precision of Individual Operations, exp(x): 3 + 2 × |x| ULP
Exp: Where an error bound of n ULP (units in the last place) is given, for an operation with infinitely
    precise result x the value returned must be in the range [x - n × ulp(x), x + n × ulp(x)].
# Vulkan, Precision of Individual Operations, inversesqrt(): 2 ULP
InverseSqrt: Where an error bound of n ULP (units in the last place) is given, for an operation with
    infinitely precise result x the value returned must be in the range [x - n × ulp(x), x + n × ulp(x)].
# Vulkan, Varying Subgroup Size
not_varying: If varying subgroups are not allowed, SubgroupSize will always be equal to subgroupSize.
varying: If varying subgroups are allowed, SubgroupSize must be a power-of-two value between minSubgroupSize
    and maxSubgroupSize and must be uniform with subgroup scope.
# Vulkan, Full Subgroups
full_subgroups: When full subgroups are required, subgroups must be launched with all invocations active
# Vulkan, Required Subgroup Size
required_size: When specified, the value of SubgroupSize must match the required value for all invocations
    of the shader.
# Vulkan, Limits, VkPhysicalDeviceSubgroupSizeControlProperties
minSubgroupSize: minSubgroupSize is less than or equal to maxSubgroupSize. minSubgroupSize is less than or
    equal to subgroupSize.
maxComputeWorkgroupSubgroups: maxComputeWorkgroupSubgroups is the maximum number of subgroups supported by
    the implementation within a workgroup.
# Vulkan, Limits, VkPhysicalDeviceSubgroupProperties
subgroupSize: subgroupSize is a power-of-two.
# Vulkan, vkCmdDispatch
dispatch: When the command is executed, a global workgroup consisting of groupCountX × groupCountY ×
    groupCountZ local workgroups is assembled.
# Vulkan, Memory Model, Synchronizes-With
synchronizes: If A is a release barrier and B is an atomic operation that performs an acquire operation,
    then A synchronizes-with B if and only if all of the following are true
# Vulkan, Memory Model, Scoped Modification Order
modification_order: For a given atomic write A, all atomic writes that are mutually-ordered with A occur in
    an order known as A's scoped modification order.
# Vulkan, Derivative Operations
derivative: Derivative operations calculate their results as the difference between the result of P across
    invocations in the quad.
derivative_group: A derivative group in a mesh, task, or compute shader is equivalent to the quad scope
    instance.
derivative_helpers: Fragment shaders that statically execute derivative operations must launch sufficient
    invocations to ensure their correct operation; additional helper invocations are launched for
    framebuffer locations not covered by rasterized fragments if necessary.
lod: Executing an OpImage*Sample*ImplicitLod instruction is equivalent to executing OpDPdx(Coordinate) and
    OpDPdy(Coordinate), and passing the results as the Grad operands dx and dy.
# Vulkan, Helper Invocations
helper_stores: Stores and atomics performed by helper invocations must not have any effect on memory except
    for the Function, Private and Output storage classes, and values returned by atomic instructions in
    helper invocations are undefined.
helper_maximal: If the MaximallyReconvergesKHR execution mode is applied to the entry point, helper
    invocations must remain active for all instructions for the lifetime of the quad scope instance they are
    a part of.
# Vulkan, Quad Group Operations
quad_helpers: Fragment shaders that statically execute either OpGroupNonUniformQuadBroadcast or
    OpGroupNonUniformQuadSwap must launch sufficient invocations to ensure their correct operation;
    additional helper invocations are launched for framebuffer locations not covered by rasterized fragments
    if necessary.
# Vulkan, Rasterization Order
rasterization_order: Within a subpass of a render pass instance, for a given (x,y,layer,sample) sample
    location, the following operations are guaranteed to execute in rasterization order, for each separate
    primitive that includes that sample location
# Vulkan, Sample Shading
sample_shading: If a fragment shader entry point statically uses an input variable decorated with a BuiltIn
    of SampleId or SamplePosition, sample shading is enabled and a value of 1.0 is used instead of
    minSampleShading.
# Vulkan, Basic Polygon Rasterization
edge: In such a case, if two polygons lie on either side of a common edge (with identical endpoints) on
    which a sample point lies, then exactly one of the polygons must result in a covered sample for that
    fragment during rasterization.
coverage: Coverage bits that correspond to sample points that satisfy the point sampling criteria are 1,
    other coverage bits are 0.
# Vulkan, Features, VkPhysicalDeviceDescriptorIndexingFeatures
storage_buffer: shaderStorageBufferArrayNonUniformIndexing indicates whether arrays of storage buffers can
    be indexed by non-uniform integer expressions in shader code.
uniform_buffer: shaderUniformBufferArrayNonUniformIndexing indicates whether arrays of uniform buffers can
    be indexed by non-uniform integer expressions in shader code.
sampled_image: shaderSampledImageArrayNonUniformIndexing indicates whether arrays of samplers or sampled
    images can be indexed by non-uniform integer expressions in shader code.
storage_image: shaderStorageImageArrayNonUniformIndexing indicates whether arrays of storage images can be
    indexed by non-uniform integer expressions in shader code.
input_attachment: shaderInputAttachmentArrayNonUniformIndexing indicates whether arrays of input attachments
    can be indexed by non-uniform integer expressions in shader code.
uniform_texel_buffer: shaderUniformTexelBufferArrayNonUniformIndexing indicates whether arrays of uniform
    texel buffers can be indexed by non-uniform integer expressions in shader code.
storage_texel_buffer: shaderStorageTexelBufferArrayNonUniformIndexing indicates whether arrays of storage
    texel buffers can be indexed by non-uniform integer expressions in shader code.
"""


def _quoted(text: str) -> dict[str, Rule]:
    """Return the sentences of a text like `_TEXT` by their names."""
    rules: dict[str, Rule] = {}
    document, section = "", ""
    for entry in text.strip().replace("\n    ", " ").split("\n"):
        if entry.startswith("# "):
            document, _, section = entry.removeprefix("# ").partition(", ")
        else:
            name, words = entry.split(": ", 1)
            place = section.replace("@", name)
            rules[name] = Rule(f"{DOCUMENTS[document]}, {place}", words)
    return rules


SENTENCES: dict[str, Rule] = _quoted(_TEXT)
"""Every sentence by the name of an instruction, of a built-in variable, or of its subject."""

"""SPIR-V assembly of cases whose pointers no compiler of GLSL makes.

The buffers are `inputs`, `outputs` and `cells`; `s` are the shared words of a workgroup. The body has the
input `x` of the invocation, whether it is `odd`, and the numbers `index` and `local`; it defines `result`.
"""

from __future__ import annotations

from vkgroup.conformance import marks

_TEXT = """
    OpCapability Shader
    OpCapability GroupNonUniform
    {capabilities}
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main" %global_id %local_index %lane_id %subgroup_id {interface}
    OpExecutionMode %main LocalSize {local} 1 1
    {modes}
    OpName %inputs "Inputs"
    OpName %outputs "Outputs"
    OpName %cells "Cells"
    OpDecorate %global_id BuiltIn GlobalInvocationId
    OpDecorate %local_index BuiltIn LocalInvocationIndex
    OpDecorate %lane_id BuiltIn SubgroupLocalInvocationId
    OpDecorate %subgroup_id BuiltIn SubgroupId
    OpDecorate %words ArrayStride 4
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %block Block
    OpDecorate %inputs DescriptorSet 0
    OpDecorate %inputs Binding 0
    OpDecorate %outputs DescriptorSet 0
    OpDecorate %outputs Binding 1
    OpDecorate %cells DescriptorSet 0
    OpDecorate %cells Binding 2
    {decorations}
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %uvec2 = OpTypeVector %uint 2
    %uvec3 = OpTypeVector %uint 3
    %n0 = OpConstant %uint 0
    %n1 = OpConstant %uint 1
    %n2 = OpConstant %uint 2
    %n64 = OpConstant %uint 64
    %n127 = OpConstant %uint 127
    %n128 = OpConstant %uint 128
    %n264 = OpConstant %uint 264
    %total = OpConstant %uint {total}
    %twice = OpConstant %uint {twice}
    %factor = OpConstant %uint {factor}
    %salt = OpConstant %uint {salt}
    %global_pointer = OpTypePointer Input %uvec3
    %local_pointer = OpTypePointer Input %uint
    %global_id = OpVariable %global_pointer Input
    %local_index = OpVariable %local_pointer Input
    %lane_id = OpVariable %local_pointer Input
    %subgroup_id = OpVariable %local_pointer Input
    %words = OpTypeRuntimeArray %uint
    %few = OpTypeArray %uint %n128
    %block = OpTypeStruct %words
    {memory}
    {declarations}
    %main = OpFunction %void None %function
    %entry = OpLabel
    {variables}
    %global = OpLoad %uvec3 %global_id
    %index = OpCompositeExtract %uint %global 0
    %local = OpLoad %uint %local_index
    %at_x = {chain} %inputs %n0 %index
    %x = OpLoad %uint %at_x
    %low = OpBitwiseAnd %uint %x %n1
    %odd = OpIEqual %bool %low %n1
    {body}
    %lane = OpLoad %uint %lane_id
    %subgroup = OpLoad %uint %subgroup_id
    {stores}
    OpReturn
    OpFunctionEnd
"""

_TYPED = """
    %element = OpTypePointer StorageBuffer %uint
    %shared_element = OpTypePointer Workgroup %uint
    %blocks = OpTypePointer StorageBuffer %block
    %shared_words = OpTypePointer Workgroup %few
    %held = OpTypePointer Function %element
    %inputs = OpVariable %blocks StorageBuffer
    %outputs = OpVariable %blocks StorageBuffer
    %cells = OpVariable %blocks StorageBuffer
    %s = OpVariable %shared_words Workgroup
"""

_UNTYPED = """
    %untyped = OpTypeUntypedPointerKHR StorageBuffer
    %inputs = OpUntypedVariableKHR %untyped StorageBuffer %block
    %outputs = OpUntypedVariableKHR %untyped StorageBuffer %block
    %cells = OpUntypedVariableKHR %untyped StorageBuffer %block
"""

_STRIDE = "\n    OpDecorate %element ArrayStride 4"

_UNTYPED_SHARED = """
    %untyped_shared = OpTypeUntypedPointerKHR Workgroup
    %shared_block = OpTypeStruct %few
    %s = OpUntypedVariableKHR %untyped_shared Workgroup %shared_block
"""

_LAID_OUT = """
    OpDecorate %few ArrayStride 4
    OpMemberDecorate %shared_block 0 Offset 0
    OpDecorate %shared_block Block
"""


_STORE = """
    %at_{word} = OpIAdd %uint {first} %index
    %scaled_{word} = OpIMul %uint %at_{word} %factor
    %line_{word} = OpIAdd %uint %scaled_{word} %salt
    %odd_{word} = OpBitwiseOr %uint %line_{word} %n1
    %mark_{word} = OpIMul %uint %line_{word} %odd_{word}
    %marked_{word} = OpBitwiseXor %uint %{word} %mark_{word}
    %out_{word} = {chain} %outputs %n0 %at_{word}
    OpStore %out_{word} %marked_{word}
"""


def assembly(
    body: str,
    *,
    capabilities: str,
    local: int,
    total: int,
    salt: int,
    untyped: bool = False,
    shared: bool = False,
    modes: str = "",
    declarations: str = "",
    decorations: str = "",
) -> str:
    """Return a module for Vulkan 1.2.

    `local`, `total`: invocations of a workgroup, and of all. `salt`: of the marks (`marks`).
    `untyped`: whether the variables have no types; then `shared` says whether there are shared words.
    """
    chain = "OpUntypedAccessChainKHR %untyped %block" if untyped else "OpAccessChain %element"
    places = {"lane": "%n0", "subgroup": "%total", "result": "%twice"}
    memory = _TYPED if not untyped else _UNTYPED + (_UNTYPED_SHARED if shared else "")
    return _TEXT.format(
        capabilities=capabilities,
        interface="%inputs %outputs %cells" + (" %s" if shared or not untyped else ""),
        local=local,
        total=total,
        twice=2 * total,
        modes=modes,
        memory=memory,
        declarations=declarations,
        decorations=decorations + (_LAID_OUT if untyped and shared else "" if untyped else _STRIDE),
        variables="%holder = OpVariable %held Function" if "VariablePointers" in capabilities else "",
        chain=chain,
        stores="".join(_STORE.format(word=word, first=first, chain=chain) for word, first in places.items()),
        factor=marks.FACTOR,
        salt=salt,
        body=body,
    )

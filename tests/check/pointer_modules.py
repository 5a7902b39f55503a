"""Modules with variable and untyped pointers, in assembly, since no compiler of GLSL makes them."""

from __future__ import annotations

_MODULE = """
    OpCapability Shader
    {capabilities}
    OpExtension "SPV_KHR_storage_buffer_storage_class"
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main" %id %local %a %b %s
    OpExecutionMode %main LocalSize 32 1 1
    OpName %a "a"
    OpName %b "b"
    OpDecorate %id BuiltIn GlobalInvocationId
    OpDecorate %local BuiltIn LocalInvocationIndex
    OpDecorate %words ArrayStride 4
    OpDecorate %element ArrayStride 4
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %block Block
    OpDecorate %a DescriptorSet 0
    OpDecorate %a Binding 0
    OpDecorate %b DescriptorSet 0
    OpDecorate %b Binding 1
    {decorations}
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %int = OpTypeInt 32 1
    %float = OpTypeFloat 32
    %n0 = OpConstant %uint 0
    %n1 = OpConstant %uint 1
    %n2 = OpConstant %uint 2
    %n3 = OpConstant %uint 3
    %n5 = OpConstant %uint 5
    %n31 = OpConstant %uint 31
    %n32 = OpConstant %uint 32
    %n264 = OpConstant %uint 264
    %minus = OpConstant %int -1
    %uvec3 = OpTypeVector %uint 3
    %words = OpTypeRuntimeArray %uint
    %block = OpTypeStruct %words
    %blocks = OpTypePointer StorageBuffer %block
    %element = OpTypePointer StorageBuffer %uint
    %few = OpTypeArray %uint %n32
    %few_pointer = OpTypePointer Workgroup %few
    %shared_element = OpTypePointer Workgroup %uint
    %held = OpTypePointer Function %element
    %id_pointer = OpTypePointer Input %uvec3
    %local_pointer = OpTypePointer Input %uint
    %id = OpVariable %id_pointer Input
    %local = OpVariable %local_pointer Input
    {declarations}
    %main = OpFunction %void None %function
    %entry = OpLabel
    {variables}
    %all = OpLoad %uvec3 %id
    %i = OpCompositeExtract %uint %all 0
    %l = OpLoad %uint %local
    {body}
    OpReturn
    OpFunctionEnd
    {functions}
"""

_BUFFERS = """
    %a = OpVariable %blocks StorageBuffer
    %b = OpVariable %blocks StorageBuffer
    %s = OpVariable %few_pointer Workgroup
"""

_UNTYPED = """
    %untyped = OpTypeUntypedPointerKHR StorageBuffer
    %untyped_shared = OpTypeUntypedPointerKHR Workgroup
    %shared_block = OpTypeStruct %few_laid_out
    %a = OpUntypedVariableKHR %untyped StorageBuffer %block
    %b = OpUntypedVariableKHR %untyped StorageBuffer %block
    %s = OpUntypedVariableKHR %untyped_shared Workgroup %shared_block
"""


NON_UNIFORM = "OpDecorate %p NonUniform"
"""Decoration of the pointer `p`, through which lanes of a subgroup access different buffers."""


def variable_pointers(body: str, *, decorations: str = "", variables: str = "", functions: str = "") -> str:
    """Return a module with the buffers a and b, shared words s, the global index i and the local one l."""
    return _MODULE.format(
        capabilities="""OpCapability VariablePointers
    OpCapability StorageBufferArrayNonUniformIndexing
    OpExtension "SPV_KHR_variable_pointers"
    OpExtension "SPV_EXT_descriptor_indexing"
    """,
        decorations=decorations,
        declarations=_BUFFERS,
        variables=variables,
        body=body,
        functions=functions,
    )


def untyped_pointers(
    body: str, *, types: str = "", decorations: str = "", capabilities: str = "", variables: str = ""
) -> str:
    """Return a module of the same form, whose variables are untyped and laid out explicitly."""
    return _MODULE.format(
        capabilities=f"""OpCapability UntypedPointersKHR
    OpCapability WorkgroupMemoryExplicitLayoutKHR
    {capabilities}
    OpExtension "SPV_KHR_untyped_pointers"
    OpExtension "SPV_KHR_workgroup_memory_explicit_layout"
    """,
        decorations=f"""
    OpDecorate %few_laid_out ArrayStride 4
    OpMemberDecorate %shared_block 0 Offset 0
    OpDecorate %shared_block Block
    {decorations}""",
        declarations=f"{types}\n%few_laid_out = OpTypeArray %uint %n32\n{_UNTYPED}",
        variables=variables,
        body=body,
        functions="",
    )

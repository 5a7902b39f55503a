// Common part of all kernels: workgroup size, number of items per invocation, and type of the elements.
//
// Macros, all with defaults so that each kernel compiles without definitions:
//   T       type of the elements; T_BITS and T_FLOAT enable the extensions for 8, 16 and 64 bits
//   T_BITS  number of bits of an element
//   T_FLOAT 1 if T is a floating-point type
#ifndef KERNEL_GLSL
#define KERNEL_GLSL

#extension GL_EXT_control_flow_attributes : require

#ifndef T
#define T float
#define T_BITS 32
#define T_FLOAT 1
#endif

#if T_BITS == 8
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#elif T_BITS == 16
#extension GL_EXT_shader_16bit_storage : require
#if T_FLOAT
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#else
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#endif
#elif T_BITS == 64
#if T_FLOAT
#extension GL_EXT_shader_explicit_arithmetic_types_float64 : require
#else
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif
#endif

layout(local_size_x = 128, local_size_x_id = 0) in;
#define WORKGROUP gl_WorkGroupSize.x                    // invocations of a workgroup
layout(constant_id = 1) const uint ITEMS = 4u;          // items per invocation; each kernel defines an item
layout(constant_id = 2) const uint SUBGROUPS = 128u;    // at least the number of subgroups of a workgroup

#endif

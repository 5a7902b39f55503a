// GL_NV_shader_thread_group for Vulkan: the extension's additions to GLSL, implemented with subgroups.
//
// Replaces "#extension GL_NV_shader_thread_group : require" (vkgroup/compiler/thread_group.py); the line numbers
// of the source do not change. A warp is a subgroup of at most 32 invocations, and a thread's id in its warp is
// gl_SubgroupInvocationID.
//
// Each name X of the extension is a macro for a function VKGROUP(_X). A function has the precision of its return
// type (gl_SubgroupInvocationID is mediump, and so would be 1u << gl_SubgroupInvocationID), cannot be assigned to,
// and is removed from the module with its capabilities if it is not called. The parentheses around a call prevent
// that "uint X;" declares a function.
//
// Macros defined before the include: VKGROUP_SHADER, a part of all names that is unique among the linked shaders;
// VKGROUP_STAGE_fragment in fragment shaders; VKGROUP_USES_quads if the source has a quadSwizzle;
// VKGROUP_USES_helpers if it has gl_HelperThreadNV; VKGROUP_KEEPS_<extension> for each extension that the source
// enables itself, which must stay enabled at the end.

#ifndef VKGROUP_NV_SHADER_THREAD_GROUP
#define VKGROUP_NV_SHADER_THREAD_GROUP

#define VKGROUP_PASTE(shader, name) vkgroup_##shader##name
#define VKGROUP_PASTED(shader, name) VKGROUP_PASTE(shader, name)
#define VKGROUP(name) VKGROUP_PASTED(VKGROUP_SHADER, name)

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_NV_shader_sm_builtins : require

// Section 7.1 and 7.4, built-in variables.
uint VKGROUP(_gl_ThreadInWarpNV)() { return gl_SubgroupInvocationID; }
uint VKGROUP(_gl_WarpSizeNV)() { return gl_SubgroupSize; }
uint VKGROUP(_gl_WarpIDNV)() { return gl_WarpIDNV; }
uint VKGROUP(_gl_SMIDNV)() { return gl_SMIDNV; }
uint VKGROUP(_gl_WarpsPerSMNV)() { return gl_WarpsPerSMNV; }
uint VKGROUP(_gl_SMCountNV)() { return gl_SMCountNV; }

// "Derived from the value of gl_ThreadInWarpNV using simple bit-shift arithmetic": the bits depend
// neither on active threads nor on the size of the warp, unlike in gl_SubgroupGeMask and gl_SubgroupGtMask.
uint VKGROUP(_gl_ThreadEqMaskNV)() { return 1u << VKGROUP(_gl_ThreadInWarpNV)(); }
uint VKGROUP(_gl_ThreadGeMaskNV)() { return 0xFFFFFFFFu << VKGROUP(_gl_ThreadInWarpNV)(); }
uint VKGROUP(_gl_ThreadGtMaskNV)() { return 0xFFFFFFFEu << VKGROUP(_gl_ThreadInWarpNV)(); }
uint VKGROUP(_gl_ThreadLeMaskNV)() { return ~(0xFFFFFFFEu << VKGROUP(_gl_ThreadInWarpNV)()); }
uint VKGROUP(_gl_ThreadLtMaskNV)() { return ~(0xFFFFFFFFu << VKGROUP(_gl_ThreadInWarpNV)()); }

// Section 8.3, ballots of the active threads.
uint VKGROUP(_activeThreadsNV)() { return subgroupBallot(true).x; }
uint VKGROUP(_ballotThreadNV)(bool value) { return subgroupBallot(value).x; }

#ifdef VKGROUP_STAGE_fragment
#ifdef VKGROUP_USES_helpers
#if __VERSION__ >= 450
bool VKGROUP(_gl_HelperThreadNV)() { return gl_HelperInvocation; }
#else
// GLSL has gl_HelperInvocation since 4.50; this is SPIR-V's HelperInvocation (BuiltIn 23) for older sources.
// GLSL does not allow inputs of type bool, but accepts a SPIR-V bool (OpTypeBool, 20); OpCopyObject (83) converts it.
#extension GL_EXT_spirv_intrinsics : require
#define VKGROUP_BOOL spirv_type(id = 20)
spirv_decorate(11, 23) flat in VKGROUP_BOOL vkgroup_helper;
spirv_instruction(id = 83) bool vkgroup_bool(VKGROUP_BOOL value);
bool VKGROUP(_gl_HelperThreadNV)() { return vkgroup_bool(vkgroup_helper); }
#endif
#endif

#ifdef VKGROUP_USES_quads
#extension GL_KHR_shader_subgroup_quad : require

// The first thread of the current quad, as a 32-bit number (see above).
uint VKGROUP(_quad) = gl_SubgroupInvocationID & ~3u;

// Bit k: thread k of the current quad executes but is missing from ballots. Vulkan allows this for helper
// invocations ("Helper Invocations"), but the extension counts them. All four threads execute this function at
// the start of main, so each missing thread is such a helper.
uint VKGROUP(_left_out) = ~(subgroupBallot(true).x >> VKGROUP(_quad)) & 15u;

// Returns whether all four threads of the quad execute this; otherwise the quad is divergent.
bool VKGROUP(_whole)()
{
    uint executing = (subgroupBallot(true).x >> VKGROUP(_quad)) & 15u;
    return (executing | VKGROUP(_left_out)) == 15u;
}

// In a divergent quad, the value of a missing thread is undefined and replaced by zero. The ballot is executed first,
// because a device may end helper threads after the last quad operation. `precise` keeps the addition separately
// rounded.
#define VKGROUP_QUAD_SWIZZLE_OF(name, read, type)              \
    type name(type swizzledValue)                              \
    {                                                          \
        bool whole = VKGROUP(_whole)();                        \
        type found = read;                                     \
        return whole ? found : type(0.0);                      \
    }                                                          \
    type name(type swizzledValue, type unswizzledValue)        \
    {                                                          \
        bool whole = VKGROUP(_whole)();                        \
        precise type sum = read + unswizzledValue;             \
        return whole ? sum : type(0.0);                        \
    }

#define VKGROUP_QUAD_SWIZZLE(name, read)         \
    VKGROUP_QUAD_SWIZZLE_OF(name, read, float)   \
    VKGROUP_QUAD_SWIZZLE_OF(name, read, vec2)    \
    VKGROUP_QUAD_SWIZZLE_OF(name, read, vec3)    \
    VKGROUP_QUAD_SWIZZLE_OF(name, read, vec4)

VKGROUP_QUAD_SWIZZLE(VKGROUP(_quadSwizzle0NV), subgroupQuadBroadcast(swizzledValue, 0u))
VKGROUP_QUAD_SWIZZLE(VKGROUP(_quadSwizzle1NV), subgroupQuadBroadcast(swizzledValue, 1u))
VKGROUP_QUAD_SWIZZLE(VKGROUP(_quadSwizzle2NV), subgroupQuadBroadcast(swizzledValue, 2u))
VKGROUP_QUAD_SWIZZLE(VKGROUP(_quadSwizzle3NV), subgroupQuadBroadcast(swizzledValue, 3u))
VKGROUP_QUAD_SWIZZLE(VKGROUP(_quadSwizzleXNV), subgroupQuadSwapHorizontal(swizzledValue))
VKGROUP_QUAD_SWIZZLE(VKGROUP(_quadSwizzleYNV), subgroupQuadSwapVertical(swizzledValue))
#endif
#endif

// Disable extensions that the source does not enable. The first two also disable GL_KHR_shader_subgroup_basic.
#ifndef VKGROUP_KEEPS_GL_KHR_shader_subgroup_ballot
#extension GL_KHR_shader_subgroup_ballot : disable
#endif
#ifndef VKGROUP_KEEPS_GL_KHR_shader_subgroup_quad
#extension GL_KHR_shader_subgroup_quad : disable
#endif
#ifdef VKGROUP_KEEPS_GL_KHR_shader_subgroup_basic
#extension GL_KHR_shader_subgroup_basic : enable
#else
#extension GL_KHR_shader_subgroup_basic : disable
#endif
#ifndef VKGROUP_KEEPS_GL_NV_shader_sm_builtins
#extension GL_NV_shader_sm_builtins : disable
#endif
#ifndef VKGROUP_KEEPS_GL_EXT_spirv_intrinsics
#extension GL_EXT_spirv_intrinsics : disable
#endif
#endif

#define gl_ThreadInWarpNV (VKGROUP(_gl_ThreadInWarpNV)())
#define gl_ThreadEqMaskNV (VKGROUP(_gl_ThreadEqMaskNV)())
#define gl_ThreadGeMaskNV (VKGROUP(_gl_ThreadGeMaskNV)())
#define gl_ThreadGtMaskNV (VKGROUP(_gl_ThreadGtMaskNV)())
#define gl_ThreadLeMaskNV (VKGROUP(_gl_ThreadLeMaskNV)())
#define gl_ThreadLtMaskNV (VKGROUP(_gl_ThreadLtMaskNV)())
#define gl_WarpIDNV (VKGROUP(_gl_WarpIDNV)())
#define gl_SMIDNV (VKGROUP(_gl_SMIDNV)())
#define gl_WarpSizeNV (VKGROUP(_gl_WarpSizeNV)())
#define gl_WarpsPerSMNV (VKGROUP(_gl_WarpsPerSMNV)())
#define gl_SMCountNV (VKGROUP(_gl_SMCountNV)())
#define activeThreadsNV VKGROUP(_activeThreadsNV)
#define ballotThreadNV VKGROUP(_ballotThreadNV)
#ifdef VKGROUP_STAGE_fragment
#define gl_HelperThreadNV (VKGROUP(_gl_HelperThreadNV)())
#define quadSwizzle0NV VKGROUP(_quadSwizzle0NV)
#define quadSwizzle1NV VKGROUP(_quadSwizzle1NV)
#define quadSwizzle2NV VKGROUP(_quadSwizzle2NV)
#define quadSwizzle3NV VKGROUP(_quadSwizzle3NV)
#define quadSwizzleXNV VKGROUP(_quadSwizzleXNV)
#define quadSwizzleYNV VKGROUP(_quadSwizzleYNV)
#endif

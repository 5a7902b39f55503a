"""NV_shader_thread_group: variables, functions and instructions of warps (subgroups of at most 32 lanes).

Masks and ballots are one uint here, not a uvec4. The size of a subgroup is a power of two up to 32. The
optional `unswizzled` operand of a quadSwizzle function is added to the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType

import numpy as np

from vkgroup.reference.semantics.lanes import (
    SHARED,
    Flags,
    Lanes,
    Values,
    Words,
    defines,
    everywhere,
    lane_index,
    pack,
    scalar,
    uniform,
)
from vkgroup.spec.limits import QUAD_SIZE

PIXELS = MappingProxyType(
    {
        "window": ((0, 1), (1, 1), (0, 0), (1, 0)),
        "framebuffer object": ((0, 0), (1, 0), (0, 1), (1, 1)),
        "Vulkan": ((0, 0), (1, 0), (0, 1), (1, 1)),
    }
)
"""Pixel (x, y) of the threads 4N, 4N + 1, 4N + 2 and 4N + 3 in their quad, by the kind of render target.

NV_shader_thread_group, section 8.3, gives the first two. KHR_shader_subgroup, section 3.8, gives Vulkan's, in
Vulkan's coordinates: its numbers are those of a framebuffer object, and since y counts down from the top,
threads 4N and 4N + 1 are above the others, as in a window of OpenGL.
"""


def _id(active: Flags) -> Words:
    """Return the id of each thread, (size,)."""
    return lane_index(active.shape[1]).astype(np.uint32)


@defines("gl_ThreadInWarpNV")
def thread_in_warp_nv(active: Flags) -> Lanes:
    """“The variable gl_ThreadInWarpNV hold the id of the thread within the thread group(or warp). This
    variable is in the range 0 to gl_WarpSizeNV-1, where gl_WarpSizeNV is the total number of thread in a
    warp.”

    NV_shader_thread_group, revision 4, section 7.1.
    """
    return scalar(_id(active), active)


def thread_mask_nv(bits: int, active: Flags, *, inverted: bool = False) -> Lanes:
    """Return 32 bits shifted left by the id of each thread, optionally inverted.

    The masks “are derived from the value of gl_ThreadInWarpNV using simple bit-shift arithmetic”
    (NV_shader_thread_group, revision 4, section 7.1): bits of inactive threads, and of threads beyond the
    warp size, stay set.
    """
    shifted = np.uint32(bits) << _id(active)
    return scalar(~shifted if inverted else shifted, active)


SHARED.update(
    {
        "gl_ThreadEqMaskNV": partial(thread_mask_nv, 1),
        "gl_ThreadGeMaskNV": partial(thread_mask_nv, 0xFFFFFFFF),
        "gl_ThreadGtMaskNV": partial(thread_mask_nv, 0xFFFFFFFE),
        "gl_ThreadLeMaskNV": partial(thread_mask_nv, 0xFFFFFFFE, inverted=True),
        "gl_ThreadLtMaskNV": partial(thread_mask_nv, 0xFFFFFFFF, inverted=True),
    }
)


@defines("gl_WarpSizeNV")
def warp_size_nv(active: Flags) -> Lanes:
    """“The variable gl_WarpSizeNV is the total number of thread in a warp.”

    NV_shader_thread_group, revision 4, section 7.4. Inactive threads count.
    """
    return scalar(active.shape[1], active)


@defines("gl_HelperThreadNV")
def helper_thread_nv(active: Flags, covered: Flags) -> Lanes:
    """“The variable gl_HelperThreadNV specifies if the current thread is a helper thread.”

    NV_shader_thread_group, revision 4, section 7.1. A thread whose fragment is not `covered` by the primitive
    is a helper thread. It executes, so it is `active`.
    """
    return everywhere(~covered[:, :, None], active)


def is_legal_id_nv(value: Words, active: Flags, count: int) -> Flags:
    """Return whether gl_WarpIDNV or gl_SMIDNV may have these values, (subgroups, size).

    NV_shader_thread_group, section 7.1: from 0 to gl_WarpsPerSMNV - 1, or gl_SMCountNV - 1, and the same in
    all threads of a warp. True where no thread is active. `count` is gl_WarpsPerSMNV or gl_SMCountNV.
    """
    low = np.where(active, value, np.uint32(0xFFFFFFFF)).min(axis=1, keepdims=True)
    return np.asarray(~active | ((value < count) & (value == low)))


@defines("activeThreadsNV")
def active_threads_nv(active: Flags) -> Lanes:
    """“In the value returned by activeThreadsNV(), bit <N> is set to 1 if the corresponding thread in the
    SIMD thread group is executing the call to activeThreadsNV() and 0 otherwise.”

    NV_shader_thread_group, revision 4, section 8.3.
    """
    return uniform(pack(active)[:, :1], active)


@defines("ballotThreadNV")
def ballot_thread_nv(value: Flags, active: Flags) -> Lanes:
    """“The function ballotThreadNV() computes a 32-bit bitfield. It looks at the condition <value> for each
    active thread of a thread group and set to 1 each bit for which the condition in the corresponding thread
    is true. Bits for threads with false condition are set to 0. Bits for inactive threads are also set to 0.”

    NV_shader_thread_group, revision 4, section 8.3.
    """
    return uniform(pack(value[:, :, 0] & active)[:, :1], active)


@defines("TGBALLOT")
def tgballot(
    value: Values, active: Flags, *, destination: Words | None = None, written: Flags | None = None
) -> Lanes:
    """“The TGBALLOT instruction produces a result vector by reading a vector operand for each active thread
    in the current thread group and comparing each component to zero. A result vector component contains an
    integer bitmask value (described below) for which the bits in a component bitmask are set if the value in
    the operand vector is non-zero for the corresponding thread, and not set otherwise.”

    NV_shader_thread_group, revision 4, section 2.X.8.Z.

    `value`: (subgroups, size, components) of floats or integers. NaN counts as nonzero, -0.0 as zero.
    `destination`, `written`: (subgroups, size, components): the old result vector, and the components that
    the thread writes (its write mask, the conditional one included; None writes all). The thread takes part
    in the ballot in any case.
    """
    bits = pack(np.moveaxis((value != 0) & active[:, :, None], 2, 1).reshape(-1, active.shape[1]))
    lanes = uniform(bits[:, 0].reshape(len(value), -1), active)
    if destination is None or written is None:
        return lanes
    return Lanes(np.where(written, lanes.value, destination), lanes.defined)


def quad_swizzle_nv(
    source: Callable[[Words], Values], swizzled: Values, active: Flags, unswizzled: Values | None = None
) -> Lanes:
    """Return `swizzled` of the thread `source(thread)`, plus `unswizzled` of the own thread.

    “If any thread in a 2x2 pixel quad is inactive, the quad is divergent. In this case quadSwizzle will
    return 0 for all fragments in the quad.” (NV_shader_thread_group, revision 4, section 8.3.) Helper threads
    are active. The addition is rounded once in the type of the values.
    """
    subgroups, size = active.shape
    if size < QUAD_SIZE:
        return everywhere(np.zeros_like(swizzled), active)
    whole = active.reshape(subgroups, size // QUAD_SIZE, QUAD_SIZE).all(axis=2).repeat(QUAD_SIZE, axis=1)
    result = swizzled[:, source(_id(active))]
    if unswizzled is not None:
        with np.errstate(all="ignore"):
            result = np.add(result, unswizzled, dtype=swizzled.dtype)
    return everywhere(np.where(whole[:, :, None], result, swizzled.dtype.type(0)), active)


SHARED.update(
    {
        "quadSwizzle0NV": partial(quad_swizzle_nv, lambda thread: thread // QUAD_SIZE * QUAD_SIZE),
        "quadSwizzle1NV": partial(quad_swizzle_nv, lambda thread: thread // QUAD_SIZE * QUAD_SIZE + 1),
        "quadSwizzle2NV": partial(quad_swizzle_nv, lambda thread: thread // QUAD_SIZE * QUAD_SIZE + 2),
        "quadSwizzle3NV": partial(quad_swizzle_nv, lambda thread: thread // QUAD_SIZE * QUAD_SIZE + 3),
        "quadSwizzleXNV": partial(quad_swizzle_nv, lambda thread: thread ^ 1),
        "quadSwizzleYNV": partial(quad_swizzle_nv, lambda thread: thread ^ 2),
    }
)

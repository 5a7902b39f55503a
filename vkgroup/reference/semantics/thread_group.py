"""NV_shader_thread_group: variables, functions and instructions of warps (subgroups of at most 32 lanes).

Masks and ballots are one uint here, not a uvec4. The size of a subgroup is a power of two up to 32. The
optional `unswizzled` operand of a quadSwizzle function is added to the result.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from vkgroup.reference.semantics.bits import pack
from vkgroup.reference.semantics.definitions import defines
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, everywhere, lane_index, uniform
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
Vulkan's coordinates: by numbers it is that of a framebuffer object, and as y counts down from the top,
threads 4N and 4N + 1 are above the others, as in a window of OpenGL.
"""


def _scalar(value: Words, active: Flags) -> Lanes:
    """Return a uint in each lane: `value` is broadcast to (subgroups, size)."""
    return everywhere(np.broadcast_to(value.astype(np.uint32), active.shape)[:, :, None], active)


def _id(active: Flags) -> Words:
    """Return the id of each thread, (size,)."""
    return lane_index(active.shape[1]).astype(np.uint32)


def _shifted(bits: int, active: Flags) -> Words:
    """Return `bits`, 32 of them, shifted up by each thread's id, (size,)."""
    return np.uint32(bits) << _id(active)


@defines("gl_ThreadInWarpNV")
def thread_in_warp_nv(active: Flags) -> Lanes:
    """“The variable gl_ThreadInWarpNV hold the id of the thread within the thread group(or warp). This
    variable is in the range 0 to gl_WarpSizeNV-1, where gl_WarpSizeNV is the total number of thread in a
    warp.”

    NV_shader_thread_group, revision 4, section 7.1.
    """
    return _scalar(_id(active), active)


@defines("gl_ThreadEqMaskNV")
def thread_eq_mask_nv(active: Flags) -> Lanes:
    """“The variable gl_ThreadEqMaskNV is a bitfield in which the bit equal to the current thread id is set.”

    NV_shader_thread_group, revision 4, section 7.1. The masks “are derived from the value of
    gl_ThreadInWarpNV using simple bit-shift arithmetic”: neither activity nor the size of the warp clears
    bits.
    """
    return _scalar(_shifted(1, active), active)


@defines("gl_ThreadGeMaskNV")
def thread_ge_mask_nv(active: Flags) -> Lanes:
    """“The variable gl_ThreadGeMaskNV is a bitfield in which bits greater or equal to the current thread id
    are set.”

    NV_shader_thread_group, revision 4, section 7.1. Bits are set up to bit 31.
    """
    return _scalar(_shifted(0xFFFFFFFF, active), active)


@defines("gl_ThreadGtMaskNV")
def thread_gt_mask_nv(active: Flags) -> Lanes:
    """“The variable gl_ThreadGtMaskNV is a bitfield in which bits greater than the current thread id are
    set.”

    NV_shader_thread_group, revision 4, section 7.1. Bits are set up to bit 31.
    """
    return _scalar(_shifted(0xFFFFFFFE, active), active)


@defines("gl_ThreadLeMaskNV")
def thread_le_mask_nv(active: Flags) -> Lanes:
    """“The variable gl_ThreadLeMaskNV is a bitfield in which bits lower or equal to the current thread id are
    set.”

    NV_shader_thread_group, revision 4, section 7.1.
    """
    return _scalar(~_shifted(0xFFFFFFFE, active), active)


@defines("gl_ThreadLtMaskNV")
def thread_lt_mask_nv(active: Flags) -> Lanes:
    """“The variable gl_ThreadLtMaskNV is a bitfield in which bits lower than the current thread id are set.”

    NV_shader_thread_group, revision 4, section 7.1.
    """
    return _scalar(~_shifted(0xFFFFFFFF, active), active)


@defines("gl_WarpSizeNV")
def warp_size_nv(active: Flags) -> Lanes:
    """“The variable gl_WarpSizeNV is the total number of thread in a warp.”

    NV_shader_thread_group, revision 4, section 7.4. Inactive threads count.
    """
    return _scalar(np.asarray(active.shape[1]), active)


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
    all threads of a warp. True where no thread is active.

    Parameters
    ----------
    value : (subgroups, size)
    count : gl_WarpsPerSMNV or gl_SMCountNV.
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

    Parameters
    ----------
    value : (subgroups, size, components) of floats or integers. NaN is other than zero, -0.0 is not.
    destination, written : (subgroups, size, components): what the result vector holds before, and which of
        its components the thread writes (its write mask, the conditional one included; None writes all).
        Neither keeps a thread from taking part in the ballot.
    """
    bits = pack(np.moveaxis((value != 0) & active[:, :, None], 2, 1).reshape(-1, active.shape[1]))
    lanes = uniform(bits[:, 0].reshape(len(value), -1), active)
    if destination is None or written is None:
        return lanes
    return Lanes(np.where(written, lanes.value, destination), lanes.defined)


def _quad_swizzle(source: Words, swizzled: Values, active: Flags, unswizzled: Values | None) -> Lanes:
    """Return `swizzled` of the thread `source` (size,), plus `unswizzled` of the own; 0 in divergent quads.

    The addition is one, rounded once in the type of the values.
    """
    subgroups, size = active.shape
    if size < QUAD_SIZE:
        return everywhere(np.zeros_like(swizzled), active)
    whole = active.reshape(subgroups, size // QUAD_SIZE, QUAD_SIZE).all(axis=2).repeat(QUAD_SIZE, axis=1)
    result = swizzled[:, source]
    if unswizzled is not None:
        with np.errstate(all="ignore"):
            result = np.add(result, unswizzled, dtype=swizzled.dtype)
    return everywhere(np.where(whole[:, :, None], result, swizzled.dtype.type(0)), active)


def _thread(number: int, active: Flags) -> Words:
    return (_id(active) // QUAD_SIZE * QUAD_SIZE + number).astype(np.uint32)


@defines("quadSwizzle0NV")
def quad_swizzle0_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """“quadSwizzle0NV will read the <swizzledValue> operand from the fragment 0: result[thread N] =
    swizzledValue[thread 0] + unswizzledValue[thread N]”

    NV_shader_thread_group, revision 4, section 8.3. The six functions give 0 in a quad with an inactive
    thread: “If any thread in a 2x2 pixel quad is inactive, the quad is divergent. In this case quadSwizzle
    will return 0 for all fragments in the quad.” Helper threads are active.
    """
    return _quad_swizzle(_thread(0, active), swizzled, active, unswizzled)


@defines("quadSwizzle1NV")
def quad_swizzle1_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """“quadSwizzle1NV will read the <swizzledValue> operand from the fragment 1: result[thread N] =
    swizzledValue[thread 1] + unswizzledValue[thread N]”

    NV_shader_thread_group, revision 4, section 8.3.
    """
    return _quad_swizzle(_thread(1, active), swizzled, active, unswizzled)


@defines("quadSwizzle2NV")
def quad_swizzle2_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """“quadSwizzle2NV will read the <swizzledValue> operand from the fragment 2: result[thread N] =
    swizzledValue[thread 2] + unswizzledValue[thread N]”

    NV_shader_thread_group, revision 4, section 8.3.
    """
    return _quad_swizzle(_thread(2, active), swizzled, active, unswizzled)


@defines("quadSwizzle3NV")
def quad_swizzle3_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """“quadSwizzle3NV will read the <swizzledValue> operand from the fragment 3: result[thread N] =
    swizzledValue[thread 3] + unswizzledValue[thread N]”

    NV_shader_thread_group, revision 4, section 8.3.
    """
    return _quad_swizzle(_thread(3, active), swizzled, active, unswizzled)


@defines("quadSwizzleXNV")
def quad_swizzle_x_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """“quadSwizzleXNV will read the <swizzledValue> operand for each fragment from its neighbor in X:
    result[thread 0] = swizzledValue[thread 1] + unswizzledValue[thread 0] result[thread 1] =
    swizzledValue[thread 0] + unswizzledValue[thread 1] result[thread 2] = swizzledValue[thread 3] +
    unswizzledValue[thread 2] result[thread 3] = swizzledValue[thread 2] + unswizzledValue[thread 3]”

    NV_shader_thread_group, revision 4, section 8.3.
    """
    return _quad_swizzle(_id(active) ^ np.uint32(1), swizzled, active, unswizzled)


@defines("quadSwizzleYNV")
def quad_swizzle_y_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """“quadSwizzleYNV will read the <swizzledValue> operand for each fragment from its neighbor in Y:
    result[thread 0] = swizzledValue[thread 2] + unswizzledValue[thread 0] result[thread 1] =
    swizzledValue[thread 3] + unswizzledValue[thread 1] result[thread 2] = swizzledValue[thread 0] +
    unswizzledValue[thread 2] result[thread 3] = swizzledValue[thread 1] + unswizzledValue[thread 3]”

    NV_shader_thread_group, revision 4, section 8.3.
    """
    return _quad_swizzle(_id(active) ^ np.uint32(2), swizzled, active, unswizzled)

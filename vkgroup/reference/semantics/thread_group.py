"""NV_shader_thread_group: variables, functions and instructions of warps (subgroups of at most 32 lanes).

Masks and ballots are one uint here, not a uvec4. The size of a subgroup is a power of two up to 32.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from vkgroup.reference.semantics.bits import pack
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, everywhere, lane_index, uniform

MOST_THREADS = 32
"""Threads of the largest warp: "the thread id is an unsigned integer in the range 0 to 31"."""

_QUAD = 4

PIXELS = MappingProxyType(
    {
        "window": ((0, 1), (1, 1), (0, 0), (1, 0)),
        "framebuffer object": ((0, 0), (1, 0), (0, 1), (1, 1)),
        "Vulkan": ((0, 0), (1, 0), (0, 1), (1, 1)),
    }
)
"""Place (x, y) of the threads 4N, 4N + 1, 4N + 2 and 4N + 3 in their quad, by what is rendered to.

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


def thread_in_warp_nv(active: Flags) -> Lanes:
    """gl_ThreadInWarpNV: the thread's id in its warp, from 0 to gl_WarpSizeNV - 1.

    NV_shader_thread_group, section 7.1.
    """
    return _scalar(_id(active), active)


def thread_eq_mask_nv(active: Flags) -> Lanes:
    """gl_ThreadEqMaskNV: the bit equal to the thread's id.

    NV_shader_thread_group, section 7.1. This and the other masks come from the id by shifts alone: neither
    activity nor the size of the warp takes bits away.
    """
    return _scalar(_shifted(1, active), active)


def thread_ge_mask_nv(active: Flags) -> Lanes:
    """gl_ThreadGeMaskNV: the bits greater than or equal to the thread's id, up to bit 31.

    NV_shader_thread_group, section 7.1.
    """
    return _scalar(_shifted(0xFFFFFFFF, active), active)


def thread_gt_mask_nv(active: Flags) -> Lanes:
    """gl_ThreadGtMaskNV: the bits greater than the thread's id, up to bit 31.

    NV_shader_thread_group, section 7.1.
    """
    return _scalar(_shifted(0xFFFFFFFE, active), active)


def thread_le_mask_nv(active: Flags) -> Lanes:
    """gl_ThreadLeMaskNV: the bits lower than or equal to the thread's id.

    NV_shader_thread_group, section 7.1.
    """
    return _scalar(~_shifted(0xFFFFFFFE, active), active)


def thread_lt_mask_nv(active: Flags) -> Lanes:
    """gl_ThreadLtMaskNV: the bits lower than the thread's id.

    NV_shader_thread_group, section 7.1.
    """
    return _scalar(~_shifted(0xFFFFFFFF, active), active)


def warp_size_nv(active: Flags) -> Lanes:
    """gl_WarpSizeNV: the number of threads in a warp, active or not.

    NV_shader_thread_group, section 7.4.
    """
    return _scalar(np.asarray(active.shape[1]), active)


def helper_thread_nv(active: Flags, covered: Flags) -> Lanes:
    """gl_HelperThreadNV: whether the thread's fragment is not covered by the primitive.

    NV_shader_thread_group, section 7.1. A helper thread executes, so it is `active`; where it is not, there
    is no result.
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


def active_threads_nv(active: Flags) -> Lanes:
    """activeThreadsNV(): one bit for each thread, set where it executes the call.

    NV_shader_thread_group, section 8.3.
    """
    return uniform(pack(active)[:, :1], active)


def ballot_thread_nv(value: Flags, active: Flags) -> Lanes:
    """ballotThreadNV(): one bit for each thread, set where it is active and its `value` is true.

    NV_shader_thread_group, section 8.3.
    """
    return uniform(pack(value[:, :, 0] & active)[:, :1], active)


def tgballot(
    value: Values, active: Flags, *, destination: Words | None = None, written: Flags | None = None
) -> Lanes:
    """TGBALLOT: in each component the ballot of the operand's component being other than zero.

    NV_shader_thread_group, section 2.X.8.Z, TGBALLOT.

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
    if size < _QUAD:
        return everywhere(np.zeros_like(swizzled), active)
    whole = active.reshape(subgroups, size // _QUAD, _QUAD).all(axis=2).repeat(_QUAD, axis=1)
    found = swizzled[:, source]
    if unswizzled is not None:
        with np.errstate(all="ignore"):
            found = np.add(found, unswizzled, dtype=swizzled.dtype)
    return everywhere(np.where(whole[:, :, None], found, swizzled.dtype.type(0)), active)


def _thread(number: int, active: Flags) -> Words:
    return (_id(active) // _QUAD * _QUAD + number).astype(np.uint32)


def quad_swizzle0_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """quadSwizzle0NV(): `swizzled` of the quad's thread 0, plus the own `unswizzled` if there is one.

    NV_shader_thread_group, section 8.3; QSWZ0 of section 2.X.8.Z. If any thread of the quad is inactive, the
    quad is divergent, and the result is 0 in all of its threads; so in the other five functions. Helper
    threads are active.
    """
    return _quad_swizzle(_thread(0, active), swizzled, active, unswizzled)


def quad_swizzle1_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """quadSwizzle1NV(): `swizzled` of the quad's thread 1, plus the own `unswizzled` if there is one.

    NV_shader_thread_group, section 8.3; QSWZ1 of section 2.X.8.Z.
    """
    return _quad_swizzle(_thread(1, active), swizzled, active, unswizzled)


def quad_swizzle2_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """quadSwizzle2NV(): `swizzled` of the quad's thread 2, plus the own `unswizzled` if there is one.

    NV_shader_thread_group, section 8.3; QSWZ2 of section 2.X.8.Z.
    """
    return _quad_swizzle(_thread(2, active), swizzled, active, unswizzled)


def quad_swizzle3_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """quadSwizzle3NV(): `swizzled` of the quad's thread 3, plus the own `unswizzled` if there is one.

    NV_shader_thread_group, section 8.3; QSWZ3 of section 2.X.8.Z.
    """
    return _quad_swizzle(_thread(3, active), swizzled, active, unswizzled)


def quad_swizzle_x_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """quadSwizzleXNV(): `swizzled` of the neighbour in x (0 and 1, 2 and 3), plus the own `unswizzled`.

    NV_shader_thread_group, section 8.3; QSWZX of section 2.X.8.Z.
    """
    return _quad_swizzle(_id(active) ^ np.uint32(1), swizzled, active, unswizzled)


def quad_swizzle_y_nv(swizzled: Values, active: Flags, unswizzled: Values | None = None) -> Lanes:
    """quadSwizzleYNV(): `swizzled` of the neighbour in y (0 and 2, 1 and 3), plus the own `unswizzled`.

    NV_shader_thread_group, section 8.3; QSWZY of section 2.X.8.Z.
    """
    return _quad_swizzle(_id(active) ^ np.uint32(2), swizzled, active, unswizzled)

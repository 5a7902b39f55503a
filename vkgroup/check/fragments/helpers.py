"""Experiments with helper invocations: the same draw with them in group operations, and without them.

Vulkan 1.4, "Helper Invocations": a device may leave helper invocations out of group operations, unless the
shader has derivatives or quad operations and the execution mode `MaximallyReconvergesKHR`. Both behaviours
are legal. A shader whose defined outputs depend on it is wrong.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.findings import Finding, FindingKind, Note, SourceLocations
from vkgroup.reference.interpreter.operations.accessor import Subgroups
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Data, Value, filled, select
from vkgroup.spirv import Module

Flags = npt.NDArray[np.bool_]

_GROUPS = ("OpGroupNonUniform", "OpSubgroup")
_QUADS = "OpGroupNonUniformQuad"

HELP_OF_DRAWS = (
    "make it independent of which fragments share a subgroup, for example with quad operations alone; or"
    " allow the finding, if it is what the shader shows"
)
"""The remedy for outputs that depend on the subgroup size."""

RULE = (
    "a device may leave helper invocations out of group operations, except operations on quads"
    ' (Vulkan 1.4, "Helper Invocations")'
)
HINT = (
    "execute the operation only where gl_HelperInvocation is false; or let helper invocations always take"
    " part: require full quads (GL_EXT_shader_quad_control) and maximal reconvergence"
    " (GL_EXT_maximal_reconvergence)"
)


def is_optional(name: str) -> bool:
    """Whether a device may leave helper invocations out of an instruction."""
    return name.startswith(_GROUPS) and not name.startswith(_QUADS)


def with_helpers(site: Site, function: Callable[..., Any]) -> Callable[..., Any]:
    """Let helper invocations take part in a group instruction, without marking its results."""
    if not is_optional(site.name):
        return function

    def run(subgroups: Subgroups, *operands: Value) -> Value:
        result: Value = function(_without_marks(subgroups), *operands)
        return result

    return run


def leaving_out(inner: Instrument | None = None, positions: Collection[int] | None = None) -> Instrument:
    """Return the instrument that leaves helper invocations out of group instructions.

    `inner`: applied before. `positions`: of these instructions only; None for all of them. In the other ones
    helper invocations take part.
    """

    def instrument(site: Site, function: Callable[..., Any]) -> Callable[..., Any]:
        function = function if inner is None else inner(site, function)
        if not is_optional(site.name):
            return function
        if positions is not None and site.position not in positions:
            return with_helpers(site, function)

        def run(subgroups: Subgroups, *operands: Value) -> Value:
            whole: Value = function(_without_marks(subgroups), *operands)
            if subgroups.optional is None:
                return whole
            keep = ~subgroups.collect(subgroups.optional[:, :, None], ())
            if not keep.any():
                return whole
            fewer = function(subgroups.part(keep), *(select(operand, keep) for operand in operands))
            return _merged(whole, fewer, keep)

        return run

    return instrument


def _without_marks(subgroups: Subgroups) -> Subgroups:
    """Return subgroups in which no lane is optional."""
    result = copy.copy(subgroups)
    result.optional = None
    return result


def _merged(whole: Value, fewer: Value, keep: Flags) -> Value:
    """Return `fewer`, the value in the invocations with flags `keep`, and `whole` in the others."""

    def put(one: Data, other: Data, shape: tuple[int, ...]) -> Data:
        result = np.broadcast_to(one, shape).copy()
        result[..., keep] = other
        return result

    pairs = zip(whole.leaves, fewer.leaves, strict=True)
    leaves = tuple(put(one, other, (*one.shape[:-1], len(keep))) for one, other in pairs)
    causes = tuple(
        None if one is None and other is None else put(filled(one), filled(other), leaf.shape)
        for leaf, one, other in zip(leaves, whole.causes, fewer.causes, strict=True)
    )
    return Value(leaves, causes)


_DERIVATIVES = ("OpDPd", "OpFwidth")
_DISCARDS = ("OpKill", "OpTerminateInvocation")

_DERIVATIVE = (
    "a derivative is undefined unless all four invocations of the quad execute it"
    ' (Vulkan 1.4, "Derivative Operations"; GLSL 4.60, 8.14.1: "undefined within non-uniform control flow")'
)
_IMPLICIT = (
    "the level of detail of this lookup comes from implicit derivatives, which are undefined unless all four"
    ' invocations of the quad execute it (Vulkan 1.4, "Derivative Operations"; GLSL 4.60, 8.9)'
)
_BEFORE_BRANCH = "compute the derivative before the branch"
_EXPLICIT = "compute the derivatives before the branch and use textureGrad, or use textureLod"
_DEMOTE = (
    "discard ends invocations of the quad before this line; take the derivative before discard, or use demote"
    " (GL_EXT_demote_to_helper_invocation), which keeps them as helper invocations"
)


def with_help(finding: Finding) -> Finding:
    """Return a finding of a draw; one on a difference with the remedy of draws."""
    if finding.kind != FindingKind.DIFFERS:
        return finding
    return replace(finding, remedy=HELP_OF_DRAWS)


def with_rules(finding: Finding, places: SourceLocations, module: Module) -> Finding:
    """Return a finding about derivatives or helper invocations with its rule and a hint."""
    entry = places.by_position.get(finding.place.position)
    if finding.kind != FindingKind.UNDEFINED or entry is None:
        return finding
    if "helper invocation" in finding.message and entry.name.startswith("OpGroup"):
        return _with(finding, RULE, HINT)
    if "all four invocations of a quad" not in finding.message:
        return finding
    explicit = entry.name.startswith(_DERIVATIVES)
    hint = _BEFORE_BRANCH if explicit else _EXPLICIT
    position = finding.place.position
    if any(entry.name in _DISCARDS and entry.position < position for entry in module.instructions):
        hint = _DEMOTE
    return _with(finding, _DERIVATIVE if explicit else _IMPLICIT, hint)


def _with(finding: Finding, rule: str, hint: str) -> Finding:
    """Return a finding whose rule is replaced."""
    notes = [note for note in finding.notes if not note.message.startswith("rule:")]
    return replace(finding, notes=(*notes, Note(f"rule: {rule}")), remedy=hint)

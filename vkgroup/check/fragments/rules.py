"""Rules of the specifications for findings in fragment shaders, and hints."""

from __future__ import annotations

from dataclasses import replace

from vkgroup.check.findings import Finding, FindingKind, Note, SourceLocations
from vkgroup.check.fragments.helpers import HINT, RULE
from vkgroup.spirv import Module

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
    if _discards_before(module, finding.place.position):
        hint = _DEMOTE
    return _with(finding, _DERIVATIVE if explicit else _IMPLICIT, hint)


def _discards_before(module: Module, position: int) -> bool:
    """Whether an instruction that ends invocations precedes a position in the module."""
    return any(entry.name in _DISCARDS and entry.position < position for entry in module.instructions)


def _with(finding: Finding, rule: str, hint: str) -> Finding:
    """Return a finding whose rule is replaced."""
    notes = [note for note in finding.notes if not note.message.startswith("rule:")]
    return replace(finding, notes=(*notes, Note(f"rule: {rule}"), Note(hint)))

"""Names of GLSL in findings, in the language of the shader."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from vkgroup.check.findings import Finding

# For each name of GLSL, that of HLSL and Slang, and that of WGSL.
_SPELLINGS = {
    "gl_GlobalInvocationID": ("SV_DispatchThreadID", "global_invocation_id"),
    "gl_HelperInvocation": ("IsHelperLane()", "gl_HelperInvocation"),
    "gl_LocalInvocationID": ("SV_GroupThreadID", "local_invocation_id"),
    "gl_LocalInvocationIndex": ("SV_GroupIndex", "local_invocation_index"),
    "gl_NumSubgroups": ("the number of waves", "num_subgroups"),
    "gl_SubgroupID": ("the wave's index in the group", "subgroup_id"),
    "gl_SubgroupInvocationID": ("WaveGetLaneIndex()", "subgroup_invocation_id"),
    "gl_SubgroupSize": ("WaveGetLaneCount()", "subgroup_size"),
    "gl_WorkGroupID": ("SV_GroupID", "workgroup_id"),
    "barrier()": ("GroupMemoryBarrierWithGroupSync()", "workgroupBarrier()"),
    "memoryBarrierBuffer()": ("DeviceMemoryBarrier()", "storageBarrier()"),
    "memoryBarrierImage()": ("DeviceMemoryBarrier()", "textureBarrier()"),
    "memoryBarrierShared()": ("GroupMemoryBarrier()", "workgroupBarrier()"),
    "nonuniformEXT": ("NonUniformResourceIndex", "nonuniformEXT"),
    "subgroupAdd": ("WaveActiveSum", "subgroupAdd"),
    "subgroupBallot": ("WaveActiveBallot", "subgroupBallot"),
    "subgroupBroadcastFirst": ("WaveReadLaneFirst", "subgroupBroadcastFirst"),
    "subgroupElect": ("WaveIsFirstLane", "subgroupElect"),
    "subgroupShuffle": ("WaveReadLaneAt", "subgroupShuffle"),
}
_NAMES = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, _SPELLINGS))})(?!\w)")
_COLUMNS = {".hlsl": 0, ".slang": 0, ".wgsl": 1}


def in_language(finding: Finding) -> Finding:
    """Return a finding whose message, notes and remedy have the names of the language of its file."""
    column = _COLUMNS.get(Path(finding.place.file).suffix)
    if column is None:
        return finding

    def spelled(text: str) -> str:
        return _NAMES.sub(lambda name: _SPELLINGS[name[1]][column], text)

    notes = tuple(replace(note, message=spelled(note.message)) for note in finding.notes)
    return replace(finding, message=spelled(finding.message), notes=notes, remedy=spelled(finding.help))

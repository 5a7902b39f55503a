"""Executions that Vulkan permits and few devices show: sparse subgroups, reconvergence, forward progress.

They run at sizes at which a shader has no other error. What is wrong only there is one finding for each of
the three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vkgroup.base.errors import DispatchTimeout, OutOfMemory, Unsupported
from vkgroup.check.diagnosis import difference_findings, findings_of
from vkgroup.check.findings import Finding, FindingKind, Note, RunParameters
from vkgroup.check.runs import CheckedDispatch, CheckedRun
from vkgroup.check.state import CheckState
from vkgroup.check.trials import CheckTrial, Trier, key_of
from vkgroup.reference.interpreter.execution.models import CHOICES
from vkgroup.reference.interpreter.execution.paths import tangled

_SPARSE_RUNS = ((32, "half"), (64, "half"), (32, "quarter"), (8, "seeded"), (128, "seeded"))
"""Subgroup sizes and parts of their lanes that hold invocations, if all sizes run."""

_FEW = 3
"""Number of sizes up to which each runs with all parts."""

_BY_SIZE = (FindingKind.DIFFERS, FindingKind.ASSUMES)
"""Kinds of findings that say that a result depends on the subgroup size."""

_SPARSE_RULE = (
    "rule: unless the pipeline requires full subgroups, a subgroup may have lanes without an invocation"
    " (Vulkan, SubgroupLocalInvocationId)"
)
_SPARSE_REMEDY = (
    "require full subgroups (VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT, with the"
    " feature computeFullSubgroups and a local size in x that is a multiple of the subgroup size) and check"
    " with --full-subgroups; or take positions from gl_LocalInvocationIndex, counts from gl_NumSubgroups,"
    " and the lanes that exist from subgroupBallot(true)"
)
_PROGRESS_RULE = "rule: Vulkan does not guarantee that a workgroup starts while others wait for it"
_PROGRESS_REMEDY = (
    "let each workgroup take its number from an atomic counter when it starts, so that it waits only"
    " for workgroups that have started; or use several dispatches"
)
_ONE_RULE = "rule: Vulkan does not guarantee that one goes on while others wait for it"
_ASSUMED = (
    (("progress=one",), "workgroups that have started"),
    (("progress=occupancy", "unit=subgroup"), "subgroups of a workgroup"),
    (("progress=occupancy", "unit=subgroup", "seed=1"), "subgroups of a workgroup"),
)
"""Models with less progress than devices have, and what a shader assumes that waits there."""

_TO_DECLARE = {
    ".hlsl": "DXC's option -fspv-enable-maximal-reconvergence",
    ".slang": "[MaximallyReconverges]",
}
_TO_DECLARE_GLSL = "[[maximally_reconverges]] (GL_EXT_maximal_reconvergence)"
"""How a source declares maximal reconvergence: by the ending of its file, and in GLSL."""


@dataclass
class PermittedExecutions:
    """The further executions of a check.

    `state`: the check. `known`: its findings. `trier`, `trial`: its inputs; None for a fragment shader, of
    which only reconvergence is tried.
    """

    state: CheckState
    known: Sequence[Finding]
    trier: Trier | None = None
    trial: CheckTrial | None = None

    def findings(self) -> list[Finding]:
        """Return what is wrong only in these executions."""
        found = []
        known = {finding.place.identity for finding in self.known}
        for search in (
            (self._sparse, self._reconvergence, self._progress) if self.trial else (self._reconvergence,)
        ):
            finding = next(search(), None)
            # A lane without an invocation is one more lane that an instruction must not read, and a loop that
            # hangs waits for nobody.
            if finding is not None and (
                finding.kind == FindingKind.RECONVERGENCE or finding.place.identity not in known
            ):
                found.append(finding)
        return found

    @property
    def _sizes(self) -> list[int]:
        """The sizes that ran, and at which the shader has no other findings with lanes in order."""
        runs = [where for finding in self.known for where in finding.configurations]
        wrong = {where.subgroup_size for where in runs if not where.shuffled and not where.device}
        ran = {run.configuration.subgroup_size for run in self.state.runs}
        return [size for size in self.state.request.run_sizes if size in ran - wrong]

    @property
    def _size(self) -> int | None:
        """The size at which reconvergence and progress are tried; None for none."""
        return 32 if 32 in self._sizes else max(self._sizes, default=None)

    @property
    def _dispatch(self) -> CheckedDispatch:
        return self.state.dispatch

    def _run(
        self, where: RunParameters, dispatch: CheckedDispatch | None = None, *, races: bool = True
    ) -> CheckedRun | None:
        """Run once; None if the run did not end."""
        try:
            return (dispatch or self._dispatch).run(where, races=races)
        except (DispatchTimeout, OutOfMemory, Unsupported):
            return None

    def _wrong_only_in(
        self, run: CheckedRun | None, dispatch: CheckedDispatch | None = None
    ) -> Finding | None:
        """Return what is wrong in a run and not in the one with full subgroups that reconverge.

        `dispatch`: with other inputs than the check; None for the same.
        """
        plain = RunParameters(run.configuration.subgroup_size) if run is not None else None
        known = (one for one in self.state.runs if one.configuration == plain and dispatch is None)
        base = next(known, None) or (self._run(plain, dispatch) if plain is not None else None)
        if base is None or run is None or base.disturbed:
            return None
        dispatch = dispatch or self._dispatch
        before = {key_of(event) for event in base.events}
        new = tuple(event for event in run.serious_events if key_of(event) not in before)
        if new:
            return findings_of([replace(run, events=new)], self.state.places, dispatch)[0]
        try:
            difference = self.state.compare(base, run)
        except DispatchTimeout:
            return None
        if difference is None:
            return None
        finding = difference_findings(
            [(base, run, difference)], dispatch, self.state.flow, self.state.places
        )[0]
        values = f"{difference.first} at {base.configuration}, {difference.second} here"
        notes = (*(note for note in finding.notes if note.place), Note(f"{finding.element} is {values}"))
        return replace(finding, message="the output is another one; it is written here", notes=notes)

    # --- subgroups that are not full ------------------------------------------------------------------

    def _sparse(self) -> Iterator[Finding]:
        """Yield a finding for each run in which it matters that subgroups are not full."""
        program, sizes = self._dispatch.program, self._sizes
        capabilities = program.module.reflection.capabilities
        uses = any(name.startswith(("GroupNonUniform", "Subgroup")) for name in capabilities)
        # A result that depends on the size depends on how many lanes are filled, too.
        by_size = any(finding.kind in _BY_SIZE and finding.sizes for finding in self.known)
        if by_size or not uses or self.state.host.full_subgroups or program.needs_full_subgroups:
            return
        runs = [(size, part) for size, part in _SPARSE_RUNS if size in sizes]
        if len(self.state.request.run_sizes) <= _FEW:
            runs = [(size, part) for size in sizes for part in CHOICES["sparse"][1:] if size > 1]
        for size, part in runs:
            if program.has_full_subgroups(size):
                continue
            where = RunParameters(size, model=(f"sparse={part}",))
            run, dispatch = self._run(where), None
            if run is not None and (run.reached or run.needed) and self.trier and self.trial:
                # More subgroups access more elements of generated arrays.
                dispatch = self.trier.fit(self.trial, where).dispatch
                run = self._run(where, dispatch)
            finding = self._wrong_only_in(run, dispatch)
            if finding is not None:
                yield replace(
                    finding,
                    kind=FindingKind.SPARSE,
                    message=f"wrong if subgroups are not full: {finding.message}",
                    notes=(*finding.notes, Note(_SPARSE_RULE)),
                    remedy=_SPARSE_REMEDY,
                )

    # --- reconvergence --------------------------------------------------------------------------------

    def _reconvergence(self) -> Iterator[Finding]:
        """Yield a finding for each run in which invocations that stay apart change the results."""
        size = self._size
        if size is None or self.state.host.reconvergence == "maximal" or not self._may_part(size):
            return
        for apart in CHOICES["apart"]:
            where = RunParameters(size, model=("reconvergence=declared", f"apart={apart}"))
            run = self._run(where, races=False)
            if run is None or not run.partings:
                return
            run = self._run(where)
            if run is None:
                return
            finding = self._wrong_only_in(run)
            if finding is not None:
                yield self._of_parting(run, finding)

    def _may_part(self, size: int) -> bool:
        """Whether a group operation may be executed where invocations need not be together."""
        if not any(tangled(segment) for segment in self._dispatch.program.segments):
            return False
        plain = RunParameters(size)
        return all(run.parted for run in self.state.runs if run.configuration == plain and run.ended)

    def _of_parting(self, run: CheckedRun, finding: Finding) -> Finding:
        """Return the finding on the first group operation whose invocations need not be together."""
        places = self.state.places
        position = min(run.partings, key=lambda position: (places[position].line, position))
        parting = run.partings[position]
        notes = [Note("they part here", places[parting.branch])]
        shown = {places[position].identity, places[parting.branch].identity}
        if parting.merge >= 0 and places[parting.merge].identity not in shown:
            notes.append(Note("and need not meet here", places[parting.merge]))
        notes += [
            note for note in finding.notes if note.place is None and not note.message.startswith("rule")
        ]
        group = "draw" if self.state.request.entry.stage == "fragment" else "workgroup"
        notes.append(
            Note(
                f"rule: invocations that part in control flow that is not uniform in the whole {group} meet"
                " again only if the module declares it (SPIR-V, Uniform Control Flow)"
            )
        )
        suffix = Path(places[position].file).suffix
        form = _TO_DECLARE.get(suffix, _TO_DECLARE_GLSL)
        declare = "" if suffix == ".wgsl" else f"declare maximal reconvergence: {form}; or "
        return replace(
            finding,
            kind=FindingKind.RECONVERGENCE,
            message="which invocations of a subgroup execute this together is not guaranteed",
            place=places[position],
            notes=tuple(notes),
            remedy=f"{declare}move the operation into uniform control flow",
        )

    # --- progress -------------------------------------------------------------------------------------

    def _progress(self) -> Iterator[Finding]:
        """Yield a finding for each order in which a workgroup waits for another that has not started."""
        size, progress = self._size, self.state.host.progress
        if size is None or progress == "fair":
            return
        across, within = self._may_wait("workgroup"), self._may_wait("subgroup")
        for seed in (1, 0, 7) if across else ():
            words = ("progress=occupancy", *((f"seed={seed}",) if seed else ()))
            if (found := self._waits(RunParameters(size, model=words), FindingKind.PROGRESS)) is not None:
                yield replace(found, notes=(*found.notes, Note(_PROGRESS_RULE)), remedy=_PROGRESS_REMEDY)
        for model, what in (*_ASSUMED[:1] * across, *_ASSUMED[1:] * within):
            found = self._waits(RunParameters(size, model=model), "occupancy")
            if found is not None and progress == "one":
                yield replace(found, kind=FindingKind.PROGRESS, notes=(*found.notes, Note(_ONE_RULE)))
            elif found is not None:
                where = f" (line {found.place.line})" if found.place.line else ""
                text = f"a loop{where} needs that all {what} make progress, which Vulkan does not guarantee"
                if text not in self.state.notes:
                    self.state.notes.append(text)

    def _may_wait(self, unit: str) -> bool:
        """Whether a loop may wait for another workgroup or subgroup: one that a counter does not end."""
        program, counted = self._dispatch.program, self.state.counted
        waiting = {program.segments[number].position for number in program.waiting_loops(unit)}
        return not all(position >= 0 and counted.ends(position) for position in waiting)

    def _waits(self, where: RunParameters, kind: str) -> Finding | None:
        """Return the first wait of a kind in a run; None if there is none."""
        run = self._run(where, races=False)  # progress brings no new races
        waits = [event for event in run.events if event.kind == kind] if run is not None else []
        if run is None or not waits:
            return None
        waits = [replace(event, kind=FindingKind.PROGRESS) for event in waits]
        return findings_of([replace(run, events=tuple(waits))], self.state.places, self._dispatch)[0]

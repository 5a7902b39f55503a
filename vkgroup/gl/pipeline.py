"""Program pipeline objects: a program for each stage (OpenGL 4.2, 2.11.4)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from vkgroup.gl.errors import InvalidOperation
from vkgroup.gl.program import Program, require_program
from vkgroup.gl.tokens import Name, stages_of
from vkgroup.spec.stages import PRIMITIVE_STAGES

#: The stages of drawing, in order. A compute program between them is no matter (ARB_compute_shader, 2.11.12).
_IN_ORDER = PRIMITIVE_STAGES


class ProgramPipeline:
    """A program pipeline object; `Context.create_pipeline` makes it."""

    def __init__(self) -> None:
        self._programs: dict[str, tuple[Program, int]] = {}

    def use_stages(self, stages: Name | Iterable[Name], program: Program | None) -> None:
        """Make a program current for some stages (UseProgramStages).

        Parameters
        ----------
        stages : ``"COMPUTE_SHADER_BIT"``, ``"VERTEX_SHADER_BIT"``, …, or several of them;
            ``"ALL_SHADER_BITS"`` means all. Or OpenGL's bits as a number.
        program : linked as separable; None leaves the stages without one.

        Raises
        ------
        InvalidValue
            A name is no stage's.
        InvalidOperation
            The program is not linked, or was not linked as separable (ARB_compute_shader, issue 7).
        """
        names = stages_of(stages)
        if program is None:
            for stage in names:
                self._programs.pop(stage, None)
            return
        require_program(program)
        if not program.linked:
            raise InvalidOperation("The program has not been linked successfully; link it first.")
        if not program.linked_separable:
            raise InvalidOperation(
                "Only separable programs become part of a pipeline; link with separable=True."
            )
        for stage in names:
            self._programs[stage] = program, program.links

    def program(self, stage: str) -> Program | None:
        """Return the current program of a stage (GetProgramPipelineiv); None where there is none."""
        program = self._programs.get(stage)
        return None if program is None else program[0]

    @property
    def compute_shader(self) -> Program | None:
        """The current program of the compute stage (COMPUTE_SHADER); None where there is none."""
        return self.program("compute")

    def problems(self) -> list[str]:
        """Say what the commands that run shaders would refuse (OpenGL 4.2, 2.11.12, "Validation")."""
        relinked = [
            f"the program of the {stage} stage has been linked anew, not as separable, since it became"
            " part of the pipeline"
            for stage, (program, links) in self._programs.items()
            if program.links != links and not program.linked_separable
        ]
        active = [(stage, program) for stage in _IN_ORDER if (program := self._active(stage)) is not None]
        interleaved = [
            f"another program is active for the {middle} stage than around it, for {first} and {last}"
            for (first, one), (middle, other), (last, same) in combinations(active, 3)
            if one is same and other is not one
        ]
        return relinked + interleaved

    def _active(self, stage: str) -> Program | None:
        """Return the current program of a stage if it has an executable for it."""
        program = self.program(stage)
        executable = None if program is None else program.executable
        return program if executable is not None and stage in executable.modules else None

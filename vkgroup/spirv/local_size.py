"""Local size of a module whose source does not declare one."""

from __future__ import annotations

from collections.abc import Sequence

from vkgroup.base.errors import InvalidInput
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.editor import Editor, Words
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.interface import EntryPoint, LocalSize
from vkgroup.spirv.reflection import Module


def set_local_size(module: Module, size: Sequence[int], entry_point: str | None = None) -> Module:
    """Return a compute shader with another local size; for shaders whose source does not declare one.

    Compilers give such a shader the local size 1×1×1.

    Parameters
    ----------
    module : a module with a compute shader.
    size : invocations of a workgroup in one to three dimensions; the others get 1.
    entry_point : the shader's name; None takes the module's only entry point.

    Returns
    -------
    The module with the execution mode `LocalSize` of `size`.

    Raises
    ------
    InvalidInput
        The shader declares another local size, its local size is set by specialization constants, it is no
        compute shader, or `size` has a number below 1 or more than three numbers.
    InvalidModule
        The module does not have the entry point.

    Examples
    --------
    >>> module = set_local_size(compile_file("sum.comp"), (64,))
    >>> module.reflection.entry_point().local_size.resolve()
    (64, 1, 1)
    """
    if not 1 <= len(size) <= 3 or min(size) < 1 or max(size) >= 1 << 32:
        raise InvalidInput(f"A local size is one to three positive numbers, not {tuple(size)}.")
    wanted = (*size, 1, 1)[:3]
    entry = module.reflection.entry_point(entry_point)
    if entry.local_size is None or entry.stage != "compute":
        raise InvalidInput(
            f"The entry point {entry.name!r} is a {entry.stage} shader; only the local size of a"
            " compute shader can be set."
        )
    if not entry.local_size.is_specializable and entry.local_size.resolve() == wanted:
        return module
    _require_undeclared(entry, entry.local_size, wanted)
    return _with_local_size(module, entry.name, wanted)


def _require_undeclared(entry: EntryPoint, size: LocalSize, wanted: tuple[int, ...]) -> None:
    """Raise InvalidInput for a shader with specialization constants in the local size, or a declared size."""
    if size.is_specializable:
        values = " ".join(
            f"--spec {part.specialization.id}={number}"
            for part, number in zip(size.constants, wanted, strict=True)
            if part.specialization is not None
        )
        raise InvalidInput(
            f"Specialization constants set the local size of {entry.name!r}. Give their values instead of a"
            f" local size: {values or '--spec ID=V'}"
        )
    # WorkgroupSize is only there if the source reads gl_WorkGroupSize, whose value may be part of constants.
    if size.resolve() != (1, 1, 1) or size.source == "WorkgroupSize":
        declared = "×".join(map(str, size.resolve()))
        raise InvalidInput(
            f"The shader declares the local size {declared}; a local size can only be given to a shader that"
            " declares none. Leave it out, or change the source."
        )


def _with_local_size(module: Module, name: str, size: tuple[int, ...]) -> Module:
    """Return the module with the execution mode LocalSize of an entry point."""
    modes = {grammar().number("ExecutionMode", mode) for mode in ("LocalSize", "LocalSizeId")}
    local_size = grammar().number("ExecutionMode", "LocalSize")
    identifier = next(entry.id for entry in Declarations(module).entry_points if entry.name == name)

    def replaced(editor: Editor, words: Words) -> list[Words]:
        if words[1] != identifier or words[2] not in modes:
            return [words]
        return [editor.instruction("OpExecutionMode", identifier, local_size, *size)]

    return Editor(module).rewrite({"OpExecutionMode": replaced, "OpExecutionModeId": replaced})

"""WGSL through tint, the compiler of Chromium, in the user's cache (`vkgroup compilers fetch tint`)."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from vkgroup.base.errors import CompilerUnavailable, Diagnostic
from vkgroup.base.files import read_bytes
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.installed import TINT, InstalledCompiler, installed
from vkgroup.compiler.request import CompileRequest, failure, failure_of_log
from vkgroup.compiler.wgsl import entry_point_of, read_wgsl
from vkgroup.compiler.wgsl_modules import with_lines, with_names
from vkgroup.spirv import Module

INSTALL = (
    "fetch it: vkgroup compilers fetch tint (on Debian, Ubuntu and their derivatives; for other systems"
    " there is no package: copy it there with make bundle COMPILERS=tint)"
)

_PLACED = re.compile(r"source\.wgsl:(\d+):(\d+):? error: ([^\n]*)")
"""An error of tint's later stages, which is not in JSON."""

SECONDS = 60.0
"""Time limit in seconds for one source."""


def require_tint() -> InstalledCompiler:
    """Return the newest tint in the user's cache; CompilerUnavailable if there is none."""
    compiler = installed(TINT)
    if compiler is None:
        raise CompilerUnavailable(f"WGSL needs tint, which is not installed; {INSTALL}")
    return compiler


def compile_tint(request: CompileRequest) -> tuple[Module, Dependencies]:
    """Compile without validation; macros are values of ``override`` declarations.

    The source is first compiled as it is, for its errors, then as `WgslSource.marked`. If tint rejects
    it, or a uniform buffer has no binding in a literal, uniform buffers have the form that tint
    gives them, and in the last resort the module has no lines.

    Raises CompileError: the source does not compile, or tint crashes or takes longer than `SECONDS`. Raises
    CompilerUnavailable: tint is not installed.
    """
    compiler, source = require_tint(), read_wgsl(request.source)
    entry = entry_point_of(request.source, request.stage.name, request.entry_point, request.name)
    with tempfile.TemporaryDirectory(prefix="vkgroup-tint-") as name:
        folder = Path(name)
        plain = _run(compiler, request, request.source, entry.name, folder)
        if isinstance(plain, list):
            raise failure_of_log(request.name, plain, "")
        words, lines, uniforms = plain, False, False
        for marks, storage in ((True, True), (True, False), (False, True)):
            if (marks and not request.debug) or (storage and not source.are_placed(entry.name)):
                continue
            changed = _run(
                compiler, request, source.marked(lines=marks, uniforms=storage), entry.name, folder
            )
            if isinstance(changed, bytes):
                words, lines, uniforms = changed, marks, storage
                break
    module = Module.from_bytes(words)
    if request.debug:
        module = with_lines(module, source if lines else read_wgsl(""), request.name)
    return with_names(module, source, entry.name, uniforms=uniforms), Dependencies()


def _run(
    compiler: InstalledCompiler, request: CompileRequest, source: str, entry: str, folder: Path
) -> bytes | list[Diagnostic]:
    """Return the module's words, or the messages of tint about an error."""
    if request.target.spirv_version < (1, 3):
        raise failure(request.name, 0, "WGSL needs SPIR-V 1.3: --target 1.1 or later")
    file, output = folder / "source.wgsl", folder / "module.spv"
    file.write_text(source, encoding="utf-8")
    output.unlink(missing_ok=True)
    version = "1.4" if request.target.spirv_version >= (1, 4) else "1.3"
    options = ["--format", "spirv", "--spirv-version", version, "--diagnostics-format", "json"]
    options += ["--disable-robustness", str(not request.robustness).lower()]
    options += ["--disable-workgroup-init", str(not request.workgroup_zeros).lower()]
    options += ["--entry-point", entry, "-o", str(output)]
    if request.defines:
        options += [
            "--overrides",
            ",".join(f"{key}={_number(key, value, request)}" for key, value in request.defines),
        ]
    try:
        done = subprocess.run(
            compiler.command(str(compiler.program), *options, str(file)),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise failure(request.name, 0, f"tint took longer than {SECONDS:g} s on this source") from None
    except OSError as error:
        raise CompilerUnavailable(f"tint cannot be started ({error.strerror}); {INSTALL}") from error
    if done.returncode < 0:
        raise failure(request.name, 0, f"tint crashed (signal {-done.returncode}) on this source")
    if done.returncode == 0 and output.is_file():
        return read_bytes(output)
    return _diagnostics(done.stdout + done.stderr, request) or [_without_place(done.stderr, request)]


def _number(name: str, value: str, request: CompileRequest) -> str:
    """Return the value of an override as tint reads it; CompileError if it is no number and no Boolean."""
    text = {"true": "1", "false": "0", "": "1"}.get(value, value).rstrip("iufh")
    try:
        float(text)
    except ValueError:
        message = f"the value of the override {name} must be a number, true or false, not {value!r}"
        raise failure(request.name, 0, message) from None
    return text


def _diagnostics(log: str, request: CompileRequest) -> list[Diagnostic]:
    """Return the messages of a log in JSON; a note belongs to the error before it."""
    start, end = log.find("["), log.rfind("]")
    try:
        entries: list[dict[str, Any]] = msgspec.json.decode(log[start : end + 1])
    except msgspec.DecodeError:
        return []
    diagnostics: list[Diagnostic] = []
    for entry in entries:
        place = entry.get("range", {}).get("start", {})
        line, column = int(place.get("line", 0)), int(place.get("column", 0))
        if entry["severity"] == "note" and diagnostics:
            last = diagnostics[-1]
            where = f" (line {line}, column {column})" if line else ""
            message = f"{last.message}; {entry['message']}{where}"
            diagnostics[-1] = Diagnostic(last.severity, last.file, last.line, last.column, message)
        else:
            severity = "warning" if entry["severity"] == "warning" else "error"
            diagnostics.append(Diagnostic(severity, request.name, line, column, str(entry["message"])))
    return diagnostics


def _without_place(log: str, request: CompileRequest) -> Diagnostic:
    """Return a message of tint that is not about a place, as that on an unknown override."""
    if match := _PLACED.search(log):
        hint = "; give it with -D NAME=V" if "nitializer not provided" in match[3] else ""
        return Diagnostic("error", request.name, int(match[1]), int(match[2]), match[3].strip() + hint)
    text = log.strip() or "tint failed without a message"
    text = text.removeprefix("Failed to create override map: ").removeprefix("error: ")
    return Diagnostic("error", request.name, 0, 0, text)

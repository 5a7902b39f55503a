"""``vkgroup lsp``: findings of ``vkgroup check`` at the lines of an editor.

The server speaks the Language Server Protocol on standard input and output (the package pygls). It checks a
shader when it is opened or saved, in a process of its own.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vkgroup.base.errors import InvalidInput
from vkgroup.check.report_text import underlined

try:
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer
    from pygls.uris import from_fs_path, to_fs_path
except ImportError as error:
    raise InvalidInput("The language server needs pygls: pip install 'vkgroup[lsp]'.") from error

_SOURCE = "vkgroup"
_ERROR = re.compile(r"^(?:vkgroup: )?([^\s:][^:\n]*):(\d+)(?::\d+)?: (?:error: *)?(.*)$", re.MULTILINE)
"""An error of a compiler, or of vkgroup about a line."""


def execute(arguments: argparse.Namespace) -> int:
    """Serve until the editor ends the session."""
    server = _Server()
    server.start_io()
    # The server has closed the streams of the session.
    sys.stdout = io.StringIO()
    return 0


class _Server(LanguageServer):
    """The server; `_running` has the process of the last check of each file."""

    def __init__(self) -> None:
        super().__init__(_SOURCE, version("vkgroup"), text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._shown: dict[str, set[str]] = defaultdict(set)  # files with findings, by the checked one
        self._closed_files: set[str] = set()
        self._lock = threading.Lock()
        self._serve(types.TEXT_DOCUMENT_DID_OPEN, self._opened)
        self._serve(types.TEXT_DOCUMENT_DID_SAVE, self._opened)
        self._serve(types.TEXT_DOCUMENT_DID_CLOSE, self._closed)
        self._serve(types.TEXT_DOCUMENT_CODE_ACTION, self._actions)

    def _serve(self, feature: str, method: Callable[[Any], Any]) -> None:
        """Call a method for a message; the package marks functions, which a method does not allow."""
        self.feature(feature)(lambda parameters: method(parameters))

    def _opened(self, parameters: types.DidOpenTextDocumentParams | types.DidSaveTextDocumentParams) -> None:
        uri = parameters.text_document.uri
        with self._lock:
            self._closed_files.discard(uri)
        threading.Thread(target=self._check, args=(uri,), daemon=True).start()

    def _closed(self, parameters: types.DidCloseTextDocumentParams) -> None:
        uri = parameters.text_document.uri
        with self._lock:
            self._closed_files.add(uri)
        self._stop(uri)
        self._publish(uri, {})

    def _stop(self, uri: str) -> None:
        """End the check of a file, if one is under way."""
        with self._lock:
            if (earlier := self._running.pop(uri, None)) is not None:
                earlier.terminate()

    def _check(self, uri: str) -> None:
        """Check a file, and publish what was found, unless a newer check has begun."""
        file = to_fs_path(uri)
        if file is None:
            return
        self._stop(uri)
        words = [sys.executable, "-m", "vkgroup", "check", file, "--device", "none", "--json", "-"]
        words += [word for name in _configurations(Path(file)) for word in ("--with", str(name))]
        with self._lock:
            if uri in self._closed_files:
                return
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self._running[uri] = process
        printed, errors = process.communicate()
        with self._lock:
            if self._running.get(uri) is not process:
                return
        found: dict[str, list[types.Diagnostic]] = {}
        for report in _reports(printed):
            for finding in report["findings"]:
                found.setdefault(finding["place"]["file"] or file, []).append(_diagnostic(finding))
            if gaps := report["covered"]["not_executed"] + report["no_verdict"]:
                text = f"not looked at: {', '.join(gaps)}"
                found.setdefault(file, []).append(_at(1, "", 0, text, types.DiagnosticSeverity.Information))
        if process.returncode not in (0, 1):
            # A check without a verdict must not look like one without findings.
            whole = errors.strip().removeprefix("vkgroup: ") or "the check ended without a verdict"
            for name, line, text in _ERROR.findall(errors) or [(file, "1", whole)]:
                found.setdefault(name, []).append(_at(int(line), "", 0, text, types.DiagnosticSeverity.Error))
        self._publish(uri, found)

    def _publish(self, uri: str, found: dict[str, list[types.Diagnostic]]) -> None:
        """Show the findings of a file, and remove those of its earlier check."""
        shown = {from_fs_path(str(Path(name).absolute())) or uri: entries for name, entries in found.items()}
        for other in self._shown[uri] | {uri} | shown.keys():
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(other, shown.get(other, []))
            )
        self._shown[uri] = set(shown)

    def _actions(self, parameters: types.CodeActionParams) -> list[types.CodeAction]:
        """Return, for each finding at a place, the action that allows it with a comment."""
        return [
            types.CodeAction(
                f"Allow {entry.code} in this line",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[entry],
                edit=types.WorkspaceEdit({parameters.text_document.uri: [_allowance(entry)]}),
            )
            for entry in parameters.context.diagnostics
            if entry.source == _SOURCE and entry.code
        ]


def _configurations(file: Path) -> Iterator[Path]:
    """Yield the configuration of a shader, if there is one: ``blur.toml`` or ``blur.json`` beside it."""
    names = [file.with_name(f"{file.name.partition('.')[0]}{suffix}") for suffix in (".toml", ".json")]
    yield from [name for name in names if name.is_file()][:1]


def _reports(printed: str) -> list[dict[str, Any]]:
    """Return the reports in the JSON of a check; none if it printed none."""
    if not printed.strip():
        return []
    data = json.loads(printed)
    entries = data.get("configurations")
    return [data] if entries is None else [entry["report"] for entry in entries if entry["report"]]


def _diagnostic(finding: dict[str, Any]) -> types.Diagnostic:
    """Return a finding as the protocol has it."""
    place = finding["place"]
    severity = types.DiagnosticSeverity.Warning if finding["weak"] else types.DiagnosticSeverity.Error
    text = f"{finding['message']}\nhelp: {finding['help']}"
    entry = _at(place["line"], place["text"], place["column"], text, severity)
    entry.code = finding["kind"]
    entry.related_information = [
        types.DiagnosticRelatedInformation(_location(note["place"]), note["message"])
        for note in finding["notes"]
        if note["place"] and note["place"]["line"]
    ]
    return entry


def _at(
    line: int, text: str, column: int, message: str, severity: types.DiagnosticSeverity
) -> types.Diagnostic:
    return types.Diagnostic(_range(line, text, column), message, severity=severity, source=_SOURCE)


def _range(line: int, text: str, column: int) -> types.Range:
    start, end = underlined(text, column) if text else (0, 0)
    number = max(0, line - 1)
    return types.Range(types.Position(number, start), types.Position(number, end))


def _location(place: dict[str, Any]) -> types.Location:
    uri = from_fs_path(str(Path(place["file"]).absolute())) or ""
    return types.Location(uri, _range(place["line"], place["text"], place["column"]))


def _allowance(entry: types.Diagnostic) -> types.TextEdit:
    """Return the edit that inserts a comment before the line of a finding."""
    start = types.Position(entry.range.start.line, 0)
    indent = " " * entry.range.start.character
    return types.TextEdit(types.Range(start, start), f"{indent}// vkgroup: allow({entry.code}): \n")

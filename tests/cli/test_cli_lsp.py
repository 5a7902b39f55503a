"""``vkgroup lsp`` with the client of pygls, as an editor uses it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

SHADER = """#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint b[]; };
#include "part.glsl"
void main() {
    b[gl_GlobalInvocationID.x / FACTOR] = gl_GlobalInvocationID.x + part();
}
"""
WRONG = "shared uint s[64];\nuint part() { return s[63u - gl_LocalInvocationIndex]; }\n"
RIGHT = "uint part() { return 1u; }\n"


class _Editor:
    """A session of an editor: `shown` has the diagnostics of each file."""

    def __init__(self) -> None:
        self.client = LanguageClient("editor", "1")
        self.shown: dict[str, list[types.Diagnostic]] = {}
        self.changed = asyncio.Event()
        receive = self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        receive(lambda parameters: self._receive(parameters))

    def _receive(self, parameters: types.PublishDiagnosticsParams) -> None:
        self.shown[parameters.uri] = list(parameters.diagnostics)
        self.changed.set()

    async def until(self, test: Callable[[dict[str, list[types.Diagnostic]]], bool]) -> None:
        """Wait until what is shown passes a test."""
        while not test(self.shown):
            await asyncio.wait_for(self.changed.wait(), 60)
            self.changed.clear()


def _session(test: Callable[[_Editor], Awaitable[None]]) -> None:
    async def run() -> None:
        editor = _Editor()
        await editor.client.start_io(sys.executable, "-m", "vkgroup", "lsp")
        await editor.client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        editor.client.initialized(types.InitializedParams())
        await test(editor)
        await editor.client.shutdown_async(None)
        editor.client.exit(None)
        await editor.client.stop()
        assert editor.client._server is not None
        assert editor.client._server.returncode == 0

    asyncio.run(run())


@pytest.mark.timeout(120)
def test_errors_of_slang_are_at_their_line(tmp_path: Path) -> None:
    shader = tmp_path / "a.slang"
    text = '[shader("compute")] [numthreads(64, 1, 1)]\nvoid main() {\n    missing = 1;\n}\n'
    shader.write_text(text)
    uri = shader.as_uri()

    async def test(editor: _Editor) -> None:
        document = types.TextDocumentItem(uri, "slang", 1, text)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        await editor.until(lambda shown: bool(shown.get(uri)))
        assert "missing" in editor.shown[uri][0].message or "undefined" in editor.shown[uri][0].message
        assert {entry.range.start.line for entry in editor.shown[uri]} <= {0, 2}
        assert 2 in {entry.range.start.line for entry in editor.shown[uri]}

    _session(test)


@pytest.mark.timeout(180)
def test_an_editor_shows_findings_and_allows_one(tmp_path: Path) -> None:
    shader, include = tmp_path / "a.comp", tmp_path / "part.glsl"
    uri, other = shader.as_uri(), include.as_uri()
    (tmp_path / "a.toml").write_text("defines.FACTOR = 1\n")
    shader.write_text(SHADER)
    include.write_text(WRONG)

    async def test(editor: _Editor) -> None:
        document = types.TextDocumentItem(uri, "glsl", 1, SHADER)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        await editor.until(lambda shown: bool(shown.get(other)) and shown.get(uri) == [])
        (diagnostic,) = editor.shown[other]
        assert (diagnostic.code, diagnostic.range.start.line, diagnostic.source) == (
            "undefined",
            0,
            "vkgroup",
        )
        assert diagnostic.severity == types.DiagnosticSeverity.Error
        assert "help: write the memory before it is read" in diagnostic.message
        lines = [each.location.range.start.line for each in diagnostic.related_information or ()]
        assert lines == [1, 6]

        actions = await editor.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(other),
                diagnostic.range,
                types.CodeActionContext([diagnostic]),
            )
        )
        assert actions is not None
        (action,) = actions
        assert isinstance(action, types.CodeAction)
        assert action.edit is not None
        assert action.edit.changes is not None
        (edit,) = action.edit.changes[other]
        assert edit.new_text == "// vkgroup: allow(undefined): \n"

        saved = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri))
        include.write_text(edit.new_text.replace(": \n", ": tried\n") + WRONG)
        editor.client.text_document_did_save(saved)
        await editor.until(lambda shown: not shown[other])

        include.write_text(RIGHT.replace("1u", "missing"))
        editor.client.text_document_did_save(saved)
        await editor.until(lambda shown: bool(shown[other]))
        assert editor.shown[other][0].code is None
        assert "missing" in editor.shown[other][0].message

        include.write_text(RIGHT)
        (tmp_path / "a.toml").write_text("defines.FACTOR = 2\n")
        editor.client.text_document_did_save(saved)
        await editor.until(lambda shown: bool(shown[uri]) and not shown[other])
        assert [entry.code for entry in editor.shown[uri]] == ["race"]

        # What cannot be checked is not shown as clean.
        shader.write_text("// vkgroup: allow(race)\n" + SHADER)
        editor.client.text_document_did_save(saved)
        await editor.until(lambda shown: [entry.code for entry in shown[uri]] == [None])
        assert editor.shown[uri][0].message == (
            "the allowance of race gives no reason. Write // vkgroup: allow(KIND): reason."
        )
        assert editor.shown[uri][0].range.start.line == 0

        closed = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        editor.client.text_document_did_close(closed)
        await editor.until(lambda shown: not shown[uri])

    _session(test)

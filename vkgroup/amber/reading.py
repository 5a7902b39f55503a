"""Reading of Amber scripts: lines, shaders and pipelines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

from vkgroup.amber.reading_buffers import read_buffer, read_image, read_sampler, text_of
from vkgroup.amber.reading_commands import pipeline_of, read_command
from vkgroup.amber.reading_pipelines import PIPELINE_STATEMENTS
from vkgroup.amber.script import PASSTHROUGH, Command, Script, ScriptPipeline, ScriptShader, Words
from vkgroup.amber.vkrunner import read_vkrunner
from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import read_text
from vkgroup.compiler.request import find_version
from vkgroup.spec.stages import STAGE_NAMES

_DIALECTS = {"GLSL": "vulkan", "HLSL": "hlsl", "SPIRV-ASM": "spirv", "SPIRV-HEX": "hex"}

_MOST_REPEATS = 1_000_000


def read_script(file: Path) -> Script:
    """Read a script of Amber, or of VkRunner, which Amber runs, too.

    Raises
    ------
    InvalidInput
        The file cannot be read, or is no script; the message begins with file and line.
    Unsupported
        It has a statement that is not supported, by its words in `missing`.
    """
    try:
        text = read_text(file)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not a text file in UTF-8: {error}.") from error
    if re.match(r"(\s*(#[^\n]*)?\n)*\[", text):
        return read_vkrunner(file, text)
    if not text.lstrip().startswith("#"):
        raise InvalidInput(f"{file}:1: an Amber script begins with the line #!amber.")
    reader = _Reader(file, text)
    while (words := reader.next()) is not None:
        reader.statement(words)
    return reader.script


class _Reader:
    """A script that is being read."""

    def __init__(self, file: Path, text: str) -> None:
        self.script = Script(file)
        self._lines, self._at = text.split("\n"), 0
        self._virtual: dict[str, str] = {}
        self._commands = self.script.commands
        self._statements: dict[str, Callable[[Words], None]] = {
            "SHADER": self._shader,
            "VIRTUAL_FILE": self._virtual_file,
            "BUFFER": self._buffer,
            "IMAGE": self._image,
            "SAMPLER": self._sampler,
            "PIPELINE": self._pipeline,
            "DERIVE_PIPELINE": self._derived,
            "DEVICE_FEATURE": self._ignored,
            "DEVICE_PROPERTY": self._ignored,
            "DEVICE_EXTENSION": self._extension,
            "INSTANCE_EXTENSION": self._ignored,
            "SET": self._ignored,
            "REPEAT": self._repeat,
        }

    def next(self) -> Words | None:
        """Return the words of the next line with any, and of the lines that continue it; None at the end."""
        while self._at < len(self._lines):
            line = self._at + 1
            words = self._words()
            while words[-1:] == ["\\"] and self._at < len(self._lines):
                words[-1:] = self._words()
            if words:
                return Words(self.script.file, line, words)
        return None

    def _words(self) -> list[str]:
        """Return the words of the next line, without its comment."""
        line = self._lines[self._at]
        self._at += 1
        return line.partition("#")[0].replace("\0", " ").split()

    def _block(self, start: Words) -> Iterator[Words]:
        """Yield the statements up to END."""
        while (words := self.next()) is not None:
            if words.take("END"):
                words.end()
                return
            yield words
        raise start.error("END is missing.")

    def _text(self, start: Words) -> str:
        """Return the lines up to END, unchanged."""
        first = self._at
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.partition("#")[0].strip() == "END":
                return "\n".join(self._lines[first : self._at - 1]) + "\n"
        raise start.error("END is missing.")

    def statement(self, words: Words) -> None:
        """Read a statement outside of pipelines."""
        word = words.word("a statement")
        if (command := read_command(self.script, word, words)) is not None:
            self._commands.append(command)
        elif word in self._statements:
            self._statements[word](words)
        else:
            raise words.unsupported(word) if word.isupper() else words.error(f"unknown statement {word!r}.")

    def _ignored(self, words: Words) -> None:
        """Leave out what the modules say themselves, which is checked for each, and limits of time."""
        words.rest()

    def _extension(self, words: Words) -> None:
        if words.word("an extension") == "VK_KHR_spirv_1_4":
            self.script.spirv = "spv1.4"

    def _virtual_file(self, words: Words) -> None:
        self._virtual[words.word("a path")] = self._text(words)

    def _shader(self, words: Words) -> None:
        kind, name = words.word("the kind of the shader"), words.word("its name")
        language = words.word("its language")
        if kind != "multi" and kind not in STAGE_NAMES:
            raise words.unsupported(f"SHADER {kind}")
        stage = "" if kind == "multi" else kind
        if language == "PASSTHROUGH":
            self.script.shaders[name] = ScriptShader(name, stage, "vulkan", PASSTHROUGH, "")
            return
        if language not in _DIALECTS:
            raise words.unsupported(f"SHADER {kind} {language}")
        target = words.word("the environment") if words.take("TARGET_ENV") else ""
        if words.take("VIRTUAL_FILE"):
            path = words.word("a path")
            if path not in self._virtual:
                raise words.error(f"there is no VIRTUAL_FILE {path!r}.")
            source = self._virtual[path]
        elif words.take("FILE"):
            source = text_of(words)
        else:
            source = below(self._at, self._text(words))
        words.end()
        self.script.shaders[name] = ScriptShader(name, stage, _DIALECTS[language], source, target)

    def _buffer(self, words: Words) -> None:
        buffer = read_buffer(words, self.next)
        if buffer.name in self.script.buffers:
            raise words.error(f"there are two buffers {buffer.name!r}.")
        self.script.buffers[buffer.name] = buffer

    def _image(self, words: Words) -> None:
        image = read_image(words, self.next)
        self.script.buffers[image.name] = image

    def _sampler(self, words: Words) -> None:
        name = words.word("a name")
        self.script.samplers[name] = read_sampler(words)

    def _pipeline(self, words: Words) -> None:
        kind, name = words.word("the kind of the pipeline"), words.word("its name")
        if kind not in ("compute", "graphics"):
            raise words.unsupported(f"PIPELINE {kind}")
        self._fill(words, ScriptPipeline(name, kind))

    def _derived(self, words: Words) -> None:
        name = words.word("a name")
        words.expect("FROM")
        pipeline = deepcopy(pipeline_of(self.script, words))
        pipeline.name = name
        self._fill(words, pipeline)

    def _fill(self, words: Words, pipeline: ScriptPipeline) -> None:
        """Read the statements of a pipeline."""
        words.end()
        if pipeline.name in self.script.pipelines:
            raise words.error(f"there are two pipelines {pipeline.name!r}.")
        self.script.pipelines[pipeline.name] = pipeline
        for statement in self._block(words):
            word = statement.word("a statement")
            if word not in PIPELINE_STATEMENTS:
                raise statement.unsupported(word)
            block = self._block(statement) if word in ("DEPTH", "SUBGROUP") else iter(())
            PIPELINE_STATEMENTS[word](self.script, pipeline, statement, block)

    def _repeat(self, words: Words) -> None:
        count = words.integer("a number")
        if not 0 <= count <= _MOST_REPEATS:
            raise words.error(f"a number from 0 to {_MOST_REPEATS} is expected.")
        words.end()
        outer, self._commands = self._commands, []
        for statement in self._block(words):
            self.statement(statement)
        inner, self._commands = self._commands, outer
        self._commands.append(Command(words.line, "REPEAT", {"count": count, "commands": inner}))


def below(lines: int, source: str) -> str:
    """Return a source below empty lines; in GLSL they follow ``#version``, which must come first."""
    version = find_version(source)
    end = version.end() if version else 0
    return source[:end] + "\n" * lines + source[end:]

"""Reading of Amber scripts: lines, shaders, and pipelines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

from vkgroup.amber.reading_buffers import file_of, read_buffer, read_image, read_sampler, text_of
from vkgroup.amber.reading_commands import COMMANDS
from vkgroup.amber.reading_pipelines import PipelineReader
from vkgroup.amber.script import PASSTHROUGH, Script, ScriptCommand, ScriptPipeline, ScriptShader, below
from vkgroup.amber.vkrunner import read_vkrunner
from vkgroup.amber.words import Words
from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import read_text
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
        text = read_text(file, "utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not a text file in UTF-8: {error}.") from error
    stripped = map(str.strip, text.split("\n"))
    if next((line for line in stripped if line and not line.startswith("#")), "").startswith("["):
        script = read_vkrunner(file, text)
    elif not text.lstrip().startswith("#"):
        raise InvalidInput(f"{file}:1: an Amber script begins with the line #!amber.")
    else:
        reader = _ScriptReader(file, text)
        while (words := reader.next()) is not None:
            reader.statement(words)
        script = reader.script
    size = re.search(r"^# Expected values are for subgroups of (\d+)\.", text, re.MULTILINE)
    script.size = int(size[1]) if size and "REQUIRED_SIZE" not in text else None
    return script


class _ScriptReader:
    """A script that is being read."""

    def __init__(self, file: Path, text: str) -> None:
        self.script = Script(file)
        self._lines, self._at = text.split("\n"), 0
        self._commands = self.script.commands
        self._statements: dict[str, Callable[[Words], None]] = {
            "SHADER": self._shader,
            "VIRTUAL_FILE": self._virtual_file,
            "BUFFER": self._buffer,
            "IMAGE": self._image,
            "SAMPLER": self._sampler,
            "PIPELINE": self._pipeline,
            "DERIVE_PIPELINE": self._derived,
            "DEVICE_FEATURE": self._left_out,
            "DEVICE_PROPERTY": self._left_out,
            "DEVICE_EXTENSION": self._extension,
            "INSTANCE_EXTENSION": self._left_out,
            "SET": self._left_out,
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
        """Yield the statements up to END, each of which its reader takes whole."""
        while (words := self.next()) is not None:
            if words.take("END"):
                words.end()
                return
            yield words
            words.end()
        raise start.error("END is missing.")

    def _text(self, start: Words) -> str:
        """Return the lines up to END, unchanged, below as many empty lines as come before in the script."""
        first = self._at
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.partition("#")[0].strip() == "END":
                return below(first, "\n".join(self._lines[first : self._at - 1]) + "\n")
        raise start.error("END is missing.")

    def statement(self, words: Words) -> None:
        """Read a statement outside of pipelines."""
        word = words.word("a statement")
        if word in COMMANDS:
            arguments = COMMANDS[word](self.script, words)
            self._commands.append(ScriptCommand(words.line, word, arguments))
        elif word in self._statements:
            self._statements[word](words)
        else:
            raise words.unsupported(word) if word.isupper() else words.error(f"unknown statement {word!r}.")
        words.end()

    def _left_out(self, words: Words) -> None:
        """Leave out what the modules say themselves, which is checked for each, and limits of time."""
        words.rest()

    def _extension(self, words: Words) -> None:
        if words.word("an extension") == "VK_KHR_spirv_1_4":
            self.script.spirv = "spv1.4"

    def _virtual_file(self, words: Words) -> None:
        name = words.path()
        if name in self.script.files:
            raise words.error(f"there are two VIRTUAL_FILEs {name!r}.")
        self.script.files[name] = self._text(words)

    def _shader(self, words: Words) -> None:
        kind, name = words.word("the kind of the shader"), words.new(self.script.shaders, "shader")
        language, file = words.word("the language"), self.script.file
        if kind != "multi" and kind not in STAGE_NAMES:
            raise words.unsupported(f"SHADER {kind}")
        stage, target = "" if kind == "multi" else kind, ""
        if language == "PASSTHROUGH":
            language, source = "GLSL", PASSTHROUGH
        elif language not in _DIALECTS:
            raise words.unsupported(f"SHADER {kind} {language}")
        else:
            target = words.word("the environment") if words.take("TARGET_ENV") else ""
            if words.take("VIRTUAL_FILE"):
                if (path := words.path()) not in self.script.files:
                    raise words.error(f"there is no VIRTUAL_FILE {path!r}.")
                source = self.script.files[path]
            elif words.take("FILE"):
                file = file_of(words)
                source = text_of(file, words)
            else:
                source = self._text(words)
        self.script.shaders[name] = ScriptShader(name, stage, _DIALECTS[language], source, file, target)

    def _buffer(self, words: Words) -> None:
        name = words.new(self.script.buffers, "buffer")
        self.script.buffers[name] = read_buffer(name, words, self.next)

    def _image(self, words: Words) -> None:
        name = words.new(self.script.buffers, "buffer")
        self.script.buffers[name] = read_image(name, words, self.next)

    def _sampler(self, words: Words) -> None:
        name = words.new(self.script.samplers, "sampler")
        self.script.samplers[name] = read_sampler(words)

    def _pipeline(self, words: Words) -> None:
        kind = words.word("the kind of the pipeline")
        if kind not in ("compute", "graphics"):
            raise words.unsupported(f"PIPELINE {kind}")
        name = words.new(self.script.pipelines, "pipeline")
        self._fill(words, ScriptPipeline(name, kind))

    def _derived(self, words: Words) -> None:
        name = words.new(self.script.pipelines, "pipeline")
        words.expect("FROM")
        pipeline = deepcopy(self.script.pipelines[words.known(self.script.pipelines, "pipeline")])
        pipeline.name = name
        self._fill(words, pipeline)

    def _fill(self, words: Words, pipeline: ScriptPipeline) -> None:
        """Read the statements of a pipeline."""
        words.end()
        self.script.pipelines[pipeline.name] = pipeline
        reader = PipelineReader(self.script, pipeline, self._block)
        for statement in self._block(words):
            reader.statement(statement)
        reader.end()

    def _repeat(self, words: Words) -> None:
        count = words.integer("a number")
        if not 0 <= count <= _MOST_REPEATS:
            raise words.error(f"a number from 0 to {_MOST_REPEATS} is expected.")
        words.end()
        outer, self._commands = self._commands, []
        for statement in self._block(words):
            self.statement(statement)
        inner, self._commands = self._commands, outer
        self._commands.append(ScriptCommand(words.line, "REPEAT", {"count": count, "commands": inner}))

"""The C program of a reproduction folder, from its record and arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.compiler import Target, compile_source
from vkgroup.conformance.arrays import Words
from vkgroup.conformance.glsl_types import planes, to_planes
from vkgroup.device import Capabilities
from vkgroup.dispatch.vertices import pass_through
from vkgroup.results.reproduction.folder import PROGRAM
from vkgroup.results.reproduction.shaders import read_module
from vkgroup.results.reproduction.standalone import literals
from vkgroup.results.reproduction.standalone.requirements import Requirements, requirements_of
from vkgroup.results.reproduction.values import Array, Json, load
from vkgroup.spec.types import TYPES, GlslType, type_named
from vkgroup.spirv import Module

_STAGES = ("compute", "fragment", "vertex")

_ARGUMENTS = {
    "dispatch": {"module", "groups", "bindings", "specialization", "subgroup_size", "push", "repeat"},
    "draw": {
        *("shader", "vertex", "size", "count", "instances", "bindings", "specialization"),
        *("subgroup_size", "topology"),
    },
}
"""Arguments of the calls that the program can repeat."""

_TOPOLOGIES = {"points": "POINT_LIST", "triangles": "TRIANGLE_LIST"}

_MOST_COMPONENTS = 32
"""Components of a value that the mask of defined ones has bits for."""


class NoProgram(Exception):
    """The reason why a folder has no C program, for its README."""


def write_program(folder: Path, record: Json, capabilities: Capabilities, cause: Json) -> None:
    """Write the C program of a case into its folder.

    `cause` has the ``sentence`` and the ``rule`` of the cause; see `vkgroup.results.causes.Cause`.

    Raises
    ------
    NoProgram
        The program cannot express the case.
    """
    text = _Writer(folder, record, capabilities, cause).text()
    (folder / PROGRAM).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class _Writer:
    """Makes the text of one program."""

    folder: Path
    record: Json
    capabilities: Capabilities
    cause: Json
    data: list[str] = field(default_factory=list)  # definitions of the large arrays
    declared: list[str] = field(default_factory=list)  # their declarations

    def text(self) -> str:
        """Return the program; raise `NoProgram` if there is none."""
        self._check()
        command = self._resource("dispatch.c" if self._step["call"] == "dispatch" else "draw.c")
        case = "\n\n".join([
            self._constants(), self._requirements(), self._types(), self._shaders(), self._bindings(),
            self._instances(),
        ])  # fmt: skip
        parts = {
            "COMMENT": self._comment(), "CASE": "\n".join(self.declared) + "\n\n" + case + "\n",
            "COMMAND": command, "TESTED": self._tested(), "COMPARE": self._comparison(),
            "PRINT": self._printing(), "SIZE_PROPERTIES": self._size_properties(),
            "SIZE_CHECK": self._size_check(),
            "MEMBER": "\n            && instance->lanes[lane].invocation == invocation" * self._is_compute,
            "DATA": "\n\n".join(self.data), "SOURCE": self._source(),
        }  # fmt: skip
        text = self._resource("template.c")
        for name, part in parts.items():
            text = text.replace(f"/*@{name}@*/", part)
        return text

    @staticmethod
    def _resource(name: str) -> str:
        return (files(__package__) / name).read_text(encoding="utf-8")

    def _check(self) -> None:
        record = self.record
        lanes = record["lanes"]
        if lanes is None:
            raise NoProgram("the case is not compared lane by lane, and its rules are in vkgroup")
        stage = lanes["layout"]["stage"]
        if stage not in _STAGES:
            raise NoProgram(f"there are programs for {', '.join(_STAGES)} shaders, and not for {stage} ones")
        if lanes["source"] is None:
            raise NoProgram("the results are not in one storage buffer with one legal value for each lane")
        if len(record["steps"]) != 1:
            raise NoProgram(f"the case has {len(record['steps'])} steps")
        unknown = set(self._arguments) - _ARGUMENTS.get(self._step["call"], set())
        if unknown:
            raise NoProgram(f"the case's {self._step['call']} has {', '.join(sorted(unknown))}")
        for module in self._modules.values():
            if any(slot.kind != "storage_buffer" or slot.set for slot in module.reflection.bindings):
                raise NoProgram("the case binds other things than storage buffers")
        if self._result.components > _MOST_COMPONENTS:
            raise NoProgram(f"values have more than {_MOST_COMPONENTS} components")

    @property
    def _step(self) -> Json:
        return self.record["steps"][0]

    @property
    def _arguments(self) -> Json:
        return self._step["arguments"]

    @property
    def _lanes(self) -> Json:
        return self.record["lanes"]

    @property
    def _layout(self) -> Json:
        return self._lanes["layout"]

    @property
    def _is_compute(self) -> bool:
        return bool(self._layout["stage"] == "compute")

    @property
    def _size(self) -> int | None:
        """The required subgroup size."""
        return self._arguments.get("subgroup_size")

    @property
    def _result(self) -> GlslType:
        return type_named(self._lanes["type"])

    @cached_property
    def _arrays(self) -> dict[str, Array]:
        return {name: load(self.folder, file) for name, file in self._lanes["files"].items()}

    @cached_property
    def _modules(self) -> dict[str, Module]:
        """The shaders by stage."""
        arguments = self._arguments
        if self._step["call"] == "dispatch":
            return {"compute": read_module(self.folder, arguments["module"]["module"])}
        fragment = read_module(self.folder, arguments["shader"]["module"])
        given = arguments.get("vertex")
        if given is not None:
            return {"vertex": read_module(self.folder, given["module"]), "fragment": fragment}
        # The vertex shader of `Device.draw`: one triangle that covers the image.
        source = pass_through(fragment.reflection.entry_point(None), {})
        assert isinstance(source, str)
        return {"vertex": compile_source(source, stage="vertex", target=Target.VULKAN_1_1), "fragment": fragment}

    # --- the parts of the text ----------------------------------------------------------------------------

    def _comment(self) -> str:
        record, rule, device = self.record, self.cause.get("rule"), self.record["device"]
        lines = [f"{record['case']}: {record['result']['status']} on {device['name']} ({device['driver']})"]
        for text in (self.cause.get("sentence"), record["sentence"]):
            lines += ["", *_wrapped(text)] if text else []
        if rule:
            lines += ["", *_wrapped(f"Violated rule ({rule['strength']}): {rule['document']}:")]
            lines += _wrapped(f'"{rule["quote"]}"')
        lines += ["", *(line for part in record["result"]["detail"].splitlines() for line in _wrapped(part))]
        lines += [
            "",
            "    cc repro.c -lvulkan && ./a.out [device: its index, or a part of its name]",
            "",
            "Exit code 0: the device is right, 1: it is wrong (the first wrong lanes are printed),",
            "3: it cannot run this: no such device, a missing feature, or other subgroups.",
            "",
            f"Written by vkgroup {record['vkgroup']}. The shaders are in shaders/ as source and assembly.",
        ]
        return literals.comment(lines)

    def _constants(self) -> str:
        layout, arrays = self._layout, self._arrays
        rows, size = arrays["active"].shape
        values: dict[str, Any] = {
            "SUBGROUP_SIZE": (size, "the subgroup size of the device for which the file was made"),
            "INVOCATIONS": (layout["invocations"], "words of a plane of the outputs"),
            "RECORD_PLANES": (
                layout["record_planes"],
                "lane, subgroup, subgroup size, …; then 5 for each slot",
            ),
            "NUMBER_PLANE": (3 if layout["stage"] == "vertex" else 1, "plane with the subgroup's number"),
            "SLOTS": (layout["slots"], "places of the operation in the shader"),
            "RESULTS": (layout["result_at"], "first word of the results in the outputs"),
            "RESULT_WORDS": (planes(self._result), "words of one result"),
            "INSTANCES": (rows, "executions of the operation by a subgroup"),
            "RECORDED": (int(arrays["recorded"].sum()), "invocations that left a result"),
        } | self._command_constants()
        lines = [f"    {name} = {value}, /* {text} */" for name, (value, text) in values.items()]
        return "\n".join(["enum {", *lines, "};"])

    def _command_constants(self) -> dict[str, tuple[Any, str]]:
        arguments = self._arguments
        if self._step["call"] == "dispatch":
            groups = arguments["groups"]
            numbers = groups["tuple"] if isinstance(groups, dict) else [groups]
            numbers = [*numbers, 1, 1][:3]
            return {f"GROUPS_{axis}": (number, "workgroups") for axis, number in zip("XYZ", numbers, strict=True)}
        width, height = arguments["size"]["tuple"]
        return {
            "WIDTH": (width, "pixels"),
            "HEIGHT": (height, "pixels"),
            "VERTICES": (arguments.get("count", 3), "vertices of an instance"),
            "DRAW_INSTANCES": (arguments.get("instances", 1), "instances"),
        }

    def _requirements(self) -> str:
        try:
            needs: Requirements = requirements_of(list(self._modules.values()), self.capabilities, self._size)
        except KeyError as error:
            raise NoProgram(f"the requirement {error} has no known feature") from error
        queue = "VK_QUEUE_COMPUTE_BIT" if self._is_compute else "VK_QUEUE_GRAPHICS_BIT"
        newest = max([needs.version, (1, 1), *filter(None, needs.extensions.values())])
        extensions = [
            f'    {{"{name}", {"0" if core is None else literals.version(core)}}},'
            for name, core in sorted(needs.extensions.items())
        ]
        return "\n".join([
            f"#define INSTANCE_VERSION {literals.version(newest)}",
            f"#define DEVICE_VERSION {literals.version(needs.version)}",
            f"#define REQUIRED_STAGES 0x{needs.stages:x}u /* VkShaderStageFlags with subgroup operations */",
            f"#define REQUIRED_OPERATIONS 0x{needs.operations:x}u /* VkSubgroupFeatureFlags */",
            f"#define REQUIRED_QUEUE {queue}",
            *self._draw_macros(),
            "",
            "/* Required extensions, and the version of Vulkan that contains each; 0 if none does. */",
            "struct extension { const char *name; uint32_t core; };",
            "static const struct extension required_extensions[] = {",
            *extensions,
            "    {NULL, 0},",
            "};",
            f"enum {{ MOST_EXTENSIONS = {len(extensions) + 1} }};",
            "",
            literals.features(needs),
        ])  # fmt: skip

    def _draw_macros(self) -> list[str]:
        if self._is_compute:
            return []
        topology = _TOPOLOGIES[self._arguments.get("topology", "triangles")]
        return [
            f"#define TOPOLOGY VK_PRIMITIVE_TOPOLOGY_{topology}",
            f"#define TESTED_STAGE VK_SHADER_STAGE_{self._layout['stage'].upper()}_BIT",
        ]

    def _types(self) -> str:
        lines = [
            "/* A GLSL type: 'f'loat, 'i'nt, 'u'int or 'b'ool; a Boolean is stored in 8 bits. */",
            "struct type { char kind; int bits, components; };",
            f"static const struct type result_type = {_type(self._result)};",
        ]
        if "input" in self._arrays:
            lines.append(f"static const struct type input_type = {_type(self._input)};")
        if "operand" in self._arrays and not self._operand_is_mask:
            lines.append("static const struct type operand_type = {'u', 32, 1};")
        return "\n".join(lines)

    @property
    def _input(self) -> GlslType:
        return type_named(self._layout["input_type"])

    @property
    def _operand_is_mask(self) -> bool:
        return self._arrays["operand"].ndim == 3

    def _array(self, name: str, words: Words, about: str) -> None:
        """Add a large array."""
        self.declared.append(f"static const uint32_t {name}[{len(words)}]; /* {about} */")
        self.data.append(f"static const uint32_t {name}[{len(words)}] = {{\n{literals.lines_of(words)}}};")

    def _shaders(self) -> str:
        for stage, module in self._modules.items():
            words = np.frombuffer(module.to_bytes(), np.uint32)
            self._array(f"{stage}_code", words, f"SPIR-V of the {stage} shader")
        constants = self._specialization
        if not constants:
            return "/* There are no specialization constants. */"
        entries = [f"    {{{number}, {4 * at}, 4}}," for at, (number, _) in enumerate(constants)]
        return "\n".join([
            f"static const uint32_t specialized[] = {literals.braces(value for _, value in constants)};",
            "static const VkSpecializationMapEntry specialization_entries[] = {",
            *entries,
            "};",
            "static const VkSpecializationInfo specialization = {",
            f"    {len(constants)}, specialization_entries, sizeof specialized, specialized}};",
        ])  # fmt: skip

    @property
    def _specialization(self) -> list[tuple[int, int]]:
        pairs = self._arguments.get("specialization", {"mapping": []})["mapping"]
        return [(int(number), int(value)) for number, value in pairs]

    def _bindings(self) -> str:
        lines = []
        outputs = self._step["outputs"][self._lanes["source"]["output"]]
        at = None
        for key, value in self._arguments["bindings"]["mapping"]:
            number = key["tuple"][1] if isinstance(key, dict) else int(key)
            words = np.ascontiguousarray(load(self.folder, value.get("file") or value["array"]))
            words = words.reshape(-1).view(np.uint32)
            content = literals.content_of(words)
            name = f"binding_{number}"
            about = "runs of equal words: length, word" if content.runs else "initial content"
            self.declared.append(f"static const uint32_t {name}[{content.elements}]; /* {about} */")
            self.data.append(f"static const uint32_t {name}[{content.elements}] = {{\n{content.text}}};")
            if value.get("buffer") == outputs.get("memory"):
                at = len(lines)
            lines.append(f"    {{{number}, {len(words)}, {name}, {content.runs}}},")
        if at is None:
            raise NoProgram("the buffer of the results is not bound")
        return "\n".join([
            "/* A storage buffer; its initial content is all words, or runs of equal ones. */",
            "struct binding { uint32_t number, words; const uint32_t *initial; uint32_t runs; };",
            f"enum {{ BINDINGS = {len(lines)}, OUTPUTS = {at} /* index of the outputs */ }};",
            "static const struct binding bindings[BINDINGS] = {",
            *lines,
            "};",
        ])  # fmt: skip

    def _source(self) -> str:
        """Return the source of the shader with the operation as a comment."""
        stage = self._layout["stage"]
        entry = next(entry for entry in self.record["shaders"] if entry["stage"] == stage)
        if "source" not in entry:
            return ""
        source = (self.folder / entry["source"]).read_text(encoding="utf-8")
        return literals.comment([f"The {stage} shader as source:", "", *source.splitlines()])

    # --- the expected values ------------------------------------------------------------------------------

    @property
    def _has_range(self) -> bool:
        return "greatest" in self._arrays

    def _fields(self) -> dict[str, tuple[Array, str]]:
        """Return the values of each lane, (rows, size, values), by the name of their member, with comments.

        Bounds are doubles, because they need not be values of the result's type; the others are words.
        """
        arrays = self._arrays
        found: dict[str, tuple[Array, str]] = {}
        if "input" in arrays:
            found["input"] = _encoded(arrays["input"], self._input), "the value of the lane"
        if "operand" in arrays:
            operand = arrays["operand"]
            words = operand if operand.ndim == 3 else operand[..., None]
            found["operand"] = words.astype(np.uint32), "the further operand"
        if self._has_range:
            found["least"] = arrays["least"].astype(np.float64), "the least legal result"
            found["greatest"] = arrays["greatest"].astype(np.float64), "the greatest legal result"
        else:
            found["expected"] = _encoded(arrays["least"], self._result), "the required result"
        return found

    def _instances(self) -> str:
        arrays, fields = self._arrays, self._fields()
        rows, size = arrays["active"].shape
        defined = (arrays["defined"].astype(np.uint64) << np.arange(self._result.components, dtype=np.uint64)).sum(
            axis=-1
        )
        members = [
            f"    {'double' if words.dtype.kind == 'f' else 'uint32_t'} {name}[{words.shape[-1]}]; /* {text} */"
            for name, (words, text) in fields.items()
        ]
        text = []
        for row in range(rows):
            lanes = []
            for lane in range(size):
                recorded = int(arrays["recorded"][row, lane])
                parts = [str(recorded), str(int(arrays["invocation"][row, lane])), f"0x{int(defined[row, lane]):x}"]
                parts += [literals.braces(words[row, lane].tolist()) for words, _ in fields.values()]
                lanes.append(f"        {{{', '.join(parts)}}},")
            mask = literals.braces(arrays["mask"][row].tolist())
            where = literals.string(self._layout["where"][row])
            head = f"{int(arrays['subgroup'][row, 0])}, {int(arrays['number'][row])}, {mask}, {where}"
            text.append("\n".join([f"    {{{head}, {{", *lanes, "    }},"]))
        self.data.append("\n".join([f"static const struct instance instances[{rows}] = {{", *text, "};"]))
        return "\n".join([
            "/* What a lane fed into the operation, and what is required of it. */",
            "struct lane {",
            "    bool recorded; /* whether it left a result, and as which invocation */",
            "    uint32_t invocation;",
            "    uint32_t defined; /* components that the specification defines, component 0 in bit 0 */",
            *members,
            "};",
            "",
            "/* One execution of the operation by a subgroup: the place in the shader, the number of the",
            " * subgroup, the active mask, and the lanes. */",
            "struct instance { uint32_t slot, number, mask[4]; const char *where; struct lane lanes[SUBGROUP_SIZE]; };",
            f"static const struct instance instances[{rows}];",
        ])  # fmt: skip

    def _comparison(self) -> str:
        if self._has_range:
            return (
                "        double number = number_of(result_type, got, i);\n"
                "        if (!(number >= lane->least[i] && number <= lane->greatest[i]))\n"
                "            return false;\n"
            )
        if self._lanes["bits"] or self._result.scalar.kind != "float":
            return (
                "        if (bits_of(result_type, got, i) != bits_of(result_type, lane->expected, i))\n"
                "            return false;\n"
            )
        return (
            "        /* Compared as numbers: -0 equals 0, and any NaN equals any other. */\n"
            "        double number = number_of(result_type, got, i);\n"
            "        double expected = number_of(result_type, lane->expected, i);\n"
            "        if (number != expected && (number == number || expected == expected))\n"
            "            return false;\n"
        )

    def _printing(self) -> str:
        lines = []
        if "input" in self._arrays:
            lines += ['    printf(" input ");', "    print_value(input_type, lane->input);"]
        if "operand" in self._arrays:
            lines.append('    printf(" operand ");')
            lines.append(
                "    print_mask(lane->operand);"
                if self._operand_is_mask
                else "    print_value(operand_type, lane->operand);"
            )
        lines.append('    printf(" expected ");')
        if self._has_range:
            lines += [
                "    for (int i = 0; i < result_type.components; ++i)",
                '        printf("%s%.9g ... %.9g", i ? ", " : "", lane->least[i], lane->greatest[i]);',
            ]
        else:
            lines.append("    print_value(result_type, lane->expected);")
        return "".join(f"{line}\n" for line in lines)

    # --- the subgroup size --------------------------------------------------------------------------------

    def _size_properties(self) -> str:
        if self._size is None:
            return ""
        return (
            "    VkPhysicalDeviceSubgroupSizeControlProperties sizes = {\n"
            "        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};\n"
            "    subgroup.pNext = &sizes;\n"
        )

    def _size_check(self) -> str:
        if self._size is None:
            return (
                "    if (subgroup.subgroupSize != SUBGROUP_SIZE)\n"
                '        leave(CANNOT_RUN, "the subgroup size differs from that of this file",\n'
                '              "vkgroup run FOLDER makes the shader for other sizes");\n'
            )
        return (
            "    if (SUBGROUP_SIZE < sizes.minSubgroupSize || SUBGROUP_SIZE > sizes.maxSubgroupSize\n"
            f"        || !(sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_{self._layout['stage'].upper()}_BIT))\n"
            '        leave(CANNOT_RUN, "the device cannot require this subgroup size", "");\n'
        )

    def _tested(self) -> str:
        lines = []
        if self._specialization:
            lines += ["    if (tested)", "        result.pSpecializationInfo = &specialization;"]
        if self._size is not None:
            lines += [
                "    static const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required = {",
                "        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,",
                "        .requiredSubgroupSize = SUBGROUP_SIZE};",
                "    if (tested)",
                "        result.pNext = &required;",
            ]
        return "".join(f"{line}\n" for line in lines or ["    (void)tested;"])


def _type(type_: GlslType) -> str:
    scalar = type_.scalar
    bits = 8 if scalar == TYPES["bool"].scalar else scalar.bits
    return f"{{'{scalar.kind[0]}', {bits}, {type_.components}}}"


def _encoded(values: Array, type_: GlslType) -> Words:
    """Return the words of values: (rows, size, components) → (rows, size, words)."""
    rows, size = values.shape[:2]
    return to_planes(values.reshape(rows * size, -1), type_).T.reshape(rows, size, -1)


def _wrapped(text: str) -> list[str]:
    """Return text as lines of at most 105 letters."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) >= 105:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
    return [*lines, line]

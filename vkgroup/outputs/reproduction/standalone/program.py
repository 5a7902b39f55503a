"""The C program of a reproduction folder, from its record and arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.base.files import writing
from vkgroup.conformance.arrays import Words
from vkgroup.device import Capabilities
from vkgroup.outputs.reproduction.folder import PROGRAM
from vkgroup.outputs.reproduction.shaders import read_source
from vkgroup.outputs.reproduction.standalone import expected, literals
from vkgroup.outputs.reproduction.standalone.recorded import NoProgram, RecordedCase
from vkgroup.outputs.reproduction.standalone.requirements import requirements_of
from vkgroup.outputs.reproduction.values import Json, load
from vkgroup.programs.glsl_types import planes

_TOPOLOGIES = {"points": "POINT_LIST", "triangles": "TRIANGLE_LIST"}


_SAME_INVOCATION = "\n            && instance->lanes[lane].invocation == invocation"
"""Condition of an instance in workgroups, where the place of an invocation chooses its data."""


def write_program(folder: Path, record: Json, capabilities: Capabilities, cause: Json) -> None:
    """Write the C program of a case into its folder.

    `cause` has the ``sentence`` and the ``rule`` of the cause; see `vkgroup.record.causes.Cause`.

    Raises
    ------
    NoProgram
        The program cannot express the case.
    """
    case = RecordedCase(folder, record)
    case.check()
    text = _Writer(case, capabilities, cause).text()
    with writing(folder / PROGRAM):
        (folder / PROGRAM).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class _Writer:
    """Makes the text of one program."""

    case: RecordedCase
    capabilities: Capabilities
    cause: Json
    data: list[str] = field(default_factory=list)  # definitions of the large arrays
    declared: list[str] = field(default_factory=list)  # their declarations

    def text(self) -> str:
        """Return the program; raise `NoProgram` if there is none."""
        command = self._resource("dispatch.c" if self.case.step["call"] == "dispatch" else "draw.c")
        case = [self._constants(), self._requirements(), self._shaders(), self._bindings()]
        comparison, checks = self._resource("compare_masks.c"), {}
        if not self.case.checks_masks:
            instances, table = expected.instances(self.case)
            case += [expected.types(self.case), instances]
            self.data.append(table)
            comparison = self._resource("compare_values.c")
            checks = {
                "COMPARE": expected.comparison(self.case),
                "PRINT": expected.printing(self.case),
                "MEMBER": self.case.is_compute * _SAME_INVOCATION,
            }
        parts = {
            "COMMENT": self._comment(), "CASE": "\n".join(self.declared) + "\n\n" + "\n\n".join(case) + "\n",
            "COMPARISON": comparison,
            "COMMAND": command, "TESTED": self._tested(), **checks,
            "SIZE_PROPERTIES": self._size_properties(), "SIZE_CHECK": self._size_check(),
            "DATA": "\n\n".join(self.data), "SOURCE": self._source(),
        }  # fmt: skip
        text = self._resource("template.c")
        for name, part in parts.items():
            text = text.replace(f"/*@{name}@*/", part)
        return text

    @staticmethod
    def _resource(name: str) -> str:
        return (files(__package__) / name).read_text(encoding="utf-8")

    # --- the parts of the text ----------------------------------------------------------------------------

    def _comment(self) -> str:
        record, rule, device = self.case.record, self.cause.get("rule"), self.case.record["device"]
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
        layout, size = self.case.layout, self.case.record["device"]["subgroup_size"]
        values: dict[str, Any] = {
            "SUBGROUP_SIZE": (self.case.size or size, "the subgroup size for which the file was made"),
            "INVOCATIONS": (layout["invocations"], "words of a plane of the outputs"),
            "RECORD_PLANES": (
                layout["record_planes"],
                "lane, subgroup, subgroup size, …; then 5 for each slot",
            ),
            "SLOTS": (layout["slots"], "places of the operation in the shader"),
            **(self._mask_constants() if self.case.checks_masks else self._value_constants()),
            **self._command_constants(),
        }
        lines = [f"    {name} = {value}, /* {text} */" for name, (value, text) in values.items()]
        return "\n".join(["enum {", *lines, "};"])

    def _mask_constants(self) -> dict[str, tuple[Any, str]]:
        layout = self.case.layout
        return {
            "GROUP": (layout["group"], "invocations of a workgroup; outside of compute, all"),
            "DEMOTES": (int(layout["demotes"]), "whether invocations become helper invocations"),
            "HELPERS": (
                int(layout["stage"] == "fragment"),
                "whether planes 3 to 6 name the helper invocations",
            ),
        }

    def _value_constants(self) -> dict[str, tuple[Any, str]]:
        layout, recorded = self.case.layout, self.case.arrays["recorded"]
        return {
            "NUMBER_PLANE": (3 if layout["stage"] == "vertex" else 1, "plane with the subgroup's number"),
            "RESULTS": (layout["result_at"], "first word of the results in the outputs"),
            "RESULT_WORDS": (planes(self.case.result), "words of one result"),
            "INSTANCES": (len(recorded), "executions of the operation by a subgroup"),
            "RECORDED": (int(recorded.sum()), "invocations that left a result"),
        }

    def _command_constants(self) -> dict[str, tuple[Any, str]]:
        arguments = self.case.arguments
        if self.case.step["call"] == "dispatch":
            groups = arguments["groups"]
            numbers = groups["tuple"] if isinstance(groups, dict) else [groups]
            numbers = [*numbers, 1, 1][:3]
            return {
                f"GROUPS_{axis}": (number, "workgroups") for axis, number in zip("XYZ", numbers, strict=True)
            }
        width, height = arguments["size"]["tuple"]
        return {
            "WIDTH": (width, "pixels"),
            "HEIGHT": (height, "pixels"),
            "VERTICES": (arguments.get("count", 3), "vertices of an instance"),
            "DRAW_INSTANCES": (arguments.get("instances", 1), "instances"),
        }

    def _requirements(self) -> str:
        try:
            modules = list(self.case.modules.values())
            needs = requirements_of(modules, self.capabilities, self.case.size)
        except KeyError as error:
            raise NoProgram(f"the requirement {error} has no known feature") from error
        queue = "VK_QUEUE_COMPUTE_BIT" if self.case.is_compute else "VK_QUEUE_GRAPHICS_BIT"
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
        if self.case.is_compute:
            return []
        topology = _TOPOLOGIES[self.case.arguments.get("topology", "triangles")]
        return [
            f"#define TOPOLOGY VK_PRIMITIVE_TOPOLOGY_{topology}",
            f"#define TESTED_STAGE VK_SHADER_STAGE_{self.case.layout['stage'].upper()}_BIT",
        ]

    def _array(self, name: str, words: Words, about: str) -> None:
        """Add a large array."""
        self.declared.append(f"static const uint32_t {name}[{len(words)}]; /* {about} */")
        self.data.append(f"static const uint32_t {name}[{len(words)}] = {{\n{literals.lines_of(words)}}};")

    def _shaders(self) -> str:
        for stage, module in self.case.modules.items():
            words = np.frombuffer(module.to_bytes(), np.uint32)
            self._array(f"{stage}_code", words, f"SPIR-V of the {stage} shader")
        constants = self.case.specialization
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

    def _bindings(self) -> str:
        lines: list[str] = []
        outputs = self.case.step["outputs"][self.case.lanes["source"]["output"]]
        at = None
        for key, value in self.case.arguments["bindings"]["mapping"]:
            number = key["tuple"][1] if isinstance(key, dict) else int(key)
            words = np.ascontiguousarray(load(self.case.folder, value.get("file") or value["array"]))
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
        stage = self.case.layout["stage"]
        entry = next(entry for entry in self.case.record["shaders"] if entry["stage"] == stage)
        if "source" not in entry:
            return ""
        source = read_source(self.case.folder, entry["source"])
        return literals.comment([f"The {stage} shader as source:", "", *source.splitlines()])

    # --- the subgroup size --------------------------------------------------------------------------------

    def _size_properties(self) -> str:
        if self.case.size is None:
            return ""
        return (
            "    VkPhysicalDeviceSubgroupSizeControlProperties sizes = {\n"
            "        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};\n"
            "    subgroup.pNext = &sizes;\n"
        )

    def _size_check(self) -> str:
        if self.case.size is None:
            return (
                "    if (subgroup.subgroupSize != SUBGROUP_SIZE)\n"
                '        leave(CANNOT_RUN, "the subgroup size differs from that of this file",\n'
                '              "vkgroup run FOLDER makes the shader for other sizes");\n'
            )
        bit = f"VK_SHADER_STAGE_{self.case.layout['stage'].upper()}_BIT"
        return (
            "    if (SUBGROUP_SIZE < sizes.minSubgroupSize || SUBGROUP_SIZE > sizes.maxSubgroupSize\n"
            f"        || !(sizes.requiredSubgroupSizeStages & {bit}))\n"
            '        leave(CANNOT_RUN, "the device cannot require this subgroup size", "");\n'
        )

    def _tested(self) -> str:
        lines = []
        if self.case.specialization:
            lines += ["    if (tested)", "        result.pSpecializationInfo = &specialization;"]
        if self.case.size is not None:
            lines += [
                "    static const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required = {",
                "        .sType =",
                "            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,",
                "        .requiredSubgroupSize = SUBGROUP_SIZE};",
                "    if (tested)",
                "        result.pNext = &required;",
            ]
        return "".join(f"{line}\n" for line in lines or ["    (void)tested;"])


def _wrapped(text: str) -> list[str]:
    """Return text as lines of at most 105 letters."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) >= 105:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
    return [*lines, line]

"""Mutation operators: each replaces the instruction under test by one kind of error."""

from __future__ import annotations

from collections.abc import Callable

from mutants import barriers
from mutants.site import INPUT, LANE, Site
from vkgroup.spirv.grammar import grammar

Plant = Callable[[Site, str], None]
"""Writes the code of a choice into `Site.code`, or rewrites `Site.instructions`."""

GROUP_CAPABILITIES = {
    "Reduce": "GroupNonUniformArithmetic",
    "InclusiveScan": "GroupNonUniformArithmetic",
    "ExclusiveScan": "GroupNonUniformArithmetic",
    "ClusteredReduce": "GroupNonUniformClustered",
}
"""Group operation → capability that it needs, partitioned ones excepted: their modules have it already."""


def _opcode(site: Site, choice: str) -> None:
    """Another instruction of the same shape."""
    code = grammar().opcodes[choice]
    spec = grammar().instruction(code)
    assert spec is not None
    site.require(*spec.capabilities)
    site.finish_with({0: site.words[0] & 0xFFFF0000 | code})


def _group(site: Site, choice: str) -> None:
    """Another group operation: a reduction for a scan, the whole subgroup for clusters or a partition."""
    name, _, cluster = choice.partition(":")
    at = site.place("Operation")
    operands = [grammar().number("GroupOperation", name), site.value]
    if name.startswith("Partitioned"):
        operands.append(site.words[at + 2])
    elif cluster:
        operands.append(site.uint(int(cluster)))
    if name in GROUP_CAPABILITIES and site.case.category != "ballot":
        site.require(GROUP_CAPABILITIES[name])
    words = [*site.words[1:at], *operands]
    site.code.append(site.editor.instruction(grammar().name(site.words[0] & 0xFFFF), *words))


def _cluster(site: Site, choice: str) -> None:
    """Clusters of another size."""
    site.finish_with({site.place("ClusterSize"): site.uint(int(choice))})


def _operand(site: Site, choice: str) -> None:
    """An id, mask, distance or index off by one, wrapping around in the subgroup or quad."""
    at, limit = site.value_at + 1, 4 if "Quad" in site.case.operation else site.size
    name, words = site.editor.definition(site.words[at])
    if name == "OpConstant":
        value = words[3] + (1 if choice == "next" else -1)
        made = site.editor.constant(words[1], value % limit)
    else:
        type_ = site.editor.integer()
        step = site.emit("OpIAdd" if choice == "next" else "OpISub", type_, site.words[at], site.uint(1))
        made = site.emit("OpBitwiseAnd", type_, step, site.uint(limit - 1))
    site.finish_with({at: made})


def _direction(site: Site, choice: str) -> None:
    """Another direction of a swap in quads."""
    site.finish_with({site.place("Direction"): site.uint(int(choice))})


def _partition(site: Site, choice: str) -> None:
    """Another partition: all lanes together, or each lane alone."""
    at = site.value_at + 1
    type_ = site.editor.vector(site.editor.integer(), 4)
    if choice == "ones":
        site.finish_with({at: site.number(type_, 0xFFFFFFFF)})
    else:
        site.finish_with({at: site.emit("OpLoad", type_, _variable(site, "SubgroupEqMask", type_))})


def _own(site: Site, choice: str) -> None:
    """The lane's own value."""
    site.finish("OpCopyObject", site.value)


def _constant(site: Site, choice: str) -> None:
    """A constant."""
    if choice == "true":
        site.finish("OpCopyObject", site.editor.true())
    elif choice == "ones":
        site.finish("OpCopyObject", site.number(site.type, 0xFFFFFFFF))
    else:
        site.finish("OpCopyObject", site.editor.null(site.type))


def _chosen(site: Site, choice: str) -> int:
    """Return the first, the middle or the last of the compared lanes."""
    return site.lanes[{"first": 0, "middle": len(site.lanes) // 2, "last": -1}[choice]]


def _lane(site: Site, choice: str) -> None:
    """The right result in all lanes but one."""
    right = site.original()
    site.editor.type_of[right] = site.type
    wrong = site.changed(right, flip=True)
    site.finish("OpSelect", site.is_lane(_chosen(site, choice)), wrong, right)


def _component(site: Site, choice: str) -> None:
    """The components in another order: rotated by one, or the last one replaced by the first."""
    right, count = site.original(), site.scalar(site.type)[1]
    order = [*range(1, count), 0] if choice == "turned" else [*range(count - 1), 0]
    site.finish("OpVectorShuffle", right, right, *order)


def _value(site: Site, choice: str) -> None:
    """Another value as operand, in all lanes or in one."""
    arithmetic = any(word in site.case.operation for word in ("Add", "Mul", "Min", "Max", "Xor"))
    made = site.changed(site.value, flip=not arithmetic)
    if choice != "all":
        condition = site.is_lane(_chosen(site, choice))
        made = site.emit("OpSelect", site.editor.type_of[made], condition, made, site.value)
    site.finish_with({site.value_at: made})


def _uniform(site: Site, choice: str) -> None:
    """The result of the first active lane in all of them."""
    right = site.original()
    site.require("GroupNonUniformBallot")
    site.finish("OpGroupNonUniformBroadcastFirst", site.uint(3), right)


def _mask(site: Site, choice: str) -> None:
    """A smaller active mask: odd lanes execute the operation again among themselves and use that result."""
    editor = site.editor
    all_lanes, uint, boolean = site.original(), editor.integer(), editor.declare("OpTypeBool")
    variable = site.built_in(LANE)
    assert variable is not None
    bit = site.emit("OpBitwiseAnd", uint, site.emit("OpLoad", uint, variable), site.uint(1))
    odd = site.emit("OpIEqual", boolean, bit, site.uint(1))
    before = next(
        site.instructions[place][1] for place in range(site.at, 0, -1) if site.names[place] == "OpLabel"
    )
    branch, merge = editor.fresh(), editor.fresh()
    site.code += [
        editor.instruction("OpSelectionMerge", merge, 0),
        editor.instruction("OpBranchConditional", odd, branch, merge),
        editor.instruction("OpLabel", branch),
    ]
    apart = site.original()
    site.code += [editor.instruction("OpBranch", merge), editor.instruction("OpLabel", merge)]
    site.finish("OpPhi", all_lanes, before, apart, branch)
    for place in range(site.at + 1, site.end):
        if site.names[place] == "OpPhi":
            words = site.instructions[place]
            site.instructions[place] = [merge if word == before else word for word in words]


def _variable(site: Site, name: str, type_: int) -> int:
    """Return the variable of a built-in; declare it if the module has none."""
    known = site.built_in(name)
    if known is not None:
        return known
    made = site.editor.variable(site.editor.declare("OpTypePointer", INPUT, type_), INPUT)
    site.editor.decorate(made, grammar().number("Decoration", "BuiltIn"), grammar().number("BuiltIn", name))
    if site.case.stage == "fragment":
        site.editor.decorate(made, grammar().number("Decoration", "Flat"))
    entry = site.instructions[site.names.index("OpEntryPoint")]
    entry[:] = [entry[0] + (1 << 16), *entry[1:], made]
    return made


def _built_in(site: Site, choice: str) -> None:
    """Another built-in variable."""
    if choice.endswith("Mask"):
        site.require("GroupNonUniformBallot")
    site.finish("OpLoad", _variable(site, choice, site.type))


OPERATORS: dict[str, Plant] = {
    "opcode": _opcode,
    "group": _group,
    "cluster": _cluster,
    "operand": _operand,
    "direction": _direction,
    "partition": _partition,
    "own": _own,
    "constant": _constant,
    "lane": _lane,
    "component": _component,
    "value": _value,
    "uniform": _uniform,
    "mask": _mask,
    "built_in": _built_in,
    "late": barriers.late,
    "early": barriers.early,
    "dropped": barriers.dropped,
}
"""All operators by name; `mutants.choices` lists their choices for a case."""

"""Mutations of modules at the level of instructions; most results are valid, and a validator decides.

A mutation is a function of a `Mutant` and a random generator. It changes the mutant's instructions and
returns whether it found something to change. `MUTATIONS` has all of them by name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import pairwise

from execution_mutant import Mutant, name_of, operands, other_value
from execution_operands import CLASSES, CLASSES_EXTENDED, GROUP_OPERATIONS

from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Words

Mutation = Callable[["Mutant", random.Random], bool]


# --- instructions ---------------------------------------------------------------------------------------


def opcode(mutant: Mutant, rng: random.Random) -> bool:
    """Replace an instruction by another one of the same signature."""
    indices = mutant.body(*CLASSES)
    if not indices:
        return False
    words = mutant.lines[rng.choice(indices)]
    old = name_of(words)
    new = rng.choice([name for name in CLASSES[old] if name != old])
    words[0] = words[0] & ~0xFFFF | grammar().opcodes[new]
    return True


def group_operation(mutant: Mutant, rng: random.Random) -> bool:
    """Change a reduction into a scan, or a scan into another one or a reduction."""
    indices = [
        index
        for index in mutant.body()
        if (spec := grammar().instruction(mutant.lines[index][0] & 0xFFFF)) is not None
        and spec.operand_index("Operation") is not None
        and spec.name.startswith("OpGroupNonUniform")
    ]
    if not indices:
        return False
    words = mutant.lines[rng.choice(indices)]
    # Type, result, scope, operation; a cluster size belongs to ClusteredReduce only.
    if len(words) > 6:
        del words[6:]
        words[0] = len(words) << 16 | words[0] & 0xFFFF
    words[4] = rng.choice([number for number in GROUP_OPERATIONS if number != words[4]])
    return True


def extended_instruction(mutant: Mutant, rng: random.Random) -> bool:
    """Replace an instruction of GLSL.std.450 by another one of the same signature."""
    indices = [i for i in mutant.body("OpExtInst") if str(mutant.lines[i][4]) in CLASSES_EXTENDED]
    if not indices:
        return False
    words = mutant.lines[rng.choice(indices)]
    words[4] = int(rng.choice([n for n in CLASSES_EXTENDED[str(words[4])] if int(n) != words[4]]))
    return True


def operand(mutant: Mutant, rng: random.Random) -> bool:
    """Replace an operand by another value of its type that was computed before, or by a constant."""
    sites = [(i, p) for i in mutant.body() for p in operands(mutant.lines[i])]
    types = mutant.editor.type_of
    rng.shuffle(sites)
    for index, position in sites[:20]:
        words = mutant.lines[index]
        type_ = types.get(words[position])
        if type_ is None:
            continue
        start = max(mutant.first, index - 200)
        earlier = {
            line[2]
            for line in (*mutant.lines[: mutant.first], *mutant.lines[start:index])
            if len(line) > 2 and types.get(line[2]) == type_ and line[1] == type_
        } - {words[position]}
        if earlier:
            words[position] = rng.choice(sorted(earlier))
            return True
    return False


def swapped_operands(mutant: Mutant, rng: random.Random) -> bool:
    """Exchange two operands of one type."""
    types = mutant.editor.type_of
    pairs = [
        (index, a, b)
        for index in mutant.body()
        for places in [list(operands(mutant.lines[index]))]
        for a, b in pairwise(places)
        if (line := mutant.lines[index])[a] != line[b] and types.get(line[a], 0) == types.get(line[b], 1)
    ]
    if not pairs:
        return False
    index, a, b = rng.choice(pairs)
    words = mutant.lines[index]
    words[a], words[b] = words[b], words[a]
    return True


def removed(mutant: Mutant, rng: random.Random) -> bool:
    """Remove a store, a barrier or an atomic without use; or replace a value by one of its operands."""
    types = mutant.editor.type_of
    effects = mutant.body("OpStore", "OpControlBarrier", "OpMemoryBarrier", "OpImageWrite", "OpAtomicStore")
    values = [
        (index, position)
        for index in mutant.body()
        if len(mutant.lines[index]) > 3 and types.get(mutant.lines[index][2]) == mutant.lines[index][1]
        for position in operands(mutant.lines[index])
        if types.get(mutant.lines[index][position]) == mutant.lines[index][1]
    ]
    if effects and (not values or rng.random() < 0.4):
        del mutant.lines[rng.choice(effects)]
        return True
    if not values:
        return False
    index, position = rng.choice(values)
    words = mutant.lines.pop(index)
    for line in mutant.lines[index:]:
        for place in _places_of(line, words[2]):
            line[place] = words[position]
    return True


def _places_of(words: Words, identifier: int) -> list[int]:
    places = list(operands(words))
    if name_of(words) == "OpPhi":
        places = list(range(3, len(words), 2))
    return [place for place in places if words[place] == identifier]


def repeated(mutant: Mutant, rng: random.Random) -> bool:
    """Execute a store, an atomic, a barrier or a subgroup operation twice."""
    indices = [
        index
        for index in mutant.body()
        if name_of(mutant.lines[index]).startswith(
            ("OpStore", "OpAtomic", "OpControlBarrier", "OpMemoryBarrier", "OpGroupNonUniform")
        )
    ]
    if not indices:
        return False
    index = rng.choice(indices)
    words = list(mutant.lines[index])
    spec = grammar().instruction(words[0] & 0xFFFF)
    if spec is not None and spec.has_result:
        words[2] = mutant.editor.fresh()
    mutant.lines.insert(index, words)
    return True


# --- constants and types --------------------------------------------------------------------------------


def constant(mutant: Mutant, rng: random.Random) -> bool:
    """Change a constant everywhere: another value of its type."""
    indices = [i for i in range(mutant.first) if name_of(mutant.lines[i]) == "OpConstant"]
    if not indices:
        return False
    words = mutant.lines[rng.choice(indices)]
    name, kind = mutant.kind(words[1])
    bits = kind[2]
    value = other_value(name, bits, rng, mutant.literal(words))
    if name == "OpTypeInt" and bits < 32 and kind[3] and value >> bits - 1:
        value |= 0xFFFFFFFF << bits & 0xFFFFFFFF
    words[3:] = [value >> 32 * number & 0xFFFFFFFF for number in range(-(-bits // 32))]
    return True


def constant_operand(mutant: Mutant, rng: random.Random) -> bool:
    """Replace one operand by a constant of its type."""
    types = mutant.editor.type_of
    sites = [(i, p) for i in mutant.body() for p in operands(mutant.lines[i])]
    rng.shuffle(sites)
    for index, position in sites[:20]:
        type_ = types.get(mutant.lines[index][position])
        made = None if type_ is None else mutant.constant(type_, rng)
        if made is not None:
            mutant.lines[index][position] = made
            return True
    return False


_BUILT_IN = 11
"""Number of the decoration BuiltIn."""

_UNSIGNED_RESULTS = {"OpUDiv": "OpSDiv", "OpUMod": "OpSMod"}
"""Instructions with unsigned results only, each with the one that has any."""


def scalar_type(mutant: Mutant, rng: random.Random) -> bool:
    """Change the signedness of an integer type in the whole module, of both where both are declared.

    The constant WorkgroupSize loses its decoration in most modules: Mesa refuses one of signed integers.
    """
    types = [
        words for words in mutant.lines[: mutant.first] if name_of(words) == "OpTypeInt" and words[2] == 32
    ]
    for words in types:
        words[3] ^= 1
    codes = grammar().opcodes
    for index in mutant.body(*_UNSIGNED_RESULTS):
        words = mutant.lines[index]
        words[0] = words[0] & ~0xFFFF | codes[_UNSIGNED_RESULTS[name_of(words)]]
    if types and rng.random() < 0.95:
        size = grammar().number("BuiltIn", "WorkgroupSize")
        kept = [w for w in mutant.lines if name_of(w) != "OpDecorate" or w[2:] != [_BUILT_IN, size]]
        mutant.first -= len(mutant.lines) - len(kept)
        mutant.lines = kept
    return bool(types)


def result_type(mutant: Mutant, rng: random.Random) -> bool:
    """Give one instruction a result of the same shape, of integers of the other signedness."""
    other: dict[int, int] = {}
    integers = {tuple(w[2:4]): w[1] for w in mutant.lines[: mutant.first] if name_of(w) == "OpTypeInt"}
    vectors = {tuple(w[2:4]): w[1] for w in mutant.lines[: mutant.first] if name_of(w) == "OpTypeVector"}
    for (bits, signed), identifier in integers.items():
        if (bits, 1 - signed) in integers:
            other[identifier] = integers[bits, 1 - signed]
    for (component, count), identifier in vectors.items():
        if (other.get(component), count) in vectors:
            other[identifier] = vectors[other[component], count]
    names = CLASSES.keys() - {"OpLoad"}
    indices = [i for i in mutant.body(*names) if mutant.lines[i][1] in other]
    if not indices:
        return False
    words = mutant.lines[rng.choice(indices)]
    words[1] = other[words[1]]
    return True


# --- control flow ---------------------------------------------------------------------------------------


def condition(mutant: Mutant, rng: random.Random) -> bool:
    """Invert the condition of a branch, or make it constant."""
    indices = mutant.body("OpBranchConditional")
    if not indices:
        return False
    words = mutant.lines[rng.choice(indices)]
    type_ = mutant.editor.type_of.get(words[1])
    if type_ is None:
        return False
    if rng.random() < 0.5:
        words[2], words[3] = words[3], words[2]
    else:
        words[1] = mutant.editor.true() if rng.random() < 0.5 else mutant.editor.null(type_)
    return True


def merged_selection(mutant: Mutant, rng: random.Random) -> bool:
    """Let both ways of a branch be the same one, or remove the selection."""
    indices = mutant.body("OpBranchConditional")
    if not indices:
        return False
    index = rng.choice(indices)
    words = mutant.lines[index]
    way = rng.choice((2, 3))
    if name_of(mutant.lines[index - 1]) == "OpSelectionMerge" and rng.random() < 0.5:
        mutant.lines[index - 1 : index + 1] = [mutant.editor.instruction("OpBranch", words[way])]
    else:
        words[2] = words[3] = words[way]
    return True


def switch_case(mutant: Mutant, rng: random.Random) -> bool:
    """Change the literal of a case of a switch, or remove the case."""
    indices = [index for index in mutant.body("OpSwitch") if len(mutant.lines[index]) > 3]
    if not indices:
        return False
    words = mutant.lines[rng.choice(indices)]
    position = rng.randrange(3, len(words) - 1, 2)
    free = sorted({0, 1, 2, 3, 7, 0x7FFFFFFF, 0xFFFFFFFF} - set(words[3::2]))
    if rng.random() < 0.5:
        words[position] = rng.choice(free)
    else:
        del words[position : position + 2]
        words[0] = len(words) << 16 | words[0] & 0xFFFF
    return True


def loop_bound(mutant: Mutant, rng: random.Random) -> bool:
    """Change the bound of a loop: a constant in the comparison that decides whether it goes on."""
    conditions = {
        mutant.lines[after][1]
        for index in mutant.body("OpLoopMerge")
        for after in range(index, min(index + 30, len(mutant.lines)))
        if name_of(mutant.lines[after]) == "OpBranchConditional"
    }
    sites = [
        (index, position)
        for index in mutant.body()
        if len(mutant.lines[index]) == 5 and mutant.lines[index][2] in conditions
        for position in (3, 4)
    ]
    types = mutant.editor.type_of
    rng.shuffle(sites)
    for index, position in sites:
        words = mutant.lines[index]
        if name_of(words) not in CLASSES or words[position] not in types:
            continue
        name, kind = mutant.kind(types[words[position]])
        if name == "OpTypeInt" and kind[2] == 32:
            small = rng.choice((0, 1, 2, 3, 5, 8, 17, 33))
            words[position] = mutant.editor.constant(types[words[position]], small)
            return True
    return False


# --- decorations ----------------------------------------------------------------------------------------

_ANY_VARIABLE = ("Restrict", "Aliased", "Volatile", "Coherent")


def removed_decoration(mutant: Mutant, rng: random.Random) -> bool:
    """Remove a decoration that does not determine the interface."""
    kept = ("Binding", "DescriptorSet", "Offset", "ArrayStride", "MatrixStride", "Block", "BuiltIn", "SpecId")
    indices = [
        index
        for index in range(mutant.first)
        if name_of(mutant.lines[index]) in ("OpDecorate", "OpMemberDecorate")
        and grammar().enumerant(
            "Decoration", mutant.lines[index][3 if name_of(mutant.lines[index]) == "OpMemberDecorate" else 2]
        )
        not in kept
    ]
    if not indices:
        return False
    del mutant.lines[rng.choice(indices)]
    mutant.first -= 1
    return True


def added_decoration(mutant: Mutant, rng: random.Random) -> bool:
    """Decorate an arithmetic result or a buffer."""
    floats = mutant.body("OpFAdd", "OpFSub", "OpFMul", "OpFDiv")
    buffers = [
        words[2]
        for words in mutant.lines[: mutant.first]
        if name_of(words) == "OpVariable" and words[3] in (2, 12)
    ]
    choices = [(mutant.lines[i][2], "NoContraction") for i in floats]
    choices += [(buffer, name) for buffer in buffers for name in _ANY_VARIABLE]
    if not choices:
        return False
    identifier, name = rng.choice(choices)
    mutant.editor.decorate(identifier, grammar().number("Decoration", name))
    return True


MUTATIONS: Mapping[str, Mutation] = {
    "opcode": opcode,
    "group operation": group_operation,
    "extended instruction": extended_instruction,
    "operand": operand,
    "swapped operands": swapped_operands,
    "removed": removed,
    "repeated": repeated,
    "constant": constant,
    "constant operand": constant_operand,
    "scalar type": scalar_type,
    "result type": result_type,
    "condition": condition,
    "merged selection": merged_selection,
    "switch case": switch_case,
    "loop bound": loop_bound,
    "removed decoration": removed_decoration,
    "added decoration": added_decoration,
}

SEVERAL = "several"
"""Kind of a module with more than one mutation."""


def mutated(module: Module, rng: random.Random) -> tuple[str, Module] | None:
    """Return a kind and a module with one mutation, or with two to four; None if nothing was changed."""
    count = rng.choice((1, 1, 1, 2, 3, 4))
    mutant = Mutant(module)
    names = [rng.choice(list(MUTATIONS)) for _ in range(count)]
    done = [name for name in names if MUTATIONS[name](mutant, rng)]
    if not done:
        return None
    result = mutant.module()
    if result == module:
        return None
    return (done[0] if len(done) == 1 else SEVERAL), result

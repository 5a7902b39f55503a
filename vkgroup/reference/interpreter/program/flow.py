"""Control and data flow: functions as graphs of blocks, post-dominators and liveness of segments."""

from __future__ import annotations

from dataclasses import dataclass, field

from vkgroup.base.errors import InvalidModule
from vkgroup.reference.interpreter.program.segments import Segment
from vkgroup.spirv import Instruction, Module


@dataclass(frozen=True, slots=True)
class SegmentLife:
    """The slots of one segment."""

    imports: tuple[int, ...]  # slots that this segment reads and another one writes
    exports: tuple[int, ...]  # slots that this segment writes and another one reads
    frees: tuple[tuple[int, ...], ...]  # for each instruction, the slots without a later read


@dataclass(frozen=True, slots=True)
class Liveness:
    """The slots of a whole program."""

    segments: tuple[SegmentLife, ...]  # by number
    #: Slots whose values are stored between segments: imports, and targets of copies on edges.
    carried: frozenset[int]


def find_liveness(segments: list[Segment], constants: frozenset[int]) -> Liveness:
    """Return the life of every slot; slots of `constants` never end."""
    imports = [_imports(segment, constants) for segment in segments]
    carried = frozenset(slot for slots in imports for slot in slots)
    for segment in segments:
        for edge in segment.terminator.edges:
            carried |= {target for target, _ in edge.copies}
    segment_lives = []
    for segment, imported in zip(segments, imports, strict=True):
        made = [op.result for op in segment.ops if op.result >= 0]
        exports = tuple(slot for slot in made if slot in carried)
        segment_lives.append(SegmentLife(tuple(imported), exports, _frees(segment, imported, exports)))
    return Liveness(tuple(segment_lives), carried)


def _imports(segment: Segment, constants: frozenset[int]) -> list[int]:
    made = set(constants)
    imports: dict[int, None] = {}
    for uses, result in (*((op.uses, op.result) for op in segment.ops), (segment.terminator.uses, -1)):
        imports |= dict.fromkeys(slot for slot in uses if slot not in made)
        made.add(result)
    return list(imports)


def _frees(segment: Segment, imported: list[int], exports: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return for each instruction the slots whose last use it is; slots of the terminator live to the end."""
    until_end = {*exports, *segment.terminator.uses}
    own = {*imported, *(op.result for op in segment.ops)} - {-1}
    frees: list[tuple[int, ...]] = []
    seen: set[int] = set(until_end)
    for op in reversed(segment.ops):
        last = [slot for slot in dict.fromkeys((*op.uses, op.result)) if slot in own and slot not in seen]
        seen.update(last)
        frees.append(tuple(last))
    frees.reverse()
    return tuple(frees)


END = 1 << 30
"""Number of the end of the shader, where all paths meet."""


def post_dominators(after: list[list[int]]) -> list[int]:
    """Return the immediate post-dominator of each node: the nearest one on every path from it to the end.

    Cooper, Harvey and Kennedy's iteration, on the reversed graph. A node without a path to the end has `END`.

    `after`: the nodes that may follow each node; none for one that ends the shader.
    """
    count = len(after)
    after = [following or [count] for following in after]
    order = _from_the_end(after)
    rank = {node: position for position, node in enumerate(order)}
    dominators: dict[int, int] = {count: count}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [target for target in after[node] if target in dominators]
            nearest = known[0]
            for target in known[1:]:
                nearest = _meet(nearest, target, dominators, rank)
            if dominators.get(node) != nearest:
                dominators[node] = nearest
                changed = True
    return [END if dominators.get(number, count) == count else dominators[number] for number in range(count)]


def _from_the_end(after: list[list[int]]) -> list[int]:
    """Return the nodes that can reach the end, in reverse post-order of the reversed graph."""
    end = len(after)
    before: list[list[int]] = [[] for _ in range(end + 1)]
    for node, targets in enumerate(after):
        for target in targets:
            before[target].append(node)
    done: list[int] = []
    seen = {end}
    stack = [(end, iter(before[end]))]
    while stack:
        node, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            done.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(before[following])))
    done.reverse()
    return done


def _meet(a: int, b: int, dominators: dict[int, int], rank: dict[int, int]) -> int:
    while a != b:
        while rank[a] > rank[b]:
            a = dominators[a]
        while rank[b] > rank[a]:
            b = dominators[b]
    return a


TERMINATORS = frozenset(
    {
        "OpBranch",
        "OpBranchConditional",
        "OpSwitch",
        "OpReturn",
        "OpReturnValue",
        "OpKill",
        "OpUnreachable",
        "OpTerminateInvocation",
        "OpAbortKHR",
    }
)
_IGNORED = frozenset({"OpLine", "OpNoLine", "OpNop", "OpLabel", "OpSelectionMerge", "OpLoopMerge"})


@dataclass(slots=True)
class BasicBlock:
    """A basic block."""

    label: int  # its id
    terminator: Instruction  # its last instruction
    #: `phis`, `body`: its instructions, without label, merge and terminator.
    phis: list[Instruction] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    #: `merge`, `continue_target`: labels in its merge instruction; 0 where it has none.
    merge: int = 0
    continue_target: int = 0

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Its instructions, without label and merge."""
        return (*self.phis, *self.body, self.terminator)


@dataclass(slots=True)
class ModuleFunction:
    """A function: parameters by id, blocks in structured order."""

    id: int
    parameters: list[int]
    blocks: list[BasicBlock]


def read_functions(module: Module) -> tuple[list[Instruction], dict[int, ModuleFunction]]:
    """Return the instructions before the first function, and the functions by id."""
    instructions = module.instructions
    first = next((i for i, entry in enumerate(instructions) if entry.name == "OpFunction"), len(instructions))
    functions: dict[int, ModuleFunction] = {}
    body: list[Instruction] = []
    for entry in instructions[first:]:
        if entry.name == "OpFunctionEnd":
            function = _function(body)
            functions[function.id] = function
            body = []
        elif body or entry.name == "OpFunction":
            # Debug line instructions may occur between functions.
            body.append(entry)
    return list(instructions[:first]), functions


def _function(body: list[Instruction]) -> ModuleFunction:
    start = body[0]
    parameters = [entry.result_id for entry in body if entry.name == "OpFunctionParameter"]
    blocks: dict[int, BasicBlock] = {}
    current: list[Instruction] = []
    for entry in body[1:]:
        if entry.name == "OpLabel":
            current = [entry]
        elif entry.name in TERMINATORS or entry.name.startswith(("OpEmitMeshTasks", "OpIgnoreIntersection")):
            if not current:
                raise InvalidModule(f"{entry.name} at word {entry.position} is outside of a block")
            block = _block(current, entry)
            blocks[block.label] = block
            current = []
        elif current:
            current.append(entry)
    if current:
        raise InvalidModule(f"the block %{current[0].result_id} has no terminator")
    first = next(iter(blocks), 0)
    return ModuleFunction(start.result_id, parameters, structured_order(blocks, first) if first else [])


def _block(instructions: list[Instruction], terminator: Instruction) -> BasicBlock:
    block = BasicBlock(instructions[0].result_id, terminator)
    for entry in instructions[1:]:
        if entry.name == "OpPhi":
            block.phis.append(entry)
        elif entry.name == "OpSelectionMerge":
            block.merge = entry.operands[0]
        elif entry.name == "OpLoopMerge":
            block.merge, block.continue_target = entry.operands[0], entry.operands[1]
        elif entry.name not in _IGNORED:
            block.body.append(entry)
    return block


def successors(terminator: Instruction, selector_words: int = 1) -> list[int]:
    """Return the labels that a terminator may branch to, the default of a switch last."""
    words = terminator.operands
    if terminator.name == "OpBranch":
        return [words[0]]
    if terminator.name == "OpBranchConditional":
        return [words[1], words[2]]
    if terminator.name == "OpSwitch":
        return [*switch_targets(words, selector_words).values(), words[1]]
    return []


def switch_targets(words: tuple[int, ...], selector_words: int) -> dict[int, int]:
    """Return the label of each literal; literals of 64 bits take two words, the low one first."""
    step = selector_words + 1
    targets = {}
    for start in range(2, len(words) - step + 1, step):
        literal = sum(words[start + k] << (32 * k) for k in range(selector_words))
        targets[literal] = words[start + selector_words]
    return targets


def structured_order(blocks: dict[int, BasicBlock], first: int) -> list[BasicBlock]:
    """Return blocks in order: a construct before its merge block, a loop's body before its continue target.

    This is a reverse post-order in which a header's merge block and continue target are visited first, so
    that they finish first and come last. Unreachable blocks are left out.
    """
    done: list[BasicBlock] = []
    seen = {first}
    stack: list[tuple[BasicBlock, list[int]]] = [(_get(blocks, first), _visits(blocks[first], blocks))]
    while stack:
        block, pending = stack[-1]
        while pending and pending[-1] in seen:
            pending.pop()
        if not pending:
            done.append(block)
            stack.pop()
            continue
        label = pending.pop()
        seen.add(label)
        following = _get(blocks, label)
        stack.append((following, _visits(following, blocks)))
    done.reverse()
    return done


def _visits(block: BasicBlock, blocks: dict[int, BasicBlock]) -> list[int]:
    """Return the labels to visit from a block in reverse order: branches, continue target, merge block."""
    words = 1
    if block.terminator.name == "OpSwitch":
        words = selector_words(block.terminator, blocks)
    # Visit the last target of a branch first, so that its first target precedes it in the order.
    order = [label for label in (block.merge, block.continue_target) if label]
    order += reversed(successors(block.terminator, words))
    return list(reversed(order))


def selector_words(switch: Instruction, blocks: dict[int, BasicBlock]) -> int:
    """Return the number of words of a switch's literals: one if every label is then a block, else two."""
    words = switch.operands[2:]
    if len(words) % 2 == 0 and all(label in blocks for label in words[1::2]):
        return 1
    return 2


def _get(blocks: dict[int, BasicBlock], label: int) -> BasicBlock:
    if label not in blocks:
        raise InvalidModule(f"a branch targets %{label}, which is not a block of the function")
    return blocks[label]

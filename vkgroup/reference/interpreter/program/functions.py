"""The functions of a module as graphs of blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

from vkgroup.errors import InvalidModule
from vkgroup.spirv import Instruction, Module

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
    }
)
_IGNORED = frozenset({"OpLine", "OpNoLine", "OpNop", "OpLabel", "OpSelectionMerge", "OpLoopMerge"})


@dataclass(slots=True)
class Block:
    """A basic block.

    Attributes
    ----------
    label : its id.
    phis, body : its instructions, without label, merge and terminator.
    terminator : its last one.
    merge, continue_target : labels in its merge instruction; 0 where it has none.
    """

    label: int
    terminator: Instruction
    phis: list[Instruction] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    merge: int = 0
    continue_target: int = 0


@dataclass(slots=True)
class Function:
    """A function: parameters by id, blocks in structured order."""

    id: int
    parameters: list[int]
    blocks: list[Block]


def read_functions(module: Module) -> tuple[list[Instruction], dict[int, Function]]:
    """Return the instructions before the first function, and the functions by id."""
    instructions = module.instructions
    first = next((i for i, entry in enumerate(instructions) if entry.name == "OpFunction"), len(instructions))
    functions: dict[int, Function] = {}
    body: list[Instruction] = []
    for entry in instructions[first:]:
        if entry.name == "OpFunctionEnd":
            function = _function(body)
            functions[function.id] = function
            body = []
        elif body or entry.name == "OpFunction":
            # Debug lines may stand between functions.
            body.append(entry)
    return list(instructions[:first]), functions


def _function(body: list[Instruction]) -> Function:
    start = body[0]
    parameters = [entry.result_id for entry in body if entry.name == "OpFunctionParameter"]
    blocks: dict[int, Block] = {}
    current: list[Instruction] = []
    for entry in body[1:]:
        if entry.name == "OpLabel":
            current = [entry]
        elif entry.name in TERMINATORS or entry.name.startswith(("OpEmitMeshTasks", "OpIgnoreIntersection")):
            block = _block(current, entry)
            blocks[block.label] = block
            current = []
        elif current:
            current.append(entry)
    if current:
        raise InvalidModule(f"the block %{current[0].result_id} has no end")
    first = next(iter(blocks), 0)
    return Function(start.result_id, parameters, structured_order(blocks, first) if first else [])


def _block(instructions: list[Instruction], terminator: Instruction) -> Block:
    block = Block(instructions[0].result_id, terminator)
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
    """Return label by literal; literals of 64 bits take two words, the low one first."""
    step = selector_words + 1
    targets = {}
    for start in range(2, len(words) - step + 1, step):
        literal = sum(words[start + k] << (32 * k) for k in range(selector_words))
        targets[literal] = words[start + selector_words]
    return targets


def structured_order(blocks: dict[int, Block], first: int) -> list[Block]:
    """Return blocks in order: a construct before its merge block, a loop's body before its continue target.

    This is a reverse post-order in which a header's merge block and continue target are visited first, so
    that they finish first and come last. Unreachable blocks are left out.
    """
    done: list[Block] = []
    seen = {first}
    stack: list[tuple[Block, list[int]]] = [(_get(blocks, first), _visits(blocks[first], blocks))]
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


def _visits(block: Block, blocks: dict[int, Block]) -> list[int]:
    """Return the labels to visit from a block in reverse order: branches, continue target, merge block."""
    words = 1
    if block.terminator.name == "OpSwitch":
        words = selector_words(block.terminator, blocks)
    # The last target of a branch is visited first, so that the first one comes first in the order.
    order = [label for label in (block.merge, block.continue_target) if label]
    order += reversed(successors(block.terminator, words))
    return list(reversed(order))


def selector_words(switch: Instruction, blocks: dict[int, Block]) -> int:
    """Return the words of each literal of a switch: one if that makes every label a block, else two."""
    words = switch.operands[2:]
    if len(words) % 2 == 0 and all(label in blocks for label in words[1::2]):
        return 1
    return 2


def _get(blocks: dict[int, Block], label: int) -> Block:
    if label not in blocks:
        raise InvalidModule(f"a branch to %{label}, which is no block of the function")
    return blocks[label]

"""Group instructions: every subgroup operation, computed by its reference function.

`rows` finds an instruction's row in the tables of operations. `instruction` calls the row's function.
`explain` names the rule for undefined results. `cause_flow` moves causes between lanes as values move.
"""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.reference.interpreter.operations.groups.instruction import OPCODES, GroupInstruction
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Value

Factory = Callable[[Site], Callable[..., Value]]

GROUPS: dict[str, Factory] = dict.fromkeys(sorted(OPCODES), GroupInstruction)
"""By name: the factory of an instruction's function, which takes `Subgroups` before its operands."""

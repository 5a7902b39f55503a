"""Questions: errors that occur with the generated inputs, and disappear with other generated inputs.

Only the author of the shader's host knows which values it passes. So `check` asks, instead of reporting an
error, and names the values.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from vkgroup.check.findings import Finding, RunParameters

LENGTH = ".length()"
"""End of the name of a value that is the length of an array."""

_MOST_NAMED = 6
"""Maximum number of values that a question names."""


@dataclass(frozen=True, slots=True)
class GeneratedValue:
    """A generated value that causes an error."""

    name: str  # its name in the shader
    value: int | str  # the value with the error; words for contents
    other: int | str  # a value without it
    option: str  # the option that sets it
    is_default: bool = False  # whether it is the default of a specialization constant

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"

    @property
    def is_length(self) -> bool:
        """Whether it is the length of an array."""
        return self.name.endswith(LENGTH)


@dataclass(frozen=True, slots=True)
class Question:
    """Errors that occur only with certain generated values.

    Attributes
    ----------
    values : the generated values that cause the errors.
    findings : the errors, as findings.
    tried : whether the values ran at one subgroup size only.
    """

    values: tuple[GeneratedValue, ...]
    findings: tuple[Finding, ...]
    tried: bool = False

    @property
    def configurations(self) -> tuple[RunParameters, ...]:
        """The runs in which the errors occurred."""
        return tuple(dict.fromkeys(where for finding in self.findings for where in finding.configurations))

    @property
    def text(self) -> str:
        """The question in one sentence."""
        what = "; ".join(dict.fromkeys(finding.message for finding in self.findings[:2]))
        rest = len(self.findings) - 2
        what += f"; and {rest} more" * (rest > 0)
        listed = ", ".join(str(entry) for entry in self.values[:_MOST_NAMED])
        listed += ", …" * (len(self.values) > _MOST_NAMED)
        return f"can your host pass {listed}? {what}"

    @property
    def remedy(self) -> str:
        """The options that set the values, and values without the errors."""
        options = ", ".join(dict.fromkeys(entry.option for entry in self.values))
        others = ", ".join(f"{entry.name} = {entry.other}" for entry in self.values[:_MOST_NAMED])
        defaults = [entry.is_default for entry in self.values]
        origin = "default of the source" if all(defaults) else "generated value"
        origin += " and default of the source" * (any(defaults) and not all(defaults))
        return f"{origin}; it does not happen with {others}; give the value of your host: {options}"

    def to_json(self) -> dict[str, Any]:
        """Return the question as JSON data."""
        return {
            "text": self.text,
            "remedy": self.remedy,
            "values": [dataclasses.asdict(entry) for entry in self.values],
            "sizes": sorted({where.subgroup_size for where in self.configurations}),
            "findings": [finding.to_json() for finding in self.findings],
        }

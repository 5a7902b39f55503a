"""Expected refusals: the class of the error and the data that it carries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vkgroup.base.errors import Unsupported


@contextmanager
def lacks(*names: str) -> Iterator[pytest.ExceptionInfo[Unsupported]]:
    """Expect `Unsupported`; each name must be part of an item of its `missing`."""
    with pytest.raises(Unsupported) as caught:
        yield caught
    missing = caught.value.missing
    assert [name for name in names if not any(name in item for item in missing)] == [], missing

"""Cases of arrays of descriptors that are indexed by what is uniform in a subgroup, and no further."""

from __future__ import annotations

from vkgroup.conformance.descriptor_indexing.family import DescriptorIndexingFamily

__all__ = ["DescriptorIndexingFamily"]

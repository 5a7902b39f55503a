"""Cases of descriptor indexing: arrays of descriptors whose index is uniform in a subgroup."""

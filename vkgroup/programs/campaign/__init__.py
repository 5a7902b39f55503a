"""Random programs: subgroup operations in divergent control flow, on a device and on the reference."""

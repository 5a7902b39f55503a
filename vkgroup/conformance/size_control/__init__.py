"""Cases of the subgroup size: varying, required, full, with SPIR-V 1.6, over several dispatches."""

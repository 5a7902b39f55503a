"""Cases of the subgroup size: varying, required, full, by SPIR-V 1.6, over several dispatches."""

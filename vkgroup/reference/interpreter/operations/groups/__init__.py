"""Group instructions: every subgroup operation, computed by its reference function, and explained."""

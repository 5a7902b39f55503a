"""Group instructions: subgroup operations computed by their reference functions, with causes."""

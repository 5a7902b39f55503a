"""Cases of quads: their votes, full quads, derivatives in them, and derivative groups of compute shaders."""

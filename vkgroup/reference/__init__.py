"""What the specifications say about subgroups: types, the table of operations, and their semantics in NumPy."""

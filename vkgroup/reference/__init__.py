"""What the specifications say about subgroups: types, the table of operations, semantics in NumPy."""

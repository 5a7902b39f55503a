"""The memory model: synchronisation of two invocations at each scope."""

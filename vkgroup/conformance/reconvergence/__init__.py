"""Reconvergence cases: active invocations after branches, loops, switches, calls, returns and demotions."""

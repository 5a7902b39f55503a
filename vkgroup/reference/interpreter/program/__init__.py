"""Program form: a SPIR-V module as numbered segments, slots, pointers and variables; it executes nothing."""

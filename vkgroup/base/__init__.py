"""Errors, files, processes, phases, formats: modules that know nothing of shaders."""

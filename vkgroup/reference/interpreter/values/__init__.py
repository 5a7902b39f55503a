"""Values of many invocations at once: arrays, causes of undefined values, sets of lanes, subgroups."""

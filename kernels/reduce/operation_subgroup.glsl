// The operation of operation.glsl on the states of a subgroup.

#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#if A_BITS == 64
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#endif

#if ARG
// The greatest value, then the first place that has it.
State subgroup_combine(State s) {
    A greatest = subgroupMax(s.value);
    return State(greatest, subgroupMin(s.value == greatest ? s.element_index : ~0u));
}

State exchange(State s, uint mask) {
    return State(subgroupShuffleXor(s.value, mask), subgroupShuffleXor(s.element_index, mask));
}
#else
State subgroup_combine(State s) {
#if OPERATION == ADD
    return subgroupAdd(s);
#elif OPERATION == MUL
    return subgroupMul(s);
#elif OPERATION == MIN
    return subgroupMin(s);
#elif OPERATION == MAX
    return subgroupMax(s);
#elif OPERATION == AND
    return subgroupAnd(s);
#elif OPERATION == OR
    return subgroupOr(s);
#else
    return subgroupXor(s);
#endif
}

State exchange(State s, uint mask) { return subgroupShuffleXor(s, mask); }
#endif

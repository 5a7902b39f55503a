"""Operations: the effect of each instruction on values, memory and images."""

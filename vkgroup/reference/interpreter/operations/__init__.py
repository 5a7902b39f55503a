"""Operations: what each instruction does to values, memory and images, given the state of the invocations."""

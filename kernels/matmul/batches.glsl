// Matrix products one by one: push constants, and the positions of the matrices in stacks of matrices.
//
// Macro BATCHED: 0: there is one product. 1: there are `batches` products; workgroups of one z compute every
// gl_NumWorkGroups.z-th of them.
//
// Product number i has the indices (i / minor, i % minor) on the two axes of a stack. The matrices of an operand
// have a distance in elements along each axis, which is 0 if all products have the same matrix.
#ifndef BATCHED
#define BATCHED 0
#endif

layout(push_constant) uniform Push {
    uint rows, columns, inner;
#if BATCHED
    uint batches, minor;
    uint a_first, a_major, a_minor;     // index of the first element, and distances
    uint b_first, b_major, b_minor;
    uint product_first;                 // products are contiguous
#endif
};

#if BATCHED
// Indices of the first elements of the matrices of the current product.
uint a_base, b_base, product_base;

void select_product(uint batch) {
    uint major_index = batch / minor, minor_index = batch % minor;
    a_base = a_first + major_index * a_major + minor_index * a_minor;
    b_base = b_first + major_index * b_major + minor_index * b_minor;
    product_base = product_first + batch * rows * columns;
}
#else
const uint a_base = 0u, b_base = 0u, product_base = 0u;
#endif

// Defined by the kernel: compute this workgroup's tile of the current product. The last read of shared memory is
// before the last barrier.
void compute_product();

void main() {
#if BATCHED
    for (uint batch = gl_WorkGroupID.z; batch < batches; batch += gl_NumWorkGroups.z) {
        select_product(batch);
        compute_product();
    }
#else
    compute_product();
#endif
}

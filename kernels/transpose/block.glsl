// Blocks of a matrix, and the transposition of a block in registers.
//
// ELEMENT: bytes of an element, 1, 2, 4 or 8; only its bits matter.
// WORDS: words of 32 bits in a packet, the piece of a row that is loaded and stored at once; 0: single
// elements of fewer than 32 bits, for matrices whose rows do not begin with a word (that needs 8- or 16-bit
// storage). Rows and columns of the matrix must be multiples of SIDE, so that packets are aligned.
//
// A block is a square of SIDE × SIDE elements: SIDE packets, one below the other. With all of a block in one
// invocation, transposing it costs no exchange, and what is loaded as packets is stored as packets.

#ifndef ELEMENT
#define ELEMENT 4
#endif
#ifndef WORDS
#define WORDS 1
#endif

#if WORDS == 0
#define SIDE 1
#define PACKET uint
#elif WORDS == 1
#define SIDE (4 / ELEMENT)
#define PACKET uint
#elif WORDS == 2
#define SIDE (8 / ELEMENT)
#define PACKET uvec2
#else
#define SIDE (16 / ELEMENT)
#define PACKET uvec4
#endif

#if WORDS == 0 && ELEMENT == 1
#extension GL_EXT_shader_8bit_storage : require
#define STORED uint8_t
#elif WORDS == 0
#extension GL_EXT_shader_16bit_storage : require
#define STORED uint16_t
#else
#define STORED PACKET
#endif

layout(std430, binding = 0) readonly buffer Matrix { STORED matrix[]; };
layout(std430, binding = 1) writeonly buffer Transposed { STORED transposed[]; };
layout(push_constant) uniform Push {
    uint rows, columns; // of `matrix`, in elements
};

struct Block {
    PACKET row[SIDE];
};

// The matrix in blocks.
uint blocks_down() { return rows / SIDE; }
uint blocks_across() { return columns / SIDE; }

// Loads a block; zeros outside the matrix.
Block load_block(uint down, uint across) {
    Block block;
    bool inside = down < blocks_down() && across < blocks_across();
    [[unroll]] for (uint i = 0u; i < SIDE; ++i)
        block.row[i] = inside ? PACKET(matrix[(down * SIDE + i) * blocks_across() + across]) : PACKET(0u);
    return block;
}

// Stores packet `i` of a block of the transposed matrix, whose blocks are `blocks_down()` in a row.
void store_packet(uint down, uint across, uint i, PACKET packet) {
    if (down < blocks_across() && across < blocks_down())
        transposed[(down * SIDE + i) * blocks_down() + across] = STORED(packet);
}

#if ELEMENT == 1 && WORDS > 0
// Transposes 4 × 4 bytes in four words: first the bytes of each pair of rows, then the halves.
void transpose_words(inout uint word[4]) {
    uint even_0 = (word[0] & 0x00ff00ffu) | ((word[1] & 0x00ff00ffu) << 8);
    uint odd_0 = ((word[0] >> 8) & 0x00ff00ffu) | (word[1] & 0xff00ff00u);
    uint even_2 = (word[2] & 0x00ff00ffu) | ((word[3] & 0x00ff00ffu) << 8);
    uint odd_2 = ((word[2] >> 8) & 0x00ff00ffu) | (word[3] & 0xff00ff00u);
    word[0] = (even_0 & 0xffffu) | (even_2 << 16);
    word[1] = (odd_0 & 0xffffu) | (odd_2 << 16);
    word[2] = (even_0 >> 16) | (even_2 & 0xffff0000u);
    word[3] = (odd_0 >> 16) | (odd_2 & 0xffff0000u);
}
#elif ELEMENT == 2 && WORDS > 0
// Transposes 2 × 2 elements in two words.
void transpose_words(inout uint word[2]) {
    uint first = (word[0] & 0xffffu) | (word[1] << 16);
    word[1] = (word[0] >> 16) | (word[1] & 0xffff0000u);
    word[0] = first;
}
#endif

// Transposes a block in registers.
Block transpose_block(Block block) {
#if WORDS == 0 || WORDS * 4 == ELEMENT
    return block; // of one element
#elif ELEMENT == 8
    return Block(PACKET[2](PACKET(block.row[0].xy, block.row[1].xy),
                           PACKET(block.row[0].zw, block.row[1].zw)));
#elif ELEMENT == 4
    Block result;
    [[unroll]] for (uint i = 0u; i < SIDE; ++i)
        [[unroll]] for (uint j = 0u; j < SIDE; ++j)
            result.row[i][j] = block.row[j][i];
    return result;
#else
    // Squares of words are exchanged, and each square of 4 / ELEMENT words is transposed.
    const uint SQUARE = 4 / ELEMENT;
    Block result;
    [[unroll]] for (uint i = 0u; i < WORDS; ++i)
        [[unroll]] for (uint j = 0u; j < WORDS; ++j) {
            uint word[SQUARE];
#if WORDS == 1
            [[unroll]] for (uint k = 0u; k < SQUARE; ++k)
                word[k] = block.row[k];
            transpose_words(word);
            [[unroll]] for (uint k = 0u; k < SQUARE; ++k)
                result.row[k] = word[k];
#else
            [[unroll]] for (uint k = 0u; k < SQUARE; ++k)
                word[k] = block.row[i * SQUARE + k][j];
            transpose_words(word);
            [[unroll]] for (uint k = 0u; k < SQUARE; ++k)
                result.row[j * SQUARE + k][i] = word[k];
#endif
        }
    return result;
#endif
}

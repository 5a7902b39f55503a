// Matrix-vector product of a team. A team reads several rows of the matrix together, so each element of the
// vector is loaded once for all of them. It may read only a part of long rows.
//
// Macros: T, T4 the elements in memory and four of them; A, A4, A_BITS what is computed with: T, or float for
// halves; R what the results are stored as; FINISH: DIRECT, where a row is one part, or SECOND, where the
// sums of parts are written for reduce/finish_*.comp.

#define DIRECT 0
#define SECOND 1

#ifndef T4
#define T4 vec4
#endif
#ifndef A
#define A T
#define A4 T4
#define A_BITS 32
#endif
#ifndef R
#define R A
#endif
#ifndef FINISH
#define FINISH DIRECT
#endif

// The sums of up to four rows.
#define State A4

State identity() { return A4(0); }
State combine(State a, State b) { return a + b; }

// Softmax: exp(x) / sum(exp(x)) of a row, as exp(x - greatest) / sum(exp(x - greatest)), which cannot overflow.
//
// A state is the greatest element so far and the sum of exp(x - greatest); to combine two means to move both
// sums to the greater of the two. So one combination of a team gives both numbers, instead of one for each.

layout(push_constant) uniform Push {
    uint length;
    uint rows;
};

struct State {
    float greatest;
    float sum;
};

const float LEAST = -3.40282347e38;    // of all floats but minus infinity, which exp(x - greatest) would not stand

// The bits of plus infinity and of a NaN.
const uint INFINITY = 0x7f800000u, NAN = 0x7fc00000u;

State identity() { return State(LEAST, 0.0); }

// What a sum is when it is related to another greatest element.
float moved(State s, float greatest) { return s.sum * exp(s.greatest - greatest); }

State combine(State a, State b) {
    float greatest = max(a.greatest, b.greatest);
    return State(greatest, moved(a, greatest) + moved(b, greatest));
}

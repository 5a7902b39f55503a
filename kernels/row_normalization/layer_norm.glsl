// Layer norm: (x - mean) / sqrt(variance + epsilon) of a row, times a weight and plus a bias for each column.
//
// A state is the number of elements, their mean, and the sum of the squares of their differences from that
// mean. Two states are combined by the formula of Chan, Golub and LeVeque ("Updating formulae and a pairwise
// algorithm for computing sample variances", 1979): nothing large is subtracted from something large, as
// sum(x²) − n·mean² would, and the row is read once.
//
// Macros: WEIGHT, BIAS: whether there are any.

#ifndef WEIGHT
#define WEIGHT 1
#endif
#ifndef BIAS
#define BIAS 1
#endif

layout(push_constant) uniform Push {
    uint length;
    uint rows;
    float epsilon;
};

struct State {
    float count;
    float mean;
    float squares;
};

State identity() { return State(0.0, 0.0, 0.0); }

State combine(State a, State b) {
    float count = a.count + b.count;
    float share = b.count / max(count, 1.0);
    float apart = a.count > 0.0 && b.count > 0.0 ? b.mean - a.mean : 0.0;    // its square may be infinite
    float start = a.count > 0.0 ? a.mean : b.mean;
    return State(count, start + apart * share, a.squares + b.squares + apart * apart * a.count * share);
}

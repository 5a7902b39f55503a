#version 460
// Loops in loops, in branches, in a switch, with breaks, continues and early returns from all depths.
// values: one int an invocation. results: what the walk through them gives.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { int values[]; };
layout(std430, binding = 1) writeonly buffer Results { int results[]; };

int walk(int value) {
    int sum = 0;
    for (int i = 0; i < 6; i++) {
        if (((value >> i) & 1) != 0) {
            int j = 0;
            do {
                j++;
                if (j == 3 && (value & 64) != 0) continue;
                for (int k = j; k < 4; k++) {
                    if (k == i) break;
                    if ((value & 128) != 0 && k == 2) {
                        sum += 100;
                        continue;
                    }
                    if (sum > 400) return sum;
                    sum += k;
                }
                if (j > i) break;
            } while (j < 5);
        } else {
            switch ((value >> (i + 2)) & 3) {
            case 0:
                if (i > 3) return -sum;
                break;
            case 1:
                sum += 7;
            case 2:
                sum *= 2;
                if (sum > 90) break;
                sum += 3;
                break;
            default:
                for (;;) {
                    sum -= 11;
                    if (sum < -20) {
                        if ((value & 256) != 0) return 1000 + sum;
                        break;
                    }
                    if ((sum & 3) == 0) break;
                }
                continue;
            }
            sum++;
        }
        if (sum == 42) return 42000 + i;
    }
    return sum;
}

void main() {
    uint me = gl_GlobalInvocationID.x;
    if (me >= values.length()) return;
    int value = values[me];
    if (value < 0) {
        results[me] = -1;
        return;
    }
    results[me] = walk(value) + (value > 400 ? walk(value ^ 511) : 0);
}

#version 460
// Integer division and remainder by numbers that vary, of both signs where GLSL defines it, and calendar arithmetic.
// numbers: dividend and divisor. quotients: unsigned /, %, signed /, and dividend - divisor * signed quotient.
// dates: year, month, day of so many days (dividend modulo 2^20) after 1 March of the year 0.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Numbers { uvec2 numbers[]; };
layout(std430, binding = 1) writeonly buffer Quotients { ivec4 quotients[]; };
layout(std430, binding = 2) writeonly buffer Dates { ivec3 dates[]; };

ivec3 date(int days) {
    int era = days / 146097, day_of_era = days % 146097;
    int year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    int month = (5 * day_of_year + 2) / 153;
    int day = day_of_year - (153 * month + 2) / 5 + 1;
    return ivec3(year + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9, day);
}

void main() {
    uint me = gl_GlobalInvocationID.x;
    uvec2 pair = numbers[me];
    int dividend = int(pair.x), divisor = int(pair.y), quotient = dividend / divisor;
    quotients[me] = ivec4(pair.x / pair.y, pair.x % pair.y, quotient, dividend - divisor * quotient);
    dates[me] = date(int(pair.x & 0xfffffu));
}

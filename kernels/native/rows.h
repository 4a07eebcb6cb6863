// What happens to one row by itself: norm, rotation, gate, sums.
#pragma once
#include <cmath>
#include <cstdint>

#include "lanes.h"

namespace native {

// x / sqrt(mean(x²) + eps) · weight; the squares are summed in sixteen lanes, then the lanes are folded.
inline void rms_norm_row(const float* x, const float* weight, float eps, int width, float* out) {
    V squares = all(0.0f);
    for (int i = 0; i < width; i += LANES) {
        V v = load_part(x + i, width - i);
        squares = madd(v, v, squares);
    }
    const V root = all(std::sqrt(sum(squares) / (float)width + eps));
    for (int i = 0; i < width; i += LANES)
        store_part(out + i, load_part(x + i, width - i) / root * load_part(weight + i, width - i), width - i);
}

// silu(gate) · up with silu(g) = g / (1 + exp(-g)).
inline V silu_mul(V gate, V up) { return gate / (all(1.0f) + exp(all(0.0f) - gate)) * up; }

inline void silu_mul_row(const float* gate, const float* up, int width, float* out) {
    for (int i = 0; i < width; i += LANES)
        store_part(out + i, silu_mul(load_part(gate + i, width - i), load_part(up + i, width - i)), width - i);
}

inline void add_row(float* x, const float* y, int width) {
    for (int i = 0; i < width; i += LANES) store_part(x + i, load_part(x + i, width - i) + load_part(y + i, width - i), width - i);
}

// Turn the halves of one head by the angles of its position.
inline void rotary_head(const float* x, const float* cos, const float* sin, int half, float* out) {
    for (int i = 0; i < half; i += LANES) {
        const int left = half - i;
        V first = load_part(x + i, left), second = load_part(x + half + i, left);
        V c = load_part(cos + i, left), s = load_part(sin + i, left);
        store_part(out + i, nmadd(second, s, first * c), left);
        store_part(out + half + i, madd(first, s, second * c), left);
    }
}

// ln(x) from additions, products and one quotient in double precision: x = m 2^e with m near 1, then the series of
// 2 artanh((m - 1) / (m + 1)), cut where it is below 1e-14. A system library may choose its own by the machine.
inline double logarithm(double x) {
    if (!(x > 0.0)) return x == 0.0 ? -INFINITY : NAN;
    if (std::isinf(x)) return x;
    int exponent;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) m *= 2.0, exponent -= 1;
    const double s = (m - 1.0) / (m + 1.0), square = s * s;
    double series = 0.0;
    for (int odd = 21; odd >= 1; odd -= 2) series = series * square + 1.0 / odd;
    return exponent * 0.69314718055994531 + 2.0 * s * series;
}

// The highest of `width` logits and ln Σ exp(logit - highest); the logarithm is not finite where a logit is not.
inline void normaliser(const float* logits, int width, float& maximum, float& log_total) {
    V best = all(-INFINITY);
    for (int i = 0; i < width; i += LANES) best = higher(best, load_part(logits + i, width - i, -INFINITY));
    maximum = highest(best);
    V total = all(0.0f);
    for (int i = 0; i < width; i += LANES) total = total + exp(load_part(logits + i, width - i, -INFINITY) - all(maximum));
    log_total = (float)logarithm(sum(total));
}

}  // namespace native

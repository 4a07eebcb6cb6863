// Sixteen floats at a time, as one AVX-512 or two AVX2 registers. Every operation is correctly rounded and every order is written
// down, so both instruction sets give the same bits. Compiled with contraction off: a fused product is one that says `madd`.
//
// `madd_pairs` takes lanes of two bf16 numbers each and adds both products to a float32 sum; `store_halves` rounds sixteen floats to
// bf16, to the nearest, ties to even. Without the BF16 instructions the numbers are widened and the lower product comes first; with
// them the processor has an order of its own and takes denormals for zero, so those bits are a set of their own.
#pragma once
#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace native {

constexpr int LANES = 16;

#if defined(__AVX512F__)

struct V { __m512 x; };
inline V load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, V v) { _mm512_storeu_ps(p, v.x); }
inline V all(float f) { return {_mm512_set1_ps(f)}; }
inline V operator+(V a, V b) { return {_mm512_add_ps(a.x, b.x)}; }
inline V operator-(V a, V b) { return {_mm512_sub_ps(a.x, b.x)}; }
inline V operator*(V a, V b) { return {_mm512_mul_ps(a.x, b.x)}; }
inline V operator/(V a, V b) { return {_mm512_div_ps(a.x, b.x)}; }
inline V madd(V a, V b, V c) { return {_mm512_fmadd_ps(a.x, b.x, c.x)}; }
inline V nmadd(V a, V b, V c) { return {_mm512_fnmadd_ps(a.x, b.x, c.x)}; }
inline V higher(V a, V b) { return {_mm512_max_ps(a.x, b.x)}; }  // b where either is not a number
inline V lower(V a, V b) { return {_mm512_min_ps(a.x, b.x)}; }
inline V nearest(V a) { return {_mm512_roundscale_ps(a.x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline V two_to(V n) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_cvttps_epi32(n.x), _mm512_set1_epi32(127)), 23))};
}
inline V zero_where_below(V x, float bound, V y) {
    return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x.x, _mm512_set1_ps(bound), _CMP_NLT_UQ), y.x)};
}
inline V times_two_to(V y, V n, V x, float bound) {  // y · 2^n, and 0 where x is below the bound
    return {_mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x.x, _mm512_set1_ps(bound), _CMP_NLT_UQ), y.x, n.x)};
}
inline V only(V x, int from, int to) {  // -inf in the lanes before `from` and from `to` on
    const auto below = [](int n) { return n >= LANES ? 0xffffu : (n > 0 ? (1u << n) - 1 : 0u); };
    return {_mm512_mask_mov_ps(_mm512_set1_ps(-INFINITY), (__mmask16)(below(to) & ~below(from)), x.x)};
}
inline __m256 low(V v) { return _mm512_castps512_ps256(v.x); }
inline __m256 high(V v) { return _mm512_extractf32x8_ps(v.x, 1); }
#if defined(__AVX512BF16__)
inline V madd_pairs(V a, V b, V c) { return {_mm512_dpbf16_ps(c.x, (__m512bh)a.x, (__m512bh)b.x)}; }
inline void store_halves(uint16_t* p, V v) { _mm256_storeu_si256((__m256i*)p, (__m256i)_mm512_cvtneps_pbh(v.x)); }
#else
inline V lower_half(V a) { return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a.x), 16))}; }
inline V upper_half(V a) {
    return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(a.x), _mm512_set1_epi32((int)0xffff0000u)))};
}
inline V madd_pairs(V a, V b, V c) { return madd(upper_half(a), upper_half(b), madd(lower_half(a), lower_half(b), c)); }
inline void store_halves(uint16_t* p, V v) {
    const __m512i bits = _mm512_castps_si512(v.x), odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i up = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    up = _mm512_mask_mov_epi32(up, _mm512_cmp_ps_mask(v.x, v.x, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc0));
    _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16(up));
}
#endif

#elif defined(__AVX2__) && defined(__FMA__)

struct V { __m256 a, b; };
inline V load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, V v) { _mm256_storeu_ps(p, v.a); _mm256_storeu_ps(p + 8, v.b); }
inline V all(float f) { return {_mm256_set1_ps(f), _mm256_set1_ps(f)}; }
inline V operator+(V x, V y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline V operator-(V x, V y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline V operator*(V x, V y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline V operator/(V x, V y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline V madd(V x, V y, V z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
inline V nmadd(V x, V y, V z) { return {_mm256_fnmadd_ps(x.a, y.a, z.a), _mm256_fnmadd_ps(x.b, y.b, z.b)}; }
inline V higher(V x, V y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
inline V lower(V x, V y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
inline __m256 nearest8(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline V nearest(V x) { return {nearest8(x.a), nearest8(x.b)}; }
inline __m256 two_to8(__m256 n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvttps_epi32(n), _mm256_set1_epi32(127)), 23));
}
inline V two_to(V n) { return {two_to8(n.a), two_to8(n.b)}; }
inline __m256 kept8(__m256 x, float bound, __m256 y) {
    return _mm256_and_ps(_mm256_cmp_ps(x, _mm256_set1_ps(bound), _CMP_NLT_UQ), y);
}
inline V zero_where_below(V x, float bound, V y) { return {kept8(x.a, bound, y.a), kept8(x.b, bound, y.b)}; }
inline V times_two_to(V y, V n, V x, float bound) { return zero_where_below(x, bound, y * two_to(n)); }
inline __m256 only8(__m256 x, int from, int to) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i before = _mm256_cmpgt_epi32(_mm256_set1_epi32(from), lane), after = _mm256_cmpgt_epi32(lane, _mm256_set1_epi32(to - 1));
    return _mm256_blendv_ps(x, _mm256_set1_ps(-INFINITY), _mm256_castsi256_ps(_mm256_or_si256(before, after)));
}
inline V only(V x, int from, int to) { return {only8(x.a, from, to), only8(x.b, from - 8, to - 8)}; }
inline __m256 low(V v) { return v.a; }
inline __m256 high(V v) { return v.b; }
inline __m256 lower_half8(__m256 a) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a), 16)); }
inline __m256 upper_half8(__m256 a) { return _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32((int)0xffff0000u))); }
inline V lower_half(V x) { return {lower_half8(x.a), lower_half8(x.b)}; }
inline V upper_half(V x) { return {upper_half8(x.a), upper_half8(x.b)}; }
inline V madd_pairs(V a, V b, V c) { return madd(upper_half(a), upper_half(b), madd(lower_half(a), lower_half(b), c)); }
inline __m256i rounded8(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(up, _mm256_set1_epi32(0x7fc0), nan);
}
inline void store_halves(uint16_t* p, V v) {
    const __m256i mixed = _mm256_packus_epi32(rounded8(v.a), rounded8(v.b));
    _mm256_storeu_si256((__m256i*)p, _mm256_permute4x64_epi64(mixed, 0xd8));
}

#else
#error "needs AVX-512 or AVX2 with FMA"
#endif

// The last lanes of a row pass through the same instructions as the others, filled up with `fill`.
#if defined(__AVX512F__)
inline __mmask16 first_lanes(int count) { return (__mmask16)((1 << count) - 1); }
inline V load_part(const float* p, int count, float fill = 0.0f) {
    if (count >= LANES) return load(p);
    return {_mm512_mask_loadu_ps(_mm512_set1_ps(fill), first_lanes(count), p)};
}
inline void store_part(float* p, V v, int count) {
    if (count >= LANES) return store(p, v);
    _mm512_mask_storeu_ps(p, first_lanes(count), v.x);
}
#else
inline V load_part(const float* p, int count, float fill = 0.0f) {
    if (count >= LANES) return load(p);
    float padded[LANES];
    for (int i = 0; i < LANES; i++) padded[i] = i < count ? p[i] : fill;
    return load(padded);
}
inline void store_part(float* p, V v, int count) {
    if (count >= LANES) return store(p, v);
    float padded[LANES];
    store(padded, v);
    std::memcpy(p, padded, sizeof(float) * count);
}
#endif

inline void copy(const float* from, int count, float* to) {  // short runs: a library call costs more than the copy
    int i = 0;
    for (; i + LANES <= count; i += LANES) store(to + i, load(from + i));
    for (; i < count; i++) to[i] = from[i];
}

// `count` halves into the lower or upper halves of words; the other halves, which another thread may be writing, stay untouched.
inline void write_halves(const uint16_t* from, int count, int upper, uint16_t* words) {
    int i = 0;
#if defined(__AVX512F__)
    for (; i + LANES <= count; i += LANES) {
        const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(from + i)));
        _mm512_mask_storeu_epi16(words + 2 * i, upper ? 0xaaaaaaaau : 0x55555555u, upper ? _mm512_slli_epi32(wide, 16) : wide);
    }
#endif
    for (; i < count; i++) words[2 * i + upper] = from[i];
}

// Lanes are folded by halving: 8 + 8, 4 + 4, 2 + 2, 1 + 1.
inline float sum(V v) {
    __m256 eight = _mm256_add_ps(low(v), high(v));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline float highest(V v) {
    __m256 eight = _mm256_max_ps(low(v), high(v));
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// The highest of each of up to eight: lane i of the result is that of `v[i]`, lanes past `count` hold anything.
#if defined(__AVX512F__)
template <int N>
[[gnu::always_inline]] inline V highest_of(const V (&v)[N]) {
    static_assert(N == 8);
    __m512 pairs[4], fours[2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m512 a = v[2 * i].x, b = v[2 * i + 1].x;
        pairs[i] = _mm512_max_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const __m512 a = pairs[2 * i], b = pairs[2 * i + 1];
        fours[i] = _mm512_max_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
    }
    __m512 all = _mm512_max_ps(_mm512_shuffle_ps(fours[0], fours[1], 0x44), _mm512_shuffle_ps(fours[0], fours[1], 0xee));
    all = _mm512_max_ps(all, _mm512_shuffle_ps(all, all, 0xb1));
    return {_mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0), all)};
}
#else
template <int N>
inline V highest_of(const V (&v)[N]) {
    float lanes[LANES] = {};
    for (int i = 0; i < N; i++) lanes[i] = highest(v[i]);
    return load(lanes);
}
#endif

constexpr float EXP_LOWEST = -87.0f, EXP_HIGHEST = 88.0f;

// exp(x), after Cephes expf: x = n ln 2 + r with ln 2 in two parts, a polynomial of degree five in r, times 2^n.
// Below exp(-87) the result is 0, so exp(-inf) = 0 and exp(0) = 1 hold exactly; not a number stays one.
inline V exp(V x) {
    V bounded = lower(all(EXP_HIGHEST), higher(all(EXP_LOWEST), x));
    V n = nearest(bounded * all(1.44269504088896341f));
    V r = nmadd(n, all(-2.12194440e-4f), nmadd(n, all(0.693359375f), bounded));
    V p = all(1.9875691500e-4f);
    p = madd(p, r, all(1.3981999507e-3f));
    p = madd(p, r, all(8.3334519073e-3f));
    p = madd(p, r, all(4.1665795894e-2f));
    p = madd(p, r, all(1.6666665459e-1f));
    p = madd(p, r, all(5.0000001201e-1f));
    p = madd(p, r * r, r) + all(1.0f);
    return zero_where_below(x, EXP_LOWEST, p * two_to(n));
}

constexpr float LOG2_E = 1.44269504088896341f, EXP2_LOWEST = -126.0f;

// 2^x of N times sixteen numbers up to 127: x = n + f, a minimax polynomial of degree five in f that is 1 at 0, times 2^n. Below
// 2^-126 the result is 0; not a number stays one. Step by step over all of them, for each chain of operations waits for itself.
template <int N>
[[gnu::always_inline]] inline void exp2(V (&x)[N]) {
    V n[N], f[N], square[N], high[N], low[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) n[i] = nearest(x[i]);
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) f[i] = x[i] - n[i];
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) square[i] = f[i] * f[i], high[i] = madd(f[i], all(1.326472731e-3f), all(9.671512991e-3f));
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) low[i] = madd(f[i], all(5.550733581e-2f), all(2.402224243e-1f));
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) high[i] = madd(high[i], square[i], low[i]), low[i] = madd(f[i], all(6.931470037e-1f), all(1.0f));
#pragma GCC unroll 8
    for (int i = 0; i < N; i++) x[i] = times_two_to(madd(high[i], square[i], low[i]), n[i], x[i], EXP2_LOWEST);
}

}  // namespace native

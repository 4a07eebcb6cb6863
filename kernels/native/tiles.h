// Products by AMX: one instruction multiplies sixteen rows by sixteen columns over sixteen words of two bf16 numbers. It sums the
// lower halves, the upper halves, then both, from zero, and adds that to what was there; denormals are zero. So an element is one
// chain over the depth in steps of sixteen words, ascending, whatever rows lie beside it: bits that are a set of their own.
#pragma once
#include <algorithm>

#include "lanes.h"

#if defined(__AMX_BF16__)

namespace native {

constexpr int TALL = 16, STEP = 16;  // rows of a tile; words of the depth that one instruction takes

// The tiles of this thread, while this lives: each of sixteen rows of sixteen words.
class TilesInUse {
  public:
    TilesInUse() {
        struct alignas(64) {
            uint8_t palette = 1, start = 0, none[14] = {};
            uint16_t bytes[16] = {};
            uint8_t rows[16] = {};
        } shape;
        for (int i = 0; i < 8; i++) shape.bytes[i] = 64, shape.rows[i] = TALL;
        asm volatile("" ::: "memory");
        _tile_loadconfig(&shape);
    }
    ~TilesInUse() { _tile_release(); }
    TilesInUse(const TilesInUse&) = delete;
};

// Sixteen words of the depth of a panel, and what lies at their place in the panel that will be wanted next.
struct Step {
    const float* at;
    long row;  // words from one to the next
    const float* ahead;
};

// Each of the strips that a panel meets fetches its share of what is ahead.
struct Share {
    int from, to;  // of sixteen lines
    Share(int strip, int strips) : from(std::min(STEP, each(strips) * strip)), to(std::min(STEP, from + each(strips))) {}
    static int each(int strips) { return (STEP + strips - 1) / strips; }
    void fetch(const Step& step) const {
        for (int i = from; i < to; i++) _mm_prefetch((const char*)(step.ahead + i * step.row), _MM_HINT_T1);
    }
};

// c = a · b for N times sixteen rows and P panels; `right(k, p)` is step k of panel p. Rows of `a` end in zeros where the depth ends
// within a step. The intrinsics do not say that they read memory, so the compiler is told where it must have been written.
template <int N, int P, class F>
[[gnu::always_inline]] inline void tile_product(const float* a, long a_row, int steps, const F& right, float* c, long c_row, const Share& share) {
    asm volatile("" ::: "memory");
    _tile_zero(0);
    if constexpr (P > 1) _tile_zero(1);
    if constexpr (N > 1) _tile_zero(2);
    if constexpr (N > 1 && P > 1) _tile_zero(3);
    for (int k = 0; k < steps; k++, a += STEP) {
        const Step first = right(k, 0), second = right(k, P - 1);
        asm volatile("" ::: "memory");  // `right` may have made a copy
        _tile_loadd(4, a, 4 * a_row);
        _tile_loadd(6, first.at, 4 * first.row);
        _tile_dpbf16ps(0, 4, 6);
        if constexpr (P > 1) {
            _tile_loadd(7, second.at, 4 * second.row);
            _tile_dpbf16ps(1, 4, 7);
            share.fetch(second);
        }
        if constexpr (N > 1) {
            _tile_loadd(5, a + TALL * a_row, 4 * a_row);
            _tile_dpbf16ps(2, 5, 6);
            if constexpr (P > 1) _tile_dpbf16ps(3, 5, 7);
        }
        share.fetch(first);
    }
    _tile_stored(0, c, 4 * c_row);
    if constexpr (P > 1) _tile_stored(1, c + LANES, 4 * c_row);
    if constexpr (N > 1) _tile_stored(2, c + TALL * c_row, 4 * c_row);
    if constexpr (N > 1 && P > 1) _tile_stored(3, c + TALL * c_row + LANES, 4 * c_row);
    asm volatile("" ::: "memory");
}

// Two panels at most, cut into steps. What is left of the depth after whole steps lies in copies that end in zeros.
class Steps {
  public:
    Steps(long row, int depth) : row_(row), depth_(depth) {}
    void panel(int place, const float* at, const float* ahead) {
        const int left = depth_ % STEP;
        at_[place] = at, ahead_[place] = ahead;
        for (int k = 0; left && k < STEP; k++)
            store(rest_[place] + k * LANES, k < left ? load(at + (long)(depth_ - left + k) * row_) : all(0.0f));
    }
    int count() const { return (depth_ + STEP - 1) / STEP; }
    [[gnu::always_inline]] Step operator()(int k, int place) const {
        const long far = (long)k * STEP * row_;
        if (k == depth_ / STEP) return {rest_[place], LANES, ahead_[place] + far};
        return {at_[place] + far, row_, ahead_[place] + far};
    }

  private:
    long row_;
    int depth_;
    const float *at_[2], *ahead_[2];
    alignas(64) float rest_[2][STEP * LANES];
};

}  // namespace native

#endif

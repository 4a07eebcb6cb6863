// One product for linear layers, scores and mixed values: each element is one chain of fused products over the depth, ascending,
// whatever tile, strip or thread it falls into. So a row's bits cannot depend on how many rows there are.
#pragma once
#include <array>
#include <utility>

#include "lanes.h"

namespace native {

#if defined(__AVX512F__)
constexpr int STRIP = 12;  // rows of a full tile: 12 × 2 sums and 2 columns of the right side fill 26 of 32 registers
constexpr int panels_of(int rows) { return rows > 6 ? 2 : 4; }
#else
constexpr int STRIP = 6;  // 6 × 1 sums of two registers each, of 16 registers
constexpr int panels_of(int rows) { return rows > 3 ? 1 : 2; }
#endif

// The right side, cut into panels of 16 columns: element (k, 16 p + lane) lies at `at[k * row + p * panel + lane]`.
struct Right {
    const float* at;
    long row, panel;
    int panels;
};

template <int R, int P>
void tile(const float* a, long a_row, const float* b, long b_row, long b_panel, int depth, float* c, long c_row, bool add) {
    V sums[R][P];
#pragma GCC unroll 12
    for (int r = 0; r < R; r++)
        for (int p = 0; p < P; p++) sums[r][p] = add ? load(c + r * c_row + p * LANES) : all(0.0f);
    for (int k = 0; k < depth; k++) {
        V right[P];
        for (int p = 0; p < P; p++) right[p] = load(b + k * b_row + p * b_panel);
#pragma GCC unroll 12
        for (int r = 0; r < R; r++) {
            V left = all(a[r * a_row + k]);
            for (int p = 0; p < P; p++) sums[r][p] = madd(left, right[p], sums[r][p]);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < R; r++)
        for (int p = 0; p < P; p++) store(c + r * c_row + p * LANES, sums[r][p]);
}

using Tile = void (*)(const float*, long, const float*, long, long, int, float*, long, bool);

template <int... R>
constexpr std::array<Tile, STRIP + 1> wide_tiles(std::integer_sequence<int, R...>) {
    return {nullptr, tile<R + 1, panels_of(R + 1)>...};
}
template <int... R>
constexpr std::array<Tile, STRIP + 1> narrow_tiles(std::integer_sequence<int, R...>) {
    return {nullptr, tile<R + 1, 1>...};
}
constexpr auto WIDE = wide_tiles(std::make_integer_sequence<int, STRIP>{});
constexpr auto NARROW = narrow_tiles(std::make_integer_sequence<int, STRIP>{});

// Rows `first` to `last` in strips of `height`: a few panels of the right side stay in the nearest cache while all strips pass.
inline void sweep(const float* a, long a_row, int first, int last, int height, Right b, int depth, float* c, long c_row, bool add) {
    const int group = panels_of(height);
    for (int p = 0; p < b.panels;) {
        const bool wide = p + group <= b.panels;
        const Tile run = wide ? WIDE[height] : NARROW[height];
        for (int r = first; r < last; r += height)
            run(a + r * a_row, a_row, b.at + p * b.panel, b.row, b.panel, depth, c + r * c_row + p * LANES, c_row, add);
        p += wide ? group : 1;
    }
}

// c (+)= a · b for `rows` rows; every row of c must hold whole panels.
inline void multiply(const float* a, long a_row, int rows, Right b, int depth, float* c, long c_row, bool add) {
    const int rest = rows % STRIP;
    if (rows > rest) sweep(a, a_row, 0, rows - rest, STRIP, b, depth, c, c_row, add);
    if (rest) sweep(a, a_row, rows - rest, rows, rest, b, depth, c, c_row, add);
}

// A weight packed as [panels][depth][16], the columns past the last filled with zeros.
struct Weight {
    const float* packed;
    int depth, columns;
    Right right() const { return {packed, LANES, (long)depth * LANES, rounded_up(columns) / LANES}; }
};

}  // namespace native

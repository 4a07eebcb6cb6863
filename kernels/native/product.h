// One product for linear layers, scores and mixed values: each element is one chain of fused products over the depth, ascending,
// whatever tile, strip or thread it falls into. So a row's bits cannot depend on how many rows there are.
//
// Both sides are made of 32-bit words, passed around as floats and never computed with: a word is a float32 number, or two bf16
// numbers that stand next to each other along the depth.
#pragma once
#include <algorithm>
#include <array>
#include <utility>

#include "lanes.h"
#include "tiles.h"

namespace native {

inline int rounded_up(int n) { return (n + LANES - 1) / LANES * LANES; }

struct Single {
    static constexpr int PER = 1, FULL = LANES;  // numbers a word; numbers that a left row is filled up to with zeros
    static constexpr bool TILES = false;  // the left side is read, and the result written, in whole tiles of rows
    static V madd(V left, V right, V sum) { return native::madd(left, right, sum); }
    static void put(float* words, V numbers) { store(words, numbers); }  // sixteen numbers, PER a word
};

struct Pair {
#if defined(__AMX_BF16__)
    static constexpr int PER = 2, FULL = PER * STEP;
    static constexpr bool TILES = true;
#else
    static constexpr int PER = 2, FULL = LANES;
    static constexpr bool TILES = false;
#endif
    static V madd(V left, V right, V sum) { return madd_pairs(left, right, sum); }
    static void put(float* words, V numbers) { store_halves((uint16_t*)words, numbers); }
};

template <class E>
constexpr int words(int numbers) { return (numbers + E::PER - 1) / E::PER; }
template <class E>
constexpr int left_row(int numbers) { return (numbers + E::FULL - 1) / E::FULL * E::FULL / E::PER; }  // words that `put_row` fills
template <class E>
constexpr int64_t left_rows(int64_t rows) { return E::TILES ? (rows + LANES - 1) / LANES * LANES : rows; }  // that may be read

// Zeros from the lanes after the last of `count` numbers to the end of a left row.
template <class E>
void end_row(int count, float* row) {
    for (int i = rounded_up(count); i < left_row<E>(count) * E::PER; i += LANES) E::put(row + i / E::PER, all(0.0f));
}

// A row of a left side from `count` floats, filled up with zeros.
template <class E>
void put_row(const float* x, int count, float* row) {
    for (int i = 0; i < count; i += LANES) E::put(row + i / E::PER, load_part(x + i, count - i));
    end_row<E>(count, row);
}

#if defined(__AVX512F__)
constexpr int STRIP = 12, FEW = 6, PANELS = 2;  // up to STRIP rows × PANELS sums, and twice the panels for FEW rows: 24 of 32 registers
#else
constexpr int STRIP = 6, FEW = 3, PANELS = 1;  // a sum is two registers, of 16
#endif

// The right side, cut into panels of 16 columns: word (k, 16 p + lane) lies at `panel(p)[k * row + lane]`. While a panel passes,
// the one that will be wanted next is fetched at the same pace: asked for all at once, lines would queue and everything behind them.
struct Right {
    const float* at;
    long row, step;
    int panels;
    long skip = 0;  // from the last panels to those that come after them
    const float* panel(int p) const { return at + p * step; }
    const float* ahead(int p, int wide) const { return panel(p + wide) + (p + wide >= panels ? skip : 0); }
};

struct Panels {  // a few panels that pass together, and the words that are fetched meanwhile, `pace` of them a step of the depth
    const float *at[4], *ahead[4];
    long row, pace;
};

// R rows of a left side. More than FEW are reached from several pointers, three rows from each, which one distance serves. The empty
// `asm` keeps the compiler from working out an address for each row: those do not fit the registers and would be fetched at every step.
template <int R>
struct Rows {
    static constexpr int EACH = R > FEW ? 3 : R;
    const float* at[(R + EACH - 1) / EACH];
    long row;
    [[gnu::always_inline]] Rows(const float* first, long distance) : row(distance) {
#pragma GCC unroll 4
        for (int i = 0; i * EACH < R; i++) {
            at[i] = first + i * EACH * row;
            if (R > FEW) asm("" : "+r"(at[i]));
        }
    }
    [[gnu::always_inline]] V everywhere(int r, int k) const { return all(at[r / EACH][r % EACH * row + k]); }
};

template <class E, int R, int P>
void tile(const float* a, long a_row, const Panels& b, int depth, float* c, long c_row, bool add) {
    V sums[R][P];
#pragma GCC unroll 12
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) sums[r][p] = add ? load(c + r * c_row + p * LANES) : all(0.0f);
    if (R > FEW) asm("" : "+r"(c), "+r"(c_row));  // nor for each row of c
    const Rows<R> rows(a, a_row);
    const float *at[P], *ahead[P];
    for (int p = 0; p < P; p++) at[p] = b.at[p], ahead[p] = b.ahead[p];
    const long row = b.row, pace = b.pace;
    for (int k = 0; k < depth; k++) {
        V right[P];
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) {
            right[p] = load(at[p] + k * row);
            _mm_prefetch((const char*)(ahead[p] + k * pace), _MM_HINT_T1);
        }
#pragma GCC unroll 12
        for (int r = 0; r < R; r++) {
            const V left = rows.everywhere(r, k);
#pragma GCC unroll 4
            for (int p = 0; p < P; p++) sums[r][p] = E::madd(left, right[p], sums[r][p]);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) store(c + r * c_row + p * LANES, sums[r][p]);
}

using Tile = void (*)(const float*, long, const Panels&, int, float*, long, bool);

template <class E, int P, int... R>
constexpr std::array<Tile, sizeof...(R) + 1> tiles(std::integer_sequence<int, R...>) {
    return {nullptr, tile<E, R + 1, P>...};
}

template <class E>
Tile tile_of(int rows, int panels) {
    static constexpr auto NARROW = tiles<E, 1>(std::make_integer_sequence<int, STRIP>{});
    static constexpr auto USUAL = tiles<E, PANELS>(std::make_integer_sequence<int, STRIP>{});
    static constexpr auto WIDE = tiles<E, 2 * PANELS>(std::make_integer_sequence<int, FEW>{});
    return panels == 1 ? NARROW[rows] : (panels == PANELS ? USUAL[rows] : WIDE[rows]);
}

// c (+)= a · b for `rows` rows and `depth` words; every row of c must hold whole panels. Rows are cut into strips of nearly equal
// height: a few panels of the right side stay in the nearest cache while all strips pass.
template <class E>
void multiply(const float* a, long a_row, int rows, const Right& b, int depth, float* c, long c_row, bool add) {
    const int strips = (rows + STRIP - 1) / STRIP, low = rows / strips, taller = rows % strips;
    const int group = low + (taller > 0) > FEW ? PANELS : 2 * PANELS;
    for (int p = 0; p < b.panels;) {
        const int left = b.panels - p, wide = left >= group ? group : (left >= PANELS ? PANELS : 1);
        Panels panels{{}, {}, b.row, (b.row + strips - 1) / strips};  // each strip fetches its share
        for (int i = 0; i < wide; i++) panels.at[i] = b.panel(p + i), panels.ahead[i] = b.ahead(p + i, wide);
        for (int strip = 0, r = 0; strip < strips; strip++) {
            const int height = low + (strip < taller);
            tile_of<E>(height, wide)(a + r * a_row, a_row, panels, depth, c + r * c_row + p * LANES, c_row, add);
            for (int i = 0; i < wide; i++) panels.ahead[i] += depth * panels.pace;
            r += height;
        }
        p += wide;
    }
}

#if defined(__AMX_BF16__)

// As above, by tiles: two panels and twice sixteen rows at a time. Rows of `a` and `c` are there in sixteens.
template <>
inline void multiply<Pair>(const float* a, long a_row, int rows, const Right& b, int depth, float* c, long c_row, bool) {
    const int strips = (rows + 2 * TALL - 1) / (2 * TALL);
    Steps steps(b.row, depth);
    for (int p = 0, wide; p < b.panels; p += wide) {
        wide = std::min(2, b.panels - p);
        for (int i = 0; i < wide; i++) steps.panel(i, b.panel(p + i), b.ahead(p + i, wide));
        for (int strip = 0; strip < strips; strip++) {
            const int r = strip * 2 * TALL;
            const float* left = a + r * a_row;
            float* sums = c + r * c_row + p * LANES;
            const Share share(strip, strips);
            if (rows - r > TALL && wide > 1) tile_product<2, 2>(left, a_row, steps.count(), steps, sums, c_row, share);
            else if (rows - r > TALL) tile_product<2, 1>(left, a_row, steps.count(), steps, sums, c_row, share);
            else if (wide > 1) tile_product<1, 2>(left, a_row, steps.count(), steps, sums, c_row, share);
            else tile_product<1, 1>(left, a_row, steps.count(), steps, sums, c_row, share);
        }
    }
}

#endif

// The tiles of the thread, where a product of E uses them.
template <class E>
struct Using {};
#if defined(__AMX_BF16__)
template <>
struct Using<Pair> : TilesInUse {};
#endif

// A weight packed as [panels][words of the depth][16], the columns past the last filled with zeros.
struct Weight {
    const float* packed;
    int depth, columns;
    int panels() const { return rounded_up(columns) / LANES; }
    template <class E>
    const float* panel(int first) const { return packed + (size_t)first * words<E>(depth) * LANES; }
    template <class E>
    Right right(int first, int count) const {
        return {panel<E>(first), LANES, (long)words<E>(depth) * LANES, count};
    }
};

}  // namespace native

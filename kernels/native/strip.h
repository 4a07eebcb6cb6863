// What happens to a strip of query rows at one tile of keys: scores, weights, mixed values, all of it in the nearest cache.
#pragma once
#include "product.h"

namespace native {

constexpr int TILE = 64, TILE_PANELS = TILE / LANES;
constexpr int TALLEST = 6;  // rows of a strip: with as many panels as fit the registers
template <class E>
constexpr int STRIP_ROWS = E::TILES ? LANES : TALLEST;
constexpr float LOWEST = -1e30f;  // start of the running maximum: finite, so that 2^(old - new) is never not a number

inline int panels_at_once(int rows) { return rows > FEW ? PANELS : 2 * PANELS; }

struct Part {  // the values of one block of a tile, and what is fetched meanwhile: those at the same place of the next tile
    const float *at, *ahead;
};

// A tile as all strips of an item meet it: words of keys `[depth, key_row]` a panel, of values `[part_words, lanes]` a part. Each
// strip fetches its share of the next tile.
struct Passing {
    const float *keys[TILE_PANELS], *next_keys[TILE_PANELS];
    long key_row, key_pace, lanes, value_pace;
    Part parts[TILE];
    int part_words, strips;
};

// Scaled queries times `panels` panels of keys: `[rows, TILE]`.
template <class E>
void score(const float* queries, long row, int rows, const Passing& tile, int strip, int panels, int depth, float* scores) {
    const int group = panels_at_once(rows);
    for (int p = 0; p < panels;) {
        const int left = panels - p, wide = left >= group ? group : (left >= PANELS ? PANELS : 1);
        Panels passing{{}, {}, tile.key_row, tile.key_pace};
        for (int i = 0; i < wide; i++) {
            passing.at[i] = tile.keys[p + i];
            passing.ahead[i] = tile.next_keys[p + i] + strip * depth * tile.key_pace;
        }
        tile_of<E>(rows, wide)(queries, row, passing, depth, scores + p * LANES, TILE, false);
        p += wide;
    }
}

// Scores become weights 2^(score · log2 e - maximum); the running maxima, in powers of two, and the sums, in sixteen lanes a row,
// move on. `shrink[r]` is what row r's mixture must be multiplied by. `maximum` is read, and `shrink` written, up to whole lanes.
template <class E, int N>
void soften(const float* scores, int rows, float* weights, float* maximum, float* total, float* shrink) {
    V tops[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++) {
        tops[r] = all(LOWEST);
        if (r >= rows) continue;
        tops[r] = load(scores + r * TILE);
#pragma GCC unroll 4
        for (int i = 1; i < N; i++) tops[r] = higher(tops[r], load(scores + r * TILE + i * LANES));
    }
    float line[LANES];
    const V old = load(maximum), now = higher(old, highest_of(tops) * all(LOG2_E));
    V factor[1] = {old - now};
    exp2(factor);
    store_part(maximum, now, rows);
    store(shrink, factor[0]);
    store(line, all(0.0f) - now);
    for (int r = 0; r < rows; r++) {
        V w[N];
#pragma GCC unroll 4
        for (int i = 0; i < N; i++) w[i] = madd(load(scores + r * TILE + i * LANES), all(LOG2_E), all(line[r]));
        exp2(w);
#pragma GCC unroll 4
        for (int i = 0; i < N; i++) E::put(weights + (r * TILE + i * LANES) / E::PER, w[i]);
        end_row<E>(N * LANES, weights + r * TILE / E::PER);
        V sum = w[0];  // (0 + 1) + (2 + 3); a panel that no row sees would add zeros
        if constexpr (N > 1) sum = sum + w[1];
        if constexpr (N == 3) sum = sum + w[2];
        if constexpr (N == 4) sum = sum + (w[2] + w[3]);
        store(total + r * LANES, madd(load(total + r * LANES), all(shrink[r]), sum));
    }
}

template <class E>
void soften(const float* scores, int rows, int panels, float* weights, float* maximum, float* total, float* shrink) {
    using Softened = void (*)(const float*, int, float*, float*, float*, float*);
    static constexpr Softened BY_PANELS[] = {nullptr, soften<E, 1>, soften<E, 2>, soften<E, 3>, soften<E, 4>};
    constexpr int EACH = 8;
    for (int r = 0; r < rows; r += EACH)
        BY_PANELS[panels](scores + r * TILE, std::min(EACH, rows - r), weights + r * TILE / E::PER, maximum + r, total + r * LANES,
                          shrink + r);
}

// mixed = mixed · shrink + weights · values, for `depth` words of keys in parts of `each`.
template <class E, int R, int P>
void mix_tile(const float* weights, const Passing& tile, int column, int ahead, int depth, const float* shrink, float* mixed) {
    const long lanes = tile.lanes, pace = tile.value_pace;
    V sums[R][P];
    mixed += column;
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) sums[r][p] = load(mixed + r * lanes + p * LANES) * all(shrink[r]);
    const int each = tile.part_words;
    for (const Part* part = tile.parts; depth > 0; depth -= each, weights += each, part++) {
        const float *at = part->at + column, *next = part->ahead + column + ahead;
        const int count = std::min(depth, each);
        for (int k = 0; k < count; k++) {
            V right[P];
#pragma GCC unroll 4
            for (int p = 0; p < P; p++) {
                right[p] = load(at + k * lanes + p * LANES);
                _mm_prefetch((const char*)(next + k * pace + p * LANES), _MM_HINT_T1);
            }
#pragma GCC unroll 6
            for (int r = 0; r < R; r++) {
                const V left = all(weights[r * (TILE / E::PER) + k]);
#pragma GCC unroll 4
                for (int p = 0; p < P; p++) sums[r][p] = E::madd(left, right[p], sums[r][p]);
            }
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) store(mixed + r * lanes + p * LANES, sums[r][p]);
}

using MixTile = void (*)(const float*, const Passing&, int, int, int, const float*, float*);

template <class E, int P, int... R>
constexpr std::array<MixTile, sizeof...(R) + 1> mix_tiles(std::integer_sequence<int, R...>) {
    return {nullptr, mix_tile<E, R + 1, P>...};
}

// `products` has room for a strip's rows.
template <class E>
void mix(const float* weights, int rows, const Passing& tile, int strip, int panels, const float* shrink, float* mixed, float*) {
    static constexpr auto NARROW = mix_tiles<E, 1>(std::make_integer_sequence<int, TALLEST>{});
    static constexpr auto USUAL = mix_tiles<E, PANELS>(std::make_integer_sequence<int, TALLEST>{});
    static constexpr auto WIDE = mix_tiles<E, 2 * PANELS>(std::make_integer_sequence<int, FEW>{});
    const int group = panels_at_once(rows), columns = tile.lanes / LANES, depth = panels * LANES / E::PER;
    const int ahead = strip * tile.part_words * tile.value_pace;
    for (int p = 0; p < columns;) {
        const int left = columns - p, wide = left >= group ? group : (left >= PANELS ? PANELS : 1);
        const MixTile mixing = wide == 1 ? NARROW[rows] : (wide == PANELS ? USUAL[rows] : WIDE[rows]);
        mixing(weights, tile, p * LANES, ahead, depth, shrink, mixed);
        p += wide;
    }
}

#if defined(__AMX_BF16__)

// By tiles: the queries and weights of a strip are there in sixteen rows, and so are `scores` and `products`.
template <>
inline void score<Pair>(const float* queries, long row, int, const Passing& tile, int strip, int panels, int depth, float* scores) {
    const Share share(strip, tile.strips);
    Steps keys(tile.key_row, depth);
    for (int p = 0; p < panels; p += 2) {
        const bool both = p + 1 < panels;
        for (int i = 0; i <= both; i++) keys.panel(i, tile.keys[p + i], tile.next_keys[p + i]);
        if (both) tile_product<1, 2>(queries, row, keys.count(), keys, scores + p * LANES, TILE, share);
        else tile_product<1, 1>(queries, row, keys.count(), keys, scores + p * LANES, TILE, share);
    }
}

template <>
inline void mix<Pair>(const float* weights, int rows, const Passing& tile, int strip, int panels, const float* shrink, float* mixed,
                      float* products) {
    const Share share(strip, tile.strips);
    const long lanes = tile.lanes;
    const int steps = (panels * LANES / Pair::PER + STEP - 1) / STEP;
    for (int column = 0; column < lanes; column += 2 * LANES) {
        const auto values = [&](int k, int p) {
            const Part& part = tile.parts[k * STEP / tile.part_words];
            const long far = (long)(k * STEP % tile.part_words) * lanes + column + p * LANES;
            return Step{part.at + far, lanes, part.ahead + far};
        };
        if (column + LANES < lanes) tile_product<1, 2>(weights, TILE / Pair::PER, steps, values, products + column, lanes, share);
        else tile_product<1, 1>(weights, TILE / Pair::PER, steps, values, products + column, lanes, share);
    }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < lanes; i += LANES) {
            float* at = mixed + r * lanes + i;
            store(at, madd(load(at), all(shrink[r]), load(products + r * lanes + i)));
        }
}

#endif

}  // namespace native

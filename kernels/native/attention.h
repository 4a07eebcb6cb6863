// Causal attention over paged keys and values: a blocked online softmax (Milakov and Gimelshein 2018) in float32.
//
// A tile is 64 keys at an absolute multiple of 64. A query row meets exactly the tiles that hold a key it may see, ascending, and
// nothing else, and of the last of them as many panels of 16 keys as its position asks for; so its bits do not depend on the rows
// that are worked on beside it. Keys and values are read where they lie.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "product.h"
#include "strip.h"
#include "team.h"

namespace native {

constexpr int APART = 80;  // words: a load waits for a store that lies whole pages before it, so what a strip reads and writes does not
constexpr int ITEM_ROWS = 96;  // query rows worked on together, heads of a group counted

// Words of keys `[blocks, kv_heads, words(head_dim), block_size]`, of values `[blocks, kv_heads, words(block_size), whole lanes]`.
struct Pool {
    float *keys, *values;
    int heads, kv_heads, head_dim, block_size;
    int64_t window;  // 0: none
    int group() const { return heads / kv_heads; }
    int lanes() const { return rounded_up(head_dim); }
    template <class E>
    float* key_block(int64_t block, int head) const {
        return keys + (size_t)(block * kv_heads + head) * words<E>(head_dim) * block_size;
    }
    template <class E>
    float* value_block(int64_t block, int head) const {
        return values + (size_t)(block * kv_heads + head) * words<E>(block_size) * lanes();
    }
};

// At most ITEM_ROWS query rows of one sequence, those of different KV heads counted apart. Few rows take several heads together: the
// keys of a block's heads lie side by side, and long runs are read faster.
struct Item {
    int64_t row, start, length, end, held, gone;  // keys exist below `end`; `held` blocks are there, `gone` before them are not
    const int64_t* blocks;
    int head, end_head;
    int64_t first_tile(int64_t window) const { return window ? std::max<int64_t>(0, start - window + 1) / TILE : 0; }
    int64_t last_tile() const { return (start + length - 1) / TILE; }
    bool has(int64_t block) const { return block >= gone && block < gone + held; }
};

struct Place {  // a tile of one head, and the one after it
    int64_t tile;
    int head;
    Place after(const Item& item) const { return head + 1 < item.end_head ? Place{tile, head + 1} : Place{tile + 1, item.head}; }
};

// What a thread works with: the rows of an item, and the scores and weights of a strip of them.
struct Desk {
    Buffer buffer;
    float *queries, *keys, *values, *nothing, *gathered, *scores, *weights, *products, *mixed, *maximum, *total;
    void lay(size_t rows, const Pool& pool) {
        const size_t wide = pool.lanes(), strip = LANES * TILE + APART, block = pool.block_size * wide, asked = (rows + LANES) * (wide + LANES);
        const size_t sizes[] = {asked, wide * TILE, block, block, TILE * wide, strip, strip, LANES * wide, rows * wide, rows_up(rows),
                                rows * LANES};
        float** places[] = {&queries, &keys, &values, &nothing, &gathered, &scores, &weights, &products, &mixed, &maximum, &total};
        size_t all = 0;
        for (size_t size : sizes) all += size;
        float* at = buffer.floats(all);
        for (int i = 0; i < 11; i++) *places[i] = at, at += sizes[i];
        std::fill_n(nothing, block, 0.0f);
    }
    static size_t rows_up(size_t rows) { return rounded_up((int)rows) + LANES; }  // maxima are read in whole lanes
};

// The panels of a tile's keys. Blocks of fewer keys than a panel has are copied together; a block that is not there leaves the
// panel elsewhere, for its scores are void.
template <class E>
void key_panels(const Pool& pool, const Item& item, const Place& place, const float** panels) {
    const int size = pool.block_size, parts = TILE / size;
    for (int part = 0; part < parts; part++) {
        const int64_t index = place.tile * parts + part;
        const float* there = item.has(index) ? pool.key_block<E>(item.blocks[index - item.gone], place.head) : pool.keys;
        for (int key = 0; key < size; key += LANES) *panels++ = there + key;
    }
}

template <class E>
void copy_keys(const Pool& pool, const Item& item, const Place& place, float* keys) {
    const int size = pool.block_size, depth = words<E>(pool.head_dim);
    for (int part = 0; part < TILE / size; part++) {
        const int64_t index = place.tile * (TILE / size) + part;
        if (!item.has(index)) continue;
        const float* key = pool.key_block<E>(item.blocks[index - item.gone], place.head);
        for (int k = 0; k < depth; k++) std::memcpy(keys + k * TILE + part * size, key + k * size, sizeof(float) * size);
    }
}

// The values of one block of a tile. Those that do not exist are 0 in a copy, for memory not yet written may hold anything, and
// 0 · NaN is NaN.
template <class E>
const float* values_of(const Pool& pool, const Item& item, int64_t index, int head, Desk& desk) {
    const int size = pool.block_size, lanes = pool.lanes();
    const int written = item.has(index) ? (int)std::clamp<int64_t>(item.end - index * size, 0, size) : 0;
    if (!written) return desk.nothing;
    const float* values = pool.value_block<E>(item.blocks[index - item.gone], head);
    if (written == size) return values;
    const int whole = written / E::PER, all = words<E>(size);  // at most one block of a sequence is written in part
    if (whole) std::memcpy(desk.values, values, sizeof(float) * whole * lanes);
    std::memset(desk.values + (size_t)whole * lanes, 0, sizeof(float) * (all - whole) * lanes);
    if (written % E::PER)
        for (int d = 0; d < lanes; d++) std::memcpy(desk.values + (size_t)whole * lanes + d, values + (size_t)whole * lanes + d, 2);
    return desk.values;
}

// Values of blocks that are smaller than a step of the product are copied together.
template <class E>
void gather_values(const Pool& pool, const Item& item, const Place& place, Desk& desk, Passing& tile) {
    const int parts = TILE / pool.block_size;
    const long each = (long)tile.part_words * tile.lanes;
    for (int part = 0; part < parts; part++)
        std::memcpy(desk.gathered + part * each, values_of<E>(pool, item, place.tile * parts + part, place.head, desk),
                    sizeof(float) * each);
    tile.parts[0] = {desk.gathered, desk.gathered}, tile.part_words = words<E>(TILE);
}

// Where a tile's keys and values lie, and those of the tile after it.
template <class E>
void meet(const Pool& pool, const Item& item, const Place& place, int strips, Desk& desk, Passing& tile) {
    const int size = pool.block_size, parts = TILE / size;
    const Place after = place.after(item);
    if (size >= LANES) {
        key_panels<E>(pool, item, place, tile.keys);
        key_panels<E>(pool, item, after, tile.next_keys);
        tile.key_row = size;
    } else {
        copy_keys<E>(pool, item, place, desk.keys);
        for (int p = 0; p < TILE_PANELS; p++) tile.keys[p] = tile.next_keys[p] = desk.keys + p * LANES;
        tile.key_row = TILE;
    }
    tile.lanes = pool.lanes(), tile.part_words = words<E>(size), tile.strips = strips;
    tile.key_pace = (tile.key_row + strips - 1) / strips, tile.value_pace = (tile.lanes + strips - 1) / strips;
    if (E::TILES && size < 2 * LANES) return gather_values<E>(pool, item, place, desk, tile);
    for (int part = 0; part < parts; part++) {
        const int64_t later = after.tile * parts + part;
        const float* values = values_of<E>(pool, item, place.tile * parts + part, place.head, desk);
        const float* next = item.has(later) ? pool.value_block<E>(item.blocks[later - item.gone], after.head) : values;
        tile.parts[part] = {values, next};
    }
}

// Scores of keys that a row does not see. Row `begin` of those whose first stands at `place`, counted from the tile's first key, is
// the first of the strip.
inline void hide(const Pool& pool, int64_t place, int begin, int rows, int panels, float* scores) {
    for (int r = 0; r < rows; r++) {
        const int64_t at = place + (begin + r) / pool.group();
        const int to = (int)std::min<int64_t>(TILE, at + 1);
        const int from = pool.window ? (int)std::max<int64_t>(0, at - pool.window + 1) : 0;
        for (int p = 0; p < panels; p++) {
            float* there = scores + r * TILE + p * LANES;
            store(there, only(load(there), from - p * LANES, to - p * LANES));
        }
    }
}

template <class E>
void attend_tile(const Pool& pool, const Item& item, const Place& place, Desk& desk) {
    const int group = pool.group(), depth = left_row<E>(pool.head_dim), lanes = pool.lanes();
    const int64_t first_key = place.tile * TILE, none = INT64_MAX / 2;
    const int64_t oldest = std::max<int64_t>(0, first_key - item.start);  // first position that sees a key of the tile …
    const int64_t limit = pool.window ? first_key + TILE - 1 + pool.window - item.start : none;
    const int64_t beyond = std::min(item.length, limit);  // … and the first whose window has left it
    if (beyond <= oldest) return;
    Passing tile;
    constexpr int most = STRIP_ROWS<E>;
    meet<E>(pool, item, place, ((int)(beyond - oldest) * group + most - 1) / most, desk, tile);
    const int64_t before = (place.head - item.head) * item.length, shift = item.start - first_key;
    int number = 0;
    for (int64_t from = oldest, to; from < beyond; from = to) {  // positions that see equally many panels
        const int panels = (int)std::min<int64_t>((shift + from) / LANES + 1, TILE_PANELS);
        to = panels < TILE_PANELS ? std::min(beyond, panels * LANES - shift) : beyond;
        const bool hides = shift + from < TILE - 1 || (pool.window && shift + to > pool.window);
        const int rows = (int)(to - from) * group, strips = (rows + most - 1) / most;
        for (int strip = 0; strip < strips; strip++, number++) {
            const int begin = rows * strip / strips, count = rows * (strip + 1) / strips - begin;
            const int64_t first = (before + from) * group + begin;
            float shrink[2 * LANES], *maximum = desk.maximum + first, *total = desk.total + first * LANES;
            score<E>(desk.queries + first * depth, depth, count, tile, number, panels, words<E>(pool.head_dim), desk.scores);
            if (hides) hide(pool, shift + from, begin, count, panels, desk.scores);
            soften<E>(desk.scores, count, panels, desk.weights, maximum, total, shrink);
            mix<E>(desk.weights, count, tile, number, panels, shrink, desk.mixed + first * lanes, desk.products);
        }
    }
}

// `work(row of the desk, number of the query in [T, heads])` for each of an item's rows.
template <class F>
void each_row(const Pool& pool, const Item& item, F work) {
    const int64_t group = pool.group();
    int64_t row = 0;
    for (int head = item.head; head < item.end_head; head++)
        for (int64_t at = 0; at < item.length; at++)
            for (int64_t i = 0, first = (item.row + at) * pool.heads + head * group; i < group; i++) work(row++, first + i);
}

// Ask for the queries of some of an item's positions.
inline void fetch_queries(const Pool& pool, const Item& item, const float* q, int64_t from, int64_t to) {
    const int64_t row = (int64_t)pool.heads * pool.head_dim, each = (int64_t)pool.group() * pool.head_dim;
    for (int64_t at = from; at < to; at++)
        for (int64_t i = item.head * each; i < item.end_head * each; i += LANES)
            _mm_prefetch((const char*)(q + (item.row + at) * row + i), _MM_HINT_T1);
}

// `q` and `out` are [T, heads, head_dim] in float32; the scaled queries are put into words. Meanwhile those of the item that comes
// next are fetched, some at each tile.
template <class E>
void attend(const Pool& pool, const Item& item, const Item* next, const float* q, float* out, Desk& desk) {
    const int depth = pool.head_dim, lanes = pool.lanes();
    const size_t rows = item.length * pool.group() * (item.end_head - item.head);
    const V scale = all(1.0f / std::sqrt((float)depth));
    each_row(pool, item, [&](int64_t row, int64_t number) {
        float* to = desk.queries + row * left_row<E>(depth);
        for (int d = 0; d < depth; d += LANES) E::put(to + d / E::PER, load_part(q + number * depth + d, depth - d) * scale);
        end_row<E>(depth, to);
    });
    std::fill_n(desk.mixed, rows * lanes, 0.0f);
    std::fill_n(desk.maximum, rows, LOWEST);
    std::fill_n(desk.total, rows * LANES, 0.0f);
    Place at{item.first_tile(pool.window), item.head};
    const int64_t share = next ? next->length / ((item.last_tile() - at.tile + 1) * (item.end_head - item.head)) + 1 : 0;
    for (int64_t from = 0; at.tile <= item.last_tile(); at = at.after(item), from += share) {
        if (next) fetch_queries(pool, *next, q, from, std::min(from + share, next->length));
        attend_tile<E>(pool, item, at, desk);
    }
    each_row(pool, item, [&](int64_t row, int64_t number) {
        const V total = all(sum(load(desk.total + row * LANES)));
        const float* mixed = desk.mixed + row * lanes;
        for (int d = 0; d < depth; d += LANES) store_part(out + number * depth + d, load(mixed + d) / total, depth - d);
    });
}

// Cut spans (rows of {row, start, length, where its blocks begin, blocks, blocks given back before them}) into items, the longest
// work first in each thread's range. Heads stay together where all threads have enough to do all the same.
inline std::vector<Item> items_of(const int64_t* spans, int64_t count, const int64_t* blocks, const Pool& pool, int threads) {
    std::vector<Item> items;
    const int64_t step = std::max(1, ITEM_ROWS / pool.group());
    for (int64_t i = 0; i < count; i++) {
        const int64_t *span = spans + 6 * i, end = span[1] + span[2];
        for (int64_t at = 0; at < span[2]; at += step) {
            const int64_t length = std::min(step, span[2] - at), fit = ITEM_ROWS / (length * pool.group());
            const int together = count < 4 * threads ? 1 : (int)std::clamp<int64_t>(fit, 1, pool.kv_heads);
            for (int head = 0; head < pool.kv_heads; head += together) {
                const int end_head = std::min(head + together, pool.kv_heads);
                items.push_back({span[0] + at, span[1] + at, length, end, span[4], span[5], blocks + span[3], head, end_head});
            }
        }
    }
    const auto work = [&](const Item& item) {
        return (item.last_tile() - item.first_tile(pool.window) + 1) * item.length * (item.end_head - item.head);
    };
    std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return work(a) > work(b); });
    std::vector<Item> dealt;
    for (int member = 0; member < threads; member++)
        for (size_t i = member; i < items.size(); i += threads) dealt.push_back(items[i]);
    return dealt;
}

}  // namespace native

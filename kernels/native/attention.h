// Causal attention over paged keys and values: a blocked online softmax (Milakov and Gimelshein 2018) in float32.
//
// A tile is 64 keys at an absolute multiple of 64. A query row meets exactly the tiles that hold a key it may see, ascending, and
// nothing else, so its bits do not depend on the rows that are worked on beside it. Keys and values are read where they lie.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "product.h"
#include "team.h"

namespace native {

constexpr int TILE = 64;
constexpr int ITEM_ROWS = 96;  // query rows worked on together, heads of a group counted
constexpr float LOWEST = -1e30f;  // start of the running maximum: finite, so that exp(old - new) is never not a number

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

// What a thread works with; `weights` is `scores` where a weight is a word.
struct Desk {
    Buffer buffer;
    float *queries, *keys, *values, *scores, *weights, *mixed, *maximum, *total;
    void lay(int rows, int depth) {
        const size_t wide = rounded_up(depth), line = rounded_up(rows);
        const size_t sizes[] = {rows * wide, wide * TILE, wide * TILE, (size_t)rows * TILE, (size_t)rows * TILE, rows * wide, line, line};
        float** places[] = {&queries, &keys, &values, &scores, &weights, &mixed, &maximum, &total};
        size_t all = 0;
        for (size_t size : sizes) all += size;
        float* at = buffer.floats(all);
        for (int i = 0; i < 8; i++) *places[i] = at, at += sizes[i];
    }
};

template <class E>
void key_panels(const Pool& pool, const Item& item, const Place& place, const float** panels) {
    for (int p = 0; p < TILE / LANES; p++) {
        const int64_t key = place.tile * TILE + p * LANES, index = key / pool.block_size;
        const float* there = item.has(index) ? pool.key_block<E>(item.blocks[index - item.gone], place.head) : pool.keys;
        panels[p] = there + key % pool.block_size;
    }
}

// The four panels of a tile's keys, and those of the tile after it. Blocks of fewer keys than a panel has are copied together; a
// block that is not there leaves the panel elsewhere, for its scores are void.
template <class E>
Right keys_of(const Pool& pool, const Item& item, const Place& place, Desk& desk, const float** panels) {
    const int size = pool.block_size, depth = words<E>(pool.head_dim);
    if (size >= LANES) {
        key_panels<E>(pool, item, place, panels);
        key_panels<E>(pool, item, place.after(item), panels + TILE / LANES);
        return {nullptr, size, 0, TILE / LANES, 0, nullptr, panels, panels + TILE / LANES};
    }
    for (int part = 0; part < TILE / size; part++) {
        const int64_t index = place.tile * (TILE / size) + part;
        if (!item.has(index)) continue;
        const float* key = pool.key_block<E>(item.blocks[index - item.gone], place.head);
        for (int k = 0; k < depth; k++) std::memcpy(desk.keys + k * TILE + part * size, key + k * size, sizeof(float) * size);
    }
    return {desk.keys, TILE, LANES, TILE / LANES, 0, desk.keys};
}

// The values of one block of a tile. Those that do not exist are 0 in a copy, for memory not yet written may hold anything, and
// 0 · NaN is NaN.
template <class E>
const float* values_of(const Pool& pool, const Item& item, int64_t index, int head, Desk& desk) {
    const int size = pool.block_size, lanes = pool.lanes();
    const int written = item.has(index) ? (int)std::clamp<int64_t>(item.end - index * size, 0, size) : 0;
    const float* values = written ? pool.value_block<E>(item.blocks[index - item.gone], head) : nullptr;
    if (written == size) return values;
    const int whole = written / E::PER, all = words<E>(size);
    if (whole) std::memcpy(desk.values, values, sizeof(float) * whole * lanes);
    std::memset(desk.values + (size_t)whole * lanes, 0, sizeof(float) * (all - whole) * lanes);
    if (written % E::PER)
        for (int d = 0; d < lanes; d++) std::memcpy(desk.values + (size_t)whole * lanes + d, values + (size_t)whole * lanes + d, 2);
    return desk.values;
}

// Scores become weights; the running maximum, sum and mixture of the row move to the new maximum.
template <class E>
void soften(float* scores, int from, int to, float* weights, float& maximum, float& total, float* mixed, int lanes) {
    for (int key = 0; key < from; key++) scores[key] = -INFINITY;
    for (int key = to; key < TILE; key++) scores[key] = -INFINITY;
    V s[4];
    for (int i = 0; i < 4; i++) s[i] = load(scores + i * LANES);
    const float now = std::max(maximum, highest(higher(higher(s[0], s[1]), higher(s[2], s[3]))));
    for (int i = 0; i < 4; i++) E::put(weights + i * LANES / E::PER, s[i] = exp(s[i] - all(now)));
    const float weight = sum((s[0] + s[1]) + (s[2] + s[3]));
    if (now != maximum) {  // else the factor is exactly 1
        const float shrink = exp(maximum - now);
        for (int d = 0; d < lanes; d += LANES) store(mixed + d, load(mixed + d) * all(shrink));
        total *= shrink;
        maximum = now;
    }
    total += weight;
}

template <class E>
void attend_tile(const Pool& pool, const Item& item, const Place& place, Desk& desk) {
    const int group = pool.group(), depth = left_row<E>(pool.head_dim), lanes = pool.lanes(), per_row = TILE / E::PER;
    const int64_t first_key = place.tile * TILE, none = INT64_MAX / 2;
    const int64_t oldest = std::max<int64_t>(0, first_key - item.start);  // first position that sees a key of the tile …
    const int64_t limit = pool.window ? first_key + TILE - 1 + pool.window - item.start : none;
    const int64_t beyond = std::min(item.length, limit);  // … and the first whose window has left it
    if (beyond <= oldest) return;
    const int first = (int)(oldest + (place.head - item.head) * item.length) * group, rows = (int)(beyond - oldest) * group;
    float *scores = desk.scores + (size_t)first * TILE, *mixed = desk.mixed + (size_t)first * lanes;
    float* weights = desk.weights + (size_t)first * per_row;
    const float* panels[2 * TILE / LANES];
    const Right keys = keys_of<E>(pool, item, place, desk, panels);
    multiply<E>(desk.queries + (size_t)first * depth, depth, rows, keys, words<E>(pool.head_dim), scores, TILE, false);
    for (int r = 0; r < rows; r++) {
        const int64_t position = item.start + oldest + r / group;
        const int64_t from = pool.window ? std::max<int64_t>(0, position - pool.window + 1 - first_key) : 0;
        const int64_t to = std::min<int64_t>(TILE, position + 1 - first_key);
        float *maximum = desk.maximum + first + r, *total = desk.total + first + r, *row = mixed + (size_t)r * lanes;
        soften<E>(scores + (size_t)r * TILE, (int)from, (int)to, weights + (size_t)r * per_row, *maximum, *total, row, lanes);
    }
    const int step = words<E>(pool.block_size), parts = TILE / pool.block_size;
    const Place after = place.after(item);
    for (int part = 0; part < parts; part++) {
        const float* values = values_of<E>(pool, item, place.tile * parts + part, place.head, desk);
        const int64_t later = after.tile * parts + part;
        const float* next = item.has(later) ? pool.value_block<E>(item.blocks[later - item.gone], after.head) : values;
        multiply<E>(weights + part * step, per_row, rows, {values, lanes, LANES, lanes / LANES, 0, next}, step, mixed, lanes, true);
    }
}

// `q` and `out` are [T, heads, head_dim] in float32; the scaled queries are put into words.
template <class E>
void attend(const Pool& pool, const Item& item, const float* q, float* out, Desk& desk) {
    const int group = pool.group(), depth = pool.head_dim, lanes = pool.lanes(), each = (int)item.length * group;
    const int rows = each * (item.end_head - item.head);
    const V scale = all(1.0f / std::sqrt((float)depth));
    const auto place = [&](int r) {
        return ((size_t)(item.row + r % each / group) * pool.heads + (size_t)(item.head + r / each) * group + r % group) * depth;
    };
    for (int r = 0; r < rows; r++)
        for (int d = 0; d < depth; d += LANES)
            E::put(desk.queries + (size_t)r * left_row<E>(depth) + d / E::PER, load_part(q + place(r) + d, depth - d) * scale);
    std::fill_n(desk.mixed, (size_t)rows * lanes, 0.0f);
    std::fill_n(desk.maximum, rows, LOWEST);
    std::fill_n(desk.total, rows, 0.0f);
    Place at{item.first_tile(pool.window), item.head};
    for (; at.tile <= item.last_tile(); at = at.after(item)) attend_tile<E>(pool, item, at, desk);
    for (int r = 0; r < rows; r++)
        for (int d = 0; d < depth; d += LANES)
            store_part(out + place(r) + d, load(desk.mixed + (size_t)r * lanes + d) / all(desk.total[r]), depth - d);
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

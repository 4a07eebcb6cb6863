// Causal attention over paged keys and values: a blocked online softmax (Milakov and Gimelshein 2018) in float32.
//
// A tile is 64 keys at an absolute multiple of 64. A query row meets exactly the tiles that hold a key it may see, ascending, and
// nothing else, so its bits do not depend on the rows that are worked on beside it. Keys lie transposed inside their block.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "product.h"

namespace native {

constexpr int TILE = 64;
constexpr int ITEM_ROWS = 96;  // query rows worked on together, heads of a group counted: they share one gathered tile
constexpr float LOWEST = -1e30f;  // start of the running maximum: finite, so that exp(old - new) is never not a number

struct Pool {
    const float *keys, *values;  // [blocks, kv_heads, head_dim, block_size] and [blocks, kv_heads, block_size, head_dim]
    int heads, kv_heads, head_dim, block_size;
    int64_t window;  // 0: none
    int group() const { return heads / kv_heads; }
};

// At most ITEM_ROWS query rows of one sequence and one KV head.
struct Item {
    int64_t row, start, length, end, held, gone;  // keys exist below `end`; `held` blocks are there, `gone` before them are not
    const int64_t* blocks;
    int kv_head;
    int64_t first_tile(int64_t window) const { return window ? std::max<int64_t>(0, start - window + 1) / TILE : 0; }
    int64_t last_tile() const { return (start + length - 1) / TILE; }
};

struct Scratch {
    std::vector<float> queries, keys, values, scores, mixed, maximum, total;
    Scratch(int rows, int depth)
        : queries((size_t)rows * depth), keys((size_t)depth * TILE), values((size_t)TILE * rounded_up(depth)),
          scores((size_t)rows * TILE), mixed((size_t)rows * rounded_up(depth)), maximum(rows), total(rows) {}
};

// Copy one tile: keys as [head_dim][TILE], values as [TILE][head_dim, whole panels]. Values that do not exist yet become 0,
// because memory not yet written may hold anything, and 0 · NaN is NaN.
inline void gather(const Pool& pool, const Item& item, int64_t tile, Scratch& scratch) {
    const int size = pool.block_size, depth = pool.head_dim, padded = rounded_up(depth);
    for (int part = 0; part < TILE / size; part++) {
        const int64_t index = tile * (TILE / size) + part, place = index - item.gone;
        float* values = scratch.values.data() + (size_t)part * size * padded;
        int64_t written = std::clamp<int64_t>(item.end - index * size, 0, size);
        if (place < 0 || place >= item.held) written = 0;
        if (written) {
            const size_t base = ((size_t)item.blocks[place] * pool.kv_heads + item.kv_head) * size * depth;
            const float *key = pool.keys + base, *value = pool.values + base;
            float* keys = scratch.keys.data() + part * size;
            for (int d = 0; d < depth; d++) copy(key + (size_t)d * size, size, keys + (size_t)d * TILE);
            for (int64_t t = 0; t < written; t++) copy(value + t * depth, depth, values + t * padded);
        }
        std::fill(values + written * padded, values + (size_t)size * padded, 0.0f);
    }
}

// Scores become weights; the running maximum, sum and mixture of the row move to the new maximum.
inline void soften(float* scores, int from, int to, float& maximum, float& total, float* mixed, int padded) {
    for (int key = 0; key < from; key++) scores[key] = -INFINITY;
    for (int key = to; key < TILE; key++) scores[key] = -INFINITY;
    V s[4];
    for (int i = 0; i < 4; i++) s[i] = load(scores + i * LANES);
    const float now = std::max(maximum, highest(higher(higher(s[0], s[1]), higher(s[2], s[3]))));
    for (int i = 0; i < 4; i++) store(scores + i * LANES, s[i] = exp(s[i] - all(now)));
    const float weight = sum((s[0] + s[1]) + (s[2] + s[3]));
    if (now != maximum) {  // else the factor is exactly 1
        const float shrink = exp(maximum - now);
        for (int d = 0; d < padded; d += LANES) store(mixed + d, load(mixed + d) * all(shrink));
        total *= shrink;
        maximum = now;
    }
    total += weight;
}

inline void attend_tile(const Pool& pool, const Item& item, int64_t tile, Scratch& scratch) {
    const int group = pool.group(), depth = pool.head_dim, padded = rounded_up(depth);
    const int64_t first_key = tile * TILE, none = INT64_MAX / 2;
    const int64_t oldest = std::max<int64_t>(0, first_key - item.start);  // first position that sees a key of the tile …
    const int64_t limit = pool.window ? first_key + TILE - 1 + pool.window - item.start : none;
    const int64_t beyond = std::min(item.length, limit);  // … and the first whose window has left it
    if (beyond <= oldest) return;
    const int first = (int)oldest * group, rows = (int)(beyond - oldest) * group;
    gather(pool, item, tile, scratch);
    float *scores = scratch.scores.data() + (size_t)first * TILE, *mixed = scratch.mixed.data() + (size_t)first * padded;
    const float* queries = scratch.queries.data() + (size_t)first * depth;
    multiply(queries, depth, rows, {scratch.keys.data(), TILE, LANES, TILE / LANES}, depth, scores, TILE, false);
    for (int r = 0; r < rows; r++) {
        const int64_t position = item.start + (first + r) / group;
        const int64_t from = pool.window ? std::max<int64_t>(0, position - pool.window + 1 - first_key) : 0;
        const int64_t to = std::min<int64_t>(TILE, position + 1 - first_key);
        float *maximum = &scratch.maximum[first + r], *total = &scratch.total[first + r];
        soften(scores + (size_t)r * TILE, (int)from, (int)to, *maximum, *total, mixed + (size_t)r * padded, padded);
    }
    multiply(scores, TILE, rows, {scratch.values.data(), padded, LANES, padded / LANES}, TILE, mixed, padded, true);
}

// `q` and `out` are [T, heads, head_dim].
inline void attend(const Pool& pool, const Item& item, const float* q, float* out, Scratch& scratch) {
    const int group = pool.group(), depth = pool.head_dim, padded = rounded_up(depth), rows = (int)item.length * group;
    const float scale = 1.0f / std::sqrt((float)depth);
    const auto place = [&](int r) {
        return ((size_t)(item.row + r / group) * pool.heads + (size_t)item.kv_head * group + r % group) * depth;
    };
    for (int r = 0; r < rows; r++)
        for (int d = 0; d < depth; d++) scratch.queries[(size_t)r * depth + d] = q[place(r) + d] * scale;
    std::fill_n(scratch.mixed.begin(), (size_t)rows * padded, 0.0f);
    std::fill_n(scratch.maximum.begin(), rows, LOWEST);
    std::fill_n(scratch.total.begin(), rows, 0.0f);
    for (int64_t tile = item.first_tile(pool.window); tile <= item.last_tile(); tile++) attend_tile(pool, item, tile, scratch);
    for (int r = 0; r < rows; r++)
        for (int d = 0; d < depth; d += LANES)
            store_part(out + place(r) + d, load(scratch.mixed.data() + (size_t)r * padded + d) / all(scratch.total[r]), depth - d);
}

// Cut spans (rows of {row, start, length, where its blocks begin, blocks, blocks given back before them}) into items, the longest work first.
inline std::vector<Item> items_of(const int64_t* spans, int64_t count, const int64_t* blocks, const Pool& pool) {
    std::vector<Item> items;
    const int64_t step = std::max(1, ITEM_ROWS / pool.group());
    for (int64_t i = 0; i < count; i++) {
        const int64_t *span = spans + 6 * i, end = span[1] + span[2];
        for (int64_t at = 0; at < span[2]; at += step)
            for (int head = 0; head < pool.kv_heads; head++)
                items.push_back({span[0] + at, span[1] + at, std::min(step, span[2] - at), end, span[4], span[5], blocks + span[3], head});
    }
    const auto work = [&](const Item& item) { return (item.last_tile() - item.first_tile(pool.window) + 1) * item.length; };
    std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return work(a) > work(b); });
    return items;
}

}  // namespace native

// The two halves of a layer around attention. Products are dealt out by rows and columns, so that at few rows each thread reads its
// own part of a weight; what lies between two products is written once and stays in the cache.
#pragma once
#include "attention.h"
#include "product.h"
#include "rows.h"
#include "team.h"

namespace native {

constexpr int64_t PASS = 512;  // rows that go through a half together
constexpr int BLOCK = 96, GROUP = 8;  // at most so many rows and panels a task
constexpr int TILED_BLOCK = 128;  // rows, where products go by tiles
constexpr int64_t LIGHT = 8;  // rows a task when there is no product
constexpr int64_t WORTH = 1 << 18;  // multiplications for which the other threads are called

inline int team(int64_t multiplications, int threads) { return multiplications < WORTH ? 1 : threads; }

// `finish(row, rows, panel, panels, sums, stride)` for every task of a · weight, `sums` in a buffer of the thread. `unit` panels
// stay in one task. Towards its end a member fetches the first panels that it will need of the weight `then`.
template <class E, class F>
void share_product(Member& member, const float* a, long a_row, int64_t rows, const Weight& weight, int unit, const Weight* then,
                   F finish) {
    constexpr int64_t block = E::TILES ? TILED_BLOCK : BLOCK, together = E::TILES ? 2 * LANES : 1;  // rows that no task cuts apart
    const int64_t parts = (rows + block - 1) / block, heights = (rows + together - 1) / together, units = weight.panels() / unit;
    const int64_t least = std::max(1, (rows > FEW ? PANELS : 2 * PANELS) / unit), even = units * parts / (16 * member.size());
    const int64_t each = std::clamp<int64_t>(even / least * least, least, GROUP / unit);
    const int64_t groups = (units + each - 1) / each;
    static thread_local Buffer buffer;
    [[maybe_unused]] const Using<E> tiles;
    member.share(parts * groups, [&](int64_t task) {
        const int64_t part = task % parts, group = task / parts;
        const int64_t row = heights * part / parts * together, count = std::min(rows, heights * (part + 1) / parts * together) - row;
        const int first = (int)(group * each) * unit, panels = (int)std::min(each, units - group * each) * unit, stride = panels * LANES;
        float* sums = buffer.floats((size_t)left_rows<E>(count) * stride);
        Right right = weight.right<E>(first, panels);
        if (then && member.last_of_own(task, parts * groups))
            right.skip = then->panel<E>((int)member.first(then->panels())) - weight.panel<E>(first + panels);
        multiply<E>(a + row * a_row, a_row, (int)count, right, words<E>(weight.depth), sums, stride, false);
        finish(row, count, first, panels, sums, stride);
    });
}

// `work(row)` for all rows, some at a time.
template <class F>
void share_rows(Member& member, int64_t rows, F work) {
    member.share((rows + LIGHT - 1) / LIGHT, [&](int64_t task) {
        for (int64_t r = task * LIGHT, end = std::min(rows, r + LIGHT); r < end; r++) work(r);
    });
}

template <class E>
void norm_row(const float* x, const float* weight, float eps, int width, float* row) {
    static thread_local Buffer buffer;
    float* normed = buffer.floats(width);
    rms_norm_row(x, weight, eps, width, normed);
    put_row<E>(normed, width, row);
}

// x += sums, over the columns of a task.
inline void add_sums(float* x, int width, int64_t row, int64_t rows, int panel, int panels, const float* sums, int stride) {
    const int first = panel * LANES, columns = std::min(panels * LANES, width - first);
    for (int64_t r = 0; r < rows; r++) add_row(x + (row + r) * width + first, sums + r * stride, columns);
}

struct Angles {
    const float *cos, *sin;  // [T, head_dim / 2]
    const int64_t* slots;  // [T · kv_heads] rows of the pool seen as [blocks · kv_heads · block_size]
};

template <class E>
void write_key(const Pool& pool, int64_t slot, const float* key) {
    const int64_t size = pool.block_size, place = slot / size;
    float* to = pool.key_block<E>(place / pool.kv_heads, (int)(place % pool.kv_heads)) + slot % size;
    for (int k = 0; k < words<E>(pool.head_dim); k++) std::memcpy(to + k * size, key + k, sizeof(float));
}

template <class E>
void write_value(const Pool& pool, int64_t slot, const float* value) {
    const int64_t size = pool.block_size, place = slot / size, offset = slot % size;
    float* to = pool.value_block<E>(place / pool.kv_heads, (int)(place % pool.kv_heads)) + offset / E::PER * pool.lanes();
    if (E::PER == 1) {
        std::memcpy(to, value, sizeof(float) * pool.head_dim);
        return;
    }
    const uint16_t* from = (const uint16_t*)value;  // the halves of a word belong to two keys
    write_halves(from, pool.head_dim, (int)(offset % E::PER), (uint16_t*)to);
}

// What each head goes through before it is turned: [head_dim] of queries and of keys, or null where the model has no such norm.
struct HeadNorms {
    const float *query, *key;
    float eps;
};

// One projected row: heads normed and turned by the angles of its position, queries out, key and value to their slots.
template <class E>
void place_row(const Pool& pool, const float* row, const HeadNorms& norms, const Angles& angles, int64_t r, float* queries) {
    const int depth = pool.head_dim, half = depth / 2;
    const float *cos = angles.cos + r * half, *sin = angles.sin + r * half;
    static thread_local Buffer buffer;
    float *turned = buffer.floats(3 * rounded_up(depth)), *stored = turned + rounded_up(depth), *normed = stored + rounded_up(depth);
    const auto turn = [&](const float* head, const float* norm, float* out) {
        if (norm) rms_norm_row(head, norm, norms.eps, depth, normed);
        rotary_head(norm ? normed : head, cos, sin, half, out);
    };
    for (int h = 0; h < pool.heads; h++) turn(row + h * depth, norms.query, queries + (r * pool.heads + h) * depth);
    for (int g = 0; g < pool.kv_heads; g++) {
        const int64_t slot = angles.slots[r * pool.kv_heads + g];
        turn(row + (pool.heads + g) * depth, norms.key, turned);
        put_row<E>(turned, depth, stored);
        write_key<E>(pool, slot, stored);
        put_row<E>(row + (pool.heads + pool.kv_heads + g) * depth, depth, stored);
        write_value<E>(pool, slot, stored);
    }
}

// Norm, projection and its bias or null, norm of the heads, rotation; keys and values go to the pool.
template <class E>
void project(const float* hidden, int64_t rows, const float* norm, float eps, const Weight& qkv, const float* bias,
             const HeadNorms& norms, const Pool& pool, const Angles& angles, float* queries, int threads) {
    const int width = qkv.depth, row = left_row<E>(width), padded = rounded_up(qkv.columns);
    static thread_local Buffer left, sums;
    const int64_t most = std::min(rows, PASS);
    float *normed = left.floats(left_rows<E>(most) * row), *mixed = sums.floats(most * padded);
    Threads::run(team(rows * width * qkv.columns, threads), [&](Member& member) {
        for (int64_t at = 0; at < rows; at += PASS) {
            const int64_t count = std::min(PASS, rows - at);
            share_rows(member, count, [&](int64_t r) { norm_row<E>(hidden + (at + r) * width, norm, eps, width, normed + r * row); });
            share_product<E>(member, normed, row, count, qkv, 1, nullptr, [&](int64_t r, int64_t n, int p, int panels, float* from, int stride) {
                for (int64_t i = 0; i < n; i++)
                    std::memcpy(mixed + (r + i) * padded + p * LANES, from + i * stride, sizeof(float) * panels * LANES);
            });
            share_rows(member, count, [&](int64_t r) {
                if (bias) add_row(mixed + r * padded, bias, qkv.columns);
                place_row<E>(pool, mixed + r * padded, norms, angles, at + r, queries);
            });
        }
    });
}

struct Finish {
    Weight output, gate_up, down;  // the panels of gate and up take turns
    const float *bias, *norm;  // the bias of the output, or null
    float eps;
};

// hidden += attended · output + bias; hidden += (silu · up of norm(hidden) · gate_up) · down.
template <class E>
void finish(float* hidden, const float* attended, int64_t rows, const Finish& f, int threads) {
    const int width = f.output.columns, both = f.output.depth, inner = f.down.depth;
    const int both_row = left_row<E>(both), row = left_row<E>(width), inner_row = left_row<E>(inner);
    static thread_local Buffer first, second, third;
    const int64_t most = std::min(rows, PASS), held = left_rows<E>(most);
    float *mixed = first.floats(held * both_row), *normed = second.floats(held * row), *gated = third.floats(held * inner_row);
    Threads::run(team(rows * width * (both + 3 * (int64_t)inner), threads), [&](Member& member) {
        for (int64_t at = 0; at < rows; at += PASS) {
            const int64_t count = std::min(PASS, rows - at);
            float* x = hidden + at * width;
            const auto add = [&](int64_t r, int64_t n, int p, int panels, float* sums, int stride) {
                add_sums(x, width, r, n, p, panels, sums, stride);
            };
            const bool direct = E::PER == 1;  // float32 rows are read where they are
            const float* left = direct ? attended + at * both : mixed;
            if (!direct) share_rows(member, count, [&](int64_t r) { put_row<E>(attended + (at + r) * both, both, mixed + r * both_row); });
            const auto add_output = [&](int64_t r, int64_t n, int p, int panels, float* sums, int stride) {
                const int first = p * LANES, columns = std::min(panels * LANES, width - first);
                for (int64_t i = 0; f.bias && i < n; i++) add_row(sums + i * stride, f.bias + first, columns);
                add(r, n, p, panels, sums, stride);
            };
            share_product<E>(member, left, direct ? both : both_row, count, f.output, 1, &f.gate_up, add_output);
            share_rows(member, count, [&](int64_t r) {
                norm_row<E>(x + r * width, f.norm, f.eps, width, normed + r * row);
                end_row<E>(inner, gated + r * inner_row);
            });
            const auto gate = [&](int64_t r, int64_t n, int p, int panels, float* sums, int stride) {
                for (int64_t i = 0; i < n; i++)
                    for (int j = 0; j < panels; j += 2) {
                        const float* g = sums + i * stride + j * LANES;
                        E::put(gated + (r + i) * inner_row + (p + j) / 2 * LANES / E::PER, silu_mul(load(g), load(g + LANES)));
                    }
            };
            share_product<E>(member, normed, row, count, f.gate_up, 2, &f.down, gate);
            share_product<E>(member, gated, inner_row, count, f.down, 1, nullptr, add);
        }
    });
}

}  // namespace native

// The entry points. Tensors are contiguous; activations are float32, and where `halves` is set weights, keys and values are bf16.
// Work is dealt out to threads, each element is computed by one of them in a written order.
#include "attention.h"
#include "layer.h"
#include "product.h"
#include "rows.h"
#include "team.h"

#include <cerrno>

#include <sys/mman.h>

using namespace native;

namespace {

constexpr int64_t ROW_WORK = 64;  // multiplications that an element of a row without a product is worth

template <class E>
void linear(const float* x, int64_t rows, const Weight& weight, float* out, int threads) {
    const int row = left_row<E>(weight.depth), columns = weight.columns;
    static thread_local Buffer buffer;
    float* left = E::PER == 1 ? nullptr : buffer.floats(left_rows<E>(rows) * row);
    Threads::run(team(rows * weight.depth * columns, threads), [&](Member& member) {
        if (left) share_rows(member, rows, [&](int64_t r) { put_row<E>(x + r * weight.depth, weight.depth, left + r * row); });
        const auto copy = [&](int64_t r, int64_t n, int p, int panels, const float* sums, int stride) {
            const int first = p * LANES, count = std::min(panels * LANES, columns - first);
            for (int64_t i = 0; i < n; i++) std::memcpy(out + (r + i) * columns + first, sums + i * stride, sizeof(float) * count);
        };
        share_product<E>(member, left ? left : x, left ? row : weight.depth, rows, weight, 1, nullptr, copy);
    });
}

template <class E>
void attend_all(const Pool& pool, const std::vector<Item>& items, const float* queries, float* out, int threads) {
    const int most = std::max(1, ITEM_ROWS / pool.group()) * pool.group();
    int64_t work = 0;
    for (const Item& item : items)
        work += (item.last_tile() - item.first_tile(pool.window) + 1) * TILE * item.length * (item.end_head - item.head);
    Threads::run(team(2 * work * pool.head_dim * pool.group(), threads), [&](Member& member) {
        static thread_local Desk desk;
        desk.lay(most, pool);
        [[maybe_unused]] const Using<E> tiles;
        const int64_t count = items.size();
        member.share(count, [&](int64_t i) {
            attend<E>(pool, items[i], i + 1 < count ? &items[i + 1] : nullptr, queries, out, desk);
        });
    });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Ask the system for what the instructions need. 0: it is there.
int native_prepare() {
#if defined(__AMX_BF16__)
    constexpr int REQUEST = 0x1023, TILE_DATA = 18;  // arch_prctl: permission for a component of the extended state
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) ? errno : 0;
#else
    return 0;
#endif
}

// Ask for large pages: blocks lie anywhere in a pool, and looking up a small page for each costs half of the read bandwidth.
void native_advise(char* at, int64_t bytes) {
    const uintptr_t page = 4096, first = ((uintptr_t)at + page - 1) / page * page, end = ((uintptr_t)at + bytes) / page * page;
    if (end > first) (void)madvise((void*)first, end - first, MADV_HUGEPAGE);
}

void native_rms_norm(const float* x, const float* weight, float eps, int64_t rows, int width, float* out, int threads) {
    Threads::run(team(rows * width * ROW_WORK, threads), [&](Member& member) {
        share_rows(member, rows, [&](int64_t r) { rms_norm_row(x + r * width, weight, eps, width, out + r * width); });
    });
}

void native_silu_mul(const float* gate_up, int64_t rows, int width, float* out, int threads) {
    Threads::run(team(rows * width * ROW_WORK, threads), [&](Member& member) {
        share_rows(member, rows, [&](int64_t r) {
            silu_mul_row(gate_up + 2 * r * width, gate_up + (2 * r + 1) * width, width, out + r * width);
        });
    });
}

void native_exp(const float* x, int64_t count, float* out) {
    for (int64_t i = 0; i < count; i += LANES) {
        const int left = (int)std::min<int64_t>(LANES, count - i);
        store_part(out + i, native::exp(load_part(x + i, left)), left);
    }
}

void native_linear(const float* x, int64_t rows, const float* packed, int depth, int columns, int halves, float* out, int threads) {
    const Weight weight{packed, depth, columns};
    halves ? linear<Pair>(x, rows, weight, out, threads) : linear<Single>(x, rows, weight, out, threads);
}

void native_normalisers(const float* logits, int64_t rows, int width, float* maximum, float* log_total, int threads) {
    Threads::run(team(rows * width * ROW_WORK, threads), [&](Member& member) {
        share_rows(member, rows, [&](int64_t r) { normaliser(logits + r * width, width, maximum[r], log_total[r]); });
    });
}

void native_project(const float* hidden, int64_t rows, int width, const float* norm, float eps, const float* packed,
                    const float* bias, const float* query_norm, const float* key_norm, const float* cos, const float* sin, const int64_t* slots, int heads, int kv_heads, int depth, int block_size,
                    int halves, float* keys, float* values, float* queries, int threads) {
    const Weight qkv{packed, width, (heads + 2 * kv_heads) * depth};
    const Pool pool{keys, values, heads, kv_heads, depth, block_size, 0};
    const HeadNorms norms{query_norm, key_norm, eps};
    const Angles angles{cos, sin, slots};
    halves ? project<Pair>(hidden, rows, norm, eps, qkv, bias, norms, pool, angles, queries, threads)
           : project<Single>(hidden, rows, norm, eps, qkv, bias, norms, pool, angles, queries, threads);
}

void native_attend(const float* queries, float* keys, float* values, const int64_t* spans, int64_t count, const int64_t* blocks,
                   int heads, int kv_heads, int depth, int block_size, int64_t window, int halves, float* out, int threads) {
    const Pool pool{keys, values, heads, kv_heads, depth, block_size, window};
    const std::vector<Item> items = items_of(spans, count, blocks, pool, threads);
    halves ? attend_all<Pair>(pool, items, queries, out, threads) : attend_all<Single>(pool, items, queries, out, threads);
}

void native_finish(float* hidden, const float* attended, int64_t rows, int width, int attended_width, const float* output,
                   const float* bias, const float* norm, float eps, const float* gate_up, const float* down, int inner, int halves, int threads) {
    const int both = 2 * rounded_up(inner);
    const Finish f{{output, attended_width, width}, {gate_up, width, both}, {down, inner, width}, bias, norm, eps};
    halves ? finish<Pair>(hidden, attended, rows, f, threads) : finish<Single>(hidden, attended, rows, f, threads);
}

}  // extern "C"
#pragma GCC visibility pop

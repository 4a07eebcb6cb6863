// The entry points. All tensors are float32 and contiguous; rows are dealt out to threads, each element is computed by one of them.
// What lies between two products of a layer stays in the cache of the core that needs it next.
#include "attention.h"
#include "product.h"
#include "rows.h"

using namespace native;

namespace {

constexpr int64_t BLOCK = 48;  // rows that pass through a layer together
constexpr int64_t WIDE_ROWS = 8, LIGHT_ROWS = 256;  // worth a thread of their own: with a product, and without

// Rows a thread takes at a time: few enough that every thread has some, no bit depends on it.
int64_t block_rows(int64_t rows, int threads) { return std::clamp<int64_t>((rows + threads - 1) / threads, 1, BLOCK); }

// Waking a sleeping thread costs some 45 µs: below that much work one thread is faster. No bit depends on it.
int team(int64_t rows, int64_t rows_worth_it, int threads) { return (int)std::clamp<int64_t>(rows / rows_worth_it, 1, threads); }

// c = a · weight for a row count of its own; rows of c hold `columns` elements, the last panel passes through a buffer.
void linear_rows(const float* a, int64_t rows, const Weight& weight, float* c, std::vector<float>& buffer) {
    const int padded = rounded_up(weight.columns);
    if (padded == weight.columns) return multiply(a, weight.depth, (int)rows, weight.right(), weight.depth, c, padded, false);
    buffer.resize((size_t)rows * padded);
    multiply(a, weight.depth, (int)rows, weight.right(), weight.depth, buffer.data(), padded, false);
    for (int64_t r = 0; r < rows; r++)
        std::memcpy(c + r * weight.columns, buffer.data() + r * padded, sizeof(float) * weight.columns);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void native_rms_norm(const float* x, const float* weight, float eps, int64_t rows, int width, float* out, int threads) {
#pragma omp parallel for num_threads(team(rows, LIGHT_ROWS, threads)) schedule(static)
    for (int64_t r = 0; r < rows; r++) rms_norm_row(x + r * width, weight, eps, width, out + r * width);
}

void native_silu_mul(const float* gate_up, int64_t rows, int width, float* out, int threads) {
#pragma omp parallel for num_threads(team(rows, LIGHT_ROWS, threads)) schedule(static)
    for (int64_t r = 0; r < rows; r++) silu_mul_row(gate_up + 2 * r * width, gate_up + (2 * r + 1) * width, width, out + r * width);
}

void native_exp(const float* x, int64_t count, float* out) {
    for (int64_t i = 0; i < count; i += LANES) {
        const int left = (int)std::min<int64_t>(LANES, count - i);
        store_part(out + i, native::exp(load_part(x + i, left)), left);
    }
}

void native_linear(const float* x, int64_t rows, const float* packed, int depth, int columns, float* out, int threads) {
    const Weight weight{packed, depth, columns};
    const int workers = team(rows, WIDE_ROWS, threads);
    const int64_t block = block_rows(rows, workers);
#pragma omp parallel num_threads(workers)
    {
        std::vector<float> buffer;
#pragma omp for schedule(dynamic, 1)
        for (int64_t at = 0; at < rows; at += block)
            linear_rows(x + at * depth, std::min(block, rows - at), weight, out + at * columns, buffer);
    }
}

void native_normalisers(const float* logits, int64_t rows, int width, float* maximum, float* log_total, int threads) {
#pragma omp parallel for num_threads(team(rows, LIGHT_ROWS, threads)) schedule(static)
    for (int64_t r = 0; r < rows; r++) normaliser(logits + r * width, width, maximum[r], log_total[r]);
}

// Norm, projection, rotation; keys and values go to their slots (rows of the pool seen as [blocks · kv_heads · block_size]).
void native_project(const float* hidden, int64_t rows, int width, const float* norm, float eps, const float* packed,
                    const float* cos, const float* sin, const int64_t* slots, int heads, int kv_heads, int depth, int block_size,
                    float* keys, float* values, float* queries, int threads) {
    const Weight weight{packed, width, (heads + 2 * kv_heads) * depth};
    const int padded = rounded_up(weight.columns), half = depth / 2;
    const int workers = team(rows, WIDE_ROWS, threads);
    const int64_t block = block_rows(rows, workers);
#pragma omp parallel num_threads(workers)
    {
        std::vector<float> normed((size_t)block * width), mixed((size_t)block * padded), turned(depth);
#pragma omp for schedule(dynamic, 1)
        for (int64_t at = 0; at < rows; at += block) {
            const int64_t count = std::min(block, rows - at);
            for (int64_t r = 0; r < count; r++)
                rms_norm_row(hidden + (at + r) * width, norm, eps, width, normed.data() + r * width);
            multiply(normed.data(), width, (int)count, weight.right(), width, mixed.data(), padded, false);
            for (int64_t r = 0; r < count; r++) {
                const float *row = mixed.data() + r * padded, *c = cos + (at + r) * half, *s = sin + (at + r) * half;
                for (int h = 0; h < heads; h++) rotary_head(row + h * depth, c, s, half, queries + ((at + r) * heads + h) * depth);
                for (int g = 0; g < kv_heads; g++) {
                    const int64_t slot = slots[(at + r) * kv_heads + g];
                    float* key = keys + slot / block_size * block_size * depth + slot % block_size;
                    rotary_head(row + (heads + g) * depth, c, s, half, turned.data());
                    for (int d = 0; d < depth; d++) key[(size_t)d * block_size] = turned[d];
                    std::memcpy(values + slot * depth, row + (heads + kv_heads + g) * depth, sizeof(float) * depth);
                }
            }
        }
    }
}

void native_attend(const float* queries, const float* keys, const float* values, const int64_t* spans, int64_t count,
                   const int64_t* blocks, int heads, int kv_heads, int depth, int block_size, int64_t window, float* out,
                   int threads) {
    const Pool pool{keys, values, heads, kv_heads, depth, block_size, window};
    const std::vector<Item> items = items_of(spans, count, blocks, pool);
    const int most = std::max(1, ITEM_ROWS / pool.group()) * pool.group();
#pragma omp parallel num_threads(team((int64_t)items.size(), 2, threads))
    {
        Scratch scratch(most, depth);
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < items.size(); i++) attend(pool, items[i], queries, out, scratch);
    }
}

// hidden += attended · output; hidden += (silu · up of norm(hidden) · gate_up) · down.
void native_finish(float* hidden, const float* attended, int64_t rows, int width, int attended_width, const float* output,
                   const float* norm, float eps, const float* gate_up, const float* down, int inner, int threads) {
    const Weight out{output, attended_width, width}, wide{gate_up, width, 2 * inner}, back{down, inner, width};
    const int padded = rounded_up(width), padded_inner = rounded_up(2 * inner);
    const int workers = team(rows, WIDE_ROWS, threads);
    const int64_t block = block_rows(rows, workers);
#pragma omp parallel num_threads(workers)
    {
        std::vector<float> sum((size_t)block * padded), normed((size_t)block * width), gates((size_t)block * padded_inner);
#pragma omp for schedule(dynamic, 1)
        for (int64_t at = 0; at < rows; at += block) {
            const int count = (int)std::min(block, rows - at);
            float* x = hidden + at * width;
            multiply(attended + at * attended_width, attended_width, count, out.right(), attended_width, sum.data(), padded, false);
            for (int r = 0; r < count; r++) {
                add_row(x + r * width, sum.data() + (size_t)r * padded, width);
                rms_norm_row(x + r * width, norm, eps, width, normed.data() + (size_t)r * width);
            }
            multiply(normed.data(), width, count, wide.right(), width, gates.data(), padded_inner, false);
            for (int r = 0; r < count; r++) {
                float* gate = gates.data() + (size_t)r * padded_inner;
                silu_mul_row(gate, gate + inner, inner, gate);
            }
            multiply(gates.data(), padded_inner, count, back.right(), inner, sum.data(), padded, false);
            for (int r = 0; r < count; r++) add_row(x + r * width, sum.data() + (size_t)r * padded, width);
        }
    }
}

}  // extern "C"
#pragma GCC visibility pop

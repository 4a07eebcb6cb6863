// The threads of the process, and how they share the work of one call. A worker that has done its part looks for the next call for
// some microseconds, because the layers of a step follow each other closely, and sleeps after that: waking it costs some 45 µs.
#pragma once
#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace native {

constexpr uint64_t PATIENCE = 150'000;  // ticks of the time-stamp counter: some 50 µs

// Memory of a thread that lives as long as it does: aligned to a cache line, never smaller than asked for before.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    ~Buffer() { std::free(at_); }
    float* floats(size_t count) {
        if (count > held_) {
            std::free(at_);
            held_ = (count + 15) / 16 * 16;
            at_ = static_cast<float*>(std::aligned_alloc(64, held_ * sizeof(float)));
            if (!at_) held_ = 0, throw std::bad_alloc();
        }
        return at_;
    }

  private:
    float* at_ = nullptr;
    size_t held_ = 0;
};

// A number that grows, and threads that wait for it: looking for some microseconds, then asleep.
class Count {
  public:
    void add() {
        number_.fetch_add(1);
        if (asleep_.load() > 0) syscall(SYS_futex, &number_, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
    }
    void wait_for(uint32_t wanted) {
        const auto there = [&](uint32_t number) { return (int32_t)(number - wanted) >= 0; };
        for (const uint64_t start = __rdtsc(); __rdtsc() - start < PATIENCE; _mm_pause())
            if (there(number_.load(std::memory_order_acquire))) return;
        asleep_.fetch_add(1);
        for (uint32_t number; !there(number = number_.load());)
            syscall(SYS_futex, &number_, FUTEX_WAIT_PRIVATE, number, nullptr, nullptr, 0);
        asleep_.fetch_sub(1);
    }

  private:
    alignas(64) std::atomic<uint32_t> number_{0};
    std::atomic<int> asleep_{0};
};

struct alignas(64) Range {  // how far one member's tasks of a phase have been taken: phase << 32 | tasks
    std::atomic<uint64_t> taken{0};
};

struct Call {  // what the members of one call have in common
    explicit Call(int members) : size(members), ranges(members) {}
    int size;
    std::atomic<int> names{0};
    Count arrived;
    std::vector<Range> ranges;
};

// One thread's part in a call. All members go through the same sequence of `share`: each takes the tasks of its own range, which lie
// side by side, and then what others have not come to yet.
class Member {
  public:
    explicit Member(Call& call) : call_(call), name_(call.names.fetch_add(1)) {}
    int size() const { return call_.size; }
    int64_t first(int64_t tasks, int member) const { return tasks * member / call_.size; }
    int64_t first(int64_t tasks) const { return first(tasks, name_); }
    bool last_of_own(int64_t task, int64_t tasks) const { return task + 1 == first(tasks, name_ + 1); }

    // `work(task)` for every task, by whichever member comes first; returns when all are done.
    template <class F>
    void share(int64_t tasks, F work) {
        phase_++;
        for (int i = 0; i < call_.size; i++) {
            const int member = (name_ + i) % call_.size;
            const int64_t begin = first(tasks, member), count = first(tasks, member + 1) - begin;
            for (int64_t task; (task = take(call_.ranges[member].taken, count)) >= 0;) work(begin + task);
        }
        met_ += call_.size;
        call_.arrived.add();
        call_.arrived.wait_for(met_);
    }

  private:
    int64_t take(std::atomic<uint64_t>& taken, int64_t count) const {
        for (uint64_t seen = taken.load(std::memory_order_relaxed);;) {
            const uint64_t done = seen >> 32 == phase_ ? seen & 0xffffffff : 0;  // else nobody has begun with this phase
            if ((int64_t)done >= count) return -1;
            if (taken.compare_exchange_weak(seen, phase_ << 32 | (done + 1), std::memory_order_relaxed)) return (int64_t)done;
        }
    }

    Call& call_;
    int name_;
    uint64_t phase_ = 0;
    uint32_t met_ = 0;
};

class Threads {
  public:
    // `work(member)` on `workers` threads, this one among them; on this one alone while another call uses the others.
    template <class F>
    static void run(int workers, F work) {
        Threads& threads = of_this_process();
        std::unique_lock<std::mutex> lock(threads.busy_, std::defer_lock);
        workers = workers > 1 && lock.try_lock() ? threads.started(workers) : 1;
        Call call{workers};
        const auto part = [&] {
            Member member(call);
            work(member);
        };
        if (workers > 1) threads.call(workers, [](void* context) { (*static_cast<decltype(&part)>(context))(); }, (void*)&part);
        part();
        if (workers > 1) threads.finished_.wait_for(threads.awaited_);
    }

  private:
    static Threads& of_this_process() {  // a child of fork has none of its parent's threads
        static std::mutex door;
        static Threads* threads = nullptr;
        static pid_t owner = 0;
        std::lock_guard<std::mutex> lock(door);
        if (!threads || owner != getpid()) threads = new Threads, owner = getpid();
        return *threads;
    }

    int started(int wanted) {
        try {
            for (; workers_ < wanted - 1; workers_++) std::thread([this, place = workers_ + 1] { serve(place); }).detach();
        } catch (const std::system_error&) {  // the system gives no more threads
        }
        return std::min(wanted, workers_ + 1);
    }

    void call(int workers, void (*job)(void*), void* context) {
        job_ = job, context_ = context;
        awaited_ += workers - 1;
        number_.store(((number_.load() >> 16) + 1) << 16 | (uint64_t)workers);
        if (asleep_.load() > 0) {
            std::lock_guard<std::mutex> lock(door_);
            bell_.notify_all();
        }
    }

    void serve(int place) {
        for (uint64_t seen = 0;;) {
            for (const uint64_t start = __rdtsc(); number_.load() == seen && __rdtsc() - start < PATIENCE;) _mm_pause();
            if (number_.load() == seen) {
                std::unique_lock<std::mutex> lock(door_);
                asleep_++;
                bell_.wait(lock, [&] { return number_.load() != seen; });
                asleep_--;
            }
            seen = number_.load();
            if (place >= (int)(seen & 0xffff)) continue;
            job_(context_);
            finished_.add();
        }
    }

    std::mutex busy_, door_;
    std::condition_variable bell_;
    std::atomic<uint64_t> number_{0};  // of the call, and how many threads it wants: one word, so that both change together
    std::atomic<int> asleep_{0};
    Count finished_;
    uint32_t awaited_ = 0;  // what `finished_` says when all are
    void (*job_)(void*) = nullptr;
    void* context_ = nullptr;
    int workers_ = 0;
};

}  // namespace native

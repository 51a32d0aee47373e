#include "sim/process/worker_threads.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace ddpsim {
namespace {

class Tasks {
 public:
  using Task = std::function<void(unsigned worker, std::size_t i)>;

  Tasks(std::size_t n, std::size_t window, const Task& task) : n_(n), window_(window), task_(task) {}

  void work(unsigned worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopped_ || next_ == n_ || may_begin(); });
      if (stopped_ || next_ == n_) return;
      carry_out_next(worker, lock);
    }
  }

  void hand_over_all(const std::function<void(std::size_t)>& hand_over) {
    std::unique_lock lock(mutex_);
    while (handed_over_ < n_) {
      if (auto ended = ended_.extract(handed_over_)) {
        lock.unlock();
        if (ended.mapped()) std::rethrow_exception(ended.mapped());
        hand_over(ended.key());
        lock.lock();
        ++handed_over_;
        changed_.notify_all();
      } else if (may_begin()) {
        carry_out_next(0, lock);
      } else {
        changed_.wait(lock);
      }
    }
  }

  void stop() {
    std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  bool may_begin() const { return !stopped_ && next_ < n_ && next_ < handed_over_ + window_; }

  void carry_out_next(unsigned worker, std::unique_lock<std::mutex>& lock) {
    auto i = next_++;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      task_(worker, i);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    ended_[i] = thrown;
    if (thrown) stopped_ = true;
    changed_.notify_all();
  }

  const std::size_t n_, window_;
  const Task& task_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
  std::size_t handed_over_ = 0;
  std::map<std::size_t, std::exception_ptr> ended_;  // not handed over yet
  bool stopped_ = false;
};

// Threads that are gone when it is.
class Helpers {
 public:
  Helpers(Tasks& tasks, unsigned count) : tasks_(tasks) {
    for (unsigned worker = 1; worker <= count; ++worker) {
      try {
        threads_.emplace_back([&tasks, worker] { tasks.work(worker); });
      } catch (const std::system_error&) {
        return;
      }
    }
  }
  ~Helpers() {
    tasks_.stop();
    for (auto& thread : threads_) thread.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

 private:
  Tasks& tasks_;
  std::vector<std::thread> threads_;
};

}  // namespace

unsigned all_cores() {
  return std::max(1U, std::thread::hardware_concurrency());
}

void run_in_threads(std::size_t n, unsigned workers, std::size_t window,
                    const std::function<void(unsigned worker, std::size_t i)>& task,
                    const std::function<void(std::size_t i)>& hand_over) {
  Tasks tasks(n, window, task);
  Helpers helpers(tasks, workers - 1);
  tasks.hand_over_all(hand_over);
}

}  // namespace ddpsim

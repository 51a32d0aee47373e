#include "validate/testbed/forwarder.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <deque>
#include <limits>

#include "validate/testbed/link_clock.hpp"
#include "validate/testbed/packet.hpp"
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/base/environment_error.hpp"
#include "sim/base/program_exit.hpp"
#include "sim/base/standard_error.hpp"

namespace ddpsim::validate {
namespace {

constexpr int kPriority = 20;              // of SCHED_FIFO; above what ranks use
constexpr int kPacketsAtOnce = 16;         // of one device before others have their turn
constexpr std::size_t kLargest = 1 << 17;  // above any packet with its headers

Seconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

timespec to_timespec(Seconds time) {
  double whole = std::floor(time.value());
  return {static_cast<time_t>(whole), static_cast<long>((time.value() - whole) * 1e9)};
}

struct Packet {
  Seconds arrival;
  std::size_t destination;
  std::vector<std::byte> bytes;
};

// What one rank sends: its packets arrive in the order in which they were sent.
struct Link {
  int device;
  LinkClock clock;
  std::deque<Packet> on_the_way;
};

class Links {
 public:
  Links(const std::vector<Descriptor>& devices, BytesPerSecond rate, Seconds delay) : buffer_(kLargest) {
    for (const auto& device : devices) links_.push_back({device.get(), LinkClock(rate, delay), {}});
  }

  // Carries packets until the process that `owner` (a pidfd) stands for has ended.
  void run(int owner) {
    std::vector<pollfd> events;
    for (const auto& link : links_) events.push_back({link.device, POLLIN, 0});
    events.push_back({owner, POLLIN, 0});
    while (events.back().revents == 0) {
      wait(events);
      deliver();
      for (std::size_t rank = 0; rank < links_.size(); ++rank)
        if (events[rank].revents != 0) accept(links_[rank]);
    }
  }

 private:
  void wait(std::vector<pollfd>& events) const {
    Seconds next(std::numeric_limits<double>::infinity());
    for (const auto& link : links_)
      if (!link.on_the_way.empty()) next = std::min(next, link.on_the_way.front().arrival);
    auto left = to_timespec(std::isfinite(next.value()) ? std::max(next - now(), Seconds(0)) : Seconds(0));
    if (ppoll(events.data(), events.size(), std::isfinite(next.value()) ? &left : nullptr, nullptr) < 0)
      for (auto& event : events) event.revents = 0;
  }

  void deliver() {
    auto time = now();
    for (auto& link : links_)
      for (auto& queue = link.on_the_way; !queue.empty() && queue.front().arrival <= time;
           queue.pop_front()) {
        const auto& packet = queue.front();
        if (write(links_[packet.destination].device, packet.bytes.data(), packet.bytes.size()) < 0) lost();
      }
  }

  void accept(Link& link) {
    for (int i = 0; i < kPacketsAtOnce; ++i) {
      auto size = read(link.device, buffer_.data(), buffer_.size());
      if (size <= 0) return;
      std::span bytes(buffer_.data(), static_cast<std::size_t>(size));
      auto facts = inspect_packet(bytes);
      if (!facts || facts->destination < 1 || static_cast<std::size_t>(facts->destination) > links_.size())
        continue;
      link.on_the_way.push_back({link.clock.arrival(now(), facts->on_wire),
                                 static_cast<std::size_t>(facts->destination) - 1,
                                 {bytes.begin(), bytes.end()}});
    }
  }

  // TCP sends it again, but what is measured meanwhile is no link of this rate.
  void lost() {
    if (!has_lost_) print_stderr("warning: the testbed lost a packet: {}\n", std::strerror(errno));
    has_lost_ = true;
  }

  std::vector<Link> links_;
  std::vector<std::byte> buffer_;
  bool has_lost_ = false;
};

[[noreturn]] void run_child(const std::vector<Descriptor>& devices, BytesPerSecond rate, Seconds delay,
                            int owner) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);  // an interrupt is the owner's business
  prctl(PR_SET_TIMERSLACK, 1UL);            // ns; the default, 50 us, is a delay of its own
  Links(devices, rate, delay).run(owner);
  _exit(0);
}

}  // namespace

Forwarder::Forwarder(std::vector<Descriptor> devices, BytesPerSecond rate, Seconds delay) {
  // PR_SET_PDEATHSIG would end the child with the thread that made it.
  Descriptor owner(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  child_ = owner ? fork() : -1;
  if (child_ < 0)
    throw EnvironmentError(fmt::format("the testbed has no forwarder: {}", std::strerror(errno)),
                           kShortageHint);
  if (child_ == 0) run_child(devices, rate, delay, owner.get());
  sched_param priority{};
  priority.sched_priority = kPriority;
  is_real_time_ = sched_setscheduler(child_, SCHED_FIFO, &priority) == 0;
}

Forwarder::~Forwarder() {
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace ddpsim::validate

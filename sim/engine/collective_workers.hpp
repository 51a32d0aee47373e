#pragma once
// The communication of a group in which all ranks take part at once: collectives wait in launch order for one
// of `workers`, which carries it out. NCCL has one, a stream; PyTorch's Gloo two, threads
// (ProcessGroupGloo.hpp, Options).
#include <cstddef>
#include <vector>

#include "sim/engine/uncontended_iteration.hpp"

namespace ddpsim {

class CollectiveWorkers {
 public:
  CollectiveWorkers(const GroupCollectives& collectives, int workers, Seconds first_start);

  [[nodiscard]] bool is_busy() const { return !in_flight_.empty(); }
  [[nodiscard]] bool is_done() const { return n_ended_ == has_ended_.size(); }
  [[nodiscard]] bool has_ended(std::size_t request) const { return has_ended_[request]; }

  // `launched`: how many every rank has launched.
  void start_next(Seconds now, std::size_t launched);
  // Of its own speed, until it is set again.
  void set_rate(double rate) { rate_ = rate; }
  // Until something ends or goes on at another speed; something is in flight.
  [[nodiscard]] Seconds until_change() const;
  // Lets `step` pass, at most as much, from `now` to `end`. `launched` as at its beginning.
  void advance(Seconds now, Seconds end, Seconds step, std::size_t launched);

  std::vector<Span> take_spans() { return std::move(spans_); }

 private:
  // Latencies pass side by side; transfers share the links equally.
  struct InFlight {
    std::size_t request;
    std::size_t span;
    Seconds latency, transfer;  // what is left of them at full speed
  };
  [[nodiscard]] double rate_of(const InFlight& one) const;
  [[nodiscard]] Seconds until_change(const InFlight& one) const;
  void end(const InFlight& one, std::size_t launched);

  const GroupCollectives& collectives_;
  std::size_t n_workers_;
  Seconds first_start_;
  double rate_ = 1;
  std::vector<InFlight> in_flight_;
  std::vector<bool> has_ended_;  // by request
  std::size_t n_started_ = 0, n_ended_ = 0;
  std::size_t queued_ = 0;  // launched when the last one ended
  std::vector<Span> spans_;
};

}  // namespace ddpsim

#pragma once
// A class of ranks on its way through its program.
#include <deque>
#include <functional>
#include <optional>

#include "sim/replay/paced_network.hpp"
#include "sim/replay/replay.hpp"

namespace ddpsim {

class ClassRun {
 public:
  // `origin`: the network's time zero on the caller's clock. `on_change` is called whenever go_on() may go
  // further.
  ClassRun(const ReplayedClass& of, Network& network, Seconds origin, bool is_paced,
           std::function<void()> on_change);
  void start();

  // Computes and launches whatever needs no time to pass.
  void go_on() {
    advance();
    set_timers();
  }
  // A collective of the program's communicator has ended: the next one in launch order need not be.
  void end_collective(std::size_t communicator, std::size_t number);

  // Ops that are behind its first lane: the compute of that lane among them has ended.
  [[nodiscard]] std::size_t passed() const { return lanes_.front().head; }
  [[nodiscard]] bool is_working() const { return working_ > 0; }
  void set_pace(double pace);
  [[nodiscard]] const LinkUse& on_links(bool crosses_nodes) const { return of_.on_links.of(crosses_nodes); }

  [[nodiscard]] const std::vector<std::size_t>& communicators() const { return of_.communicators; }
  // How many collectives of the program's communicator are launched; and of each of them: when all but the
  // end of another collective was there for it.
  [[nodiscard]] const std::vector<Seconds>& launched(std::size_t communicator) const {
    return launches_[communicator].when;
  }
  [[nodiscard]] std::size_t collectives(std::size_t communicator) const {
    return launches_[communicator].ops.size();
  }
  [[nodiscard]] const Op& collective(std::size_t communicator, std::size_t number) const {
    return of_.program->ops[launches_[communicator].ops[number]];
  }
  // Of a job that hangs: the launched collective, by the program's communicator and its number there, that
  // the first op which has not ended waits for in the end. None: all have.
  struct Waiting {
    std::size_t communicator, number;
    auto operator<=>(const Waiting&) const = default;
  };
  [[nodiscard]] std::optional<Waiting> waiting() const;
  // The same of a collective that is not launched.
  [[nodiscard]] Waiting waiting_at(Waiting collective) const;

  ReplayResult::Class take();

 private:
  // A stream of the GPU, and its ops of the program.
  struct Lane {
    std::size_t number = 0;
    std::optional<PacedNetwork> paced = {};
    bool is_working = false;
    std::optional<Seconds> begun = {};  // how long the op takes that is at work and has no timer yet
    std::size_t head = 0;               // the op that is at work or comes next; the program's end: none
    std::size_t ended_before = 0;       // of what it waits for, how many are known to have ended
    Seconds since;                      // when its last span ends
    std::vector<Span> spans = {};
  };
  // The collectives of one communicator.
  struct Launches {
    std::vector<std::size_t> ops;
    std::vector<Seconds> when;
    std::size_t ended_before = 0;  // of what the next one waits for, how many are known to have ended
  };
  [[nodiscard]] Seconds now() const { return origin_ + network_.now(); }
  bool advance();            // go_on(), and whether it has launched a collective
  bool advance(Lane& lane);  // whether an op of it has ended
  void skip_others(Lane& lane) const;
  bool have_ended(const Op& op, std::size_t& known) const;
  void begin(Lane& lane);
  void set_timers();        // of ops that have begun, if they have none
  bool pass(Lane& lane);    // its time, if nothing else happens
  void finish(Lane& lane);  // its op, and what follows until something changes for others
  void end(Lane& lane);
  void share();  // the GPU among the lanes that are at work
  void record_work(Lane& lane);
  void record_wait(Lane& lane, const Op& op);
  bool launch(Launches& launches);
  [[nodiscard]] Waiting waiting_from(std::size_t op) const;

  const ReplayedClass& of_;
  Network& network_;
  Seconds origin_;
  std::function<void()> on_change_;
  bool is_started_ = false;
  double pace_ = 1;                 // of all lanes together
  std::size_t working_ = 0;         // lanes
  std::deque<Lane> lanes_;          // they hold on to their addresses
  std::vector<bool> has_ended_;     // by op
  std::vector<Seconds> ended_;      // by op
  std::vector<Launches> launches_;  // by the program's communicator
};

}  // namespace ddpsim

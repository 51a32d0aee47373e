#pragma once
// A rank on a GPU: compute is a kernel that keeps it busy, communication is NCCL, on streams of their own as
// PyTorch has them.
//
// A step is put into the streams ahead of its execution; time passes on the device. What the host takes for
// it, a few microseconds an action, shows where the device is done sooner, as it does in training; so does
// what NCCL takes to connect when it uses an algorithm first (warm up). All times are CUDA events of this
// rank's device: their resolution is about 0.5 us, and they are float32 milliseconds, 4 us apart after a
// minute.
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "validate/harness/rank_program.hpp"
#include "validate/nccl/communicator.hpp"
#include "validate/nccl/gpu.hpp"

namespace ddpsim::validate {

class NcclBackend : public CollectiveBackend {
 public:
  // Meets the other ranks. Throws BackendMissing where there is no GPU for this rank.
  NcclBackend(const RankPlace& place, Seconds timeout);
  ~NcclBackend() override;

  [[nodiscard]] std::string name() const override { return "nccl"; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return world_size_; }
  [[nodiscard]] Environment environment() const override;

  void allocate(std::size_t elements) override;
  void write(std::size_t first, std::span<const float> values) override;
  [[nodiscard]] std::vector<float> read(Range range) override;
  void broadcast(Range range) override;
  [[nodiscard]] std::vector<double> maximum(const std::vector<double>& values) override;

  // The device waits, not this thread: `waiting_for` is called once all is in the streams.
  StepTimes perform(const Step& step, double slowdown, const WaitingFor& waiting_for) override;

 private:
  struct Collective {
    Event start, end;
    const Event* launched;  // when what it waits for has ended
    Seconds limit;          // from the end of the one before
    std::string name;       // "all-gather 3"
  };

  void start_step(const Step& step);
  void add_compute(const Step& step, std::size_t op, double slowdown);
  void add_collective(const Op& op, Range range, const std::optional<std::size_t>& after);
  float* at(Range range) const;  // on the device
  void launch_compute();
  void launch(Operation operation, Range range);
  void record(const Event& event, const Stream& stream) const;
  void make_wait(const Stream& stream, const Event& event) const;
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
  // This thread waits, at most so long; what fails and hangs ends here.
  void await(const Event& event, Seconds limit, const std::string& what);
  void await_communication(const std::string& what);
  void await_collective(std::size_t collective);
  Seconds since_start(const Event& event) const;

  int rank_, world_size_, device_;
  Seconds timeout_;
  int multiprocessors_ = 0;
  Stream compute_stream_, communication_stream_;
  Event step_start_, compute_end_, done_;
  DeviceMemory buffer_, scratch_;
  std::size_t elements_ = 0;
  std::unique_ptr<Communicator> communicator_;  // gone before what it works on

  // Of the step being run.
  bool in_step_ = false;
  std::vector<Collective> collectives_;  // kept for the next one; the first `launched_` are of this
  std::size_t launched_ = 0, waited_for_ = 0, ended_ = 0;
  std::deque<Event> moments_;               // kept likewise: of compute ops that others wait for
  std::vector<const Event*> ends_;          // by op: where it is such a moment
  std::vector<std::size_t> collective_of_;  // by op
  std::vector<Seconds> computed_;           // by op: until then, on the compute stream
  Seconds asked_;                           // of compute, not yet in the stream
  Seconds put_, reached_;                   // asked so far; of that has ended when the last collective starts
};

std::unique_ptr<CollectiveBackend> make_nccl_backend(const RankPlace& place, const Job& job);

}  // namespace ddpsim::validate

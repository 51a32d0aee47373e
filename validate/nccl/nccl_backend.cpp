#include "validate/nccl/nccl_backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "validate/harness/real_operations.hpp"
#include "validate/nccl/busy_kernel.hpp"
#include "validate/nccl/deadline.hpp"
#include "validate/nccl/nccl_variables.hpp"
#include "validate/nccl/rendezvous.hpp"
#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/one_line.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim::validate {
namespace {

constexpr std::size_t kScratchDoubles = 4096;

// Collectives in the streams at a time. A launch blocks without a time-out once about a thousand operations
// are in flight, of which a collective makes six; compute launched behind more of them comes late either way.
constexpr std::size_t kAhead = 256;

// torchrun itself listens at MASTER_PORT, and says so: then the ranks meet at the port beside it.
int meeting_port(int master_port) {
  const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  if (agent == nullptr || std::string_view(agent) != "True") return master_port;
  return master_port < 65535 ? master_port + 1 : master_port - 1;
}

ncclUniqueId meet_for_nccl(const RankPlace& place, Seconds timeout) {
  ncclUniqueId id{};
  static_assert(sizeof id.internal == sizeof(Token));
  if (place.rank == 0) require(place.rank, ncclGetUniqueId(&id), "ncclGetUniqueId");
  Token token;
  std::memcpy(token.data(), id.internal, token.size());
  token = meet({place.rank, place.world_size, place.master_address, meeting_port(place.master_port), timeout,
                place.meeting_file},
               token);
  std::memcpy(id.internal, token.data(), token.size());
  return id;
}

// Of those that it waits for the last; compute ops end in their order.
std::optional<std::size_t> last_compute_before(const Op& op, const std::vector<Op>& ops) {
  std::optional<std::size_t> last;
  for (auto before : op.after)
    if (ops[before].kind == Op::Kind::compute && (!last || before > *last)) last = before;
  return last;
}

std::string cuda_version(int number) {  // 13020
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string nccl_version(int number) {  // 22809, and 2708 up to 2.8
  return number < 10000 ? fmt::format("{}.{}.{}", number / 1000, number % 1000 / 100, number % 100)
                        : fmt::format("{}.{}.{}", number / 10000, number % 10000 / 100, number % 100);
}

}  // namespace

NcclBackend::NcclBackend(const RankPlace& place, Seconds timeout)
    : rank_(place.rank), world_size_(place.world_size), device_(choose_gpu(place)), timeout_(timeout) {
  set_nccl_variables(place);
  require(rank_, cudaSetDevice(device_), fmt::format("cudaSetDevice {}", device_));
  require(rank_, cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device_),
          "cudaDeviceGetAttribute");
  compute_stream_ = make_stream(rank_, Priority::normal);
  communication_stream_ = make_stream(rank_, Priority::high);
  step_start_ = make_event(rank_);
  compute_end_ = make_event(rank_);
  done_ = make_event(rank_);
  scratch_ = validate::allocate(rank_, kScratchDoubles * sizeof(double));
  communicator_ = std::make_unique<Communicator>(rank_, world_size_, meet_for_nccl(place, timeout), timeout);
  // A kernel is loaded when it is launched first, and that can wait for kernels that run: not in the middle
  // of a step.
  require(rank_, launch_busy_kernel(0, multiprocessors_, compute_stream_.get()), "launch of the busy kernel");
  record(done_, compute_stream_);
  await(done_, timeout_, "the first kernel");
}

NcclBackend::~NcclBackend() {
  if (in_step_) communicator_->abort();  // kernels may be waiting for ranks that will not come
}

Environment NcclBackend::environment() const {
  cudaDeviceProp gpu{};
  require(rank_, cudaGetDeviceProperties(&gpu, device_), "cudaGetDeviceProperties");
  int runtime = 0, driver = 0, nccl = 0, kilohertz = 0;
  require(rank_, cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  require(rank_, cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  require(rank_, ncclGetVersion(&nccl), "ncclGetVersion");
  require(rank_, cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device_), "cudaDeviceGetAttribute");
  Environment environment{
      {"gpu", one_line(gpu.name)},
      {"gpu peak clock", fmt::format("{} MHz", kilohertz / 1000)},
      {"gpu multiprocessors", std::to_string(multiprocessors_)},
      {"cuda runtime", cuda_version(runtime)},
      {"cuda driver", "for " + cuda_version(driver)},
      {"nccl", nccl_version(nccl)},
      {"compute", "a kernel that spins for the time, one block of 128 threads on each multiprocessor"}};
  if (share_gpu())
    environment.emplace_back("shared gpu", "all ranks take turns on GPU 0: times mean nothing");
  auto variables = nccl_variables();
  environment.insert(environment.end(), variables.begin(), variables.end());
  return environment;
}

void NcclBackend::allocate(std::size_t elements) {
  elements_ = elements;
  auto bytes = std::max<std::size_t>(elements, 1) * sizeof(float);
  buffer_ = validate::allocate(rank_, bytes);
  require(rank_, cudaMemsetAsync(buffer_.get(), 0, bytes, communication_stream_.get()), "cudaMemsetAsync");
  await_communication("clearing the buffer");
}

float* NcclBackend::at(Range range) const {
  DDPSIM_CHECK(buffer_ != nullptr && range.first <= elements_ && range.count <= elements_ - range.first,
               "ranges lie in the buffer");
  return static_cast<float*>(buffer_.get()) + range.first;
}

// Copies go through the stream of communication and so before or after collectives, of which none is in
// flight: a copy from or to a vector would wait for it without a time-out.
void NcclBackend::copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  DDPSIM_CHECK(!in_step_, "nothing is copied in a step");
  require(rank_, cudaMemcpyAsync(to, from, bytes, kind, communication_stream_.get()), "cudaMemcpyAsync");
  await_communication("a copy");
}

void NcclBackend::write(std::size_t first, std::span<const float> values) {
  copy(at({first, values.size()}), values.data(), values.size_bytes(), cudaMemcpyHostToDevice);
}

std::vector<float> NcclBackend::read(Range range) {
  std::vector<float> values(range.count);
  copy(values.data(), at(range), values.size() * sizeof(float), cudaMemcpyDeviceToHost);
  return values;
}

void NcclBackend::broadcast(Range range) {
  communicator_->broadcast(at(range), range.count, ncclFloat, communication_stream_.get());
  await_communication("broadcast");
}

std::vector<double> NcclBackend::maximum(const std::vector<double>& values) {
  auto result = values;
  for (std::size_t first = 0; first < result.size(); first += kScratchDoubles) {
    auto count = std::min(kScratchDoubles, result.size() - first);
    copy(scratch_.get(), &result[first], count * sizeof(double), cudaMemcpyHostToDevice);
    communicator_->all_reduce(scratch_.get(), count, ncclDouble, ncclMax, communication_stream_.get());
    await_communication("maximum over the ranks");
    copy(&result[first], scratch_.get(), count * sizeof(double), cudaMemcpyDeviceToHost);
  }
  return result;
}

void NcclBackend::start_step(const Step& step) {
  DDPSIM_CHECK(!in_step_, "steps do not overlap");
  communicator_->all_reduce(scratch_.get(), 1, ncclFloat, ncclSum, communication_stream_.get());
  await_communication("the barrier before a step");
  in_step_ = true;
  launched_ = waited_for_ = ended_ = 0;
  asked_ = put_ = reached_ = Seconds(0);
  const auto& ops = step.program.ops;
  ends_.assign(ops.size(), nullptr);
  collective_of_.assign(ops.size(), 0);
  computed_.assign(ops.size(), {});
  std::size_t moments = 0;
  auto mark = [&](std::size_t op) {
    if (ends_[op]) return;
    if (moments == moments_.size()) moments_.push_back(make_event(rank_));
    ends_[op] = &moments_[moments++];
  };
  for (const auto& op : ops)
    if (auto last = last_compute_before(op, ops); op.kind == Op::Kind::collective && last) mark(*last);
  if (step.before_last_backward) mark(*step.before_last_backward);
  record(step_start_, compute_stream_);
}

// One kernel for all that was asked for since the last one.
void NcclBackend::launch_compute() {
  auto nanoseconds = static_cast<std::uint64_t>(std::llround(1e9 * asked_.value()));
  asked_ = Seconds(0);
  if (nanoseconds == 0) return;
  require(rank_, launch_busy_kernel(nanoseconds, multiprocessors_, compute_stream_.get()),
          "launch of the busy kernel");
}

// Of the collectives that it waits for the last one has the others behind it.
void NcclBackend::add_compute(const Step& step, std::size_t number, double slowdown) {
  const auto& ops = step.program.ops;
  const auto& op = ops[number];
  std::size_t until = 0;
  for (auto before : op.after)
    if (ops[before].kind == Op::Kind::collective) until = std::max(until, collective_of_[before] + 1);
  if (waited_for_ < until) {
    launch_compute();
    make_wait(compute_stream_, collectives_[until - 1].end);
    waited_for_ = until;
  }
  asked_ += slowdown * op.duration;
  put_ += slowdown * op.duration;
  computed_[number] = put_;
  if (!ends_[number]) return;
  launch_compute();
  record(*ends_[number], compute_stream_);
}

void NcclBackend::add_collective(const Op& op, Range range, const std::optional<std::size_t>& after) {
  while (launched_ >= ended_ + kAhead) await_collective(ended_);
  if (launched_ == collectives_.size())
    collectives_.push_back({make_event(rank_), make_event(rank_), nullptr, {}, {}});
  auto& collective = collectives_[launched_];
  collective.name = fmt::format("{} {}", operation_words(op.operation), launched_);
  collective.launched = after ? ends_[*after] : &step_start_;
  auto until = after ? computed_[*after] : Seconds(0);
  collective.limit = timeout_ + std::max(Seconds(0), until - reached_);
  reached_ = std::max(reached_, until);
  ++launched_;
  make_wait(communication_stream_, *collective.launched);
  record(collective.start, communication_stream_);
  launch(op.operation, range);
  record(collective.end, communication_stream_);
}

void NcclBackend::launch(Operation operation, Range range) {
  float* data = at(range);
  auto* stream = communication_stream_.get();
  DDPSIM_CHECK(is_real(operation), "a collective that a real run has");
  switch (operation) {
    case Operation::all_reduce:
      return communicator_->all_reduce(data, range.count, ncclFloat, ncclSum, stream);
    case Operation::all_gather:
      return communicator_->all_gather(data, range.count, stream);
    case Operation::reduce_scatter:
      return communicator_->reduce_scatter(data, range.count, stream);
    default:
      break;
  }
}

StepTimes NcclBackend::perform(const Step& step, double slowdown, const WaitingFor& waiting_for) {
  start_step(step);
  const auto& ops = step.program.ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == Op::Kind::compute) {
      add_compute(step, i, slowdown);
      continue;
    }
    collective_of_[i] = launched_;
    add_collective(ops[i], step.ranges[launched_], last_compute_before(ops[i], ops));
  }
  launch_compute();
  record(compute_end_, compute_stream_);
  for (std::size_t i = 0; i < launched_; ++i) {
    waiting_for(i);
    if (i >= ended_) await_collective(i);
  }
  await(compute_end_, timeout_ + put_ - reached_, "compute");
  in_step_ = false;
  StepTimes times{since_start(compute_end_), {}};
  Seconds launch;
  for (std::size_t i = 0; i < launched_; ++i) {
    const auto& one = collectives_[i];
    launch = std::max(launch, since_start(*one.launched));
    times.collectives.push_back({launch, since_start(one.start), since_start(one.end)});
    times.total = std::max(times.total, times.collectives.back().end);
  }
  if (step.before_last_backward) times.backward_start = since_start(*ends_[*step.before_last_backward]);
  return times;
}

void NcclBackend::record(const Event& event, const Stream& stream) const {
  require(rank_, cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
}

void NcclBackend::make_wait(const Stream& stream, const Event& event) const {
  require(rank_, cudaStreamWaitEvent(stream.get(), event.get(), 0), "cudaStreamWaitEvent");
}

void NcclBackend::await(const Event& event, Seconds limit, const std::string& what) {
  Deadline deadline(limit);
  for (Pause pause;; pause.once()) {
    communicator_->check(what);
    auto state = cudaEventQuery(event.get());
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) require(rank_, state, what + ": cudaEventQuery");
    if (deadline.passed())
      communicator_->fail(fmt::format("{} did not end within {}", what, format_seconds(limit)));
  }
}

void NcclBackend::await_communication(const std::string& what) {
  record(done_, communication_stream_);
  await(done_, timeout_, what);
}

// Compute reaches the launch no later than it takes itself after the collective before has ended.
void NcclBackend::await_collective(std::size_t collective) {
  const auto& one = collectives_[collective];
  await(one.end, one.limit, one.name);
  ended_ = collective + 1;
}

Seconds NcclBackend::since_start(const Event& event) const {
  float milliseconds = 0;
  require(rank_, cudaEventElapsedTime(&milliseconds, step_start_.get(), event.get()), "cudaEventElapsedTime");
  return Seconds(1e-3 * static_cast<double>(milliseconds));
}

std::unique_ptr<CollectiveBackend> make_nccl_backend(const RankPlace& place, const Job& job) {
  return std::make_unique<NcclBackend>(place, job.timeout);
}

}  // namespace ddpsim::validate

#include "sim/compute/operator_times.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

using Shape = std::vector<std::int64_t>;

// Chains of element-wise operators in a compiled region are one kernel that keeps what lies between in
// registers. Half is left of them, as steps of Llama 8B asked for: `elementwise` of
// software/torchtitan-2024-compile.yaml over that of torchtitan-2024.yaml.
constexpr double kFusedShare = 0.5;

// What the host takes, in launches of a kernel from Python: 20 us each on the machine of
// measurements/h200/sharded.csv, where FSDP2's rows of GPT-2 large, of 37 units, take that much more than the
// same model unwrapped: 1.0 ms a unit to gather it with its hooks forward, 0.6 ms backward, 0.6 to reduce it.
constexpr double kGatherForward = 50, kGatherBackward = 30, kReduce = 30;
// DistributedDataParallel's C++ launches without Python: 6.3 us (launch_host of overheads.csv there).
constexpr double kFromCpp = 0.3;

// C[m, n] = A[m, k] B[k, n] as the operator's tensors say it: the last two of a bias and two matrices, or
// the first two with offsets of groups behind. None: they do not.
std::optional<Product> matrices_of(const RecordedOperator& op) {
  auto is_matrix = [](const Shape& one) { return one.size() == 2 || one.size() == 3; };
  bool is_grouped = op.name.find("grouped_mm") != std::string::npos;
  bool has_first = is_grouped || op.name.find("_scaled_mm") != std::string::npos;
  if (op.shapes.size() < 2) return std::nullopt;
  const auto& a = has_first ? op.shapes[0] : op.shapes[op.shapes.size() - 2];
  const auto& b = has_first ? op.shapes[1] : op.shapes.back();
  if (!is_matrix(a) || !is_matrix(b)) return std::nullopt;
  Product of{a[a.size() - 2], b.back(), a.back()};
  if (!is_grouped) {
    of.count = a.size() == 3 ? a.front() : 1;
    return of;
  }
  of.count = a.size() == 3 ? a.front() : b.size() == 3 ? b.front() : 1;
  for (const auto& one : op.shapes)
    if (of.count == 1 && one.size() == 1) of.count = one.front();  // where groups end
  of.count = std::max<std::int64_t>(1, of.count);
  // Groups cut the tokens, which only one of the two has in a dimension that is not the groups'.
  auto each = [&](std::int64_t tokens) { return std::max<std::int64_t>(1, tokens / of.count); };
  if (a.size() == 2 && b.size() == 3) of.m = each(of.m);
  if (a.size() == 3 && b.size() == 2) of.n = each(of.n);
  if (a.size() == 2 && b.size() == 2) of.k = each(of.k), of.tokens = Tokens::k;
  return of;
}

// The block that a module is in: its name through the first number; empty: none.
std::string_view block_of(std::string_view module) {
  std::size_t begin = 0;
  while (begin < module.size()) {
    auto end = std::min(module.find('.', begin), module.size());
    auto part = module.substr(begin, end - begin);
    if (!part.empty() && std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c) != 0; }))
      return module.substr(0, end);
    begin = end + 1;
  }
  return {};
}

Precision usual_precision(const Recording& recording,
                          const std::function<Precision(const RecordedOperator&)>& of) {
  std::map<Precision, double> flops;
  for (const auto& item : recording.items)
    if (const auto* op = std::get_if<RecordedOperator>(&item)) flops[of(*op)] += op->flops;
  auto most = std::ranges::max_element(flops, {}, [](const auto& one) { return one.second; });
  return most == flops.end() ? Precision::float32 : most->first;
}

bool is_fused(const RecordedOperator& op) {
  auto of = class_of(op);
  return op.is_compiled && (of == OperatorClass::elementwise || of == OperatorClass::copy);
}

// Passes over blocks: what the device takes in each, and what the host launches for it.
class Pacing {
 public:
  Pacing(const Recording& recording, const OperatorTimes& times) : recording_(recording), times_(times) {
    all_.resize(recording.items.size());
  }

  std::vector<Seconds> times() {
    for (number_ = 0; number_ < recording_.items.size(); ++number_)
      std::visit([this](const auto& item) { add(item); }, recording_.items[number_]);
    end_pass();
    return std::move(all_);
  }

 private:
  void add(const RecordedOperator& op) {
    bool is_reducers =
        is_copied_by_ddp(op, std::exchange(is_behind_gradient_, false), is_waiting_for_buckets_);
    if (class_of(op) == OperatorClass::none) return;
    auto block = op.module < recording_.modules.size() ? block_of(recording_.modules[op.module]) : block_;
    if (block.empty()) block = block_;
    if (phase_ != op.phase || block != block_) end_pass();
    phase_ = op.phase;
    block_ = block;
    all_[number_] = times_.of(op);
    bool is_of_unit = is_copy_in(op) || is_copy_out(op);  // in what FSDP takes for it
    launches_ += is_of_unit ? 0 : is_reducers ? kFromCpp : is_fused(op) ? kFusedShare : 1;
    if (op.stream != 0) return;
    items_.push_back(number_);
    device_ += all_[number_];
  }
  // FSDP's are launched from streams of its own.
  void add(const LaunchedCollective& one) {
    if (one.stream == 0 || recording_.is_of_ddp()) return;
    if (one.operation == Operation::all_gather)
      launches_ += one.phase == RecordedPhase::forward ? kGatherForward : kGatherBackward;
    else if (one.operation == Operation::reduce_scatter)
      launches_ += kReduce;
  }
  void add(const RecordedWait& wait) {
    auto is_collective = [this](std::size_t item) {
      return std::holds_alternative<LaunchedCollective>(recording_.items[item]);
    };
    is_waiting_for_buckets_ |= has_gradients_ && std::ranges::any_of(wait.on, is_collective);
  }
  void add(const RecordedStop&) { end_pass(); }
  void add(const RecordedAllocation&) {}
  void add(const RecordedFree&) {}
  void add(const RecordedGradient&) { has_gradients_ = is_behind_gradient_ = true; }

  void end_pass() {
    if (device_ <= Seconds()) return;  // what was launched so far counts to what comes
    auto items = std::exchange(items_, {});
    auto device = std::exchange(device_, {});
    double launches = std::exchange(launches_, 0);
    double longer = times_.law().paced(device, launches) / device;
    for (auto item : items) all_[item] = longer * all_[item];
  }

  const Recording& recording_;
  const OperatorTimes& times_;
  std::vector<Seconds> all_;
  std::size_t number_ = 0;
  std::optional<RecordedPhase> phase_;
  std::string_view block_;
  std::vector<std::size_t> items_;  // of the pass, on the default stream
  Seconds device_;
  double launches_ = 0;
  bool has_gradients_ = false, is_behind_gradient_ = false, is_waiting_for_buckets_ = false;
};

}  // namespace

OperatorTimes::OperatorTimes(const Recording& recording, const GpuDescription& gpu, const Software& software)
    : recording_(recording),
      precision_(
          usual_precision(recording, [this](const RecordedOperator& op) { return precision_of(op); })) {
  laws_.try_emplace(precision_, gpu, software, precision_);
  auto has_law = [](const RecordedOperator& op) {
    auto of = class_of(op);
    return of == OperatorClass::product || of == OperatorClass::attention || of == OperatorClass::convolution;
  };
  for (const auto& item : recording.items)
    if (const auto* op = std::get_if<RecordedOperator>(&item); op && has_law(*op))
      laws_.try_emplace(precision_of(*op), gpu, software, precision_of(*op));
}

Precision OperatorTimes::precision_of(const RecordedOperator& op) const {
  std::string_view type = op.dtype;
  if (type == "bfloat16") return Precision::bfloat16;
  if (type == "float16") return Precision::float16;
  if (type.starts_with("float8")) return Precision::float8;
  if (type == "float64" || type.starts_with("complex")) return Precision::float64;
  bool is_in_tf32 = class_of(op) == OperatorClass::convolution ? recording_.cudnn_in_tf32
                    : class_of(op) == OperatorClass::product   ? recording_.matmul_in_tf32
                                                               : false;
  return is_in_tf32 ? Precision::tfloat32 : Precision::float32;
}

Seconds OperatorTimes::product(const RecordedOperator& op) const {
  const auto& law = laws_.at(precision_of(op));
  auto of = matrices_of(op);
  if (!of) return std::max(law.products(op.flops), law.traffic(op.read + op.written));
  // A weight's gradient: the tokens are what it adds up.
  bool is_weight = op.phase == RecordedPhase::backward && of->count == 1 &&
                   std::ranges::any_of(recording_.parameters, [&](const RecordedParameter& one) {
                     return one.shape == Shape{of->m, of->n} || one.shape == Shape{of->n, of->m};
                   });
  if (is_weight) of->tokens = Tokens::k;
  return law.product(*of);
}

// By FlopCounterMode's formulas, whose backward pass has 2.5 times the forward pass' operations.
Seconds OperatorTimes::attention(const RecordedOperator& op) const {
  const auto& law = laws_.at(precision_of(op));
  const auto& software = law.software();
  constexpr std::size_t kDimensions = 4;  // samples, heads, tokens, width of a head
  bool says_sizes = !op.shapes.empty() && op.shapes.front().size() == kDimensions && op.shapes.front()[3] > 0;
  if (!software.flash || software.attention <= 0 || !says_sizes)
    return std::max(law.products(op.flops), law.traffic(op.read + op.written));
  auto tokens =
      static_cast<double>(std::max<std::int64_t>(1, op.shapes.front()[is_of_flash_attn(op) ? 1 : 2]));
  double met = 1;
  if (op.is_causal && software.causal_skip)
    met = (1 + 1 / tokens) / 2 + software.attention_ramp / (2 * tokens);
  return law.attention_kernel(op.flops * met, op.shapes.front()[3]);
}

Seconds OperatorTimes::of(const RecordedOperator& op) const {
  auto traffic = law().traffic(op.read + op.written);
  switch (class_of(op)) {
    case OperatorClass::product:
      return product(op);
    case OperatorClass::attention:
      return attention(op);
    case OperatorClass::convolution:
      return std::max(laws_.at(precision_of(op)).products(op.flops), traffic);
    case OperatorClass::elementwise:
      return law().software().elementwise * (is_fused(op) ? kFusedShare : 1) * traffic;
    case OperatorClass::copy:
      return (is_fused(op) ? kFusedShare : 1) * traffic;
    case OperatorClass::none:
      return {};
  }
  return {};
}

std::vector<std::shared_ptr<const RecordedStep>> timed(const RecordedWork& work) {
  std::vector<std::shared_ptr<const RecordedStep>> steps;
  for (const auto& recording : work.recordings) {
    OperatorTimes times(*recording, work.gpu, work.software);
    steps.push_back(
        std::make_shared<RecordedStep>(RecordedStep{recording, Pacing(*recording, times).times()}));
  }
  return steps;
}

}  // namespace ddpsim

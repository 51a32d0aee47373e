#include "sim/program/pipeline_schedule.hpp"

#include <algorithm>
#include <deque>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

using Order = std::vector<PipelineTask>;

PipelineTask task(PassKind kind, int chunk, int micro_batch) {
  return {{kind, chunk, micro_batch}};
}

Order gpipe(int m) {
  Order order;
  for (int i = 0; i < m; ++i) order.push_back(task(PassKind::forward, 0, i));
  for (int i = 0; i < m; ++i) order.push_back(task(PassKind::backward, 0, i));
  return order;
}

// Forward passes until the pipeline is full, then one forward, one backward, then the backward passes left.
Order alternating(const Order& forward, const Order& backward, std::size_t first) {
  first = std::min(first, forward.size());
  Order order(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t k = 0; k < backward.size(); ++k) {
    if (first + k < forward.size()) order.push_back(forward[first + k]);
    order.push_back(backward[k]);
  }
  return order;
}

Order one_f_one_b(int rank, int p, int m) {
  Order forward, backward;
  for (int i = 0; i < m; ++i) {
    forward.push_back(task(PassKind::forward, 0, i));
    backward.push_back(task(PassKind::backward, 0, i));
  }
  return alternating(forward, backward, static_cast<std::size_t>(p - rank - 1));
}

Order interleaved(int rank, const PipelineShape& shape) {
  int p = shape.ranks, v = shape.chunks, m = shape.micro_batches, g = shape.group > 0 ? shape.group : p;
  Order forward, backward;
  for (int first = 0; first < m; first += g)
    for (int chunk = 0; chunk < v; ++chunk)
      for (int i = first; i < std::min(first + g, m); ++i) {
        forward.push_back(task(PassKind::forward, chunk, i));
        backward.push_back(task(PassKind::backward, v - 1 - chunk, i));
      }
  return alternating(forward, backward, static_cast<std::size_t>(2 * (p - rank - 1) + (v - 1) * g));
}

// Weights' gradients fill what 1F1B leaves empty: from micro-batch `rank` on one after each input's gradient.
Order zero_bubble(int rank, int p, int m) {
  Order order;
  int first = std::min(p - 1 - rank, m), done = 0;
  for (int i = 0; i < first; ++i) order.push_back(task(PassKind::forward, 0, i));
  for (int k = 0; k < m; ++k) {
    if (first + k < m) order.push_back(task(PassKind::forward, 0, first + k));
    order.push_back(task(PassKind::input_gradient, 0, k));
    if (k >= rank) order.push_back(task(PassKind::weight_gradient, 0, done++));
  }
  while (done < m) order.push_back(task(PassKind::weight_gradient, 0, done++));
  return order;
}

// Two streams of micro-batches in opposite directions; a rank holds a stage of each. Its phases are those of
// dualpipe.py's step(), mirrored in the upper half of the ranks.
class DualPipe {
 public:
  DualPipe(int rank, int p, int m)
      : p_(p),
        half_of_m_(m / 2),
        from_end_(std::min(rank, p - 1 - rank)),
        is_upper_(rank >= p / 2),
        is_middle_(from_end_ == p / 2 - 1) {}

  Order order() {
    int inner = p_ / 2 - from_end_ - 1;
    for (int i = 0; i < 2 * inner; ++i) add(forward(0));
    for (int i = 0; i <= from_end_; ++i) {
      add(forward(0));
      add(forward(1));
    }
    for (int i = 0; i < inner; ++i) {
      add(backward(1, true));
      add(weights());
      add(forward(1));
    }
    steady();
    for (int i = 0; i < inner; ++i) {
      add(backward(1));
      auto pass = forward(1);
      add(pass, backward(0));
    }
    drain();
    for (int i = 0; i < inner; ++i) {
      add(weights());
      add(backward(0, true));
    }
    for (int i = 0; i <= from_end_; ++i) add(weights());
    return std::move(order_);
  }

 private:
  void steady() {
    for (int i = 0; i < half_of_m_ - p_ + from_end_ + 1; ++i) {
      auto pass = forward(0);
      if (i == 0 && is_middle_) {
        add(pass);
        add(backward(1));
      } else {
        add(pass, backward(1));
      }
      pass = forward(1);
      add(pass, backward(0));
    }
  }

  // From the half on, weights' gradients are put off.
  void drain() {
    bool puts_off = false;
    int n = from_end_ + 1;
    for (int i = 0; i < n; ++i) {
      if (i == n / 2 && from_end_ % 2 == 1) puts_off = true;
      add(backward(1, puts_off));
      if (i == n / 2 && from_end_ % 2 == 0) puts_off = true;
      add(backward(0, puts_off));
    }
  }

  PipelinePass forward(int phase) {
    int chunk = is_upper_ ? 1 - phase : phase;
    return {PassKind::forward, chunk, forwards_[chunk]++};
  }
  PipelinePass backward(int phase, bool puts_off = false) {
    int chunk = is_upper_ ? 1 - phase : phase;
    PipelinePass pass{puts_off ? PassKind::input_gradient : PassKind::backward, chunk, backwards_[chunk]++};
    if (puts_off) put_off_.push_back(pass);
    return pass;
  }
  PipelinePass weights() {
    auto pass = put_off_.front();
    put_off_.pop_front();
    pass.kind = PassKind::weight_gradient;
    return pass;
  }
  void add(const PipelinePass& pass) { order_.push_back({pass}); }
  void add(const PipelinePass& pass, const PipelinePass& beside) { order_.push_back({pass, beside}); }

  int p_, half_of_m_, from_end_;
  bool is_upper_, is_middle_;
  int forwards_[2] = {0, 0}, backwards_[2] = {0, 0};
  std::deque<PipelinePass> put_off_;
  Order order_;
};

[[noreturn]] void refuse(const char* key, std::string message, std::string hint) {
  throw InputError(std::move(message), std::move(hint)).about(key);
}

}  // namespace

int PipelineShape::stage_of(int rank, int chunk) const {
  if (is_dual()) return chunk == 0 ? rank : ranks - 1 - rank;
  return chunk * ranks + rank;
}

int PipelineShape::rank_of(int stage, int chunk) const {
  if (is_dual()) return chunk == 0 ? stage : ranks - 1 - stage;
  return stage % ranks;
}

void check_shape(const PipelineShape& shape) {
  auto name = name_in(kPipelineScheduleNames, shape.schedule);
  int p = shape.ranks, m = shape.micro_batches;
  bool is_interleaved = shape.schedule == PipelineSchedule::interleaved;
  if (p > 1 && 1.0 * shape.stages() * m > kMostPipelinePasses)
    refuse("global",
           fmt::format("{} micro-batches through {} stages are more than {} passes", m, shape.stages(),
                       kMostPipelinePasses),
           "use larger micro-batches, fewer of them, or fewer stages");
  if (shape.chunks > 1 && !is_interleaved && !shape.is_dual())
    refuse("virtual", fmt::format("schedule {} has one chunk of layers a rank", name),
           "use schedule: interleaved, or virtual: 1");
  if (is_interleaved && shape.chunks < 2)
    refuse("virtual", "the interleaved schedule needs two chunks of layers a rank or more",
           "add virtual: 2, or use schedule: 1f1b");
  if (is_interleaved && p < 2)
    refuse("schedule", "a pipeline of one rank has nothing to interleave", "use schedule: 1f1b");
  if (is_interleaved) {
    int g = shape.group > 0 ? shape.group : p;
    if (g < p || g > std::max(m, p))
      refuse("group", fmt::format("groups of {} micro-batches, and {} ranks pass {}", g, p, m),
             "a group has as many micro-batches as ranks or more, and no more than there are");
    if (m % g != 0 && m % g < p)
      refuse(
          shape.group > 0 ? "group" : "schedule",
          fmt::format("{} micro-batches in groups of {} leave {}, fewer than the {} ranks", m, g, m % g, p),
          "use a number of micro-batches that groups divide, or schedule: 1f1b");
  }
  if (shape.is_dual() && (p % 2 != 0 || m % 2 != 0 || m < 2 * p))
    refuse("schedule",
           fmt::format("DualPipe on {} ranks with {} micro-batches: it needs an even number of ranks, and of "
                       "micro-batches, twice as many or more",
                       p, m),
           "use another schedule, or more micro-batches");
}

std::vector<Order> pipeline_order(const PipelineShape& shape) {
  std::vector<Order> orders;
  int p = shape.ranks, m = shape.micro_batches;
  for (int rank = 0; rank < p; ++rank) switch (shape.schedule) {
      case PipelineSchedule::gpipe:
        orders.push_back(gpipe(m));
        break;
      case PipelineSchedule::one_f_one_b:
        orders.push_back(one_f_one_b(rank, p, m));
        break;
      case PipelineSchedule::interleaved:
        orders.push_back(interleaved(rank, shape));
        break;
      case PipelineSchedule::zero_bubble:
        orders.push_back(zero_bubble(rank, p, m));
        break;
      case PipelineSchedule::dualpipe:
        orders.push_back(DualPipe(rank, p, m).order());
        break;
    }
  return orders;
}

std::string order_text(const Order& order) {
  constexpr std::string_view kLetters = "FBIW";
  auto text_of = [&](const PipelinePass& pass) {
    return fmt::format("{}{}{}", kLetters[static_cast<std::size_t>(pass.kind)],
                       std::string(static_cast<std::size_t>(pass.chunk), '\''), pass.micro_batch);
  };
  std::string text;
  for (const auto& [pass, beside] : order) {
    if (!text.empty()) text += ' ';
    text += text_of(pass);
    if (beside) text += '&' + text_of(*beside);
  }
  return text;
}

double most_in_flight(std::span<const PipelineTask> order, std::span<const double> of_chunk,
                      bool at_input_gradient) {
  double now = 0, most = 0;
  auto count = [&](const PipelinePass& pass) {
    auto letting_go = at_input_gradient ? PassKind::input_gradient : PassKind::weight_gradient;
    double held = of_chunk[static_cast<std::size_t>(pass.chunk)];
    if (pass.kind == PassKind::forward) now += held;
    if (pass.kind == PassKind::backward || pass.kind == letting_go) now -= held;
    most = std::max(most, now);
  };
  for (const auto& [pass, beside] : order) {
    count(pass);
    if (beside) count(*beside);
  }
  return most;
}

}  // namespace ddpsim

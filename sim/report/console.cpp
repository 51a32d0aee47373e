#include "sim/report/console.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"
#include "sim/report/bars.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/shown_table.hpp"
#include "sim/report/table_parts.hpp"

namespace ddpsim {
namespace {

// What goes on in the next line stands below the first word of the fact.

class Facts {
 public:
  Facts(std::ostream& out, const Terminal& terminal) : out_(out), terminal_(terminal) {}
  void operator()(std::string_view name, std::string_view fact) const {
    out_ << terminal_.wrapped(to_left(name, kBarNames) + std::string(fact), Look::plain, kBarNames) << '\n';
  }

 private:
  std::ostream& out_;
  const Terminal& terminal_;
};

// Of what happens now and then.
std::string every(Seconds time) {
  double s = time.value();
  for (auto [unit, seconds] : {std::pair("d", 86400.0), std::pair("h", 3600.0), std::pair("min", 60.0)})
    if (s >= 2 * seconds) return fmt::format("{:.3g} {}", s / seconds, unit);
  return format_seconds(time);
}

void print_spread(const Facts& fact, const IterationSpread& spread) {
  fact(fmt::format("{} of {}", reported_iteration_name(spread.report), spread.iterations),
       fmt::format("p5 {}, median {}, p95 {}, mean {}, longest {} (seed {})", format_seconds(spread.p5),
                   format_seconds(spread.median), format_seconds(spread.p95), format_seconds(spread.mean),
                   format_seconds(spread.most), spread.seed));
  fact("if nothing varied", format_seconds(spread.unvaried));
  for (const auto& [ones, drawn, of] : spread.slow_for_the_run)
    fact("slow for the run", fmt::format("{} of {} {}, by this seed; at least one in {:.0f} % of runs", drawn,
                                         of, ones.of == SlowOnes::Of::nodes ? "nodes" : "ranks",
                                         100 * SlowForTheRun{ones, drawn, of}.chance_of_any()));
  if (spread.speeds_for_the_run)
    fact("speeds for the run", "are drawn once, by this seed: other seeds are other runs");
}

// In the order of a step; what is within another term is further in.
std::vector<Bar> terms_of(const IterationMetrics& m) {
  std::vector<Bar> terms{{"forward", m.forward}, {"backward", m.backward_compute}};
  for (const auto& loss : m.losses)
    if (loss.row().is_in_backward) terms.push_back({fmt::format("  {}", loss.row().title), loss.seconds});
  auto unless_none = [&](const char* name, Seconds time) {
    if (time != Seconds(0)) terms.push_back({name, time});
  };
  unless_none("interference", m.interference);
  unless_none("copies, launches", m.overhead);
  unless_none("pipeline bubble", m.bubble);
  terms.push_back({"exposed communication", m.exposed_communication});
  unless_none("  buffers, broadcast", m.buffer_broadcast);
  terms.push_back({"optimizer", m.optimizer});
  return terms;
}

// "1.182 s a step (1.121–1.243, 80 % sure); 6.93k tokens/s a GPU, MFU 40.6 %; 53.1 of 80 GB."
std::string step_verdict(const IterationMetrics& m) {
  auto line = likely_text(m);
  auto range = std::min(line.find(" ("), line.size());
  line.insert(range, " a step");
  if (m.tokens_per_s)
    line += fmt::format("; {} tokens/s a GPU", short_text(*m.tokens_per_s / m.gpus(), Measure::number));
  else if (m.samples_per_s)
    line += fmt::format("; {} samples/s", short_text(*m.samples_per_s, Measure::number));
  if (m.compute) line += fmt::format(", MFU {:.1f} %", 100 * m.compute->mfu());
  if (m.memory) {
    if (!m.memory->fits()) line += fmt::format("; {}", fit_word(m.memory->fit()));
    line += fmt::format("{}{:.1f} of {:.0f} GB", m.memory->fits() ? "; " : ": ",
                        m.memory->parts.peak().value() / 1e9, m.memory->capacity.value() / 1e9);
  }
  return line + ".";
}

std::string communication_line(const IterationMetrics& m) {
  Seconds within;  // passes
  for (const auto& loss : m.losses)
    if (loss.row().is_in_backward && loss.row().of_communication) within += loss.seconds;
  auto line = fmt::format("Communication takes {}", time_text(m.communication.value()));
  if (m.communication > Seconds())
    line += fmt::format(
        ", {:.1f} % of it behind compute",
        100 * (std::max(Seconds(0), m.communication - m.exposed_communication) / m.communication));
  if (within > Seconds()) line += fmt::format(", and {} more within passes", time_text(within.value()));
  return line + fmt::format("; it costs {:.1f} % of the step.", 100 * (m.communication_cost() / m.iteration));
}

void print_terms(std::ostream& out, const Terminal& terminal, const IterationMetrics& m) {
  print_bars(out, terminal, terms_of(m), m.iteration.value());
  out << '\n' << terminal.wrapped(step_verdict(m), Look::verdict) << '\n';
  if (m.communication > Seconds()) out << terminal.wrapped(communication_line(m)) << '\n';
  Facts fact(out, terminal);
  if (const auto& sure = m.uncertainty) fact("in doubt", fmt::format("{}", fmt::join(sure->phrases(), "; ")));
  if (m.micro_batches > 1)
    fact("a micro-batch", fmt::format("{} (of {})", format_seconds(m.micro_batch()), m.micro_batches));
  if (m.spread) print_spread(fact, *m.spread);
}

std::string network_fact(const IterationMetrics& m) {
  if (m.simulated_flows == 0) return m.network;
  return fmt::format("{} ({} flow{})", m.network, m.simulated_flows, m.simulated_flows == 1 ? "" : "s");
}

std::string gigabytes(Bytes bytes) {
  return fmt::format("{:.1f} GB", bytes.value() / 1e9);
}

void print_compute(const Facts& fact, const IterationMetrics& m) {
  if (const auto& compute = m.compute) {
    auto text = fmt::format("{:.1f} TFLOP/s a GPU of the model, MFU {:.1f} %", compute->model.value() / 1e12,
                            100 * compute->mfu());
    if (compute->hardware > compute->model) text += fmt::format(", HFU {:.1f} %", 100 * compute->hfu());
    fact("compute", text);
  }
  if (const auto& memory = m.memory) {
    const auto& parts = memory->parts;
    auto others = memory->others ? fmt::format("; of GPU 0, the others {}", gigabytes(*memory->others)) : "";
    std::vector<std::string> each;
    for (const auto& part : kMemoryParts)
      each.push_back(fmt::format("{} {}", part.name, gigabytes(parts.*part.bytes)));
    fact("memory", fmt::format("{}: {}{}", fit_line(*memory), fmt::join(each, ", "), others));
  }
  if (const auto& goodput = m.goodput)
    fact("goodput",
         fmt::format(
             "{:.1f} % of the time, with a failure every {} and a checkpoint every {}{}",
             100 * goodput->share, every(goodput->mtbf), every(goodput->interval),
             m.tokens_per_s ? fmt::format(": {:.4g} tokens/s", goodput->share * *m.tokens_per_s) : ""));
  if (m.price)
    fact("cost",
         fmt::format(
             "{:.4g} a step of {} GPUs{}", m.cost_per_step(), m.world_size,
             m.tokens_per_s ? fmt::format(", {:.4g} a million tokens", m.cost_per_million_tokens()) : ""));
  if (auto training = training_text(m); !training.empty()) fact("training", training);
}

std::string throughput_of(const IterationMetrics& m) {
  std::string throughput;
  if (m.samples_per_s) throughput = fmt::format("{:.4g} samples/s", *m.samples_per_s);
  if (m.tokens_per_s)
    throughput +=
        fmt::format(", {:.4g} tokens/s ({:.4g} a GPU)", *m.tokens_per_s, *m.tokens_per_s / m.gpus());
  if (m.scaling_efficiency)
    throughput += fmt::format("{}scaling efficiency {:.1f} %", throughput.empty() ? "" : ", ",
                              100 * *m.scaling_efficiency);
  return throughput;
}

std::string parallelism_of(const SharedModelMetrics& model) {
  return fmt::format("tensor {}{} x data {} x pipeline {}{}{}, {}", model.tensor,
                     model.context == 1 ? "" : fmt::format(" x context {}", model.context), model.data,
                     model.pipeline,
                     model.pipeline == 1 ? ""
                     : model.chunks == 1 ? fmt::format(" ({})", model.schedule)
                                         : fmt::format(" ({}, {} chunks)", model.schedule, model.chunks),
                     model.expert == 1 ? "" : fmt::format(", experts over {}", model.expert),
                     counted(model.micro_batches, "micro-batch"));
}

std::string reduction_of(const IterationMetrics& m) {
  auto text = fmt::format("strategy {}", m.strategy->name());
  if (!m.shared_model && m.n_buckets > 0)
    text += fmt::format(", {} bucket{}", m.n_buckets, m.n_buckets == 1 ? "" : "s");
  if (m.bucket_cap) text += fmt::format(", bucket cap {}", format_bytes(*m.bucket_cap));
  if (m.first_bucket_cap) text += fmt::format(" (first {})", format_bytes(*m.first_bucket_cap));
  if (m.comm_hook == CommHook::none) return text;
  if (m.comm_hook == CommHook::power_sgd) return text + ", PowerSGD";
  return text + fmt::format(", gradients cast to {}", m.comm_hook == CommHook::fp16 ? "fp16" : "bf16");
}

void print_facts(const Facts& fact, const IterationMetrics& m) {
  if (m.busbw > BytesPerSecond())
    fact("bandwidth",
         fmt::format("algbw {}, busbw {}", format_bandwidth(m.algbw), format_bandwidth(m.busbw)));
  if (auto throughput = throughput_of(m); !throughput.empty()) fact("throughput", throughput);
  if (const auto& servers = m.asynchronous)
    fact("updates",
         fmt::format("{:.4g} a second of all workers; staleness {:.1f} on average, {:.1f} of the slowest "
                     "worker's",
                     servers->updates_per_s, servers->mean_staleness, servers->most_staleness));
  print_compute(fact, m);
  if (m.shared_model) fact("parallelism", parallelism_of(*m.shared_model));
  fact("reduction", reduction_of(m));
  if (m.construction_broadcast)
    fact("at construction", fmt::format("parameters and buffers are broadcast once, {}",
                                        format_seconds(*m.construction_broadcast)));
  fact("model",
       fmt::format("{}{}, algorithm {}{}, fidelity {}, network {}; terms of rank {}",
                   counted(m.world_size, "rank"),
                   m.group_size == m.world_size ? "" : fmt::format(" (groups of {})", m.group_size),
                   m.nccl_version.empty() ? m.algorithm : fmt::format("{} {}", m.algorithm, m.nccl_version),
                   m.collective_workers == 1 ? "" : fmt::format(" ({} at once)", m.collective_workers),
                   m.fidelity, network_fact(m), m.reported_rank));
  if (const auto& sources = m.sources_of_times; !sources.empty())
    fact(m.strategy->traits.is_sharded ? "collective times" : "all-reduce times",
         fmt::format("{}", fmt::join(sources, "; ")));
  if (m.trace_synthetic) fact("trace", *m.trace_synthetic);
}

// Of more than `most` the first and the last.
std::vector<BucketMetrics> first_and_last(const std::vector<BucketMetrics>& all, std::size_t most) {
  if (all.size() <= most) return all;
  auto half = static_cast<std::ptrdiff_t>(most / 2);
  std::vector<BucketMetrics> some(all.begin(), all.begin() + half);
  some.insert(some.end(), all.end() - static_cast<std::ptrdiff_t>(most) + half, all.end());
  return some;
}

void print_buckets(std::ostream& out, const Terminal& terminal, const IterationMetrics& m, std::size_t most) {
  auto rows = first_and_last(m.buckets, most);
  auto buckets = rows.size();
  if (m.used_parameter_bitmap) rows.push_back(*m.used_parameter_bitmap);
  auto name_of = [&](const BucketMetrics& one) {
    return &one == &rows.back() && rows.size() > buckets ? std::string("bitmap")
                                                         : fmt::format("{}", one.index);
  };
  ShownTable table;
  table.add("bucket", rows, name_of);
  table.add("size", rows, &BucketMetrics::bytes, 0, Form::binary);
  table.add("gradients", rows, &BucketMetrics::n_gradients, 4);
  table.add("ready", rows, &BucketMetrics::ready);
  table.add("start", rows, &BucketMetrics::start);
  table.add("end", rows, &BucketMetrics::end);
  table.add(
      "queued", rows, [](const BucketMetrics& b) { return b.start - b.ready; }, 2);
  table.add(
      "in flight", rows, [](const BucketMetrics& b) { return b.end - b.start; }, 1);
  table.add(
      "NCCL picks", rows,
      [](const BucketMetrics& b) {
        return b.choice
                   ? fmt::format("{}/{} x{}", b.choice->algorithm, b.choice->protocol, b.choice->channels)
                   : "";
      },
      3, Form::plain, true);
  if (buckets < m.buckets.size()) table.breaks.push_back(most / 2);
  out << "\nbuckets, times from the start of the backward pass\n";
  print_shown(out, terminal, table);
  if (buckets < m.buckets.size())
    out << fmt::format("{} more between them; --buckets prints all\n", m.buckets.size() - buckets);
}

// Where GPUs share the model: what each axis exchanges, of the reported rank.
void print_operations(std::ostream& out, const Terminal& terminal, const IterationMetrics& m) {
  const auto& rows = m.operations;
  ShownTable table;
  table.add("axis", rows, &OperationMetrics::axis, 0, Form::plain, true);
  table.add(
      "operation", rows, [](const OperationMetrics& one) { return operation_name(one.operation); }, 0,
      Form::plain, true);
  table.add("count", rows, &OperationMetrics::count);
  table.add("size", rows, &OperationMetrics::bytes, 0, Form::binary);
  table.add("busy", rows, &OperationMetrics::busy);
  table.add("exposed", rows, &OperationMetrics::exposed);
  out << '\n';
  print_shown(out, terminal, table);
}

// Powers of four and all ranks.
void print_slowest(std::ostream& out, const Terminal& terminal, const IterationSpread& spread) {
  auto rows = spread.slowest_of;
  for (std::size_t i = rows.size(); i-- > 0;)
    if (i % 2 == 1 && i + 1 < rows.size()) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i));
  ShownTable table;
  table.add("ranks", rows, &ExpectedSlowest::ranks);
  table.add(
      "compute", rows, [](const ExpectedSlowest& one) { return one.slowdown - 1; }, 0, Form::change);
  out << "\nhow slow the slowest of so many ranks is, on average\n";
  print_shown(out, terminal, table);
}

}  // namespace

void print_iteration(std::ostream& out, const Terminal& terminal, const IterationMetrics& metrics,
                     std::size_t most_buckets) {
  print_terms(out, terminal, metrics);
  print_facts(Facts(out, terminal), metrics);
  if (metrics.shared_model || metrics.n_buckets == 0) return print_operations(out, terminal, metrics);
  print_buckets(out, terminal, metrics, std::max<std::size_t>(most_buckets, 2));
  if (metrics.spread) print_slowest(out, terminal, *metrics.spread);
}

}  // namespace ddpsim

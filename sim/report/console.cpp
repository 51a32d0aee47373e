#include "sim/report/console.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

double ms(Seconds time) {
  return time.value() * 1e3;
}

void print_term(std::ostream& out, std::string_view name, Seconds term, Seconds iteration) {
  out << fmt::format("{:<25}{:>12.3f} ms {:>6.1f} %\n", name, ms(term), 100 * (term / iteration));
}

void print_fact(std::ostream& out, std::string_view name, std::string_view fact) {
  out << fmt::format("{:<25}{}\n", name, fact);
}

// Of what happens now and then.
std::string every(Seconds time) {
  double s = time.value();
  for (auto [unit, seconds] : {std::pair("d", 86400.0), std::pair("h", 3600.0), std::pair("min", 60.0)})
    if (s >= 2 * seconds) return fmt::format("{:.3g} {}", s / seconds, unit);
  return format_seconds(time);
}

void print_spread(std::ostream& out, const IterationSpread& spread) {
  print_fact(out, fmt::format("  {} of {}", reported_iteration_name(spread.report), spread.iterations),
             fmt::format("p5 {}, median {}, p95 {}, mean {}, longest {} (seed {})", format_seconds(spread.p5),
                         format_seconds(spread.median), format_seconds(spread.p95),
                         format_seconds(spread.mean), format_seconds(spread.most), spread.seed));
  print_fact(out, "  if nothing varied", format_seconds(spread.unvaried));
  for (const auto& [ones, drawn, of] : spread.slow_for_the_run)
    print_fact(out, "  slow for the run",
               fmt::format("{} of {} {}, by this seed; at least one in {:.0f} % of runs", drawn, of,
                           ones.of == SlowOnes::Of::nodes ? "nodes" : "ranks",
                           100 * SlowForTheRun{ones, drawn, of}.chance_of_any()));
  if (spread.speeds_for_the_run)
    print_fact(out, "  speeds for the run", "are drawn once, by this seed: other seeds are other runs");
}

void print_terms(std::ostream& out, const IterationMetrics& m) {
  print_term(out, "iteration", m.iteration, m.iteration);
  if (m.micro_batches > 1)
    print_fact(out, "  a micro-batch",
               fmt::format("{} (of {})", format_seconds(m.micro_batch()), m.micro_batches));
  if (const auto& sure = m.uncertainty)
    print_fact(out, "  80 % sure",
               fmt::format("{} to {} ({})", format_seconds(sure->likely().least),
                           format_seconds(sure->likely().most), fmt::join(sure->phrases(), "; ")));
  if (m.spread) print_spread(out, *m.spread);
  print_term(out, "  forward", m.forward, m.iteration);
  print_term(out, "  backward", m.backward_compute, m.iteration);
  Seconds within;  // passes
  for (const auto& loss : m.losses) {
    if (!loss.row().is_in_backward) continue;
    print_term(out, fmt::format("    {}", loss.row().title), loss.seconds, m.iteration);
    if (loss.row().of_communication) within += loss.seconds;
  }
  if (m.interference != Seconds(0)) print_term(out, "  interference", m.interference, m.iteration);
  if (m.overhead != Seconds(0)) print_term(out, "  overhead", m.overhead, m.iteration);
  if (m.bubble != Seconds(0)) print_term(out, "  pipeline bubble", m.bubble, m.iteration);
  print_term(out, "  exposed communication", m.exposed_communication, m.iteration);
  if (m.buffer_broadcast > Seconds(0))
    print_term(out, "    buffers, broadcast", m.buffer_broadcast, m.iteration);
  print_term(out, "  optimizer", m.optimizer, m.iteration);
  auto hidden = std::max(Seconds(0), m.communication - m.exposed_communication);
  auto share = m.communication > Seconds()
                   ? fmt::format(", {:.1f} % of it hidden behind compute", 100 * (hidden / m.communication))
                   : "";
  out << fmt::format("{:<25}{:>12.3f} ms{}{}\n", "communication", ms(m.communication), share,
                     within > Seconds() ? fmt::format("; {:.3f} ms more within passes", ms(within)) : "");
  print_term(out, "  costs the iteration", m.communication_cost(), m.iteration);
}

std::string network_fact(const IterationMetrics& m) {
  if (m.simulated_flows == 0) return m.network;
  return fmt::format("{} ({} flow{})", m.network, m.simulated_flows, m.simulated_flows == 1 ? "" : "s");
}

std::string gigabytes(Bytes bytes) {
  return fmt::format("{:.1f} GB", bytes.value() / 1e9);
}

void print_compute(std::ostream& out, const IterationMetrics& m) {
  if (const auto& compute = m.compute) {
    auto text = fmt::format("{:.1f} TFLOP/s a GPU of the model, MFU {:.1f} %", compute->model.value() / 1e12,
                            100 * compute->mfu());
    if (compute->hardware > compute->model) text += fmt::format(", HFU {:.1f} %", 100 * compute->hfu());
    print_fact(out, "compute", text);
  }
  if (const auto& memory = m.memory) {
    const auto& parts = memory->parts;
    auto others = memory->others ? fmt::format("; of GPU 0, the others {}", gigabytes(*memory->others)) : "";
    std::vector<std::string> each;
    for (const auto& part : kMemoryParts)
      each.push_back(fmt::format("{} {}", part.name, gigabytes(parts.*part.bytes)));
    print_fact(out, "memory", fmt::format("{}: {}{}", fit_line(*memory), fmt::join(each, ", "), others));
  }
  if (const auto& goodput = m.goodput)
    print_fact(out, "goodput",
               fmt::format(
                   "{:.1f} % of the time, with a failure every {} and a checkpoint every {}{}",
                   100 * goodput->share, every(goodput->mtbf), every(goodput->interval),
                   m.tokens_per_s ? fmt::format(": {:.4g} tokens/s", goodput->share * *m.tokens_per_s) : ""));
  if (m.price)
    print_fact(
        out, "cost",
        fmt::format(
            "{:.4g} a step of {} GPUs{}", m.cost_per_step(), m.world_size,
            m.tokens_per_s ? fmt::format(", {:.4g} a million tokens", m.cost_per_million_tokens()) : ""));
  if (auto training = training_text(m); !training.empty()) print_fact(out, "training", training);
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

void print_facts(std::ostream& out, const IterationMetrics& m) {
  if (m.busbw > BytesPerSecond())
    print_fact(out, "bandwidth",
               fmt::format("algbw {}, busbw {}", format_bandwidth(m.algbw), format_bandwidth(m.busbw)));
  if (auto throughput = throughput_of(m); !throughput.empty()) print_fact(out, "throughput", throughput);
  if (const auto& servers = m.asynchronous)
    print_fact(
        out, "updates",
        fmt::format("{:.4g} a second of all workers; staleness {:.1f} on average, {:.1f} of the slowest "
                    "worker's",
                    servers->updates_per_s, servers->mean_staleness, servers->most_staleness));
  print_compute(out, m);
  if (m.shared_model) print_fact(out, "parallelism", parallelism_of(*m.shared_model));
  print_fact(out, "reduction", reduction_of(m));
  if (m.construction_broadcast)
    print_fact(out, "at construction",
               fmt::format("parameters and buffers are broadcast once, {}",
                           format_seconds(*m.construction_broadcast)));
  print_fact(
      out, "model",
      fmt::format("{}{}, algorithm {}{}, fidelity {}, network {}; terms of rank {}",
                  counted(m.world_size, "rank"),
                  m.group_size == m.world_size ? "" : fmt::format(" (groups of {})", m.group_size),
                  m.nccl_version.empty() ? m.algorithm : fmt::format("{} {}", m.algorithm, m.nccl_version),
                  m.collective_workers == 1 ? "" : fmt::format(" ({} at once)", m.collective_workers),
                  m.fidelity, network_fact(m), m.reported_rank));
  if (const auto& sources = m.sources_of_times; !sources.empty())
    print_fact(out, m.strategy->traits.is_sharded ? "collective times" : "all-reduce times",
               fmt::format("{}", fmt::join(sources, "; ")));
  if (m.trace_synthetic) print_fact(out, "trace", *m.trace_synthetic);
}

void print_collective(std::ostream& out, const std::string& name, const std::string& gradients,
                      const BucketMetrics& b) {
  out << fmt::format("{:>6} {:>10.4f} {:>9} {:>11.3f} {:>11.3f} {:>11.3f} {:>11.3f} {:>11.3f}", name,
                     b.bytes.value() / 1048576.0, gradients, ms(b.ready), ms(b.start), ms(b.end),
                     ms(b.start - b.ready), ms(b.end - b.start));
  if (b.choice)
    out << fmt::format("  {}/{} x{}", b.choice->algorithm, b.choice->protocol, b.choice->channels);
  out << '\n';
}

void print_buckets(std::ostream& out, const IterationMetrics& m, std::size_t most) {
  out << "\ntimes in ms from the start of the backward pass\n";
  bool chosen = !m.buckets.empty() && m.buckets.front().choice;
  out << fmt::format("{:>6} {:>10} {:>9} {:>11} {:>11} {:>11} {:>11} {:>11}{}\n", "bucket", "MiB",
                     "gradients", "ready", "start", "end", "queued", "in flight",
                     chosen ? "  NCCL picks" : "");
  auto left_out = m.buckets.size() > most ? m.buckets.size() - most : 0;
  for (std::size_t i = 0; i < m.buckets.size(); ++i) {
    if (left_out > 0 && i == most / 2) {
      out << fmt::format("   ... {} more; --buckets prints all\n", left_out);
      i += left_out;
    }
    print_collective(out, fmt::format("{}", m.buckets[i].index), fmt::format("{}", m.buckets[i].n_gradients),
                     m.buckets[i]);
  }
  if (m.used_parameter_bitmap) print_collective(out, "bitmap", "-", *m.used_parameter_bitmap);
}

// Where GPUs share the model: what each axis exchanges, of the reported rank.
void print_operations(std::ostream& out, const IterationMetrics& m) {
  out << fmt::format("\n{:<10} {:<15} {:>7} {:>12} {:>11} {:>11}\n", "axis", "operation", "count", "MiB",
                     "busy ms", "exposed ms");
  for (const auto& one : m.operations)
    out << fmt::format("{:<10} {:<15} {:>7} {:>12.2f} {:>11.3f} {:>11.3f}\n", one.axis,
                       operation_name(one.operation), one.count, one.bytes.value() / 1048576.0, ms(one.busy),
                       ms(one.exposed));
}

// Powers of four and all ranks.
void print_slowest(std::ostream& out, const IterationSpread& spread) {
  out << "\nhow slow the slowest of so many ranks is, on average\n";
  out << fmt::format("{:>8} {:>10}\n", "ranks", "compute");
  for (std::size_t i = 0; i < spread.slowest_of.size(); ++i) {
    if (i % 2 == 1 && i + 1 < spread.slowest_of.size()) continue;
    const auto& [ranks, slowdown] = spread.slowest_of[i];
    out << fmt::format("{:>8} {:>+8.1f} %\n", ranks, 100 * (slowdown - 1));
  }
}

}  // namespace

void print_iteration(std::ostream& out, const IterationMetrics& metrics, std::size_t most_buckets) {
  if (metrics.memory && !metrics.memory->fits()) out << fit_line(*metrics.memory) << '\n';
  print_terms(out, metrics);
  print_facts(out, metrics);
  if (metrics.shared_model) return print_operations(out, metrics);
  if (metrics.n_buckets == 0)
    print_operations(out, metrics);
  else
    print_buckets(out, metrics, std::max<std::size_t>(most_buckets, 2));
  if (metrics.spread) print_slowest(out, *metrics.spread);
}

}  // namespace ddpsim

#include "sim/cost/mpi_model.hpp"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "sim/collective/fold.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/cost/direct_sends.hpp"
#include "sim/cost/gloo_model.hpp"
#include "sim/cost/mpi_schedules.hpp"

namespace ddpsim {
// Over the links of the cluster, or between processes on hosts: the network's links, and what the receiving
// process takes in, a link of its own beyond those of the cluster.
class MpiModel::Links {
 public:
  Links(const Cluster& cluster, const std::vector<int>& gpus, const MpiHost* host)
      : cluster_(cluster), gpus_(gpus), host_(host) {}

  [[nodiscard]] Wiring wiring() const {
    Wiring wiring;
    wiring.ranks = static_cast<int>(gpus_.size());
    wiring.path = [this](int from, int to) { return path(from, to); };
    return wiring;
  }
  [[nodiscard]] BytesPerSecond capacity(int link) const {
    return link < cluster_.links() ? cluster_.link(link).bandwidth : host_->process;
  }

 private:
  [[nodiscard]] Path path(int from, int to) const {
    int sender = gpus_[static_cast<std::size_t>(from)], receiver = gpus_[static_cast<std::size_t>(to)];
    if (host_ && cluster_.node_of(sender) == cluster_.node_of(receiver))
      return {{cluster_.links() + to}, host_->message, host_->process};
    auto route = cluster_.route(sender, receiver);
    if (!host_) return {std::move(route.links), route.latency, route.bandwidth};
    Path path{network_links(cluster_, route), Seconds(0), host_->process};
    for (int link : path.links) {
      path.latency += cluster_.link(link).latency;
      path.bandwidth = std::min(path.bandwidth, cluster_.link(link).bandwidth);
    }
    path.links.push_back(cluster_.links() + to);
    return path;
  }

  const Cluster& cluster_;
  const std::vector<int>& gpus_;
  const MpiHost* host_;
};

class MpiModel::Timed {
 public:
  Timed(const CollectiveSchedule& schedule, const Links& links)
      : plan_(fold({{{&schedule, 0}}, {}, [&](int link) { return links.capacity(link); }})),
        time_(plan_.groups.front().plan, plan_.links) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  Seconds operator()(Bytes bytes) { return time_(bytes); }

 private:
  TrafficPlan plan_;
  CollectiveTime time_;
};

class MpiModel::Plans {
 public:
  Plans(std::shared_ptr<const Cluster> cluster, std::vector<int> gpus, std::optional<MpiHost> host)
      : cluster_(std::move(cluster)), gpus_(std::move(gpus)), host_(std::move(host)) {}

  [[nodiscard]] int ranks() const { return static_cast<int>(gpus_.size()); }
  Choice choose(Bytes bytes, Operation operation) { return carried_out(operation, bytes, bytes); }

  // As one of `picked` bytes is, of so many bytes.
  Choice carried_out(Operation operation, Bytes picked, Bytes bytes) {
    std::lock_guard lock(mutex_);
    if (is_pair(operation)) return {std::nullopt, "", message(bytes)};
    Choice choice;
    bool on_host = host_ && reduces(operation);
    choice.algorithm = mpi::choose(operation, ranks(), picked);
    choice.time_is = mpi_time_is(operation, ranks(), picked);
    choice.time = by_rule(operation, picked, bytes, on_host);
    if (on_host) choice.time += copies(operation, bytes);
    return choice;
  }

 private:
  [[nodiscard]] Seconds message(Bytes bytes) const {
    auto route = cluster_->route(gpus_.front(), gpus_.back());
    return route.latency + bytes / route.bandwidth;
  }

  // All of it to the host, and back what the rank gets.
  [[nodiscard]] Seconds copies(Operation operation, Bytes bytes) const {
    double back = is_in_parts(operation) ? 1.0 / ranks() : 1;
    return (1 + back) * bytes / host_->copy;
  }

  Seconds by_rule(Operation operation, Bytes picked, Bytes bytes, bool on_host) {
    auto runs = mpi::choose(operation, ranks(), picked).runs;
    if (!is_in_two(operation, runs)) return of(operation, runs, bytes, on_host);
    auto reduced = by_rule(Operation::reduce, picked, bytes, on_host);
    if (operation == Operation::all_reduce)
      return reduced + by_rule(Operation::broadcast, picked, bytes, on_host);
    return reduced + of(Operation::scatter, mpi::Algorithm::linear, bytes, on_host);
  }

  Seconds of(Operation operation, mpi::Algorithm algorithm, Bytes bytes, bool on_host) {
    auto timed_as = mpi_timing(operation, algorithm).timed_as;
    if (timed_as == mpi::Algorithm::linear && is_exchange(operation)) {
      if (!sends_) sends_.emplace(*cluster_, gpus_, operation);
      return sends_->time(bytes);
    }
    auto& timed = timed_[{operation, timed_as, on_host}];
    if (!timed) {
      Links links(*cluster_, gpus_, on_host ? &*host_ : nullptr);
      timed = std::make_unique<Timed>(mpi_schedule(operation, timed_as, links.wiring()), links);
    }
    return (*timed)(bytes);
  }

  std::mutex mutex_;
  std::shared_ptr<const Cluster> cluster_;
  std::vector<int> gpus_;
  std::optional<MpiHost> host_;
  std::map<std::tuple<Operation, mpi::Algorithm, bool>, std::unique_ptr<Timed>> timed_;
  std::optional<DirectSends> sends_;  // of an all-to-all
};

MpiModel::MpiModel(std::shared_ptr<const Cluster> cluster, std::vector<int> gpus, std::optional<MpiHost> host)
    : plans_(std::make_shared<Plans>(std::move(cluster), std::move(gpus), std::move(host))) {}

MpiModel::Choice MpiModel::choose(Bytes bytes, Operation operation) const {
  return plans_->choose(bytes, operation);
}

Seconds MpiModel::latency(Bytes bytes, Operation operation) const {
  return plans_->carried_out(operation, bytes, Bytes(0)).time;
}

LibraryModel::Way MpiModel::way(Bytes bytes, Operation operation) const {
  if (is_pair(operation)) return {"message", "declared", ""};
  auto runs = mpi::choose(operation, plans_->ranks(), bytes).runs;
  return {std::string(mpi::traits_of(runs).name), "declared",
          std::string(mpi_time_is(operation, plans_->ranks(), bytes))};
}

std::shared_ptr<LibraryModel> MpiModel::copy() const {
  return std::make_shared<MpiModel>(*this);
}

std::optional<MpiHost> mpi_host(const Topology& topology, const Cluster& cluster, std::span<const int> gpus) {
  using namespace ddpsim::literals;
  if (topology.bare_network) return std::nullopt;
  // A message of MPI between two processes of a machine, through shared memory: half a microsecond; assumed.
  return MpiHost{pcie_copy_bandwidth(cluster, gpus).value_or(usual_copy_bandwidth(topology)),
                 gloo::usual_host().reduction_bandwidth, 0.5_us};
}

}  // namespace ddpsim

#include "sim/replay/simgrid/simgrid_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/core.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include "sim/base/check.hpp"

namespace ddpsim::simgrid {
namespace {

namespace s4u = ::simgrid::s4u;
using LinkImpl = ::simgrid::kernel::resource::StandardLinkImpl;

// A flow's payload is a whole number in SimGrid: bytes and bandwidths are counted in the smallest power of
// two of a byte in which the largest flow still fits 62 bits, down to 2^-40, so that a ring's chunk of S/N
// bytes loses nothing that matters.
double units_per_byte(Bytes largest) {
  int largest_exponent = std::ilogb(std::max(largest.value(), 1.0)) + 1;
  return std::ldexp(1.0, std::clamp(62 - largest_exponent, 0, 40));
}

}  // namespace

// A zone whose route is whatever link list was installed just before a flow starts: no routing tables at all.
class PathZone : public ::simgrid::kernel::routing::NetZoneImpl {
 public:
  explicit PathZone(const std::string& name) : NetZoneImpl(name) {}
  std::vector<LinkImpl*> path;

  void get_local_route(const ::simgrid::kernel::routing::NetPoint*,
                       const ::simgrid::kernel::routing::NetPoint*, ::simgrid::kernel::routing::Route* route,
                       double*) override {
    route->link_list_.insert(route->link_list_.end(), path.begin(), path.end());
  }
  void get_graph(const s_xbt_graph_t*, std::map<std::string, xbt_node_t, std::less<>>*,
                 std::map<std::string, xbt_edge_t, std::less<>>*) override {}
};

struct ActiveFlow {
  int number = 0;
  s4u::CommPtr comm;
  std::function<void()> done;
};

struct SimGridNetwork::State {
  std::unique_ptr<s4u::Engine> engine;
  PathZone* zone = nullptr;  // owned by the engine
  s4u::Host* source = nullptr;
  s4u::Host* destination = nullptr;
  std::vector<LinkImpl*> links;
  double per_byte = 1;
  std::int64_t flows = 0;                           // transfers until now
  std::vector<std::unique_ptr<ActiveFlow>> active;  // by number; numbers are used again
  std::vector<int> free_numbers;
  // A communication must outlive its completion callback, which of one that was cancelled may come at the
  // next date: flows that are over wait here, each in turn, until two later dates have passed.
  std::array<std::vector<std::unique_ptr<ActiveFlow>>, 3> finished;
  double swept_at = -1;

  void sweep() {
    if (finished[0].size() <= 1024 || s4u::Engine::get_clock() <= swept_at) return;
    swept_at = s4u::Engine::get_clock();
    finished[2].clear();
    std::rotate(finished.begin(), finished.end() - 1, finished.end());
  }

  int number_for_next() {
    if (free_numbers.empty()) {
      free_numbers.push_back(static_cast<int>(active.size()));
      active.emplace_back();
    }
    int number = free_numbers.back();
    free_numbers.pop_back();
    return number;
  }

  // Its number may be given to the next flow, the flow itself lives on.
  ActiveFlow& retire(int number) {
    sweep();
    free_numbers.push_back(number);
    finished[0].push_back(std::move(active[static_cast<std::size_t>(number)]));
    return *finished[0].back();
  }

  void complete(ActiveFlow* flow) {
    retire(flow->number);
    flow->done();
  }
};

SimGridNetwork::SimGridNetwork(Bytes largest) : state_(std::make_unique<State>()) {
  state_->per_byte = units_per_byte(largest);
  DDPSIM_CHECK(!s4u::Engine::is_initialized(),
               "one SimGrid engine a process; run_all forks one for each scenario");
  // A program name and its log setting: SimGrid reports every configuration change otherwise.
  std::vector<std::string> words{"ddpsim", "--log=root.thres:critical"};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  state_->engine = std::make_unique<s4u::Engine>(&count, arguments.data());
  // Plain max-min sharing: no TCP window, no cross traffic, no correction factors, which would be wrong for a
  // fabric; and precisions fine enough for microseconds.
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e30",
                              "surf/precision:1e-15", "maxmin/precision:1e-9"})
    s4u::Engine::set_config(std::string(setting));
  state_->zone = new PathZone("cluster");
  state_->source = state_->zone->create_host("source", std::vector<double>{1e9});
  state_->destination = state_->zone->create_host("destination", std::vector<double>{1e9});
  s4u::Activity::on_completion_cb([state = state_.get()](const s4u::Activity& activity) {
    // get_data is not const although it changes nothing.
    if (auto* flow = const_cast<s4u::Activity&>(activity).get_data<ActiveFlow>()) state->complete(flow);
  });
}

SimGridNetwork::~SimGridNetwork() = default;

int SimGridNetwork::add_link(BytesPerSecond bandwidth) {
  auto id = static_cast<int>(state_->links.size());
  auto* link = state_->zone->create_link(fmt::format("link{}", id),
                                         std::vector<double>{bandwidth.value() * state_->per_byte});
  link->set_latency(0.0);
  link->seal();
  state_->links.push_back(link->get_impl());
  return id;
}

void SimGridNetwork::after(Seconds delay, std::function<void()> action) {
  DDPSIM_CHECK(delay.value() >= 0, "time goes forward");
  ::simgrid::kernel::timer::Timer::set(s4u::Engine::get_clock() + delay.value(), std::move(action));
}

int SimGridNetwork::transfer(std::span<const int> route, Bytes bytes, std::function<void()> done) {
  auto& path = state_->zone->path;
  path.clear();
  for (int link : route) path.push_back(state_->links[static_cast<std::size_t>(link)]);
  ++state_->flows;
  int number = state_->number_for_next();
  auto owned = std::make_unique<ActiveFlow>(ActiveFlow{number, s4u::Comm::sendto_init(), std::move(done)});
  ActiveFlow* flow = owned.get();
  state_->active[static_cast<std::size_t>(number)] = std::move(owned);
  flow->comm->set_data(flow);
  // A payload of zero would never start.
  flow->comm->set_payload_size(
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(bytes.value() * state_->per_byte))));
  flow->comm->set_source(state_->source);
  flow->comm->set_destination(state_->destination);  // starts here
  return number;
}

Bytes SimGridNetwork::cancel(int transfer) {
  ActiveFlow& flow = state_->retire(transfer);
  Bytes left(flow.comm->get_remaining() / state_->per_byte);
  // SimGrid takes a cancelled flow off its links at the next date only, if this is called from a completion.
  flow.comm->suspend();
  flow.comm->set_data(nullptr);  // SimGrid reports its completion all the same, now or later
  flow.comm->cancel();
  return left;
}

Seconds SimGridNetwork::now() const {
  return Seconds(s4u::Engine::get_clock());
}

std::int64_t SimGridNetwork::flows() const {
  return state_->flows;
}

void SimGridNetwork::run() {
  state_->engine->run();
  for (auto& flows : state_->finished) flows.clear();
}

}  // namespace ddpsim::simgrid

// What sim/replay loads this library for.
extern "C" __attribute__((visibility("default"))) ddpsim::Network* ddpsim_simgrid_network(double largest) {
  return new ddpsim::simgrid::SimGridNetwork(ddpsim::Bytes(largest));
}

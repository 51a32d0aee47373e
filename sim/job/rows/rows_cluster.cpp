// The section `cluster`: GPUs and what joins them.
#include "sim/base/limits.hpp"
#include "sim/job/rows/override_rows.hpp"
#include "sim/job/rows/rows.hpp"
#include "sim/job/types.hpp"
#include "sim/topology/interconnect.hpp"

namespace ddpsim::job {
namespace {

using namespace keys;

constexpr std::string_view kTopologys = "the topology's";

struct Seed {
  std::uint64_t seed = 0;
};
Type<Seed> seed_of(const char* section, const char* key, const char* doc) {
  return nested(Rows<Seed>(section).key<&Seed::seed>(key, seed(), doc).required());
}

Type<Placement> placement() {
  auto random = [](PlacementKind kind, const char* key, const char* doc) {
    return is_like<Placement, Seed>(
        seed_of("placement", key, doc),
        [kind](Placement& to, Seed from) {
          to = {kind, from.seed};
        },
        [kind](const Placement& from) {
          return from.kind == kind ? std::optional(Seed{from.seed}) : std::nullopt;
        },
        key);
  };
  return one_of<Placement>(
      "this is no placement", "one of packed, round_robin, {random: SEED}, {random_nodes: SEED}",
      {is_word<Placement>("packed", {PlacementKind::packed}),
       is_word<Placement>("round_robin", {PlacementKind::round_robin}),
       random(PlacementKind::random, "random", "Seed of a permutation of the GPUs"),
       random(PlacementKind::random_nodes, "random_nodes", "Seed of the nodes drawn from cluster.nodes")});
}

Type<std::optional<Hashing>> hashing() {
  using V = std::optional<Hashing>;
  auto section = nested(
      Rows<Hashing>("hashing")
          .key<&Hashing::seed>("seed", seed(), "Of the hash that chooses each flow's cable")
          .required()
          .key<&Hashing::hashes>("hashes", whole(1, 64),
                                 "Cables a flow takes at once: channels a NIC times queue pairs of each"));
  return one_of<V>("this is no hashing", "write none, {seed: SEED} or {seed: SEED, hashes: 4}",
                   {is_word<V>("none", std::nullopt), is_like<V, Hashing>(
                                                          section, [](V& to, Hashing from) { to = from; },
                                                          [](const V& from) { return from; }, "seed")});
}

Type<Group> group() {
  using Ranks = decltype(Group::ranks);
  auto rank = whole(0, kLargestWorldSize - 1);
  auto range = nested(Rows<RankRange>("ranks")
                          .key<&RankRange::from>("from", rank, "First rank")
                          .key<&RankRange::to>("to", rank, "Last rank")
                          .required()
                          .key<&RankRange::step>("step", whole(1, kLargestWorldSize), "Every how many")
                          .check([](const RankRange& one, const Cursor& at) {
                            if (one.from > one.to)
                              refuse(at, "", fmt::format("from {} to {} there is no rank", one.from, one.to),
                                     "count upwards");
                          }));
  auto ranks =
      one_of<Ranks>("expected a list, found text", "write it like [a, b]",
                    {is_a<Ranks, std::vector<int>>(list(rank)), is_a<Ranks, RankRange>(range, "to")});
  return nested(Rows<Group>("groups")
                    .key<&Group::ranks>("ranks", ranks, "Its ranks")
                    .required()
                    .key<&Group::offset>("offset", time(), "How much later it starts"));
}

Type<decltype(Cluster::groups)> groups() {
  using Groups = decltype(Cluster::groups);
  auto tensor = nested(
      Rows<TensorParallel>("groups")
          .key<&TensorParallel::ranks>("tensor_parallel", whole(1, kLargestWorldSize), "Ranks per model")
          .required());
  return one_of<Groups>("groups are a list of groups, or tensor parallel",
                        "write {tensor_parallel: 8}, or [{ranks: [0, 1]}, {ranks: [2, 3]}]",
                        {is_a<Groups, TensorParallel>(tensor, "tensor_parallel"),
                         is_a<Groups, std::vector<Group>>(list(group()))});
}

Type<Background> background() {
  return nested(
      Rows<Background>("background")
          .key<&Background::links>("links", list(text(), {1, "background traffic on no link", "name one"}),
                                   "Links that it crosses")
          .required()
          .key<&Background::start>("start", time(), "When it starts, from the start of backward")
          .key<&Background::size>("size", maybe(size()), "Its bytes")
          .usually("no end of them")
          .key<&Background::end>("end", maybe(time()), "When it ends")
          .usually("with its last byte")
          .check([](const Background& flow, const Cursor& at) {
            if (flow.size == Bytes(0)) refuse(at, "size", "background traffic of no bytes", "give it a size");
            if (!flow.size && !flow.end)
              refuse(at, "", "background traffic without an end", "give it a size or an end");
            if (flow.end && *flow.end <= flow.start)
              refuse(at, "", "background traffic that ends before it starts", "let it end after its start");
          }));
}

// Links are named by node ("node3.nic0"), so that some write a node like that.
int as_node(const Value& value) {
  constexpr std::string_view kPrefix = "node";
  const auto& name = value.scalar;
  bool is_name = value.kind == Value::Kind::scalar && name.size() > kPrefix.size() &&
                 name.starts_with(kPrefix) &&
                 name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
  if (is_name)
    throw InputError(value.span, fmt::format("a node is written as its number, not as '{}'", name),
                     fmt::format("write 'node: {}'", name.substr(kPrefix.size())));
  return static_cast<int>(config::as_integer(0, kLargestWorldSize - 1)(value));
}

}  // namespace

Type<Override> override_rows(Overridden what) {
  auto node = scalar_type<int>(as_node, [](const int& one) { return fmt::format("{}", one); },
                               {Shape::Kind::integer, 0, kLargestWorldSize - 1});
  Rows<Override> rows("overrides");
  rows.key<&Override::link>("link", maybe(text()), "Its name ('ddpsim topology show')");
  if (what == Overridden::links_and_nodes)
    rows.key<&Override::node>("node", maybe(node), "All NICs of this node");
  return nested(rows.key<&Override::bandwidth>("bandwidth", maybe(bandwidth()), "Its bandwidth")
                    .key<&Override::latency>("latency", maybe(time()), "Its latency")
                    .key<&Override::broken>("broken", boolean(), "Nothing crosses it, or no job runs on it")
                    .check([](const Override& one, const Cursor& at) {
                      if (one.node && one.link)
                        refuse(at, "node", "a link or a node, not both", "make it two entries");
                      if (!one.node && !one.link)
                        refuse(at, "", "'overrides' lacks the key 'link'", "add 'link: ...'");
                      bool has_figures = one.bandwidth || one.latency;
                      if (!has_figures && !one.broken)
                        refuse(at, "", "this override changes nothing",
                               "give it a bandwidth or a latency, or 'broken: true'");
                      if (one.node && one.broken && has_figures)
                        refuse(at, "node", "no job runs on a broken node, however fast its NICs are",
                               "write 'broken: true' alone, or the figures alone");
                    }));
}

Type<Cluster> cluster_rows() {
  auto nics =
      nested(Rows<NicsOfNodes>("nics")
                 .key<&NicsOfNodes::bandwidth>("bandwidth", maybe(bandwidth()), "Of each NIC")
                 .usually(kTopologys)
                 .key<&NicsOfNodes::latency>("latency", maybe(time()), "From NIC to NIC")
                 .usually(kTopologys)
                 .key<&NicsOfNodes::count>("count", maybe(whole(1, kMostNicsPerNode)), "NICs of a node")
                 .usually(kTopologys));
  auto interconnect =
      nested(Rows<LinksOfNodes>("interconnect")
                 .key<&LinksOfNodes::bandwidth>("bandwidth", maybe(bandwidth()), "Of each GPU, in its node")
                 .usually(kTopologys)
                 .key<&LinksOfNodes::latency>("latency", maybe(time()), "From GPU to GPU")
                 .usually(kTopologys)
                 .key<&LinksOfNodes::peer_to_peer>("peer_to_peer", maybe(peer_to_peer()),
                                                   "Over PCIe, as NCCL_P2P_LEVEL")
                 .usually(kTopologys)
                 .key<&LinksOfNodes::numa>("numa", maybe(whole(1, 16)), "NUMA domains of a socket (NPS)")
                 .usually(kTopologys));
  auto node = nested(Rows<Node>("node")
                         .key<&Node::gpus>("gpus", maybe(whole(1, kMostGpusPerNode)), "GPUs of a node")
                         .usually(kTopologys));
  auto fabric = nested(
      Rows<FabricOfNodes>("fabric")
          .key<&FabricOfNodes::oversubscription>("oversubscription", maybe(number(1, 1000)),
                                                 "Bandwidth below the fabric's switches over that above")
          .usually(kTopologys)
          .key<&FabricOfNodes::network>("network", maybe(word(kNetworkClassNames)), "What it is built of")
          .usually(kTopologys)
          .key<&FabricOfNodes::cloud>("cloud", maybe(word(nccl::kCloudNames)),
                                      "Whose NICs, where NCCL uses sockets")
          .usually(kTopologys));
  auto socket =
      nested(Rows<SocketsOfNodes>("socket")
                 .key<&SocketsOfNodes::threads>("threads", maybe(whole(0, 16)), "NCCL_SOCKET_NTHREADS")
                 .usually(kTopologys)
                 .key<&SocketsOfNodes::sockets>("sockets", maybe(whole(1, 64)), "NCCL_NSOCKS_PERTHREAD")
                 .usually(kTopologys)
                 .key<&SocketsOfNodes::pod>("pod", maybe(boolean()), "Behind a container's own network")
                 .usually(kTopologys));
  return nested(
      Rows<Cluster>("cluster")
          .key<&Cluster::topology>("topology", maybe(text()),
                                   "Nodes and network: a name ('ddpsim list topologies') or a file")
          .usually("required unless `algorithm: measured`")
          .key<&Cluster::world_size>("world_size", whole(1, kLargestWorldSize), "GPUs")
          .required()
          .usually("the recording's; required without `workload.recording`")
          .also({"gpus", "num_gpus", "n_gpus"})
          .key<&Cluster::placement>("placement", placement(), "Which GPU each rank runs on")
          .key<&Cluster::groups>("groups", groups(), "Who reduces with whom")
          .key<&Cluster::overrides>("overrides", list(override_rows(Overridden::links_and_nodes)),
                                    "Links and nodes that are not as the topology says")
          .key<&Cluster::nodes>("nodes", maybe(whole(1, kLargestWorldSize)),
                                "Nodes that the cluster has, spare ones among them")
          .usually("as many as the ranks need")
          .key<&Cluster::background>("background", list(background()), "Other traffic")
          .key<&Cluster::hashing>("hashing", hashing(), "Flows go over single cables of uplinks")
          .key<&Cluster::domain_gpus>("domain_gpus", maybe(whole(1, kLargestWorldSize)),
                                      "GPUs that the job takes of each NVLink domain")
          .usually("all")
          .key<&Cluster::nics>("nics", nics, "NICs unlike the topology's")
          .key<&Cluster::interconnect>("interconnect", interconnect,
                                       "Links within nodes unlike the topology's")
          .key<&Cluster::node>("node", node, "Nodes unlike the topology's")
          .key<&Cluster::fabric>("fabric", fabric, "A fabric unlike the topology's")
          .key<&Cluster::socket>("socket", socket, "NCCL's TCP connections unlike the topology's")
          .key<&Cluster::gpu>("gpu", maybe(text()), "GPU: a name ('ddpsim list gpus'), a file, or none")
          .usually("the topology's")
          .key<&Cluster::price>("price", maybe(number(0, 1e9)), "What a GPU costs per hour")
          .usually("none"));
}

namespace {
bool offloads(const Job& job) {
  return job.strategy->offloads(job.sections) && !job.splits_model();
}
const When kOffloads{offloads, "what is offloaded to the host (fsdp.cpu_offload, zero.offload_optimizer)"};
const When kCopies{
    [](const Job& job) { return offloads(job) || job.strategy->traits.is_one_process; },
    "what is offloaded to the host (fsdp.cpu_offload, zero.offload_optimizer), or strategy data_parallel"};
}  // namespace

Type<HostMachine> host_rows() {
  return nested(
      Rows<HostMachine>("host")
          .key<&HostMachine::copy_bandwidth>("copy_bandwidth", maybe(bandwidth()), "Between GPU and host")
          .when(kCopies)
          .usually("the topology's PCIe")
          .key<&HostMachine::adam_rate>("adam_rate", number(1e3, 1e15), "Parameters a second")
          .when(kOffloads));
}

}  // namespace ddpsim::job

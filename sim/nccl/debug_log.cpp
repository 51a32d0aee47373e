#include "sim/nccl/debug_log.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace ddpsim::nccl {
namespace {

// A line's words from some place on.
class Words {
 public:
  explicit Words(std::string_view rest) : rest_(rest) {}
  // Skips blanks; whether the text follows, which is skipped then.
  bool skip(std::string_view text) {
    skip_blanks();
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  template <class Number>
  std::optional<Number> number() {
    skip_blanks();
    Number value{};
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::string_view word() {
    skip_blanks();
    auto word = rest_.substr(0, rest_.find_first_of(" \t"));
    rest_.remove_prefix(word.size());
    return word;
  }
  // Past the next place of the text; false: there is none.
  bool skip_past(std::string_view text) {
    auto at = rest_.find(text);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + text.size());
    return true;
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }
  std::string_view rest_;
};

std::optional<int> number_behind(std::string_view text, std::string_view key) {
  Words words(text);
  return words.skip_past(key) ? words.number<int>() : std::nullopt;
}

struct TreeNode {
  std::vector<int> down;
  int rank = -1, up = -1;
};

// What one rank prints of one communicator.
struct Block {
  LoggedCommunicator part;
  int rank = -1;
  std::string host;
  std::map<int, TreeNode> trees;  // by channel
  struct Hop {
    int from, to;
    std::string transport;
  };
  std::vector<Hop> hops;
  bool is_complete = false;  // what comes next is of another communicator
};

class Reader {
 public:
  explicit Reader(const std::shared_ptr<const SourceFile>& source) : source_(source) {}

  DebugLog read() {
    for (std::size_t i = 0; i < source_->lines.size(); ++i) read_line(i);
    for (auto& [origin, block] : open_) done_.push_back(std::move(block));
    if (!is_of_nccl_)
      throw InputError(whole_file(source_), "no line of it is NCCL's",
                       "run with NCCL_DEBUG=INFO and keep what all ranks print");
    std::map<int, std::vector<const Block*>, std::greater<>> by_ranks;
    for (const auto& block : done_)
      if (block.part.ranks > 1) by_ranks[block.part.ranks].push_back(&block);
    // Ranks of which only a part was kept: where all others are of one size they are, too.
    if (by_ranks.size() == 1)
      for (const auto& block : done_)
        if (block.part.ranks == 0) by_ranks.begin()->second.push_back(&block);
    if (by_ranks.empty())
      throw InputError(whole_file(source_), "no communicator of two ranks or more is in it",
                       "is it cut off? NCCL prints 'nRanks 8 nNodes 1' or 'nranks 8' when it makes one");
    for (const auto& [ranks, blocks] : by_ranks) log_.communicators.push_back(merged(ranks, blocks));
    return std::move(log_);
  }

 private:
  void read_line(std::size_t index) {
    std::string_view text = source_->lines[index];
    if (auto at = text.find("NCCL version "); at != std::string_view::npos) {
      is_of_nccl_ = true;
      auto word = text.substr(at + 13);
      word = word.substr(0, word.find_first_not_of("0123456789."));
      if (auto version = parse_version(word); version && !log_.version) log_.version = version;
    }
    auto at = text.find("NCCL INFO ");
    if (at == std::string_view::npos) return;
    is_of_nccl_ = true;
    auto origin = std::string(text.substr(0, at));
    // "host:pid:tid [dev] ", with what a launcher puts before it.
    while (!origin.empty() && origin.back() == ' ') origin.pop_back();
    auto device = origin.rfind(" [");
    auto who = origin.substr(0, device == std::string::npos ? origin.size() : device);
    if (auto blank = who.find_last_of(" \t>"); blank != std::string::npos) who = who.substr(blank + 1);
    read_message(text.substr(at + 10), index, who);
  }

  void read_message(std::string_view message, std::size_t index, const std::string& origin) {
    if (auto set = message.find(" set by environment to "); set != std::string_view::npos) {
      auto value = message.substr(set + 23);
      while (!value.empty() && (value.back() == '.' || value.back() == ' ')) value.remove_suffix(1);
      log_.environment.emplace(std::string(Words(message).word()), std::string(value));
    }
    auto& block = block_of(origin, message, index);
    if (message.starts_with("Channel ")) return read_channel(message, block);
    if (message.starts_with("Trees ")) return read_trees(message, block);
    if (message.find("Pattern ") != std::string_view::npos) return read_graph(message, block);
    if (message.starts_with("NVLS Head ")) block.part.multicast = true;
    if (message.find("NVLS multicast support is") != std::string_view::npos)
      block.part.multicast = message.find("not available") == std::string_view::npos;
  }

  // Who begins with a communicator, or ends one, says how many ranks it has.
  Block& block_of(const std::string& origin, std::string_view message, std::size_t index) {
    auto& block = open_[origin];
    bool is_of_one = message.find("comm 0x") != std::string_view::npos;
    bool ends = message.find("Init COMPLETE") != std::string_view::npos;
    bool begins = message.find("Init START") != std::string_view::npos;
    int ranks = is_of_one ? number_behind(message, "nRanks ").value_or(0) : 0;
    if (block.is_complete && (ranks > 0 || begins || message.starts_with("Trees "))) {
      done_.push_back(std::move(block));
      block = {};
    }
    if (is_of_one && ranks == 0 && (ends || begins)) ranks = number_behind(message, "nranks ").value_or(0);
    if (ranks <= 0) return block;
    block.part.ranks = ranks;
    block.part.place = {source_, static_cast<int>(index) + 1, 1,
                        static_cast<int>(source_->lines[index].size())};
    block.host = origin.substr(0, origin.find(':'));
    if (auto rank = number_behind(message, " rank ")) block.rank = *rank;
    if (auto nodes = number_behind(message, "nNodes ")) block.part.nodes = *nodes;
    block.is_complete = ends;
    return block;
  }

  // "Channel 00/24 : 0 1 2 3", "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA"
  static void read_channel(std::string_view message, Block& block) {
    Words words(message);
    words.skip("Channel");
    auto channel = words.number<int>();
    std::optional<int> channels;
    if (words.skip("/")) channels = words.number<int>();
    if (!channel || !words.skip(":")) return;
    auto arrow = message.find("->"), via = message.find(" via ");
    if (arrow == std::string_view::npos) {
      std::vector<int> ring;
      while (auto rank = words.number<int>()) ring.push_back(*rank);
      if (ring.empty() || !channels) return;
      block.part.channels = std::max(block.part.channels, *channels);
      block.part.rings.emplace(*channel, std::move(ring));
      return;
    }
    auto from = words.number<int>();
    Words behind(message.substr(arrow + 2));
    auto to = behind.number<int>();
    if (!from || !to || via == std::string_view::npos) return;
    Block::Hop hop{*from, *to, std::string(message.substr(via + 5))};
    while (!hop.transport.empty() && (hop.transport.back() == ' ' || hop.transport.back() == '\r'))
      hop.transport.pop_back();
    block.hops.push_back(std::move(hop));
  }

  // "Trees [0] 1/8/-1->0->-1 [1] ..."
  static void read_trees(std::string_view message, Block& block) {
    Words words(message);
    while (words.skip_past("[")) {
      auto channel = words.number<int>();
      if (!channel || !words.skip("]")) return;
      TreeNode node;
      do {
        auto down = words.number<int>();
        if (!down) return;
        if (*down >= 0) node.down.push_back(*down);
      } while (words.skip("/"));
      if (!words.skip("->")) return;
      auto rank = words.number<int>();
      if (!rank || !words.skip("->")) return;
      auto up = words.number<int>();
      if (!up) return;
      node.rank = *rank;
      node.up = *up;
      block.trees.emplace(*channel, std::move(node));
    }
  }

  static void read_graph(std::string_view message, Block& block) {
    auto pattern = number_behind(message, "Pattern "), channels = number_behind(message, "nChannels ");
    Words words(message);
    if (!pattern || !channels || !(words.skip_past(", bw ") || words.skip_past(", speed "))) return;
    auto intra = words.number<double>();
    if (!intra || !words.skip("/")) return;
    auto inter = words.number<double>();
    if (!inter) return;
    block.part.graphs.push_back({*pattern, *channels, *intra, *inter});
  }

  static void add_transport(const Block::Hop& hop, LoggedCommunicator& all) {
    std::string_view transport = hop.transport;
    auto second = transport.find('/');
    second = second == std::string_view::npos ? second : transport.find('/', second + 1);
    auto kind = std::string(transport.substr(0, second));
    if (!transport.starts_with("NET/") && !transport.starts_with("COLLNET")) {
      all.within.insert(kind);
      return;
    }
    all.between.insert(kind);
    all.has_gpudirect |= transport.find("GDRDMA") != std::string_view::npos;
    if (second == std::string_view::npos) return;
    auto nic = transport.substr(second + 1);
    all.nics.insert(std::string(nic.substr(0, nic.find_first_not_of("0123456789"))));
  }

  // Whether in some tree two ranks of a host have a parent or a child on another one.
  static std::optional<bool> has_balanced_trees(const std::vector<const Block*>& blocks) {
    std::map<int, std::string> host;  // by rank
    for (const auto* block : blocks)
      for (const auto& [channel, node] : block->trees) host[node.rank] = block->host;
    std::map<std::pair<int, std::string>, std::set<int>> gates;
    std::set<std::string> hosts;
    for (const auto* block : blocks)
      for (const auto& [channel, node] : block->trees) {
        hosts.insert(block->host);
        auto others = node.down;
        if (node.up >= 0) others.push_back(node.up);
        for (int other : others) {
          auto found = host.find(other);
          if (found == host.end()) return std::nullopt;  // not all ranks' lines are there
          if (found->second != block->host) gates[{channel, block->host}].insert(node.rank);
        }
      }
    if (hosts.size() < 3) return std::nullopt;  // of two nodes each has one neighbour
    return std::any_of(gates.begin(), gates.end(), [](const auto& gate) { return gate.second.size() > 1; });
  }

  static LoggedCommunicator merged(int ranks, const std::vector<const Block*>& blocks) {
    LoggedCommunicator all;
    all.ranks = ranks;
    all.place = blocks.front()->part.place;
    std::set<std::string> hosts;
    for (const auto* block : blocks) {
      const auto& part = block->part;
      if (part.ranks > 0) hosts.insert(block->host);
      all.nodes = std::max(all.nodes, part.nodes);
      all.channels = std::max(all.channels, part.channels);
      all.rings.insert(part.rings.begin(), part.rings.end());
      for (const auto& hop : block->hops) add_transport(hop, all);
      if (part.multicast) all.multicast = all.multicast.value_or(true) && *part.multicast;
      if (all.graphs.empty()) all.graphs = part.graphs;
    }
    auto is_whole = [](const Block* block) { return block->part.ranks > 0; };
    if (all.nodes == 0 && std::count_if(blocks.begin(), blocks.end(), is_whole) >= ranks)
      all.nodes = static_cast<int>(hosts.size());
    all.has_balanced_trees = has_balanced_trees(blocks);
    return all;
  }

  std::shared_ptr<const SourceFile> source_;
  DebugLog log_;
  std::map<std::string, Block> open_;  // by origin
  std::vector<Block> done_;
  bool is_of_nccl_ = false;
};

}  // namespace

DebugLog read_debug_log(const LoadedText& log) {
  return Reader(log.source).read();
}

}  // namespace ddpsim::nccl

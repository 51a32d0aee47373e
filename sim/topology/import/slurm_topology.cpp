#include "sim/topology/import/slurm_topology.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/letter_case.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostHosts = std::size_t{kLargestWorldSize};
constexpr std::size_t kMostDigits = 9;

struct Switch {
  std::string name;
  SourceSpan place;
  std::vector<std::string> nodes, switches;  // one of the two is empty
};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// "Key=Value" of a line, as far as a comment.
std::vector<Located> words_of(const SourceSpan& line, const std::string& text) {
  std::vector<Located> words;
  for (std::size_t at = 0; at < text.size() && text[at] != '#';) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    auto end = at;
    while (end < text.size() && !is_blank(text[end]) && text[end] != '#') ++end;
    words.push_back({text.substr(at, end - at), line.part(static_cast<int>(at), static_cast<int>(end - at))});
    at = end;
  }
  return words;
}

// One part of a list: "node[01-03,7]b" has a name for each number.
void add_hosts(const std::string& part, const SourceSpan& place, std::vector<std::string>& hosts) {
  auto open = part.find('['), close = part.find(']');
  auto fail = [&](std::string_view hint = "write them as Slurm does: node[01-16]") {
    throw InputError(place, fmt::format("'{}' is no list of hosts", part), hint);
  };
  if (open == std::string::npos && close == std::string::npos && !part.empty()) {
    hosts.push_back(part);
    return;
  }
  if (open == std::string::npos || close == std::string::npos || close < open) fail();
  if (part.find('[', open + 1) != std::string::npos) fail("of two brackets in a name nothing is known here");
  auto before = part.substr(0, open), after = part.substr(close + 1);
  auto numbers = part.substr(open + 1, close - open - 1);
  for (std::size_t from = 0; from <= numbers.size();) {
    auto end = std::min(numbers.find(',', from), numbers.size());
    auto range = numbers.substr(from, end - from);
    auto dash = range.find('-');
    auto first = range.substr(0, dash), last = dash == std::string::npos ? first : range.substr(dash + 1);
    for (const auto* digits : {&first, &last})
      if (digits->empty() || digits->size() > kMostDigits ||
          digits->find_first_not_of("0123456789") != std::string::npos)
        fail();
    auto low = std::stoll(first), high = std::stoll(last);
    if (high < low) fail();
    if (static_cast<std::size_t>(high - low) + hosts.size() > kMostHosts)
      throw InputError(place, fmt::format("more than {} hosts", kMostHosts), "is it the right list?");
    for (auto number = low; number <= high; ++number)
      hosts.push_back(fmt::format("{}{:0{}}{}", before, number, first.size(), after));
    from = end + 1;
  }
}

class TreeReader {
 public:
  explicit TreeReader(const std::string& path) {
    auto text = load_text(path, "Slurm's topology.conf");
    source_ = text.source;
    for (std::size_t i = 0; i < source_->lines.size(); ++i) {
      const auto& line = source_->lines[i];
      read_line(words_of({source_, static_cast<int>(i) + 1, 1, static_cast<int>(line.size())}, line));
    }
    if (switches_.empty())
      throw InputError(whole_file(source_), "no line begins with SwitchName=",
                       "topology.conf of topology/tree: SwitchName=leaf0 Nodes=node[01-16]");
  }

  SlurmTree read() {
    for (const auto& one : switches_) add_below(one);
    auto root = the_root();
    tree_.levels = depth(root, 1);
    if (tree_.levels > 3)
      throw InputError(
          switches_[root].place, fmt::format("{} levels of switches", tree_.levels),
          "a fabric has leaves, pods and a spine: leave the upper ones out, which join all nodes alike");
    std::vector<std::size_t> leaves, pods;
    if (collect(root, leaves, pods) < switches_.size())
      throw InputError(switches_[root].place,
                       fmt::format("some switches are not below {}", switches_[root].name),
                       "switches that are below each other are no tree: check Switches=");
    tree_.nodes_per_leaf = alike(
        leaves, [](const Switch& one) { return one.nodes.size(); }, "nodes");
    if (tree_.levels == 3)
      tree_.leaves_per_pod = alike(
          pods, [](const Switch& one) { return one.switches.size(); }, "leaves");
    for (auto leaf : leaves) tree_.nodes += static_cast<int>(switches_[leaf].nodes.size());
    return std::move(tree_);
  }

 private:
  void read_line(const std::vector<Located>& words) {
    if (words.empty()) return;
    Switch found;
    for (const auto& word : words) {
      auto equals = word.text.find('=');
      if (equals == std::string::npos)
        throw InputError(word.span, fmt::format("'{}' is no KEY=VALUE", word.text),
                         "lines are SwitchName=leaf0 Nodes=node[01-16]");
      auto key = lower_case(word.text.substr(0, equals));
      auto length = static_cast<int>(word.text.size() - equals) - 1;
      Located value{word.text.substr(equals + 1),
                    word.span.part(static_cast<int>(equals) + 1, std::max(1, length))};
      if (key == "switchname")
        found.name = value.text, found.place = value.span;
      else if (key == "nodes")
        found.nodes = slurm_hosts(value);
      else if (key == "switches")
        found.switches = slurm_hosts(value);
      else if (key == "blockname" || key == "blocksizes")
        throw InputError(word.span, "blocks (topology/block) are no tree of switches",
                         "write SwitchName lines: which switches join which nodes");
      else
        tree_.ignored.push_back(word.text.substr(0, equals));
    }
    if (found.name.empty())
      throw InputError(words.front().span, "a line without SwitchName",
                       "lines are SwitchName=leaf0 Nodes=node[01-16]");
    if (found.nodes.empty() == found.switches.empty())
      throw InputError(found.place,
                       fmt::format("switch {} has {}", found.name,
                                   found.nodes.empty() ? "nothing below it" : "nodes and switches below it"),
                       "a leaf has Nodes=, a switch above others Switches=");
    if (!numbers_.try_emplace(found.name, switches_.size()).second)
      throw InputError(found.place, fmt::format("switch {} stands there twice", found.name),
                       "keep one of the lines");
    switches_.push_back(std::move(found));
  }

  // Every node and switch is below one switch.
  void add_below(const Switch& one) {
    for (const auto* list : {&one.nodes, &one.switches})
      for (const auto& name : *list) {
        if (!below_.insert((list == &one.nodes ? "n " : "s ") + name).second)
          throw InputError(one.place, fmt::format("{} is below two switches", name),
                           "a fabric is a tree: leave one of them out");
        if (list == &one.switches && !numbers_.contains(name))
          throw InputError(one.place, fmt::format("there is no line of switch {}", name),
                           "add SwitchName=" + name);
      }
  }

  std::size_t the_root() const {
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < switches_.size(); ++i)
      if (!below_.contains("s " + switches_[i].name)) roots.push_back(i);
    if (roots.empty())
      throw InputError(switches_.front().place, "every switch is below another one",
                       "which is the uppermost?");
    if (roots.size() > 1)
      throw InputError(switches_[roots[1]].place,
                       fmt::format("nothing joins the switches {} and {}", switches_[roots[0]].name,
                                   switches_[roots[1]].name),
                       "import a tree at a time, or add the switch above them");
    return roots.front();
  }

  int depth(std::size_t number, int level) const {
    constexpr int kDeepest = 64;
    const auto& one = switches_[number];
    if (level > kDeepest) throw InputError(one.place, "switches are below themselves", "check Switches=");
    int most = 1;
    std::optional<int> first;
    for (const auto& name : one.switches) {
      int below = depth(numbers_.at(name), level + 1);
      if (first && below != *first)
        throw InputError(
            one.place,
            fmt::format("below {} some switches have {} levels and some {}", one.name,
                        std::min(*first, below), std::max(*first, below)),
            "a fabric has as many everywhere: only 'kind: graph' could say this, of one node's links");
      first = below;
      most = std::max(most, below + 1);
    }
    return most;
  }

  // How many switches there are from this one on.
  std::size_t collect(std::size_t number, std::vector<std::size_t>& leaves,
                      std::vector<std::size_t>& pods) const {
    const auto& one = switches_[number];
    if (one.switches.empty()) {
      leaves.push_back(number);
      return 1;
    }
    std::size_t count = 1;
    for (const auto& name : one.switches) count += collect(numbers_.at(name), leaves, pods);
    if (switches_[numbers_.at(one.switches.front())].switches.empty()) pods.push_back(number);
    return count;
  }

  // As many below each; below the last one less, as the last nodes are.
  template <class Count>
  int alike(const std::vector<std::size_t>& list, Count count, const char* what) const {
    auto most = count(switches_[list.front()]);
    for (std::size_t i = 1; i < list.size(); ++i) {
      const auto& one = switches_[list[i]];
      bool is_last = i + 1 == list.size();
      if (count(one) == most || (is_last && count(one) < most)) continue;
      throw InputError(
          one.place,
          fmt::format("{} has {} {}, and {} has {}", one.name, count(one), what, switches_[list.front()].name,
                      most),
          "a fabric has as many below each switch, but for the last: which of them does the job use?");
    }
    return static_cast<int>(most);
  }

  std::shared_ptr<const SourceFile> source_;
  std::vector<Switch> switches_;
  std::map<std::string, std::size_t> numbers_;
  std::set<std::string> below_;
  SlurmTree tree_;
};

}  // namespace

std::vector<std::string> slurm_hosts(const Located& list) {
  std::vector<std::string> hosts;
  std::size_t from = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= list.text.size(); ++at) {
    bool ends = at == list.text.size();
    if (!ends && list.text[at] == '[') ++depth;
    if (!ends && list.text[at] == ']') --depth;
    if (!ends && (list.text[at] != ',' || depth > 0)) continue;
    add_hosts(list.text.substr(from, at - from), list.span, hosts);
    from = at + 1;
  }
  return hosts;
}

SlurmTree read_slurm_topology(const std::string& path) {
  return TreeReader(path).read();
}

}  // namespace ddpsim

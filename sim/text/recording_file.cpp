#include "sim/text/recording_file.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/config/located_json.hpp"
#include "sim/trace/compressed_text.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostText = std::size_t{256} << 20;
constexpr const char* kAgain = "record it again: ddpsim record --world-size N -- train.py";

using Kind = JsonValue::Kind;

const JsonValue& expect(const JsonValue& value, Kind kind, const char* what) {
  if (value.kind != kind) throw InputError(value.text.span, fmt::format("{} is expected here", what), kAgain);
  return value;
}
std::int64_t integer(const JsonValue& value, std::int64_t least, std::int64_t most) {
  return parse_integer(expect(value, Kind::number, "a whole number").text, least, most);
}
std::size_t index(const JsonValue& value, std::size_t end) {
  auto most = static_cast<std::int64_t>(end) - 1;
  if (most < 0) throw InputError(value.text.span, "there is none of these", kAgain);
  return static_cast<std::size_t>(integer(value, 0, most));
}
double amount(const JsonValue& value) {
  return parse_number(expect(value, Kind::number, "a number").text, 0, kLargestCount);
}
Bytes bytes(const JsonValue& value) {
  return Bytes(parse_number(expect(value, Kind::number, "a number").text, 0, kLargestByteCount.value()));
}
bool truth(const JsonValue& value) {
  return expect(value, Kind::boolean, "true or false").text.text == "true";
}
const std::string& text(const JsonValue& value) {
  return expect(value, Kind::string, "a text").text.text;
}
const std::vector<JsonMember>& list(const JsonValue& value) {
  return expect(value, Kind::array, "a list").members;
}
std::vector<std::string> texts(const JsonValue& value) {
  std::vector<std::string> all;
  for (const auto& one : list(value)) all.push_back(text(one.value));
  return all;
}
std::vector<std::int64_t> shape(const JsonValue& value) {
  std::vector<std::int64_t> all;
  for (const auto& one : list(value)) all.push_back(integer(one.value, 0, kMostElements));
  return all;
}
template <class T, class Read>
void take(const JsonValue& of, const char* name, T& to, Read read) {
  if (const auto* value = of.find(name)) to = read(*value);
}
template <class E, std::size_t n>
E word(const JsonValue& value, const Names<E, n>& names) {
  for (auto [name, one] : names)
    if (name == text(value)) return one;
  std::vector<std::string> known;
  for (auto [name, one] : names) known.emplace_back(name);
  throw InputError(
      value.text.span,
      fmt::format("'{}' is not known here{}", value.text.text, did_you_mean(value.text.text, known)), kAgain);
}

class Reader {
 public:
  explicit Reader(const LoadedText& text) : lines_(parse_json_lines(text)) {
    if (lines_.empty() || lines_.front().kind != Kind::object || !is_header(lines_.front()))
      throw InputError(whole_file(text.source), "this is no recording: its first line is no header of one",
                       "'ddpsim record --world-size N -- train.py' writes recordings");
  }

  Recording read() {
    read_header(lines_.front());
    result_.items.reserve(lines_.size());
    for (std::size_t i = 1; i < lines_.size(); ++i) read_item(expect(lines_[i], Kind::object, "an item"));
    if (std::ranges::none_of(result_.items,
                             [](const auto& one) { return std::holds_alternative<RecordedOperator>(one); }))
      throw InputError(lines_.front().text.span, "the recording has no operators", kAgain);
    return std::move(result_);
  }

 private:
  static bool is_header(const JsonValue& value) {
    const auto* kind = value.find("kind");
    return kind && kind->text.text == "recording";
  }

  void read_header(const JsonValue& header) {
    if (auto version = integer(header.at("version"), 1, kMostElements); version > 1)
      throw InputError(header.at("version").text.span,
                       fmt::format("version {} of recordings; this program reads version 1", version),
                       "use the ddpsim that it was recorded with, or a newer one");
    take(header, "torch", result_.torch, text);
    take(header, "script", result_.script, texts);
    result_.world_size = static_cast<int>(integer(header.at("world_size"), 1, kLargestWorldSize));
    result_.rank = static_cast<int>(integer(header.at("rank"), 0, result_.world_size - 1));
    result_.world_size_place = header.at("world_size").text.span;
    result_.rank_place = header.at("rank").text.span;
    take(header, "gpu", result_.gpu, text);
    if (const auto* tf32 = header.find("tf32")) {
      take(*tf32, "matmul", result_.matmul_in_tf32, truth);
      take(*tf32, "cudnn", result_.cudnn_in_tf32, truth);
    }
    if (const auto* inputs = header.find("inputs"); inputs && !list(*inputs).empty())
      for (const auto& one : list(list(*inputs).front().value))
        if (const auto& tensor = list(one.value); !tensor.empty()) {
          auto& input = result_.inputs.emplace_back();
          for (const auto& width : list(tensor.front().value))
            input.shape.push_back(integer(width.value, 0, kLargestBatch));
          if (tensor.size() > 1) input.dtype = text(tensor[1].value);
        }
    for (const auto& one : list(header.at("groups"))) read_group(expect(one.value, Kind::object, "a group"));
    for (const auto& one : list(header.at("parameters"))) read_parameter(one.value);
    result_.modules = texts(header.at("modules"));
    if (const auto* notes = header.find("notes"))
      for (const auto& one : list(*notes)) result_.notes.push_back(text(one.value.at("text")));
  }

  void read_group(const JsonValue& value) {
    RecordedGroup group;
    take(value, "name", group.name, text);
    auto rank = [&](const JsonValue& one) {
      return static_cast<int>(integer(one, 0, result_.world_size - 1));
    };
    if (const auto* ranks = value.find("ranks")) {
      for (const auto& one : list(*ranks)) group.ranks.push_back(rank(one.value));
      group.count = static_cast<int>(group.ranks.size());
    } else {
      group.first = rank(value.at("first"));
      group.stride = static_cast<int>(integer(value.at("stride"), 1, result_.world_size));
      group.count = static_cast<int>(integer(value.at("count"), 1, result_.world_size));
      auto last = group.first + static_cast<std::int64_t>(group.stride) * (group.count - 1);
      if (last >= result_.world_size)
        throw InputError(value.text.span, fmt::format("rank {} in a job of {}", last, result_.world_size),
                         kAgain);
    }
    result_.groups.push_back(std::move(group));
  }

  // [name, shape, elements, type, whether it is trained]
  void read_parameter(const JsonValue& value) {
    constexpr std::size_t kFields = 5;
    const auto& fields = list(value);
    if (fields.size() != kFields)
      throw InputError(value.text.span,
                       "a parameter has name, shape, elements, type and whether it is trained", kAgain);
    result_.parameters.push_back({text(fields[0].value), integer(fields[2].value, 0, kMostElements),
                                  text(fields[3].value), truth(fields[4].value), shape(fields[1].value)});
  }

  void read_item(const JsonValue& item) {
    using Read = RecordedItem (Reader::*)(const JsonValue&);
    static constexpr std::array<std::pair<const char*, Read>, 7> kKinds{
        {{"operator", &Reader::read_operator},
         {"collective", &Reader::read_collective},
         {"wait", &Reader::read_wait},
         {"host", &Reader::read_stop},
         {"allocate", &Reader::read_allocation},
         {"free", &Reader::read_free},
         {"gradient", &Reader::read_gradient}}};
    for (auto [name, read] : kKinds)
      if (item.find(name)) {
        result_.items.push_back((this->*read)(item));
        return;
      }
    throw InputError(item.text.span,
                     "an item is an operator, collective, wait, host, allocate, free or gradient", kAgain);
  }

  // Of items that have a place on a stream.
  std::vector<std::size_t> earlier(const JsonValue& value) {
    std::vector<std::size_t> all;
    for (const auto& one : list(value)) {
      auto number = static_cast<std::size_t>(integer(one.value, 0, kMostElements));
      if (number >= result_.items.size())
        throw InputError(one.value.text.span, fmt::format("item {} does not come before this one", number),
                         kAgain);
      const auto& item = result_.items[number];
      if (!std::holds_alternative<RecordedOperator>(item) && !std::holds_alternative<RecordedWait>(item) &&
          !std::holds_alternative<LaunchedCollective>(item))
        throw InputError(one.value.text.span,
                         fmt::format("item {} is no operator, collective or wait", number), kAgain);
      all.push_back(number);
    }
    return all;
  }
  static std::size_t stream(const JsonValue& item) {
    const auto* value = item.find("stream");
    return value ? static_cast<std::size_t>(integer(*value, 0, kMostProgramStreams - 1)) : 0;
  }

  RecordedItem read_operator(const JsonValue& item) {
    RecordedOperator op;
    op.name = text(item.at("operator"));
    take(item, "dtype", op.dtype, text);
    take(item, "flops", op.flops, amount);
    if (const auto* shapes = item.find("shapes"))
      for (const auto& one : list(*shapes)) op.shapes.push_back(shape(one.value));
    take(item, "causal", op.is_causal, truth);
    take(item, "compiled", op.is_compiled, truth);
    op.read = amount(item.at("read"));
    op.written = amount(item.at("written"));
    op.phase = word(item.at("phase"), kRecordedPhaseNames);
    if (const auto* module = item.find("module")) op.module = index(*module, result_.modules.size());
    op.stream = stream(item);
    return op;
  }

  RecordedItem read_collective(const JsonValue& item) {
    LaunchedCollective one;
    const auto& name = item.at("collective");
    const auto& operation = text(name);
    one.is_send = operation == "send";
    if (one.is_send || operation == "recv") {
      one.operation = Operation::send_recv;
    } else if (operation != "barrier") {
      one.operation = find_operation(operation);
      if (!one.operation)
        throw InputError(
            name.text.span,
            fmt::format("'{}' is no collective{}", operation, did_you_mean(operation, operation_names())),
            kAgain);
    }
    one.group = index(item.at("group"), result_.groups.size());
    take(item, "bytes", one.bytes, bytes);
    take(item, "dtype", one.dtype, text);
    take(item, "cpu", one.is_of_cpu, truth);
    one.is_uneven = item.find("splits") != nullptr;
    if (one.operation == Operation::send_recv) read_message(item, one);
    one.phase = word(item.at("phase"), kRecordedPhaseNames);
    one.on = earlier(item.at("on"));
    one.stream = stream(item);
    one.place = name.text.span;
    return one;
  }

  void read_message(const JsonValue& item, LaunchedCollective& one) const {
    one.peer = static_cast<int>(integer(item.at("peer"), 0, result_.world_size - 1));
    if (one.peer == result_.rank)
      throw InputError(item.at("peer").text.span, fmt::format("rank {} sends to itself", one.peer), kAgain);
    if (const auto* batch = item.find("batch"))
      one.batch = static_cast<std::size_t>(integer(*batch, 0, kMostElements));
  }

  RecordedItem read_wait(const JsonValue& item) {
    return RecordedWait{earlier(item.at("wait")), stream(item)};
  }
  RecordedItem read_stop(const JsonValue& item) {
    return RecordedStop{text(item.at("host")), earlier(item.at("on"))};
  }

  RecordedItem read_allocation(const JsonValue& item) {
    RecordedAllocation one;
    one.storage = static_cast<std::size_t>(integer(item.at("allocate"), 0, kMostElements));
    one.bytes = bytes(item.at("bytes"));
    one.use = word(item.at("holds"), kRecordedUseNames);
    if (!held_.insert(one.storage).second)
      throw InputError(item.at("allocate").text.span, fmt::format("storage {} is there already", one.storage),
                       kAgain);
    return one;
  }
  RecordedItem read_free(const JsonValue& item) {
    RecordedFree one{static_cast<std::size_t>(integer(item.at("free"), 0, kMostElements))};
    if (held_.erase(one.storage) == 0)
      throw InputError(item.at("free").text.span, fmt::format("storage {} is not there", one.storage),
                       kAgain);
    return one;
  }
  RecordedItem read_gradient(const JsonValue& item) {
    return RecordedGradient{index(item.at("gradient"), result_.parameters.size())};
  }

  std::vector<JsonValue> lines_;
  Recording result_;
  std::set<std::size_t> held_;
};

}  // namespace

Recording read_recording(const LoadedText& text) {
  return Reader(text).read();
}

Recording read_recording(const std::string& path) {
  CompressedText file(path, "a recording", {});
  LoadedText loaded;
  for (; !file.at_end(); file.advance()) {
    loaded.text += file.current();
    file.mark_token();
    if (loaded.text.size() > kMostText)
      throw file.file_error(fmt::format("is longer than {} MiB", kMostText >> 20),
                            "is it a recording of one step?");
  }
  loaded.source = make_source(path, loaded.text);
  return read_recording(loaded);
}

}  // namespace ddpsim

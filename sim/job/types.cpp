#include "sim/job/types.hpp"

#include "sim/ddp/ddp_rules.hpp"
#include "sim/keys/types.hpp"

namespace ddpsim::job {

nccl::Version as_nccl_version(const config::Value& value) {
  auto text = config::as_string(value);
  auto version = nccl::parse_version(text);
  if (!version)
    throw InputError(value.span, fmt::format("'{}' is no version of NCCL", text),
                     "write version: \"2.27.6\"");
  bool too_old = *version < nccl::kOldestVersion;
  if (too_old || *version > nccl::kNewestVersion)
    throw InputError(value.span, fmt::format("the constants of NCCL {} are not known", text),
                     fmt::format("the {} known are those of {}", too_old ? "oldest" : "newest",
                                 nccl::name(too_old ? nccl::kOldestVersion : nccl::kNewestVersion)));
  return *version;
}

namespace {

TorchVersion as_torch_version(const config::Value& value) {
  auto text = config::as_string(value);
  if (auto version = parse_torch_version(text)) return *version;
  throw InputError(value.span, fmt::format("'{}' is not a PyTorch version", text), "write it like \"2.6\"");
}

}  // namespace

keys::Type<nccl::Version> nccl_version() {
  return keys::scalar_type<nccl::Version>(
      as_nccl_version, [](const nccl::Version& version) { return nccl::name(version); },
      keys::shape_of(keys::Dimension::release));
}

keys::Type<TorchVersion> torch_version() {
  return keys::scalar_type<TorchVersion>(
      as_torch_version,
      [](const TorchVersion& version) { return fmt::format("{}.{}", version.major, version.minor); },
      keys::shape_of(keys::Dimension::release));
}

keys::Type<DType> training_dtype() {
  return keys::word<DType>({{"fp32", DType::float32}, {"bf16", DType::bfloat16}, {"fp16", DType::float16}});
}

keys::Type<std::optional<nccl::PathLevel>> peer_to_peer() {
  using Level = std::optional<nccl::PathLevel>;
  config::Words<Level> words{{"auto", {}}, {"true", nccl::PathLevel::sys}, {"false", nccl::PathLevel::none}};
  for (const auto& [name, level] : nccl::kPathLevelNames) words.emplace_back(std::string(name), level);
  return keys::word<Level>(words);
}

void refuse(const keys::Cursor& at, std::string_view key, std::string_view message, std::string_view hint) {
  throw InputError(at.place(key), message, hint);
}

}  // namespace ddpsim::job

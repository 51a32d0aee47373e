#include "sim/trace/compressed_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>

#include <fmt/core.h>
#include <sys/stat.h>
#include <zlib.h>

#include "sim/base/file_kind.hpp"
#include "sim/base/input_file.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kBlock = std::size_t{256} << 10;
constexpr std::uint64_t kLongestLine = 1000;  // a column beyond it helps nobody find the place

}  // namespace

CompressedText::CompressedText(const std::string& path, std::string_view what,
                               std::function<void(double)> progress)
    : path_(path), what_(what), progress_(std::move(progress)), file_(nullptr, gzclose), block_(kBlock) {
  next_ = last_ = block_.data();
  auto file = open_input(path, what);
  struct stat status {};
  if (fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode))
    file_size_ = static_cast<double>(status.st_size);
  file_.reset(gzdopen(file.get(), "rb"));
  if (!file_) throw std::bad_alloc();  // its only reason
  [[maybe_unused]] int owned = std::move(file).release();
  gzbuffer(file_.get(), kBlock);
  refill();
  if (next_ == last_) throw file_error(fmt::format("is empty (expected {})", what), "is it the right file?");
}

void CompressedText::refill() {
  std::string_view used(block_.data(), static_cast<std::size_t>(last_ - block_.data()));
  lines_before_ += static_cast<std::uint64_t>(std::count(used.begin(), used.end(), '\n'));
  if (auto end = used.rfind('\n'); end != std::string_view::npos) line_start_ = block_start_ + end + 1;
  block_start_ += used.size();
  next_ = last_ = block_.data();
  if (block_start_ - token_start_ > longest_token())
    throw error(fmt::format("a single string, number or gap is longer than {} MiB", longest_token() >> 20),
                fmt::format("is it {}?", what_));
  int count = gzread(file_.get(), block_.data(), static_cast<unsigned>(block_.size()));
  if (count < static_cast<int>(block_.size())) check_end();
  last_ = block_.data() + std::max(count, 0);
  if (block_start_ == 0) check_kind(path_, {next_, static_cast<std::size_t>(last_ - next_)}, what_);
  // JSON text has none, and a parser may take one for the end.
  std::string_view read(next_, static_cast<std::size_t>(last_ - next_));
  if (read.find('\0') != std::string_view::npos) {
    if (block_start_ == 0 && (read.starts_with("\xff\xfe") || read.starts_with("\xfe\xff")))
      throw file_error(fmt::format("is UTF-16 text, not {}", what_), "UTF-8 is read: convert it");
    throw file_error(fmt::format("holds NUL bytes; it is not {}", what_), "is it a binary file?");
  }
  if (progress_ && file_size_ > 0)
    progress_(std::min(1.0, static_cast<double>(gzoffset(file_.get())) / file_size_));
}

void CompressedText::check_end() const {
  int code = Z_OK;
  const char* reason = gzerror(file_.get(), &code);
  if (code == Z_OK || code == Z_STREAM_END) return;
  if (code == Z_BUF_ERROR)
    throw file_error("ends in the middle of its gzip data",
                     "is it still being written, or was a copy cut off?");
  if (code == Z_ERRNO)
    throw file_error(fmt::format("cannot be read to its end: {}", std::strerror(errno)), "check the disk");
  std::string_view text(reason);  // "<fd:3>: incorrect data check"
  if (auto name = text.find(">: "); text.starts_with("<fd:") && name != std::string_view::npos)
    text.remove_prefix(name + 3);
  throw file_error(fmt::format("is a damaged gzip file: {}", text), "copy it again; 'gzip -t' checks it");
}

InputError CompressedText::error(std::string_view message, std::string_view hint) const {
  // The last character read is one before the next.
  auto offset = consumed() - (consumed() > 0 ? 1 : 0);
  auto line = lines_before_ + 1;
  auto start = line_start_;
  for (const char* at = block_.data(); at + 1 < next_; ++at)
    if (*at == '\n') {
      ++line;
      start = block_start_ + static_cast<std::uint64_t>(at - block_.data()) + 1;
    }
  auto column = offset - std::min(start, offset) + 1;
  if (column > kLongestLine || line > std::numeric_limits<int>::max())
    return file_error(fmt::format("{} (at byte {})", message, offset + 1), hint);
  auto file = std::make_shared<SourceFile>();  // without its lines: they went by
  file->name = path_;
  return {SourceSpan{std::move(file), static_cast<int>(line), static_cast<int>(column), 1}, message, hint};
}

InputError CompressedText::file_error(std::string_view message, std::string_view hint) const {
  return {whole_file(make_source(path_, "")), message, hint};
}

}  // namespace ddpsim

#include "python/module/readers.hpp"

#include <utility>

namespace ddpsim::python {
namespace {

std::filesystem::path current_folder() {
  std::error_code gone;
  return std::filesystem::current_path(gone);
}

}  // namespace

std::unique_ptr<Readers::Kept> Readers::take() {
  auto folder = current_folder();
  std::unique_ptr<Kept> kept;
  {
    std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      kept = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (kept && kept->folder == folder && kept->stamps.unchanged()) return kept;
  return std::make_unique<Kept>(file_, std::move(folder));
}

void Readers::give_back(std::unique_ptr<Kept> kept) {
  if (kept->files.keeps_much()) return;
  std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(kept));
}

}  // namespace ddpsim::python

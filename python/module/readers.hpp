#pragma once
// What a job keeps from one use to the next.
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/base/file_stamps.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/resolve/resolve.hpp"

namespace ddpsim::python {

// `Files` of the scenarios of one folder, which know what they have read and found, each with a simulator
// that knows what it has prepared. Those that have changed since, or keep much, are dropped.
// As many as threads use them at once.
class Readers {
 public:
  // Paths in scenarios are relative to the folder of `file`.
  explicit Readers(std::string file) : file_(std::move(file)) {}

  // use(Files&, Simulator&), with nobody else at them.
  template <class Use>
  auto with(Use use) {
    auto kept = take();
    FileStamps::Watch watch(kept->stamps);
    struct GiveBack {
      Readers& to;
      std::unique_ptr<Kept>& kept;
      ~GiveBack() { to.give_back(std::move(kept)); }
    } give_back{*this, kept};
    return use(kept->files, kept->simulator);
  }

 private:
  struct Kept {
    Kept(const std::string& file, std::filesystem::path at) : files(file), folder(std::move(at)) {}
    Files files;
    Simulator simulator = {};
    FileStamps stamps = {};
    std::filesystem::path folder;  // the current one: paths in overrides are relative to it
  };
  std::unique_ptr<Kept> take();
  void give_back(std::unique_ptr<Kept> kept);

  std::string file_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Kept>> idle_;
};

}  // namespace ddpsim::python

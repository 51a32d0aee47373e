#pragma once
// Network namespaces without a name: one lives as long as a descriptor of it, a process or a device's file
// does.
#include <functional>
#include <string>

#include "sim/base/descriptor.hpp"

namespace ddpsim::validate {

class Namespace {
 public:
  // A new one, with nothing in it but a loopback device that is down. Throws RunFailed.
  Namespace();

  // Moves the calling thread into it. Safe between fork and exec.
  [[nodiscard]] bool enter() const noexcept;

  // Runs `work` inside and waits for it: in a thread of its own, so that this one stays where it is. Programs
  // that it starts are inside as well. Throws what `work` throws, and RunFailed.
  void inside(const std::function<void()>& work) const;

  // A path that opens it from any process that may look into this one, while this object lives.
  [[nodiscard]] std::string path() const;

 private:
  Descriptor descriptor_;
};

}  // namespace ddpsim::validate

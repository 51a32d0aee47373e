#include "validate/testbed/namespace.hpp"

#include <cerrno>
#include <cstring>
#include <future>

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include "sim/base/program_exit.hpp"

namespace ddpsim::validate {
namespace {

[[noreturn]] void fail(const char* what) {
  throw RunFailed(fmt::format("{}: {}", what, std::strerror(errno)));
}

template <class Work>
auto in_own_thread(const Work& work) {
  return std::async(std::launch::async, work).get();
}

}  // namespace

Namespace::Namespace() {
  descriptor_ = in_own_thread([] {
    if (unshare(CLONE_NEWNET) != 0) fail("cannot make a network namespace");
    Descriptor made(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!made) fail("cannot open a network namespace");
    return made;
  });
}

bool Namespace::enter() const noexcept {
  return setns(descriptor_.get(), CLONE_NEWNET) == 0;
}

void Namespace::inside(const std::function<void()>& work) const {
  in_own_thread([&] {
    if (!enter()) fail("cannot enter a network namespace");
    work();
  });
}

std::string Namespace::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_.get());
}

}  // namespace ddpsim::validate

#include "validate/launch/status_array.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <sys/mman.h>

#include "sim/base/program_exit.hpp"

namespace ddpsim::validate {

StatusArray::StatusArray(int world_size) : bytes_(static_cast<std::size_t>(world_size) * sizeof(RankStatus)) {
  file_ = Descriptor(memfd_create("ddpsim-ranks", MFD_CLOEXEC)).above_standard();
  void* memory = MAP_FAILED;
  if (file_ && ftruncate(file_.get(), static_cast<off_t>(bytes_)) == 0)
    memory = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED)
    throw RunFailed(fmt::format("no memory to share with the ranks: {}", std::strerror(errno)));
  entries_ = static_cast<const RankStatus*>(memory);
}

StatusArray::~StatusArray() {
  munmap(const_cast<RankStatus*>(entries_), bytes_);
}

}  // namespace ddpsim::validate

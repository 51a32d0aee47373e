#pragma once
// What collectives take with a library that does more than its links show: Gloo, MPI. It is known of one
// group alone.
#include <memory>
#include <string>

#include "sim/base/operation.hpp"
#include "sim/collective/backend.hpp"
#include "sim/cost/all_reduce_scale.hpp"

namespace ddpsim {

class LibraryModel {
 public:
  virtual ~LibraryModel() = default;
  [[nodiscard]] virtual Backend backend() const = 0;
  [[nodiscard]] Seconds time(Bytes bytes, Operation operation = Operation::all_reduce) const;
  // How it is carried out, and where its time comes from: a word, and for people what that leaves out.
  struct Way {
    std::string algorithm, source, note;
  };
  [[nodiscard]] virtual Way way(Bytes bytes, Operation operation) const = 0;
  // The same with other times.
  [[nodiscard]] std::shared_ptr<const LibraryModel> scaled(const AllReduceScale& scale) const;

 protected:
  [[nodiscard]] virtual Seconds unscaled(Bytes bytes, Operation operation) const = 0;
  // Of what a buffer of `bytes` takes that of one of no bytes, carried out the same way.
  [[nodiscard]] virtual Seconds latency(Bytes, Operation operation) const {
    return unscaled(Bytes(0), operation);
  }
  [[nodiscard]] virtual std::shared_ptr<LibraryModel> copy() const = 0;

 private:
  AllReduceScale scale_;
};

}  // namespace ddpsim

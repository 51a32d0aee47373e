#include "sim/cost/library_model.hpp"

namespace ddpsim {

Seconds LibraryModel::time(Bytes bytes, Operation operation) const {
  auto time = unscaled(bytes, operation);
  return scale_.is_none() ? time : scale_(time, latency(bytes, operation));
}

std::shared_ptr<const LibraryModel> LibraryModel::scaled(const AllReduceScale& scale) const {
  auto model = copy();
  model->scale_ = scale;
  return model;
}

}  // namespace ddpsim

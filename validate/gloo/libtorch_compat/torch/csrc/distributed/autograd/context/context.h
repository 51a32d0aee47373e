#pragma once
// reducer.hpp includes this header, but Debian's libtorch-dev does not install it. reducer.hpp only names a
// callback type and a shared pointer to the context; no member of the context is used here.
#include <functional>
#include <memory>

namespace at {
class Tensor;
}

namespace torch::distributed::autograd {

class DistAutogradContext {
 public:
  using GradCallback = std::function<bool(at::Tensor&)>;
};
using ContextPtr = std::shared_ptr<DistAutogradContext>;

}  // namespace torch::distributed::autograd

#include <optional>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/collective/fluid_network.hpp"
#include "sim/replay/network.hpp"

namespace ddpsim {
namespace {

class BuiltinNetwork : public Network {
 public:
  int add_link(BytesPerSecond bandwidth) override {
    DDPSIM_CHECK(!network_, "links come before anything else");
    capacities_.push_back(bandwidth);
    return static_cast<int>(capacities_.size()) - 1;
  }
  void after(Seconds delay, std::function<void()> action) override {
    network().after(delay, std::move(action));
  }
  int transfer(std::span<const int> route, Bytes bytes, std::function<void()> done) override {
    ++flows_;
    return network().transfer(route, bytes, std::move(done));
  }
  Bytes cancel(int transfer) override {
    Bytes left = network().remaining(transfer);
    network().cancel(transfer);
    return left;
  }
  [[nodiscard]] Seconds now() const override { return network_ ? network_->now() : Seconds(0); }
  [[nodiscard]] std::int64_t flows() const override { return flows_; }
  void run() override { network().run(); }

 private:
  FluidNetwork& network() {
    if (!network_) network_.emplace(capacities_);
    return *network_;
  }

  std::vector<BytesPerSecond> capacities_;
  std::optional<FluidNetwork> network_;
  std::int64_t flows_ = 0;
};

}  // namespace

std::unique_ptr<Network> make_builtin_network(Bytes) {
  return std::make_unique<BuiltinNetwork>();
}

}  // namespace ddpsim

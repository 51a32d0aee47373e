#pragma once
// The ranks' network namespaces, and what both kinds of testbed have in common.
#include <string>
#include <vector>

#include "validate/launch/launcher.hpp"
#include "validate/testbed/namespace.hpp"

#include "sim/base/units.hpp"

namespace ddpsim::validate {

// The most that TCP hands a link at once: the kernel's own limit. A quarter of it makes smaller bursts, but 8
// ranks at 1 Gbit/s then took more of 2 cores than there is, and only got 74 % of their rate.
constexpr Bytes kSegmentationLimit{65536};

class RankNamespaces : public RankNetwork {
 public:
  [[nodiscard]] bool enter(int rank) const override;
  [[nodiscard]] std::string address(int rank) const override;
  [[nodiscard]] std::string interface() const override { return "eth0"; }
  [[nodiscard]] std::string describe() const override;

 protected:
  // Namespaces in which TCP is configured and no device but loopback is.
  explicit RankNamespaces(int ranks);

  [[nodiscard]] const std::vector<Namespace>& namespaces() const { return namespaces_; }
  // Gives the rank's eth0, which must exist, its address and starts it; called inside.
  void configure_interface(int rank);
  // How the links work, for describe().
  void set_links(std::string links) { links_ = std::move(links); }
  // `what` is not as it should be, for describe(); once however often it is said.
  void refused(const std::string& what);

 private:
  std::vector<Namespace> namespaces_;
  std::string links_, congestion_control_;
  std::vector<std::string> refused_;
};

// "1 Gbit/s"
std::string format_bit_rate(BytesPerSecond rate);

}  // namespace ddpsim::validate

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/replay/executors.hpp"

namespace ddpsim {
namespace {

class LazyExecutor : public UnitExecutor, public LinkUser {
 public:
  LazyExecutor(FlowNetwork& network, LinkUsers& users, const FlowUnit& unit,
               std::span<const BytesPerSecond> capacities)
      : network_(network), users_(users), unit_(unit), time_alone_(unit, capacities) {}

  void start(Bytes buffer, std::function<void()> done) override {
    buffer_ = buffer;
    done_ = std::move(done);
    users_.enter(*this);
    if (users_.is_alone(*this)) return start_timer(0);
    run_ = make_run();
    run_->start();
  }

  [[nodiscard]] const std::vector<int>& links() const override { return unit_.links; }

  // From the timer to the flows it stood for, as far as they are now.
  void contend() override {
    if (!on_timer_) return;
    Seconds elapsed = network_.now() - timer_start_;
    auto progress = time_alone_.progress(buffer_, timer_rounds_done_, elapsed);
    if (progress.is_over()) return;  // the timer fires at this very time
    on_timer_ = false;
    ++timer_;
    run_ = make_run();
    run_->resume(progress);
  }

 private:
  void start_timer(int rounds_done) {
    on_timer_ = true;
    timer_start_ = network_.now();
    timer_rounds_done_ = rounds_done;
    network_.after(time_alone_.rest(buffer_, rounds_done), [this, timer = ++timer_] {
      if (timer != timer_) return;  // contend() went on from it
      on_timer_ = false;
      end();
    });
  }

  std::unique_ptr<FlowRun> make_run() {
    auto run = std::make_unique<FlowRun>(network_, unit_, buffer_, [this] { end(); });
    if (time_alone_.can_stop_between_rounds())
      run->stop_between_rounds = [this](int rounds_done) {
        if (!users_.is_alone(*this)) return false;
        start_timer(rounds_done);
        return true;
      };
    return run;
  }

  void end() {
    users_.leave(*this);
    std::exchange(done_, {})();  // it may start this unit again
  }

  FlowNetwork& network_;
  LinkUsers& users_;
  const FlowUnit& unit_;
  TimeAlone time_alone_;
  Bytes buffer_;
  std::function<void()> done_;
  bool on_timer_ = false;
  int timer_ = 0;  // counts timers: only the last one is valid
  int timer_rounds_done_ = 0;
  Seconds timer_start_;
  std::unique_ptr<FlowRun> run_;
};

}  // namespace

std::unique_ptr<UnitExecutor> make_lazy_executor(FlowNetwork& network, LinkUsers& users, const FlowUnit& unit,
                                                 std::span<const BytesPerSecond> capacities) {
  return std::make_unique<LazyExecutor>(network, users, unit, capacities);
}

void LinkUsers::enter(LinkUser& user) {
  auto met = std::exchange(met_, {});
  met.clear();
  for (int link : user.links()) {
    auto& users = users_[static_cast<std::size_t>(link)];
    met.insert(met.end(), users.begin(), users.end());
    users.push_back(&user);
  }
  // Each once, in the order they were met.
  for (std::size_t i = 0; i < met.size(); ++i)
    if (std::find(met.begin(), met.begin() + static_cast<std::ptrdiff_t>(i), met[i]) ==
        met.begin() + static_cast<std::ptrdiff_t>(i))
      met[i]->contend();
  met_ = std::move(met);
}

void LinkUsers::leave(LinkUser& user) {
  for (int link : user.links()) {
    auto& users = users_[static_cast<std::size_t>(link)];
    users.erase(std::find(users.begin(), users.end(), &user));
  }
}

bool LinkUsers::is_alone(const LinkUser& user) const {
  return std::all_of(user.links().begin(), user.links().end(),
                     [&](int link) { return users_[static_cast<std::size_t>(link)].size() == 1; });
}

}  // namespace ddpsim

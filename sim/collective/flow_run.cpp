#include "sim/collective/flow_run.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim {

bool FlowProgress::is_over() const {
  return std::all_of(channels.begin(), channels.end(),
                     [](const auto& channel) { return channel.flows.empty(); });
}

FlowRun::FlowRun(FlowNetwork& network, const FlowUnit& unit, Bytes buffer, std::function<void()> done)
    : network_(network), channels_left_(unit.channels.size()), done_(std::move(done)) {
  for (const auto& channel : unit.channels)
    channels_.push_back({&channel, channel.chunking.steps(buffer), channel.chunking.chunk(buffer),
                         std::vector<FlowState>(channel.flows.size()), channel.flows.size()});
}

void FlowRun::start(int round) {
  DDPSIM_CHECK(round == 0 || channels_.size() == 1, "only one channel starts later");
  for (auto& state : channels_) {
    state.round = round;
    if (state.channel->coupling == Coupling::rounds)
      start_round(state);
    else
      for (std::size_t f = 0; f < state.flows.size(); ++f) try_start(state, f);
  }
}

void FlowRun::resume(const FlowProgress& progress) {
  channels_left_ = 0;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    auto& state = channels_[c];
    state.round = progress.channels[c].round;
    state.pending = progress.channels[c].flows.size();
    if (state.pending > 0) ++channels_left_;
    for (const auto& of : progress.channels[c].flows) {
      if (of.latency_left > Seconds(0))
        wait_latency(state, of.flow, of.latency_left);
      else
        send(state, of.flow, of.bytes_left);
    }
  }
  DDPSIM_CHECK(channels_left_ > 0, "a finished run is not resumed");
}

FlowProgress FlowRun::progress(const FluidNetwork& network) const {
  FlowProgress progress;
  for (const auto& state : channels_) {
    auto& channel = progress.channels.emplace_back();
    channel.round = state.round;
    for (std::size_t f = 0; f < state.flows.size(); ++f) {
      const auto& flow = state.flows[f];
      Bytes bytes = state.channel->flows[f].piece * state.chunk;
      if (flow.phase == Phase::latency)
        channel.flows.push_back({f, std::max(Seconds(0), flow.latency_end - network.now()), bytes});
      if (flow.phase == Phase::sending)
        channel.flows.push_back({f, Seconds(0), network.remaining(flow.transfer)});
    }
  }
  return progress;
}

void FlowRun::start_round(ChannelState& state) {
  auto is_active = [&](const Flow& flow) {
    return flow.level <= state.round && state.round < flow.level + state.steps;
  };
  const auto& flows = state.channel->flows;
  state.pending = static_cast<std::size_t>(std::count_if(flows.begin(), flows.end(), is_active));
  for (std::size_t f = 0; f < flows.size(); ++f)
    if (is_active(flows[f])) wait_latency(state, f, flows[f].latency);
}

void FlowRun::finish_round(ChannelState& state) {
  if (++state.round == state.steps + state.channel->last_level) return finish_channel();
  if (stop_between_rounds && stop_between_rounds(state.round)) return;
  start_round(state);
}

void FlowRun::try_start(ChannelState& state, std::size_t flow) {
  const auto& previous = state.flows[flow == 0 ? state.flows.size() - 1 : flow - 1];
  const auto& mine = state.flows[flow];
  if (mine.phase == Phase::idle && mine.done < state.steps && previous.done >= mine.done)
    wait_latency(state, flow, state.channel->flows[flow].latency);
}

void FlowRun::wait_latency(ChannelState& state, std::size_t flow, Seconds latency) {
  Bytes bytes = state.channel->flows[flow].piece * state.chunk;
  if (latency == Seconds(0)) return send(state, flow, bytes);
  state.flows[flow].phase = Phase::latency;
  state.flows[flow].latency_end = network_.now() + latency;
  network_.after(latency, [this, &state, flow, bytes] { send(state, flow, bytes); });
}

void FlowRun::send(ChannelState& state, std::size_t flow, Bytes bytes) {
  state.flows[flow].phase = Phase::sending;
  state.flows[flow].transfer = network_.transfer(state.channel->flows[flow].route, bytes,
                                                 [this, &state, flow] { arrive(state, flow); });
}

void FlowRun::arrive(ChannelState& state, std::size_t flow) {
  state.flows[flow].phase = Phase::idle;
  if (state.channel->coupling == Coupling::rounds) {
    if (--state.pending == 0) finish_round(state);
    return;
  }
  if (++state.flows[flow].done == state.steps && --state.pending == 0) return finish_channel();
  try_start(state, flow);
  try_start(state, flow + 1 == state.flows.size() ? 0 : flow + 1);
}

void FlowRun::finish_channel() {
  if (--channels_left_ > 0) return;
  auto done = std::move(done_);  // it may destroy this run
  done();
}

}  // namespace ddpsim

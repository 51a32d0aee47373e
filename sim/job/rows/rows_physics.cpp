// The sections `physics` and `spread`: what real machines do besides; `failures` and `variability`: what
// differs.
#include "sim/base/limits.hpp"
#include "sim/job/rows/rows.hpp"
#include "sim/job/rows/shares_rows.hpp"

namespace ddpsim::job {
namespace {

using namespace keys;

const When kHooks{[](const Job& job) { return job.strategy->traits.has_gradient_hooks && job.reduces(); },
                  "strategies ddp and overlap of several ranks that reduce"};
const When kLaunches{[](const Job& job) { return job.strategy->traits.all_reduces && job.reduces(); },
                     "strategies naive, flat, overlap and ddp of several ranks that reduce"};
const When kNoFile{
    [](const Job& job) { return !job.strategy->traits.is_of_file && !job.strategy->traits.is_of_recording; },
    "strategies that are no program's"};
const When kMemoryCopies{[](const Job& job) {
                           const auto& traits = job.strategy->traits;
                           return !traits.has_servers && !traits.is_of_recording && job.reduces();
                         },
                         "several ranks that reduce, without parameter servers"};
const When kPasses{[](const Job& job) { return kMemoryCopies.applies(job) && kNoFile.applies(job); },
                   "several ranks that reduce, without parameter servers, and no program"};

// Where `section: none` leaves all of it out.
template <class S>
Type<S> or_none(const char* section, Type<S> of) {
  auto codec = of.codec;
  typename OneOf<S>::Form none{
      "none",
      {},
      nullptr,
      [](const Value&, S& to, const Cursor&) { to.is_none = true; },
      [](const S& from) { return from.is_none ? std::optional(scalar("none")) : std::nullopt; }};
  typename OneOf<S>::Form keys{
      {},
      {},
      codec,
      [codec](const Value& from, S& to, const Cursor& at) { codec->read(from, &to, at); },
      [codec](const S& from) { return codec->write(&from); }};
  return one_of<S>(fmt::format("'{}' is a map of keys", section),
                   fmt::format("write none, or 'key: value' lines below '{}'", section), {none, keys});
}

// A number for both, or each by itself.
Type<Interference> interference() {
  auto share = number(0, kLargestInterference);
  auto section = nested(Rows<Interference>("physics.interference")
                            .key<&Interference::compute>("compute", share, "Of compute")
                            .required()
                            .key<&Interference::collective>("collective", share, "Of collectives")
                            .required());
  using V = Interference;
  return one_of<V>("expected a number, found a list", "write one number",
                   {is_like<V, double>(
                        share,
                        [](V& to, double both) {
                          to = {both, both};
                        },
                        [](const V& from) {
                          return from.compute == from.collective ? std::optional(from.compute) : std::nullopt;
                        }),
                    is_like<V, V>(
                        section, [](V& to, V from) { to = from; },
                        [](const V& from) { return std::optional(from); }, "compute")});
}

Type<std::variant<Automatic, Off, Passes>> passes() {
  using V = std::variant<Automatic, Off, Passes>;
  auto count = number(0, kMostPasses);
  auto section = nested(Rows<Passes>("physics.passes")
                            .key<&Passes::in>("in", count, "Before its all-reduce")
                            .required()
                            .key<&Passes::out>("out", count, "After it")
                            .required());
  return one_of<V>(
      "'physics.passes' is a map of keys", "write none or auto, or 'key: value' lines below 'physics.passes'",
      {is_word<V>("none", Off{}), is_word<V>("auto", Automatic{}), is_a<V, Passes>(section, "in")});
}

const When kHostHooks{[](const Job& job) { return job.strategy->hooks() != Hooks(); },
                      "strategies zero1, zero2 and zero3"};

Type<HostHooks> hooks() {
  using H = HostHooks;
  return or_none<H>(
      "physics.hooks",
      nested(Rows<H>("physics.hooks")
                 .key<&H::module>("module", maybe(time()), "Host time of a module in a pass")
                 .usually("the strategy's")
                 .key<&H::gradient>("gradient", maybe(time()), "Host time of a gradient that is reduced")
                 .usually("the strategy's")
                 .key<&H::parameter>("parameter", maybe(time()), "Host time of a parameter that is stepped")
                 .usually("the strategy's")));
}

Type<double> spread_number() {
  auto parse = [](const Value& value) {
    if (value.scalar.ends_with(".csv"))
      throw InputError(value.span, fmt::format("'{}' is no number", value.scalar),
                       fmt::format("write {{observed: {}}} for a table of compute times", value.scalar));
    return config::as_number(0, kLargestSpread)(value);
  };
  return scalar_type<double>(parse, [](const double& spread) { return fmt::format("{}", spread); },
                             {Shape::Kind::number, 0, kLargestSpread});
}

template <class V>
Type<V> distribution(std::vector<typename OneOf<V>::Form> words) {
  auto table = nested(Rows<Table>("variability")
                          .key<&Table::observed>("observed", text(), "Table of observed times (CSV)")
                          .required());
  words.push_back(is_a<V, double>(spread_number()));
  words.push_back(is_a<V, Table>(table, "observed"));
  return one_of<V>("expected a number, found a list", "write none, a spread like 0.03, or {observed: FILE}",
                   std::move(words));
}

Type<SlowOnes> slow() {
  using Of = SlowOnes::Of;
  using Lasts = SlowOnes::Lasts;
  return nested(
      Rows<SlowOnes>("variability.slow")
          .key<&SlowOnes::of>("of", word<Of>({{"ranks", Of::ranks}, {"nodes", Of::nodes}}), "Of what")
          .required()
          .key<&SlowOnes::probability>("probability", number(0, 1), "How likely each is")
          .required()
          .key<&SlowOnes::slowdown>("slowdown", number(1, kLargestSlowdown),
                                    "How many times as long it computes")
          .required()
          .key<&SlowOnes::lasts>("lasts", word<Lasts>({{"run", Lasts::run}, {"iteration", Lasts::iteration}}),
                                 "How long"));
}

}  // namespace

namespace {
template <class S>
Rows<S> shares_of(const char* section) {
  constexpr double kLeast = 1e-4, kMost = 10;  // a tenth of a thousandth is a link that is down
  auto share = number(kLeast, kMost);
  Rows<S> rows(section);
  rows.template key<&S::p5>("p5", share, "Share of the bandwidth").required();
  rows.template key<&S::median>("median", share, "Share of the bandwidth").required();
  rows.template key<&S::p95>("p95", share, "Share of the bandwidth").required();
  rows.check([](const S& all, const Cursor& at) {
    if (all.p5 > all.median || all.median > all.p95)
      refuse(at, "", fmt::format("shares fall: p5 {}, median {}, p95 {}", all.p5, all.median, all.p95),
             "they are shares of the bandwidth, so that p5 is the worst");
  });
  return rows;
}
}  // namespace

Type<Shares> shares_rows() {
  auto rows = shares_of<Shares>("variability.weather");
  return nested(rows);
}

Type<SharesOfNodes> weather_rows() {
  auto rows = shares_of<SharesOfNodes>("rows");
  return nested(rows.key<&SharesOfNodes::nodes>("nodes", whole(2, kLargestWorldSize), "Nodes").required());
}

Type<Physics> physics_rows() {
  using P = Physics;
  return or_none<P>(
      "physics",
      nested(Rows<P>("physics")
                 .key<&P::interference>("interference", maybe(interference()),
                                        "Slowdown of compute and collectives that run beside one another")
                 .usually("the GPU's range")
                 .key<&P::calibration>("calibration", maybe(text()), "Calibrated interference: a file")
                 .usually("none")
                 .key<&P::pass_bandwidth>("pass_bandwidth", maybe(bandwidth()), "Memory bandwidth of a copy")
                 .when(kMemoryCopies)
                 .usually("the GPU's")
                 .key<&P::pass_launch>("pass_launch", maybe(time()), "Launch of a copy")
                 .when(kMemoryCopies)
                 .usually("the GPU's")
                 .key<&P::passes>("passes", maybe(passes()), "Passes over a bucket's memory")
                 .when(kPasses)
                 .usually("auto")
                 .key<&P::gradient>("gradient", time(), "Hook of a gradient")
                 .when(kHooks)
                 .key<&P::launch>("launch", maybe(time()), "Launch of a collective")
                 .when(kLaunches)
                 .usually("calibrated, else 0s")
                 .key<&P::first_start>("first_start", time(), "Start of the first collective")
                 .when(kNoFile)
                 .key<&P::hooks>("hooks", maybe(hooks()), "Host time of DeepSpeed's hooks")
                 .when(kHostHooks)
                 .usually("the strategy's")
                 .check([](const P& physics, const Cursor& at) {
                   if (physics.interference && physics.calibration)
                     refuse(at, "calibration",
                            "physics.calibration and physics.interference exclude each other",
                            "remove one of the two");
                 })));
}

Type<Spread> spread_rows() {
  auto share = number(0, kLargestSpread);
  return or_none<Spread>("spread",
                         nested(Rows<Spread>("spread")
                                    .key<&Spread::ranks>("ranks", maybe(share), "Standard deviation of GPUs")
                                    .usually("calibrated, else 0.02 where the GPU is known")
                                    .key<&Spread::nodes>("nodes", share, "Standard deviation of nodes")));
}

Type<Failures> failures_rows() {
  using F = Failures;
  auto some = time(AtZero::refused);
  return nested(Rows<F>("failures")
                    .key<&F::mtbf>("mtbf", some, "Mean time between failures of a GPU")
                    .required()
                    .key<&F::checkpoint>("checkpoint", some, "What a checkpoint takes")
                    .required()
                    .key<&F::restart>("restart", time(), "From a failure until steps go on")
                    .required()
                    .key<&F::interval>("interval", maybe(some), "Of steps between checkpoints")
                    .usually("the best"));
}

Type<Variability> variability_rows() {
  using V = Variability;
  using Jitter = decltype(V::jitter)::value_type;
  using Weather = decltype(V::weather)::value_type;
  using Report = ReportedIteration;
  auto one = distribution<Distribution>({is_word<Distribution>("none", Off{})});
  auto jitter = distribution<Jitter>({is_word<Jitter>("none", Off{}), is_word<Jitter>("trace", OfTrace{})});
  auto weather = one_of<Weather>("this is no weather", "write none, a name, a file, or {p5, median, p95}",
                                 {is_word<Weather>("none", Off{}), is_a<Weather, std::string>(text()),
                                  is_a<Weather, Shares>(shares_rows(), "p5")});
  return nested(Rows<V>("variability")
                    .key<&V::seed>("seed", maybe(seed()), "Of the random numbers")
                    .usually("required")
                    .key<&V::iterations>("iterations", whole(1, kMostIterations), "How many")
                    .key<&V::report>("report",
                                     word<Report>({{"median", Report::median}, {"p95", Report::p95}}),
                                     "Which of them")
                    .key<&V::ranks>("ranks", one, "Between ranks")
                    .key<&V::nodes>("nodes", one, "Between nodes")
                    .key<&V::slow>("slow", list(slow()), "Ranks or nodes that are slow now and then")
                    .key<&V::jitter>("jitter", maybe(jitter), "From iteration to iteration")
                    .usually("the trace's")
                    .key<&V::weather>("weather", maybe(weather),
                                      "What a shared fabric gives: a name, a file, none, or shares")
                    .usually("none")
                    .check([](const V& variability, const Cursor& at) {
                      if (!variability.seed && !at.is_partial)
                        refuse(at, "", "random numbers need a seed",
                               "add seed: 1, or --seed 1; the same seed gives the same numbers");
                    }));
}

}  // namespace ddpsim::job

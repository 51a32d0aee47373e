#pragma once
// What tables for people have in common.
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result/sweep_result.hpp"

namespace ddpsim {

enum class TableStyle { text, markdown };

// What a column of an axis is called: the last part of its key says enough, unless another axis ends in it;
// GPUs.
std::string short_title(const std::vector<std::string>& axes, const std::string& key);
// A point's values, of bucket caps what they are: "25 MiB".
std::vector<std::string> axis_cells(const std::vector<std::string>& axes,
                                    const std::vector<std::string>& values, const IterationMetrics& metrics);

// As written, so that it can be typed back: "ddp.bucket_cap 104970241B (100.1 MiB), strategy ddp".
std::string point_name(const std::vector<std::string>& axes, const std::vector<std::string>& values,
                       const IterationMetrics& metrics);

// "1.477 s (1.430–1.564, 80 % sure)"; where nothing is in doubt "1.477 s"; where what is known of such jobs
// lies elsewhere "2.37 s, but 80 % sure of 2.41 s to 3.31 s".
std::string likely_text(const IterationMetrics& metrics);

// Of a cause in tables: "waiting" of what communication makes a step longer at its ends.
std::string_view cause_name(const LossCauseRow& row);

// "15T tokens in 34.2 days, 2.05 million at 2.5 a GPU and hour"; empty: nobody says how long the training is.
std::string training_text(const IterationMetrics& metrics);

std::string ms_text(Seconds time);                      // "12.345"
std::string percent_text(std::optional<double> share);  // "+1.5 %", "-" for none

}  // namespace ddpsim

#pragma once
// The keys of DeepSpeed's ds_config.json.
#include <array>
#include <string_view>

namespace ddpsim {

// Keys of DeepSpeed 0.16.9 (runtime/constants.py, runtime/zero/config.py) that change no step's time, or
// nothing that is simulated.
inline constexpr auto kIgnored = std::to_array<std::string_view>({"optimizer",
                                                                  "scheduler",
                                                                  "gradient_clipping",
                                                                  "steps_per_print",
                                                                  "wall_clock_breakdown",
                                                                  "zero_allow_untested_optimizer",
                                                                  "zero_force_ds_cpu_optimizer",
                                                                  "prescale_gradients",
                                                                  "gradient_predivide_factor",
                                                                  "dump_state",
                                                                  "flops_profiler",
                                                                  "tensorboard",
                                                                  "wandb",
                                                                  "comet",
                                                                  "csv_monitor",
                                                                  "comms_logger",
                                                                  "memory_breakdown",
                                                                  "checkpoint",
                                                                  "dataloader_drop_last",
                                                                  "aio",
                                                                  "nebula",
                                                                  "autotuning",
                                                                  "elasticity",
                                                                  "monitor_config",
                                                                  "sequence_parallel_size",
                                                                  "disable_allgather",
                                                                  "seq_parallel_communication_data_type",
                                                                  "data_efficiency",
                                                                  "curriculum_learning",
                                                                  "eigenvalue",
                                                                  "graph_harvesting",
                                                                  "load_universal_checkpoint",
                                                                  "use_node_local_storage",
                                                                  "activation_checkpointing"});
inline constexpr auto kIgnoredOfZero = std::to_array<std::string_view>(
    {"sub_group_size", "allgather_partitions", "load_from_fp32_weights", "elastic_checkpoint",
     "ignore_unused_parameters", "legacy_stage1", "round_robin_gradients", "memory_efficient_linear",
     "pipeline_loading_checkpoint", "override_module_apply", "log_trace_cache_warnings",
     "stage3_gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save",
     "gather_16bit_weights_on_model_save", "cpu_offload_use_pin_memory", "use_multi_rank_bucket_allreduce",
     "stage3_model_persistence_threshold", "zero_quantized_nontrainable_weights",
     "stage3_module_granularity_threshold"});

}  // namespace ddpsim

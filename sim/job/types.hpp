#pragma once
// Values of keys that several sections have: releases of NCCL and PyTorch, types of numbers.
#include "sim/ddp/reduction_plan.hpp"
#include "sim/keys/table.hpp"
#include "sim/nccl/transport.hpp"
#include "sim/nccl/version.hpp"

namespace ddpsim::job {

// A release whose constants are known. Throws InputError.
nccl::Version as_nccl_version(const config::Value& value);

keys::Type<nccl::Version> nccl_version();
keys::Type<TorchVersion> torch_version();
keys::Type<DType> training_dtype();  // fp32, bf16, fp16
// Up to where NCCL uses peer-to-peer: true and false are NCCL_P2P_LEVEL=SYS and NCCL_P2P_DISABLE=1.
keys::Type<std::optional<nccl::PathLevel>> peer_to_peer();
// An error at a key of the section that is read; "": at the section.
[[noreturn]] void refuse(const keys::Cursor& at, std::string_view key, std::string_view message,
                         std::string_view hint);

}  // namespace ddpsim::job

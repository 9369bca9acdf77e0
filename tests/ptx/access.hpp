// Addresses of a warp, checked: what is wrong is said with the lane.
#pragma once

#include "warp.hpp"

#include <cstddef>
#include <cstdint>

namespace ptx {

void aligned(const warp& w, int lane, std::uint64_t address, std::size_t to);

const std::byte* global_to_read(warp& w, int lane, std::uint64_t address, std::size_t bytes);
std::byte* global_to_write(warp& w, int lane, std::uint64_t address, std::size_t bytes);

/// The place of a shared address within its block's memory.
std::size_t shared_offset(const warp& w, int lane, std::uint64_t address, std::size_t bytes);
void shared_has_arrived(const warp& w, int lane, std::size_t at, std::size_t bytes);
/// Through the generic proxy.
std::byte* shared_to_write(warp& w, int lane, std::size_t at, std::size_t bytes);

/// The async proxy is about to read or write these bytes.
void other_proxy(warp& w, int lane, std::size_t at, std::size_t bytes);

}  // namespace ptx

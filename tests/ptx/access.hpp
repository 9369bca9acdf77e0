// Addresses of a warp, checked: what is wrong is said with the lane.
#pragma once

#include "warp.hpp"

#include <cstddef>
#include <cstdint>

namespace ptx {

void aligned(const warp& w, int lane, std::uint64_t address, std::size_t to);

const std::byte* global_to_read(warp& w, int lane, std::uint64_t address, std::size_t bytes);
std::byte* global_to_write(warp& w, int lane, std::uint64_t address, std::size_t bytes);
/// An asynchronous copy reads these bytes now, or did at any time since it was asked for.
void global_has_stood(warp& w, moment asked, const mark& m, const std::byte* p, std::size_t bytes);

/// The place of a shared address within its block's memory.
std::size_t shared_offset(const warp& w, int lane, std::uint64_t address, std::size_t bytes);
void shared_has_arrived(const warp& w, int lane, std::size_t at, std::size_t bytes);
const std::byte* shared_to_read(warp& w, int lane, std::size_t at, std::size_t bytes);
std::byte* shared_to_write(warp& w, int lane, std::size_t at, std::size_t bytes);

}  // namespace ptx

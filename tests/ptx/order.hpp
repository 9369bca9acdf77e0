// What happens before what. Of every four bytes the last accesses are kept with their moments; of
// every thread, up to which moment it knows what the others did: a vector clock. Two threads'
// accesses of a byte, one of them a write, are a race if the later one does not know the earlier:
// then they could have come in the other order.
//
// In the PTX ISA the lanes that bar.warp.sync names know behind it what each of them did,
// the threads of a block behind bar.sync; who has seen a phase of an mbarrier complete, or waited
// at the cluster's barrier, knows what came before its arrivals. Shuffles and other instructions
// with .sync order no memory. The async proxy (bulk copies, wgmma) sees what threads wrote if a
// fence.proxy.async stands between; what they only read needs none.
//
// Grids are ordered by griddepcontrol.wait, which ends when the grid before has ended and its
// writes are visible, and by launches that are not programmatic. launch_dependents makes nothing
// visible.
#pragma once

#include "program.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ptx {

struct warp;
struct block;

/// A count within the stream; one ends where something is handed over.
using moment = std::uint32_t;
/// A warp of its grid by its number, its tensor cores, or the bulk copies that complete on one
/// mbarrier.
using party = std::uint32_t;
/// A cluster of a stream: its grid's number, and its first block in the lowest 24 bits.
using cluster_number = std::uint32_t;
/// Grids of a stream, a bit each by their number. Bit 0: all that ran before.
using grids = std::uint32_t;
inline constexpr std::size_t most_launches = 15;

inline cluster_number number_of_cluster(unsigned grid, int first_block) {
    return grid << 24 | static_cast<cluster_number>(first_block);
}
inline unsigned grid_of(cluster_number c) { return c >> 24; }

struct vector_clock {
    using row = std::array<moment, warp_lanes>;
    moment floor = 0;  ///< up to here every thread of the block is known
    std::vector<std::pair<party, row>> rows = {};  ///< who is known further, lane by lane

    moment of(party who, int lane) const;
    row& at(party who);
    void merge(const vector_clock& other);
};

struct knowledge {
    vector_clock generic, async;  ///< what either proxy sees

    void merge(const knowledge& other);
};

enum class proxy : std::uint8_t { generic, async };

struct mark {
    moment when = 0;
    lanes who = 0;
    party of = 0;
    cluster_number in = 0;
    std::uint32_t instruction = 0;
    std::uint32_t bytes = 0;  ///< which of four, a bit each
    std::uint32_t next = 0;
};

/// The last writes, and the reads since: of a word a list of each.
class history {
  public:
    explicit history(std::size_t bytes) : words_(bytes / 4 + 2) {}

    /// The first write, or read, of these bytes for which f holds; null if there is none.
    template <class F>
    const mark* find_write(std::size_t at, std::size_t bytes, F f) const {
        return find(&word::writes, at, bytes, f);
    }
    template <class F>
    const mark* find_read(std::size_t at, std::size_t bytes, F f) const {
        return find(&word::reads, at, bytes, f);
    }

    /// Reads up to the moment `settled` are known to all; by other clusters of a grid, one of each
    /// byte is enough.
    void read(const mark& m, std::size_t at, std::size_t bytes, moment settled);
    void write(const mark& m, std::size_t at, std::size_t bytes);

  private:
    struct word {
        std::uint32_t writes = 0, reads = 0;  ///< first marks
    };

    /// f(index of a word, which of its bytes) for each.
    template <class F>
    static void each_word(std::size_t at, std::size_t bytes, F f) {
        for (const std::size_t end = at + bytes; at < end;) {
            const std::size_t within = at % 4, count = std::min(4 - within, end - at);
            f(at / 4, ((1u << count) - 1) << within);
            at += count;
        }
    }
    template <class F>
    const mark* find(std::uint32_t word::*list, std::size_t at, std::size_t bytes, F f) const {
        const mark* found = nullptr;
        each_word(at, bytes, [&](std::size_t i, std::uint32_t which) {
            for (std::uint32_t n = words_[i].*list; n != 0; n = marks_[n].next)
                if ((marks_[n].bytes & which) != 0 && found == nullptr && f(marks_[n]))
                    found = &marks_[n];
        });
        return found;
    }
    void read_word(std::uint32_t& list, const mark& m, moment settled);
    void forget(std::uint32_t& list, std::uint32_t bytes);
    void push(std::uint32_t& list, const mark& m);
    void drop(std::uint32_t& link);

    std::vector<word> words_;
    std::vector<mark> marks_ = std::vector<mark>(1);  ///< 0 ends a list
    std::uint32_t free_ = 0;
};

/// Bytes of a memory that has a history.
struct site {
    history& past;
    std::size_t at, bytes;
    const std::byte* global;  ///< null: shared memory
};

/// What lanes do now, at an instruction of the program.
mark mark_of(const warp& w, lanes who, const instruction& i);
mark mark_of_tensor_cores(const warp& w, const instruction& i);
/// The mark of a copy that completes on the mbarrier at this place.
mark mark_of_copy(const block& b, std::uint32_t barrier, const instruction& i);

/// Fail if an access of the site does not follow all that it must.
void check_read(const warp& w, lanes who, const site& s, proxy by = proxy::generic);
void check_write(const warp& w, lanes who, const site& s, proxy by = proxy::generic);
/// The same, and it is made.
void read(const warp& w, lanes who, const site& s);
void write(const warp& w, lanes who, const site& s);
/// By tensor cores, for all lanes.
void read_by_tensor_cores(const warp& w, const site& s);
/// What was asked for at a moment has been read: now, or at any time since.
void read_since(const warp& w, moment asked, const mark& m, const site& s);

void meet(warp& w, lanes which);  ///< bar.warp.sync
void meet(block& b);              ///< bar.sync
/// Hands over what the lanes know and did.
void release(const warp& w, lanes which, knowledge& to);
void acquire(warp& w, lanes which, const knowledge& from);
void acquire_tensor_cores(warp& w);
void arrive_at_cluster(const warp& w, lanes which);
void fence_proxies(warp& w, lanes which);

}  // namespace ptx

// Weight streams on the host executor: bytes arrive at the wait, and the protocol is watched.
#include "launch.hpp"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace catena_test;
using catena::copy_method, catena::filled_rows;

namespace {

constexpr int piece = 64;  // bytes of a stage
constexpr int stages = 3;
constexpr catena::launch_config config{.threads = 64, .shared_bytes = 2 * stages * (piece + 8)};

/// A source of `pieces` pieces per warp, and a shared ring; a case does wrong what its test is
/// about.
struct ring {
    host_device device;
    unsigned char* source =
        device.allocate<unsigned char>("weights", 2 * 8 * piece, memory::constant);

    ring() { std::iota(source, source + 2 * 8 * piece, static_cast<unsigned char>(0)); }
};

template <copy_method M, class Use>
auto with_stream(const unsigned char* source, Use use) {
    return [=](host& x) {
        auto* to = x.shared<unsigned char>(2 * stages * piece) + x.warp() * stages * piece;
        auto stream = x.stream<M, stages>();
        use(x, stream, to, source + x.warp() * 8 * piece);
    };
}

/// Fills stage `s` with piece `i`.
constexpr auto fill = [](auto& stream, unsigned char* to, const unsigned char* from, int s, int i) {
    stream.begin(s, piece);
    stream.copy(to + s * piece, from + i * piece, piece);
    stream.commit(s);
};

template <copy_method M>
void streams_every_piece(std::uint64_t seed) {
    ring r;
    r.device.set_seed(seed);
    auto* y = r.device.allocate<unsigned char>("y", 2 * 8 * piece, memory::uninitialized);
    passes(r.device, config,
           with_stream<M>(r.source, [=](host& x, auto& stream, auto* to, auto* from) {
               for (int i = 0; i < stages; ++i) fill(stream, to, from, i, i);
               for (int i = 0, s = 0; i < 8; ++i, s = (s + 1) % stages) {
                   stream.wait(s);
                   for (int b = x.lane(); b < piece; b += 32)
                       x.store(y + (x.warp() * 8 + i) * piece + b,
                               x.load(to + s * piece + (b ^ 1)));
                   stream.release(s);
                   if (i + stages < 8) fill(stream, to, from, s, i + stages);
               }
           }));
    for (int i = 0; i < 2 * 8 * piece; ++i) REQUIRE(y[i] == r.source[i ^ 1]);
}

}  // namespace

TEST_CASE("a stream delivers every piece, by every method, in any order of threads") {
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
        streams_every_piece<copy_method::plain>(seed);
        streams_every_piece<copy_method::async>(seed);
        streams_every_piece<copy_method::bulk>(seed);
    }
}

template <copy_method M>
void fills_rows() {
    ring r;
    constexpr int all = 48;
    auto* y = r.device.allocate<unsigned char>("y", 2 * all, memory::uninitialized);
    passes(r.device, config,
           with_stream<M>(r.source, [=](host& x, auto& stream, auto* to, auto* from) {
               const int row = x.lane() % 2;  // the second, of half the size, lies in front
               stream.template fill<filled_rows{2, 32, false}>(0, to, from + 32 * (1 - row),
                                                               row == 1 ? 16 : 32);
               stream.wait(0);
               for (int b = x.lane(); b < all; b += 32)
                   x.store(y + x.warp() * all + b, x.load(to + b));
           }));
    for (int i = 0; i < 2 * all; ++i) CHECK(y[i] == r.source[i / all * 8 * piece + (i % all ^ 32)]);
}

TEST_CASE("a fill brings the rows that lanes ask for") {
    fills_rows<copy_method::plain>();
    fills_rows<copy_method::async>();
    fills_rows<copy_method::bulk>();
}

/// Every lane brings a piece of its own, of so many bytes.
template <copy_method M>
auto copies_own(const ring& r, int bytes) {
    return with_stream<M>(r.source, [bytes](host& x, auto& stream, auto* to, auto* from) {
        const int at = x.lane() % (piece / bytes) * bytes;
        const int own = x.lane() < piece / bytes ? bytes : 0;
        stream.begin(0, piece);
        stream.copy_own(to + at, from + piece - bytes - at, own);
        stream.commit(0);
        stream.wait(0);
        if (own != 0) CHECK(x.load(to + at + 1) == from[piece - bytes - at + 1]);
        stream.release(0);
    });
}

TEST_CASE("a lane copies 16 bytes of its own, and by cp.async words") {
    ring r;
    passes(r.device, config, copies_own<copy_method::plain>(r, 16));
    passes(r.device, config, copies_own<copy_method::bulk>(r, 16));
    passes(r.device, config, copies_own<copy_method::async>(r, 16));
    passes(r.device, config, copies_own<copy_method::async>(r, 4));
    CHECK(says(caught(r.device, fault::stream, config, copies_own<copy_method::bulk>(r, 4)),
               "copies 4 bytes, which is no multiple of 16"));
    CHECK(says(caught(r.device, fault::stream, config, copies_own<copy_method::async>(r, 8)),
               "copies 8 bytes by one lane: it takes 16, a word, or none"));
}

TEST_CASE("bytes really arrive at the wait, whatever the source holds then") {
    ring r;
    auto* y = r.device.allocate<unsigned char>("y", 2, memory::uninitialized);
    unsigned char* source = r.source;
    passes(r.device, config,
           with_stream<copy_method::bulk>(source, [=](host& x, auto& stream, auto* to, auto* from) {
               fill(stream, to, from, 0, 0);
               x.sync();
               if (x.thread() == 0) source[5] = 99;  // behind the executor's back
               x.sync();
               stream.wait(0);
               if (x.lane() == 0) x.store(y + x.warp(), x.load(to + 5));
               stream.release(0);
           }));
    CHECK(y[0] == 99);
}

TEST_CASE("reading a stage before its wait is caught") {
    ring r;
    const auto body = [&](bool waits) {
        return with_stream<copy_method::async>(r.source,
                                               [=](host& x, auto& stream, auto* to, auto* from) {
                                                   fill(stream, to, from, 0, 0);
                                                   if (waits) stream.wait(0);
                                                   x.load(to + x.lane());
                                                   if (!waits) stream.wait(0);
                                               });
    };
    const finding f = caught(r.device, fault::stream, config, body(false));
    CHECK(says(f, "reads 1 byte at shared array 0 (384 bytes) + " + std::to_string(f.offset)));
    CHECK(says(f, "which a stream copy still brings: wait for its stage first"));
    passes(r.device, config, body(true));
}

TEST_CASE("writing to a stage that is being filled is caught") {
    ring r;
    caught(
        r.device, fault::stream, config,
        with_stream<copy_method::async>(r.source, [=](host& x, auto& stream, auto* to, auto* from) {
            fill(stream, to, from, 0, 0);
            x.store(to + x.lane(), static_cast<unsigned char>(0));
            stream.wait(0);
        }));
}

TEST_CASE("filling a stage that lanes may still read is caught") {
    ring r;
    const finding f = caught(
        r.device, fault::stream, config,
        with_stream<copy_method::bulk>(r.source, [=](host& x, auto& stream, auto* to, auto* from) {
            for (int i = 0; i < stages; ++i) fill(stream, to, from, i, i);
            stream.wait(0);
            x.load(to + x.lane());
            fill(stream, to, from, 0, 3);
        }));
    CHECK(says(f, "begins stage 0, which is not released: wait for it and release it first"));

    // Released, but read after that.
    CHECK(caught(r.device, fault::race, config,
                 with_stream<copy_method::bulk>(r.source,
                                                [=](host& x, auto& stream, auto* to, auto* from) {
                                                    for (int i = 0; i < stages; ++i)
                                                        fill(stream, to, from, i, i);
                                                    stream.wait(0);
                                                    stream.release(0);
                                                    x.load(to + x.lane());
                                                    x.shuffle_xor(1, 1);
                                                    fill(stream, to, from, 0, 3);
                                                }))
              .range == "shared array 0 (384 bytes)");
}

TEST_CASE("ragged and misaligned copies are caught, except by plain streams") {
    ring r;
    const auto body = [&]<copy_method M>(int shift, int bytes) {
        return with_stream<M>(r.source, [=](host&, auto& stream, auto* to, auto* from) {
            stream.begin(0, bytes);
            stream.copy(to + shift % 2, from + shift, bytes);
            stream.commit(0);
            stream.wait(0);
        });
    };
    CHECK(says(caught(r.device, fault::stream, config, body.operator()<copy_method::bulk>(0, 24)),
               "begins a fill of 24 bytes, which is no multiple of 16"));
    CHECK(says(caught(r.device, fault::stream, config, body.operator()<copy_method::bulk>(8, 32)),
               "copies from an address that is no multiple of 16"));
    CHECK(says(caught(r.device, fault::stream, config, body.operator()<copy_method::async>(1, 32)),
               "copies to an address that is no multiple of 16"));
    CHECK(says(caught(r.device, fault::stream, config, body.operator()<copy_method::plain>(0, 0)),
               "copies 0 bytes"));
    passes(r.device, config, body.operator()<copy_method::bulk>(16, 32));
    passes(r.device, config, body.operator()<copy_method::plain>(3, 13));
}

TEST_CASE("all lanes bring the rows of a fill in turn, to one place, alike if it says so") {
    ring r;
    constexpr filled_rows alike{2, 32, true}, any{2, 32, false};
    const auto body = [&]<filled_rows Rows>(int odd_one, int bytes, int of_odd, int place = 0) {
        return with_stream<copy_method::bulk>(
            r.source, [=](host& x, auto& stream, auto* to, auto* from) {
                const int row = x.lane() == odd_one ? 1 - x.lane() % 2 : x.lane() % 2;
                stream.template fill<Rows>(0, to + row * place, from + 16 * row,
                                           row == 1 ? of_odd : bytes);
                stream.wait(0);
            });
    };
    const auto stops = [&](const auto& use, const char* what) {
        CHECK(says(caught(r.device, fault::stream, config, use), what));
    };
    passes(r.device, config, body.operator()<alike>(-1, 16, 16));
    passes(r.device, config, body.operator()<any>(-1, 16, 32));
    stops(body.operator()<alike>(9, 16, 16), "lane 9 has no row or another than lane 1");
    stops(body.operator()<any>(-1, 0, 16), "lane 0 has no row");
    stops(body.operator()<any>(-1, 16, 16, 16), "lane 1 wants another place");
    stops(body.operator()<alike>(-1, 16, 32), "lane 1 has another number of bytes");
}

TEST_CASE("a fill of fewer bytes than announced is caught: a GPU would hang") {
    ring r;
    const auto body = [&](int total) {
        return with_stream<copy_method::bulk>(r.source,
                                              [=](host&, auto& stream, auto* to, auto* from) {
                                                  stream.begin(0, total);
                                                  stream.copy(to, from, 32);
                                                  stream.copy(to + 32, from + 32, 16);
                                                  stream.commit(0);
                                                  stream.wait(0);
                                              });
    };
    CHECK(says(caught(r.device, fault::stream, config, body(64)),
               "commits stage 0 with 48 bytes copied where begin announced 64"));
    passes(r.device, config, body(48));
}

TEST_CASE("a copy from outside global memory, or past its stage's array, is caught") {
    ring r;
    const auto body = [&](int from_shift, int to_shift) {
        return with_stream<copy_method::bulk>(
            r.source, [=](host& x, auto& stream, auto* to, auto* from) {
                stream.begin(0, 64);
                stream.copy(to + (x.warp() == 1 ? to_shift : 0),
                            from + (x.warp() == 1 ? from_shift : 0), 64);
                stream.commit(0);
                stream.wait(0);
            });
    };
    const finding f = caught(r.device, fault::out_of_bounds, config, body(7 * piece + 16, 0));
    CHECK(f.thread / 32 == 1);
    CHECK(f.range == "weights (1024 bytes)");
    CHECK(says(f, "reads 64 bytes at weights (1024 bytes) + 976"));
    const finding g = caught(r.device, fault::out_of_bounds, config, body(0, 2 * piece + 16));
    CHECK(says(g, "writes 16 bytes at shared array 0 (384 bytes) + 384"));
    passes(r.device, config, body(7 * piece, 2 * piece));
}

TEST_CASE("a copy that is not from global to shared memory is caught") {
    ring r;
    auto* y = r.device.allocate<unsigned char>("y", piece, memory::initialized);
    const auto body = [&](bool from_shared, bool to_global) {
        return with_stream<copy_method::bulk>(
            r.source, [=](host& x, auto& stream, auto* to, auto* from) {
                if (x.warp() != 0) return;
                for (int i = x.lane(); i < piece; i += 32)
                    x.store(to + piece + i, static_cast<unsigned char>(i));
                x.sync_warp();
                stream.begin(0, piece);
                stream.copy(to_global ? y : to, from_shared ? to + piece : from, piece);
            });
    };
    for (const bool from_shared : {false, true}) {
        const finding f = caught(r.device, fault::stream, config, body(from_shared, !from_shared));
        CHECK(says(f, "copies elsewhere than from global to shared memory"));
    }
}

/// What stops a use of a stream that is wrong.
template <class Use>
finding stopped(Use wrong) {
    ring r;
    return caught(r.device, fault::stream, config,
                  with_stream<copy_method::async>(r.source, wrong));
}

TEST_CASE("stages come in ring order") {
    CHECK(says(
        stopped([](host&, auto& stream, auto* to, auto* from) { fill(stream, to, from, 1, 0); }),
        "begins stage 1 where stage 0 is next"));
    CHECK(says(stopped([](host&, auto& stream, auto* to, auto* from) {
                   fill(stream, to, from, 0, 0);
                   fill(stream, to, from, 1, 1);
                   stream.wait(1);
               }),
               "waits for stage 1 where stage 0 is next"));
    CHECK(says(stopped([](host&, auto& stream, auto*, auto*) { stream.begin(3, 16); }),
               "begins stage 3 of a stream of 3"));
    CHECK(says(stopped([](host&, auto& stream, auto*, auto*) { stream.wait(3); }),
               "waits for stage 3 of a stream of 3"));
}

TEST_CASE("a stage is begun, committed, waited for and released in turn") {
    CHECK(says(stopped([](host&, auto& stream, auto*, auto*) {
                   stream.begin(0, piece);
                   stream.begin(1, piece);
               }),
               "begins stage 1 while stage 0 is being filled: commit that first"));
    CHECK(says(stopped([](host&, auto& stream, auto*, auto*) {
                   stream.begin(0, piece);
                   stream.commit(1);
               }),
               "commits stage 1, which is not being filled: begin it first"));
    CHECK(says(stopped([](host&, auto& stream, auto*, auto*) { stream.wait(0); }),
               "waits for stage 0, which is empty: begin, copy and commit it first"));
    CHECK(says(stopped([](host&, auto& stream, auto*, auto*) {
                   stream.begin(0, piece);
                   stream.wait(0);
               }),
               "waits for stage 0, which is not committed: begin, copy and commit it first"));
    CHECK(says(stopped([](host&, auto& stream, auto*, auto*) { stream.release(0); }),
               "releases stage 0, which is empty"));
    CHECK(says(stopped([](host&, auto& stream, auto* to, auto* from) {
                   fill(stream, to, from, 0, 0);
                   stream.release(0);
               }),
               "releases stage 0, which is committed and not waited for: release a stage once"));
}

TEST_CASE("rows of different lengths are copied by one call, none longer than promised") {
    ring from_ring;
    const unsigned char* source = from_ring.source;
    host_device& device = from_ring.device;
    auto* y = device.allocate<unsigned char>("y", 64, memory::uninitialized);
    const auto body = [=]<copy_method M>(int longest) {
        return with_stream<M>(source, [=](host& x, auto& stream, auto* to, auto* from) {
            stream.begin(0, 16 + longest);
            stream.template copy_rows<3, 32>([=](int r) -> catena::copied_row {
                return {to + 32 * r, from + 64 * r, r == 0 ? 16 : r == 1 ? 0 : longest};
            });
            stream.commit(0);
            stream.wait(0);
            if (x.warp() != 0) return;
            if (x.lane() < 16) x.store(y + x.lane(), x.load(to + x.lane()));
            x.store(y + 16 + x.lane(), x.load(to + 64 + x.lane()));
        });
    };
    passes(device, config, body.operator()<copy_method::bulk>(32));
    for (int i = 0; i < 48; ++i) CHECK(y[i] == source[i < 16 ? i : 128 + i - 16]);
    CHECK(says(caught(device, fault::stream, config, body.operator()<copy_method::async>(48)),
               "copies a row of 48 bytes where it promised at most 32"));
}

TEST_CASE("a block must not end with a fill under way") {
    ring r;
    const finding f = caught(
        r.device, fault::stream, config,
        with_stream<copy_method::bulk>(r.source, [=](host& x, auto& stream, auto* to, auto* from) {
            fill(stream, to, from, 0, 0);
            if (x.warp() == 0) stream.wait(0);
        }));
    CHECK(f.thread == 32);
    CHECK(says(f, "returns while its warp's stream still fills stage 0"));
}

TEST_CASE("every lane makes every stream call") {
    ring r;
    for (const int lane : {0, 4, 31})
        CHECK(says(caught(r.device, fault::stream, config,
                          with_stream<copy_method::async>(
                              r.source,
                              [=](host& x, auto& stream, auto* to, auto* from) {
                                  if (x.lane() != lane) fill(stream, to, from, 0, 0);
                                  stream.wait(0);
                              })),
                   "for which lane " + std::to_string(lane) + " has not made every call"));
    CHECK(says(caught(r.device, fault::stream, config,
                      with_stream<copy_method::async>(
                          r.source,
                          [=](host& x, auto& stream, auto* to, auto* from) {
                              fill(stream, to, from + 16 * (x.lane() / 31), 0, 0);
                              stream.wait(0);
                          })),
               "makes another stream call than a lane before it"));
}

TEST_CASE("a stage is read by the stream's own warp only") {
    ring r;
    caught(
        r.device, fault::race, config,
        with_stream<copy_method::bulk>(r.source, [=](host& x, auto& stream, auto* to, auto* from) {
            fill(stream, to, from, 0, 0);
            stream.wait(0);
            x.shuffle_xor(1, 1);  // by now both warps have waited for their own
            x.load(to + (x.warp() == 0 ? stages * piece : -stages * piece));
        }));
}

TEST_CASE("weights may stream before grid_wait, an activation may not") {
    for (const memory kind : {memory::constant, memory::initialized}) {
        host_device device;
        auto* source = device.allocate<unsigned char>("source", 2 * 8 * piece, kind);
        const auto body = with_stream<copy_method::bulk>(
            source, [=](host& x, auto& stream, auto* to, auto* from) {
                fill(stream, to, from, 0, 0);
                x.grid_wait();
                stream.wait(0);
            });
        catena::launch_config dependent = config;
        dependent.dependent = true;
        if (kind == memory::constant)
            passes(device, dependent, body);
        else
            CHECK(says(caught(device, fault::grid_order, dependent, body), "before grid_wait"));
    }
}

TEST_CASE("the barriers of a bulk stream take shared memory") {
    ring r;
    catena::launch_config small = config;
    small.shared_bytes = 2 * stages * piece;
    const auto body = [&]<copy_method M>() {
        return with_stream<M>(r.source, [=](host&, auto& stream, auto* to, auto* from) {
            fill(stream, to, from, 0, 0);
            stream.wait(0);
        });
    };
    caught(r.device, fault::shared_memory, small, body.operator()<copy_method::bulk>());
    passes(r.device, small, body.operator()<copy_method::async>());
}

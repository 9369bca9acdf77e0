// The bytes of a graph file: plain text, or gzip by its first two bytes.
#include "bytes.hpp"

#include "catena/engine/json.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE::json {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 18;

struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

/// A file, a chunk at a time.
class source {
  public:
    explicit source(const std::string& path) : path_(path), bytes_(chunk) {
        errno = 0;
        file_.reset(std::fopen(path.c_str(), "rb"));
        if (!file_) fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
    }

    [[noreturn]] void fail(const std::string& sentence) const {
        throw error(path_, no_tensor, "", sentence);
    }

    /// Makes at least `wanted` bytes ready, fewer at the end of the file; returns how many are.
    std::size_t fill(std::size_t wanted) {
        if (ready() >= wanted) return ready();
        std::copy(next(), next() + ready(), bytes_.data());
        end_ -= std::exchange(begin_, 0);
        while (end_ < wanted) {
            const std::size_t got =
                std::fread(bytes_.data() + end_, 1, bytes_.size() - end_, file_.get());
            if (std::ferror(file_.get()) != 0)
                fail(fmt::format("cannot be read: {}", std::strerror(errno)));
            if (got == 0) break;
            end_ += got;
        }
        return ready();
    }
    const unsigned char* next() const { return bytes_.data() + begin_; }
    std::size_t ready() const { return end_ - begin_; }
    void skip(std::size_t count) { begin_ += count; }

    /// Do the next bytes begin a gzip file, or another member of one?
    bool at_gzip() { return fill(2) >= 2 && next()[0] == 0x1f && next()[1] == 0x8b; }

  private:
    const std::string& path_;
    std::unique_ptr<std::FILE, closer> file_;
    std::vector<unsigned char> bytes_;
    std::size_t begin_ = 0, end_ = 0;
};

/// The text so far. It never grows far beyond its limit, whatever a file unpacks to.
class sink {
  public:
    explicit sink(const source& from) : from_(from) {}

    void add(const unsigned char* bytes, std::size_t count) {
        if (count > most_text - text.size())
            from_.fail(
                fmt::format("has more than {} MB of text, the most that is read: write a "
                            "file of fewer layers",
                            most_text >> 20));
        text.append(reinterpret_cast<const char*>(bytes), count);
    }

    std::string text;

  private:
    const source& from_;
};

/// Unpacks one member after the other: a gzip file may have several.
class unpacker {
  public:
    explicit unpacker(source& from) : from_(from), bytes_(chunk) {
        if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc{};
    }
    unpacker(const unpacker&) = delete;
    unpacker& operator=(const unpacker&) = delete;
    ~unpacker() { inflateEnd(&stream_); }

    void member(sink& to) {
        inflateReset(&stream_);
        for (int code = Z_OK; code != Z_STREAM_END;) {
            const std::size_t packed = from_.fill(1);
            stream_.next_in = const_cast<unsigned char*>(from_.next());
            stream_.avail_in = static_cast<unsigned>(packed);
            stream_.next_out = bytes_.data();
            stream_.avail_out = static_cast<unsigned>(chunk);
            code = inflate(&stream_, Z_NO_FLUSH);
            from_.skip(packed - stream_.avail_in);
            to.add(bytes_.data(), chunk - stream_.avail_out);
            if (code == Z_BUF_ERROR && packed == 0)
                from_.fail(
                    fmt::format("expected a whole gzip file, but it ends early, after {} "
                                "bytes of text",
                                to.text.size()));
            if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
                from_.fail(fmt::format("expected a sound gzip file, but zlib says: {}",
                                       stream_.msg == nullptr ? zError(code) : stream_.msg));
        }
    }

  private:
    source& from_;
    std::vector<unsigned char> bytes_;
    z_stream stream_ = {};
};

}  // namespace

std::string bytes_of(const std::string& path) {
    source from(path);
    sink to(from);
    const bool packed = from.at_gzip();
    if (packed) {
        unpacker unpack(from);
        while (from.at_gzip()) unpack.member(to);
        if (from.fill(1) != 0)
            from.fail(
                fmt::format("expected the end of the file behind {} bytes of gzip text, "
                            "found other bytes: remove them",
                            to.text.size()));
    }
    while (from.fill(1) != 0) {
        to.add(from.next(), from.ready());
        from.skip(from.ready());
    }
    return std::move(to.text);
}

}  // namespace CATENA_NAMESPACE::json

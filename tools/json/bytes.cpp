// The bytes of a graph file: plain text or gzip, told apart by zlib.
#include "bytes.hpp"

#include "catena/engine/json.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace catena::json {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 20;
constexpr std::size_t most = std::size_t{1}
                             << 30;  // a graph of a million tensors takes half of this

struct closer {
    void operator()(gzFile_s* file) const { gzclose(file); }
};

}  // namespace

std::string bytes_of(const std::string& path) {
    errno = 0;
    const std::unique_ptr<gzFile_s, closer> file{gzopen(path.c_str(), "rb")};
    if (!file)
        throw error(path, no_tensor, "", fmt::format("cannot be opened: {}", std::strerror(errno)));
    std::string all;
    for (;;) {
        const std::size_t before = all.size();
        all.resize(before + chunk);
        const int got = gzread(file.get(), all.data() + before, static_cast<unsigned>(chunk));
        int code = Z_OK;
        const char* why = gzerror(file.get(), &code);
        if (code == Z_BUF_ERROR)
            throw error(path, no_tensor, "",
                        fmt::format("expected a whole gzip file, but it ends early, after {} bytes "
                                    "of text",
                                    before + static_cast<std::size_t>(got > 0 ? got : 0)));
        if (code == Z_ERRNO)
            throw error(path, no_tensor, "",
                        fmt::format("cannot be read: {}", std::strerror(errno)));
        if (code != Z_OK || got < 0)
            throw error(path, no_tensor, "",
                        fmt::format("expected a sound gzip file, but zlib says: {}", why));
        all.resize(before + static_cast<std::size_t>(got));
        if (got == 0) return all;
        if (all.size() > most)
            throw error(path, no_tensor, "",
                        fmt::format("expected at most {} bytes of text", most));
    }
}

}  // namespace catena::json

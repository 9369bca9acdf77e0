#include "text_file.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace catena::tool {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (fs::is_directory(path) || (!in && fs::exists(path)))
        throw std::runtime_error(path.string() + " cannot be read: name a file that you may read");
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_text(const fs::path& path, const std::string& content) {
    if (path.has_parent_path()) fs::create_directories(path.parent_path());
    const fs::path beside = path.string() + ".new";
    {
        std::ofstream out(beside, std::ios::binary | std::ios::trunc);
        out << content;
        out.flush();
        if (!out) {
            std::error_code ignored;
            fs::remove(beside, ignored);
            throw std::runtime_error("cannot write " + beside.string() +
                                     ": check the folder's permissions and the space left");
        }
    }
    fs::rename(beside, path);
}

}  // namespace catena::tool

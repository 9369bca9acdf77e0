#include "files.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace catena::generator {

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

std::vector<difference> compare(const std::vector<rendered_file>& files, const fs::path& root) {
    std::vector<difference> found;
    for (const rendered_file& file : files) {
        if (!fs::exists(root / file.path))
            found.push_back({difference::kind::missing, file.path});
        else if (read_text(root / file.path) != file.content)
            found.push_back({difference::kind::changed, file.path});
    }
    const auto rendered = [&](const std::string& path) {
        return std::any_of(files.begin(), files.end(),
                           [&](const rendered_file& f) { return f.path == path; });
    };
    for (const char* top : {"include/catena/instances", "instances"}) {
        if (!fs::exists(root / top)) continue;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
            const std::string path = entry.path().lexically_relative(root).generic_string();
            if (entry.is_regular_file() && !rendered(path) && is_stamped(read_text(entry.path())))
                found.push_back({difference::kind::stale, path});
        }
    }
    std::sort(found.begin(), found.end(),
              [](const difference& a, const difference& b) { return a.path < b.path; });
    return found;
}

std::vector<difference> update(const std::vector<rendered_file>& files, const fs::path& root) {
    const std::vector<difference> found = compare(files, root);
    for (const difference& d : found) {
        if (d.what == difference::kind::stale) {
            fs::remove(root / d.path);
            continue;
        }
        const auto file = std::find_if(files.begin(), files.end(),
                                       [&](const rendered_file& f) { return f.path == d.path; });
        write_text(root / d.path, file->content);
    }
    return found;
}

std::string sentence(const difference& d) {
    switch (d.what) {
        case difference::kind::missing:
            return d.path + " is missing";
        case difference::kind::changed:
            return d.path + " differs";
        case difference::kind::stale:
            return d.path + " is stale";
    }
    return d.path;
}

}  // namespace catena::generator

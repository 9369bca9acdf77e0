#include "files.hpp"

#include "text_file.hpp"

#include <algorithm>

namespace catena::generator {

namespace fs = std::filesystem;

std::vector<difference> compare(const std::vector<rendered_file>& files, const fs::path& root) {
    std::vector<difference> found;
    for (const rendered_file& file : files) {
        if (!fs::exists(root / file.path))
            found.push_back({difference::kind::missing, file.path});
        else if (tool::read_text(root / file.path) != file.content)
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
            if (entry.is_regular_file() && !rendered(path) &&
                is_stamped(tool::read_text(entry.path())))
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
        tool::write_text(root / d.path, file->content);
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

#include "synthetic.hpp"

#include <ggml.h>
#include <gguf.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <istream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace catena::ab {
namespace {

constexpr std::int64_t unit =
    256;  // values that are drawn together: a super-block, or smaller ones
constexpr std::size_t pool_units = 4096;

struct weights {
    ggml_type type;
    float mean, deviation;
    auto key() const { return std::tuple(type, mean, deviation); }
};

struct closed {
    void operator()(std::FILE* f) const { std::fclose(f); }
    void operator()(gguf_context* g) const { gguf_free(g); }
    void operator()(ggml_context* c) const { ggml_free(c); }
};

/// The facts of a recipe, its tensors without data, and what their weights are like.
struct described {
    std::unique_ptr<gguf_context, closed> facts{gguf_init_empty()};
    std::unique_ptr<ggml_context, closed> context{
        ggml_init({ggml_tensor_overhead() * 8192, nullptr, true})};
    std::vector<std::pair<ggml_tensor*, weights>> tensors;
};

ggml_type type_named(const std::string& name) {
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const auto type = static_cast<ggml_type>(t);
        const char* known = ggml_type_name(type);
        if (known != nullptr && name == known && ggml_blck_size(type) > 0) return type;
    }
    throw std::runtime_error("ggml knows no type '" + name + "'");
}

void read_tensor(std::istream& in, const std::string& name, described& to) {
    std::string type;
    weights w{};
    in >> type >> w.mean >> w.deviation;
    w.type = type_named(type);
    std::vector<std::int64_t> sizes;
    for (std::int64_t n = 0; in >> n;) sizes.push_back(n);
    const bool valid = !sizes.empty() && sizes.size() <= GGML_MAX_DIMS &&
                       *std::min_element(sizes.begin(), sizes.end()) > 0 &&
                       sizes[0] % ggml_blck_size(w.type) == 0;
    if (!valid) throw std::runtime_error("sizes that a tensor of " + type + " cannot have");
    ggml_tensor* t =
        ggml_new_tensor(to.context.get(), w.type, static_cast<int>(sizes.size()), sizes.data());
    ggml_set_name(t, name.c_str());
    gguf_add_tensor(to.facts.get(), t);
    to.tensors.emplace_back(t, w);
}

template <class T>
T value(std::istream& in) {
    T out{};
    if (!(in >> out)) throw std::runtime_error("a value is missing");
    return out;
}

std::string rest_of_line(std::istream& in) {
    std::string out;
    if (!std::getline(in >> std::ws, out)) throw std::runtime_error("a value is missing");
    return out;
}

void read_line(const std::string& line, described& to) {
    std::istringstream in(line);
    std::string what, name;
    in >> what >> name;
    gguf_context* g = to.facts.get();
    if (what == "tensor")
        read_tensor(in, name, to);
    else if (what == "str")
        gguf_set_val_str(g, name.c_str(), rest_of_line(in).c_str());
    else if (what == "u32")
        gguf_set_val_u32(g, name.c_str(), value<std::uint32_t>(in));
    else if (what == "f32")
        gguf_set_val_f32(g, name.c_str(), value<float>(in));
    else if (what == "i32s") {
        std::vector<std::int32_t> all;
        for (std::int32_t v = 0; in >> v;) all.push_back(v);
        gguf_set_arr_data(g, name.c_str(), GGUF_TYPE_INT32, all.data(), all.size());
    } else
        throw std::runtime_error("'" + what + "' is no kind of line");
}

described read(std::istream& recipe) {
    described out;
    int number = 0;
    for (std::string line; std::getline(recipe, line);) {
        ++number;
        try {
            read_line(line, out);
        } catch (const std::runtime_error& e) {
            throw std::runtime_error("line " + std::to_string(number) +
                                     " of the recipe: " + e.what());
        }
    }
    if (out.tensors.empty()) throw std::runtime_error("the recipe has no tensors");
    return out;
}

/// Units of random weights as bytes. Rows are put together of units that are drawn at random: long
/// rows are all different, though few weights are quantized.
class unit_pools {
  public:
    /// `bytes` of whole blocks, to `out`; the last unit may be cut.
    void draw(const weights& w, std::size_t bytes, std::vector<char>& out) {
        const std::vector<char>& pool = pool_of(w);
        const std::size_t size = pool.size() / pool_units;
        for (std::size_t done = 0; done < bytes; done += size) {
            const char* from = pool.data() + random_() % pool_units * size;
            out.insert(out.end(), from, from + std::min(size, bytes - done));
        }
    }

  private:
    std::mt19937 random_{1};
    std::map<std::tuple<ggml_type, float, float>, std::vector<char>> pools_;

    const std::vector<char>& pool_of(const weights& w) {
        std::vector<char>& pool = pools_[w.key()];
        if (!pool.empty()) return pool;
        std::normal_distribution<float> normal(w.mean, w.deviation);
        std::vector<float> values(pool_units * unit);
        for (float& v : values) v = normal(random_);
        pool.resize(pool_units * ggml_row_size(w.type, unit));
        ggml_quantize_chunk(w.type, values.data(), pool.data(), 0, pool_units, unit, nullptr);
        return pool;
    }
};

void write_bytes(std::FILE* to, const std::vector<char>& bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), to) != bytes.size())
        throw std::runtime_error(std::string("cannot be written: ") + std::strerror(errno));
}

void write_data(const described& model, std::FILE* to) {
    constexpr std::size_t buffered = std::size_t{16} << 20;
    unit_pools pools;
    for (const auto& [tensor, w] : model.tensors) {
        const std::size_t row = ggml_row_size(tensor->type, tensor->ne[0]);
        const std::size_t padding = GGML_PAD(ggml_nbytes(tensor), GGUF_DEFAULT_ALIGNMENT);
        std::vector<char> bytes;
        for (std::int64_t r = 0; r < ggml_nrows(tensor); ++r) {
            pools.draw(w, row, bytes);
            if (bytes.size() < buffered) continue;
            write_bytes(to, bytes);
            bytes.clear();
        }
        bytes.resize(bytes.size() + padding - ggml_nbytes(tensor));
        write_bytes(to, bytes);
    }
}

void write_all(const described& model, const std::string& file) {
    const std::unique_ptr<std::FILE, closed> to(std::fopen(file.c_str(), "wb"));
    if (!to) throw std::runtime_error(std::string("cannot be made: ") + std::strerror(errno));
    std::vector<char> head(gguf_get_meta_size(model.facts.get()));
    gguf_get_meta_data(model.facts.get(), head.data());
    write_bytes(to.get(), head);
    write_data(model, to.get());
    if (std::fflush(to.get()) != 0)
        throw std::runtime_error(std::string("cannot be written: ") + std::strerror(errno));
}

}  // namespace

void write_model(std::istream& recipe, const std::string& file) {
    const described model = read(recipe);
    const std::string part = file + ".part";
    try {
        write_all(model, part);
        if (std::rename(part.c_str(), file.c_str()) != 0)
            throw std::runtime_error(std::string("cannot be made: ") + std::strerror(errno));
    } catch (const std::runtime_error& e) {
        std::remove(part.c_str());
        throw std::runtime_error(file + ": " + e.what());
    }
}

}  // namespace catena::ab

#include "compiled_rows.hpp"

#include "host_machine.hpp"
#include "ptx_machine.hpp"
#include "sweep.hpp"

#include "catena/pick/name.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

namespace catena_test {

namespace {

void run_row(const catena::table& host, int row, const ptx::program& code, std::size_t every) {
    const catena::row& r = host.rows[row];
    std::uint64_t seed = static_cast<std::uint64_t>(row);
    const std::uint32_t most_shared = most_shared_bytes();
    instance compiled{
        r.computes,
        r.policy,
        &code,
        [&seed, most_shared] { return std::make_unique<ptx_machine>(seed++, most_shared); },
        host.target->dependent_launch,
        most_shared};
    compiled.ops = host.ops;
    if (host.kernels[row] == nullptr || bits_of_device(r.computes))
        return sweep(compiled, nullptr, every);
    instance peer = on_host(r.computes, r.policy, host.kernels[row], row_name(host, row));
    peer.most_shared = most_shared;
    peer.ops = host.ops;
    sweep(compiled, &peer, every);
}

}  // namespace

std::uint32_t most_shared_bytes() {
    return static_cast<std::uint32_t>(catena::arch_named("sm_90")->shared_per_block);
}

ptx::module read_ptx(const std::string& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return ptx::parse(text.str());
}

std::string entry_of(const catena::table& t, int row) {
    std::string name = "catena_" + row_name(t, row);
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}

int row_of_entry(const catena::table& t, const std::string& entry) {
    for (int i = 0; i < t.row_count; ++i) {
        const std::string name = entry_of(t, i);
        // An engine's kernels have the name of their set behind that.
        if (entry == name || entry.starts_with(name + "_")) return i;
    }
    return -1;
}

int run_compiled(const catena::table& host, const std::vector<std::string>& files,
                 std::size_t every) {
    int kernels = 0;
    for (const std::string& file : files) {
        const ptx::module m = read_ptx(file);
        for (const ptx::function& f : m.functions) {
            if (!f.entry) continue;
            INFO(file << ": " << f.name);
            const int row = row_of_entry(host, f.name);
            REQUIRE(row >= 0);
            run_row(host, row, ptx::bind(m, f.name), every);
            ++kernels;
        }
    }
    return kernels;
}

}  // namespace catena_test

// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 8d21bc6cd921aac2.
// The table of the host set, and the list of all host kernels.
#include "catena/instances/host.hpp"

#include "catena/instances/host_instance.hpp"

namespace catena::instances {

namespace {

constexpr row rows[] = {
#include "rows.inc"
};

constexpr lowered_chain chains[] = {
#include "../chains.inc"
};

}  // namespace

namespace host_matvec_q4_0_0 { extern const host_instance kernels[8]; }
namespace host_matvec_q4_K_0 { extern const host_instance kernels[8]; }
namespace host_matvec_q4_K_1 { extern const host_instance kernels[8]; }
namespace host_matvec_q4_K_2 { extern const host_instance kernels[5]; }
namespace host_matvec_q4_K_q6_K_0 { extern const host_instance kernels[8]; }
namespace host_matvec_q6_K_0 { extern const host_instance kernels[8]; }
namespace host_matvec_q8_0_0 { extern const host_instance kernels[8]; }
namespace host_row_0 { extern const host_instance kernels[8]; }
namespace host_row_1 { extern const host_instance kernels[8]; }
#if CATENA_EVERY_ROW
namespace host_other_matvec_q4_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matvec_q4_0_1 { extern const host_instance kernels[5]; }
namespace host_other_matvec_q4_K_q6_K_0 { extern const host_instance kernels[8]; }
namespace host_other_matvec_q4_K_q6_K_1 { extern const host_instance kernels[5]; }
namespace host_other_matvec_q6_K_0 { extern const host_instance kernels[8]; }
namespace host_other_matvec_q6_K_1 { extern const host_instance kernels[5]; }
namespace host_other_matvec_q8_0_0 { extern const host_instance kernels[8]; }
namespace host_other_matvec_q8_0_1 { extern const host_instance kernels[5]; }
#endif

const host_family host_families[] = {
    {host_matvec_q4_0_0::kernels, 8},
    {host_matvec_q4_K_0::kernels, 8},
    {host_matvec_q4_K_1::kernels, 8},
    {host_matvec_q4_K_2::kernels, 5},
    {host_matvec_q4_K_q6_K_0::kernels, 8},
    {host_matvec_q6_K_0::kernels, 8},
    {host_matvec_q8_0_0::kernels, 8},
    {host_row_0::kernels, 8},
    {host_row_1::kernels, 8},
#if CATENA_EVERY_ROW
    {host_other_matvec_q4_0_0::kernels, 8},
    {host_other_matvec_q4_0_1::kernels, 5},
    {host_other_matvec_q4_K_q6_K_0::kernels, 8},
    {host_other_matvec_q4_K_q6_K_1::kernels, 5},
    {host_other_matvec_q6_K_0::kernels, 8},
    {host_other_matvec_q6_K_1::kernels, 5},
    {host_other_matvec_q8_0_0::kernels, 8},
    {host_other_matvec_q8_0_1::kernels, 5},
#endif
};
const int host_family_count = sizeof(host_families) / sizeof(host_family);

table host() {
    table t;
    t.target = arch_named("host");
    t.rows = rows;
    t.row_count = 56;
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
    return on_host(t);
}

}  // namespace catena::instances

// ggml's enumerations in Catena's words. Matched by name, so that one source serves every version
// of ggml; a type whose blocks have another size than the registry says is unknown, whatever its
// name.
#pragma once

#include "catena/format/format.hpp"
#include "catena/match/graph.hpp"
#include "catena/match/op_name.hpp"

#include <ggml.h>

namespace CATENA_NAMESPACE::ggml {

class vocabulary {
  public:
    /// The words of the ggml that this program is linked with; built on first use.
    static const vocabulary& of_ggml() {
        static const vocabulary words;
        return words;
    }

    op kind(ggml_op o) const { return kinds_[o]; }
    format type(ggml_type t) const { return types_[t]; }

    /// The function of a UNARY or a GLU.
    sub_op sub(const ggml_tensor& t) const {
        return t.op == GGML_OP_GLU ? glus_[ggml_get_glu_op(&t)] : unaries_[ggml_get_unary_op(&t)];
    }

  private:
    op kinds_[GGML_OP_COUNT];
    format types_[GGML_TYPE_COUNT];
    sub_op unaries_[GGML_UNARY_OP_COUNT];
    sub_op glus_[GGML_GLU_OP_COUNT];

    vocabulary() {
        for (int i = 0; i < GGML_OP_COUNT; ++i)
            kinds_[i] = op_named(ggml_op_name(static_cast<ggml_op>(i)));
        for (int i = 0; i < GGML_UNARY_OP_COUNT; ++i)
            unaries_[i] = sub_op_named(ggml_unary_op_name(static_cast<ggml_unary_op>(i)));
        for (int i = 0; i < GGML_GLU_OP_COUNT; ++i)
            glus_[i] = sub_op_named(ggml_glu_op_name(static_cast<ggml_glu_op>(i)));
        for (int i = 0; i < GGML_TYPE_COUNT; ++i) types_[i] = type_of(static_cast<ggml_type>(i));
    }

    static format type_of(ggml_type t) {
        const char* name = ggml_type_name(t);
        if (name == nullptr) return format::unknown;  // a number that is no longer used
        const format f = format_named(name);
        const bool same = info(f).block_elements == ggml_blck_size(t) &&
                          static_cast<std::size_t>(info(f).block_bytes) == ggml_type_size(t);
        return same ? f : format::unknown;
    }
};

}  // namespace CATENA_NAMESPACE::ggml

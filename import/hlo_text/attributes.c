/* The table of attributes and the words that their values have. */
#include "import/hlo_text/attributes.h"

#include <string.h>

#define OF(id) OPCODE_COUNT, HLO_HAS_##id
#define ONLY(id) OPCODE_##id, 0
#define ANY OPCODE_COUNT, ~0u

const struct hlo_attribute_row hlo_attributes[HLO_ATTRIBUTE_COUNT] = {
#define ATTRIBUTE(name, owner, need, kind, field) \
    {name, owner, HLO_NEED_##need, HLO_KIND_##kind, offsetof(struct hlo_fields, field)},
#include "import/hlo_text/attributes.def"
};

const char *const hlo_words_direction[] = {"EQ", "NE", "LT", "LE", "GT", "GE", NULL};
const char *const hlo_words_comparison[] = {"", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", NULL};
const char *const hlo_words_precision[] = {"default", "high", "highest", NULL};
const char *const hlo_words_solve[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT", NULL};
const char *const hlo_words_fft[] = {"FFT", "IFFT", "RFFT", "IRFFT", NULL};
const char *const hlo_words_random[] = {"rng_uniform", "rng_normal", "rng_default",
                                        "rng_three_fry", "rng_philox", NULL};
const char *const hlo_words_fusion[] = {"kLoop", "kInput", "kOutput", "kCustom", NULL};

static bool is_owner(const struct hlo_attribute_row *row, enum hlo_opcode op)
{
    return row->op == OPCODE_COUNT ? row->group == ~0u || (row->group & hlo_opcode_attributes(op))
                                   : row->op == op;
}

int hlo_attribute_find(enum hlo_opcode op, const char *name, size_t length)
{
    for (int row = 0; row < HLO_ATTRIBUTE_COUNT; row++) {
        const struct hlo_attribute_row *a = &hlo_attributes[row];

        if (a->name[0] == name[0] && strncmp(a->name, name, length) == 0 && a->name[length] == 0
            && is_owner(a, op))
            return row;
    }
    return -1;
}

bool hlo_attribute_is_owned(int row, enum hlo_opcode op)
{
    if (!is_owner(&hlo_attributes[row], op))
        return false;
    for (int before = row - 1; before >= 0; before--) {
        const struct hlo_attribute_row *b = &hlo_attributes[before];

        if (is_owner(b, op) && strcmp(b->name, hlo_attributes[row].name) == 0)
            return false;
    }
    return true;
}

void hlo_fields_of(struct hlo_fields *f, const struct hlo_instruction *i)
{
    *f = (struct hlo_fields){
        .i = *i, .d = *hlo_detail(i), .conv = {.feature_groups = 1, .batch_groups = 1}};
    if (hlo_detail(i)->gather)
        f->gather = *hlo_detail(i)->gather;
    if (hlo_detail(i)->dot)
        f->dot = *hlo_detail(i)->dot;
    if (hlo_detail(i)->conv)
        f->conv = *hlo_detail(i)->conv;
    if (hlo_detail(i)->groups)
        f->groups = *hlo_detail(i)->groups;
}

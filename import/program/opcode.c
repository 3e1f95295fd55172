/* What opcodes.def says of each operation, and operations by their names. */
#include "import/program/program.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum {
    NONE = 0,
#define HAS(name) name = HLO_HAS_##name
    HAS(INDEX), HAS(LITERAL), HAS(DIMS), HAS(SLICE), HAS(PADDING), HAS(SIZES), HAS(GATHER),
    HAS(DOT), HAS(PRECISION), HAS(WINDOW), HAS(CONV), HAS(COMPARISON), HAS(BITS), HAS(EPSILON),
    HAS(SOLVE), HAS(FFT), HAS(RANDOM), HAS(FUSION), HAS(TARGET), HAS(GROUPS)
#undef HAS
};

static const struct opcode_row {
    const char *name, *stablehlo;
    int arity, computations;
    unsigned attributes;
} rows[OPCODE_COUNT] = {
#define OPCODE(id, name, stablehlo, arity, computations, attributes) \
    [OPCODE_##id] = { name, stablehlo, arity, computations, attributes },
#include "import/program/opcodes.def"
};

const char *hlo_opcode_name(enum hlo_opcode op)
{
    return rows[op].name ? rows[op].name : rows[op].stablehlo;
}

const char *hlo_opcode_stablehlo_name(enum hlo_opcode op) { return rows[op].stablehlo; }
int hlo_opcode_arity(enum hlo_opcode op) { return rows[op].arity; }
int hlo_opcode_computations(enum hlo_opcode op) { return rows[op].computations; }
unsigned hlo_opcode_attributes(enum hlo_opcode op) { return rows[op].attributes; }

/* Of 150 names one is found by its first letters: few are compared whole. */
static bool is_name(const char *candidate, const char *name, size_t length)
{
    return candidate && length && candidate[0] == name[0] && strlen(candidate) == length &&
           memcmp(candidate, name, length) == 0;
}

enum hlo_opcode hlo_opcode_find(const char *name, size_t length)
{
    int op = 0;

    while (op < OPCODE_COUNT && !is_name(rows[op].name, name, length))
        op++;
    return (enum hlo_opcode)op;
}

enum hlo_opcode hlo_opcode_find_stablehlo(const char *name, size_t length)
{
    int op = 0;

    while (op < OPCODE_COUNT && !is_name(rows[op].stablehlo, name, length))
        op++;
    return (enum hlo_opcode)op;
}

struct near_text hlo_opcode_nearest(const char *name, size_t length)
{
    const char *names[OPCODE_COUNT];
    char whole[64];
    size_t count = 0;

    for (int op = 0; op < OPCODE_COUNT; op++) {
        if (rows[op].name)
            names[count++] = rows[op].name;
    }
    snprintf(whole, sizeof(whole), "%.*s", length < 60 ? (int)length : 60, name);
    return text_did_you_mean(whole, names, count);
}

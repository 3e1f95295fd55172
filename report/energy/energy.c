/* Multiplies each operation's count by its energy in femtojoules, scaled to the chip's process. */
#include "report/energy/energy.h"

#include "base/units.h"
#include "isa/matrix.h"

#include <math.h>
#include <string.h>

#define LANES 1024                      /* elements of 32 bits in a vector register */
#define TILE_BYTES (LANES * 4)

static const struct constant {
    int64_t at_45nm, at_7nm;
} constants[ENERGY_CONSTANT_COUNT] = {
#define ENERGY(id, name, at_45nm, at_7nm, source) {at_45nm, at_7nm},
#include "report/energy/energy.def"
};

static const struct component {
    const char *key, *name, *meaning;
} components[ENERGY_COMPONENT_COUNT] = {
    [ENERGY_OF_MXU_BF16] = {"mxu_bf16", "MXU bf16",
        "products of f32 and bf16 rows: bf16 multiply, f32 add"},
    [ENERGY_OF_MXU_INT8] = {"mxu_int8", "MXU int8",
        "products of int8 rows: int8 multiply, int32 add"},
    [ENERGY_OF_MXU_INT4] = {"mxu_int4", "MXU int4",
        "products of int4 rows: int4 multiply, int32 add"},
    [ENERGY_OF_MXU_FP8]  = {"mxu_fp8", "MXU fp8",
        "products of fp8 rows: fp8 multiply, f32 add"},
    [ENERGY_OF_MXU_DATA] = {"mxu_data", "MXU data", "weights into the arrays, results out of them"},
    [ENERGY_OF_VPU]      = {"vpu", "VPU", "arithmetic of the vector ALUs"},
    [ENERGY_OF_EUP]      = {"eup", "EUP", "transcendental elements"},
    [ENERGY_OF_XLU]      = {"xlu", "XLU", "reductions and permutes across lanes"},
    [ENERGY_OF_VREG]     = {"vreg", "vector registers", "operands read and written"},
    [ENERGY_OF_VMEM]     = {"vmem", "VMEM", "vector loads and stores, and the VMEM side of copies"},
    [ENERGY_OF_CMEM]     = {"cmem", "CMEM", "loads from it and copies"},
    [ENERGY_OF_SCALAR]   = {"scalar", "scalar", "scalar arithmetic and SMEM"},
    [ENERGY_OF_FETCH]    = {"fetch", "instructions", "bundles read from instruction memory"},
    [ENERGY_OF_HBM]      = {"hbm", "HBM", "bytes read and written"},
    [ENERGY_OF_ICI]      = {"ici", "ICI", "bytes on the wire, each hop"},
};

const char *energy_component_name(enum energy_component c) { return components[c].name; }
const char *energy_component_key(enum energy_component c) { return components[c].key; }
const char *energy_component_meaning(enum energy_component c) { return components[c].meaning; }

/* ---- the process ---- */

/* Where 45 nm has no figure: as much more than at 7 nm as this one. */
static const struct { enum energy_constant of, like; } alike[] = {
    {ENERGY_BF16_ADD, ENERGY_F32_ADD}, {ENERGY_BF16_MUL, ENERGY_F32_MUL},
    {ENERGY_FP8_MUL, ENERGY_F32_MUL}, {ENERGY_INT4_MUL, ENERGY_INT8_MUL},
    {ENERGY_EUP, ENERGY_F32_MUL}, {ENERGY_VREG_BYTE, ENERGY_SMEM_BYTE},
};

static double growth_to_45nm(enum energy_constant c)
{
    for (size_t i = 0; i < COUNT_OF(alike); i++)
        if (alike[i].of == c)
            c = alike[i].like;
    if (constants[c].at_45nm == 0)      /* HBM and links: as published, whatever the core's node */
        return 1.0;
    return (double)constants[c].at_45nm / (double)constants[c].at_7nm;
}

void energy_costs_of(const struct chip *chip, struct energy_costs *c)
{
    double share = log(chip->energy_node_nm / 7.0) / log(45.0 / 7.0);

    *c = (struct energy_costs){.node_nm = chip->energy_node_nm,
                               .is_node_assumed = chip->energy_node_assumed != 0,
                               .bundle_bytes = chip->core_bundle_bytes,
                               .tdp_w = chip->energy_tdp_w,
                               .measured = strcmp(chip->energy_measured, "-") == 0
                                           ? "" : chip->energy_measured};
    for (int i = 0; i < ENERGY_CONSTANT_COUNT; i++)
        c->fj[i] = llround((double)constants[i].at_7nm *
                           pow(growth_to_45nm((enum energy_constant)i), share));
}

/* ---- one operation ---- */

static enum energy_constant arithmetic_of(const char *mnemonic)
{
    bool is_product = strstr(mnemonic, "mul") != NULL;

    if (strstr(mnemonic, ".bf16"))
        return is_product ? ENERGY_BF16_MUL : ENERGY_BF16_ADD;
    if (strstr(mnemonic, ".f32"))
        return is_product ? ENERGY_F32_MUL : ENERGY_F32_ADD;
    return is_product ? ENERGY_INT32_MUL : ENERGY_INT32_ADD;
}

/* two of 16 bits for each of 32 */
static int64_t elements_of(const char *mnemonic)
{
    return strstr(mnemonic, ".bf16") && !strstr(mnemonic, ".f32") ? 2 * LANES : LANES;
}

static int64_t vector_operands(const struct isa_info *info, const struct isa_op *op)
{
    int64_t count = 0;

    for (int i = 0; i < op->operand_count; i++)
        count += isa_role_file(info->role[i]) == STATE_V && op->operand[i].kind == OPERAND_REG;
    return count;
}

static void cost_matrix(const struct energy_costs *c, const struct chip *chip,
                        const struct isa_op *op, struct energy *e)
{
    static const struct { enum energy_component component; enum energy_constant product, sum; }
    by_type[MATRIX_TYPE_COUNT] = {
        [MATRIX_F32] = {ENERGY_OF_MXU_BF16, ENERGY_BF16_MUL, ENERGY_F32_ADD},
        [MATRIX_BF16] = {ENERGY_OF_MXU_BF16, ENERGY_BF16_MUL, ENERGY_F32_ADD},
        [MATRIX_S8] = {ENERGY_OF_MXU_INT8, ENERGY_INT8_MUL, ENERGY_INT32_ADD},
        [MATRIX_U8] = {ENERGY_OF_MXU_INT8, ENERGY_INT8_MUL, ENERGY_INT32_ADD},
        [MATRIX_S4] = {ENERGY_OF_MXU_INT4, ENERGY_INT4_MUL, ENERGY_INT32_ADD},
        [MATRIX_U4] = {ENERGY_OF_MXU_INT4, ENERGY_INT4_MUL, ENERGY_INT32_ADD},
        [MATRIX_F8E5M2] = {ENERGY_OF_MXU_FP8, ENERGY_FP8_MUL, ENERGY_F32_ADD},
        [MATRIX_F8E4M3B11FNUZ] = {ENERGY_OF_MXU_FP8, ENERGY_FP8_MUL, ENERGY_F32_ADD},
        [MATRIX_F8E4M3FN] = {ENERGY_OF_MXU_FP8, ENERGY_FP8_MUL, ENERGY_F32_ADD},
    };
    struct matrix_op m = matrix_op_of_isa(op);

    if (m.kind == MATRIX_MULTIPLY)
        e->fj[by_type[m.type].component] =
            matrix_rows(m.type) * chip->mxu_size * chip->mxu_size *
            (c->fj[by_type[m.type].product] + c->fj[by_type[m.type].sum]);
    else if (m.kind != MATRIX_GIVE_UP)
        e->fj[ENERGY_OF_MXU_DATA] = TILE_BYTES * c->fj[ENERGY_VREG_BYTE];
}

static void cost_scalar(const struct energy_costs *c, const struct isa_info *info,
                        struct energy *e)
{
    e->fj[ENERGY_OF_SCALAR] = c->fj[arithmetic_of(info->mnemonic)];
    if (info->latency_class == CLASS_SLD || info->latency_class == CLASS_SST)
        e->fj[ENERGY_OF_SCALAR] += 4 * c->fj[ENERGY_SMEM_BYTE];
}

/* what goes across lanes passes a register on either side; a reduction adds */
static void cost_lanes(const struct energy_costs *c, const char *mnemonic, struct energy *e)
{
    e->fj[ENERGY_OF_XLU] = 2 * TILE_BYTES * c->fj[ENERGY_VREG_BYTE];
    if (strstr(mnemonic, ".xlane"))
        e->fj[ENERGY_OF_XLU] += elements_of(mnemonic) * c->fj[arithmetic_of(mnemonic)];
}

struct energy energy_of_op(const struct energy_costs *c, const struct chip *chip,
                           const struct isa_op *op)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    struct energy e = {{0}};
    char mnemonic[ISA_PATTERN_MAX];
    bool is_pop = info->slot == SLOT_POP;

    isa_print_op_mnemonic(op, mnemonic, sizeof(mnemonic));
    e.fj[ENERGY_OF_VREG] = vector_operands(info, op) * TILE_BYTES * c->fj[ENERGY_VREG_BYTE];
    if (info->slot == SLOT_CMEM)
        e.fj[ENERGY_OF_CMEM] = TILE_BYTES * c->fj[ENERGY_VMEM_BYTE];
    else if (info->unit == UNIT_MXU)
        cost_matrix(c, chip, op, &e);
    else if (info->unit == UNIT_LOAD || info->unit == UNIT_STORE)
        e.fj[ENERGY_OF_VMEM] = TILE_BYTES * c->fj[ENERGY_VMEM_BYTE];
    else if (info->unit == UNIT_VALU)
        e.fj[ENERGY_OF_VPU] = elements_of(mnemonic) * c->fj[arithmetic_of(mnemonic)];
    else if (info->unit == UNIT_EUP && !is_pop)
        e.fj[ENERGY_OF_EUP] = elements_of(mnemonic) * c->fj[ENERGY_EUP];
    else if (info->unit == UNIT_XLU && !is_pop)
        cost_lanes(c, mnemonic, &e);
    else if (info->unit == UNIT_SCALAR)
        cost_scalar(c, info, &e);
    return e;
}

/* ---- sums ---- */

void energy_add(const struct energy *one, int64_t count, struct energy *sum)
{
    for (int i = 0; i < ENERGY_COMPONENT_COUNT; i++)
        sum->fj[i] += count * one->fj[i];
}

void energy_add_fetch(const struct energy_costs *c, int64_t bundles, struct energy *sum)
{
    sum->fj[ENERGY_OF_FETCH] += bundles * c->bundle_bytes * c->fj[ENERGY_IMEM_BYTE];
}

void energy_add_copies(const struct energy_costs *c, int64_t vmem_bytes, int64_t cmem_bytes,
                       int64_t hbm_bytes, int64_t ici_bytes, struct energy *sum)
{
    sum->fj[ENERGY_OF_VMEM] += vmem_bytes * c->fj[ENERGY_VMEM_BYTE];
    sum->fj[ENERGY_OF_CMEM] += cmem_bytes * c->fj[ENERGY_VMEM_BYTE];
    sum->fj[ENERGY_OF_HBM] += hbm_bytes * c->fj[ENERGY_HBM_BYTE];
    sum->fj[ENERGY_OF_ICI] += ici_bytes * c->fj[ENERGY_ICI_BYTE];
}

int64_t energy_total_fj(const struct energy *e)
{
    int64_t sum = 0;

    for (int i = 0; i < ENERGY_COMPONENT_COUNT; i++)
        sum += e->fj[i];
    return sum;
}

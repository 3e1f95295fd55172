/*
 * Checks each operation of a program against what a chip has: units, slots, types, ranges of
 * immediates, registers.
 */
#include "isa/check.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where an operation stands, for messages. */
struct site {
    const struct isa_program *program;
    const struct isa_limits *limits;
    uint32_t bundle;
    const struct isa_op *op;
};

static int violation(const struct site *s, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int violation(const struct site *s, struct err *e, const char *fmt, ...)
{
    char msg[300];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    if (!s->program->bundle)            /* one operation alone */
        return err_at(e, s->program->name, 0, 0, "%s", msg);
    return err_at(e, s->program->name, (int)s->program->bundle[s->bundle].line, 0,
                  "bundle %" PRIu32 ": %s", s->bundle, msg);
}

/* The mnemonic as written, unit and choices included. */
static const char *op_name(const struct site *s, char buf[ISA_NAME_MAX])
{
    return isa_print_op_mnemonic(s->op, buf, ISA_NAME_MAX);
}

/* violation() by an operation: its name comes first */
static int op_violation(const struct site *s, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int op_violation(const struct site *s, struct err *e, const char *fmt, ...)
{
    char msg[200], name[ISA_NAME_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    return violation(s, e, "%s: %s", op_name(s, name), msg);
}

/* Ranges of immediates that have one, by format and operand. */
static const struct imm_range {
    enum isa_format format;
    int operand;
    int64_t lo, hi, multiple;
    const char *name;
} imm_ranges[] = {
    { ISA_FMT_SLD,     2, 0, INT32_MAX, 4, "smem offset" },
    { ISA_FMT_SST,     1, 0, INT32_MAX, 4, "smem offset" },
    { ISA_FMT_VLD,     3, 0, 64, 1,        "sublane stride" },
    { ISA_FMT_VLD,     4, 0, 255, 1,       "sublane mask" },
    { ISA_FMT_VST,     2, 0, 64, 1,        "sublane stride" },
    { ISA_FMT_VST,     3, 0, 255, 1,       "sublane mask" },
    { ISA_FMT_VST_MSK, 2, 0, 64, 1,        "sublane stride" },
    { ISA_FMT_VST_MSK, 3, 0, 255, 1,       "sublane mask" },
    { ISA_FMT_VLD_IAR, 3, 0, 255, 1,       "sublane mask" },
    { ISA_FMT_VST_IAR, 2, 0, 255, 1,       "sublane mask" },
    { ISA_FMT_CLD,     2, 0, 64, 1,        "sublane stride" },
    { ISA_FMT_CLD,     3, 0, 255, 1,       "sublane mask" },
    { ISA_FMT_VLD_SSHFL, 3, 0, 64, 1,      "sublane stride" },
    { ISA_FMT_VLD_SSHFL, 4, 0, 255, 1,     "sublane mask" },
    { ISA_FMT_VST_SSHFL, 2, 0, 64, 1,      "sublane stride" },
    { ISA_FMT_VST_SSHFL, 3, 0, 255, 1,     "sublane mask" },
    { ISA_FMT_M_NI,    1, 0, 1, 1,         "mask value" },
    { ISA_FMT_M_I,     1, 0, 0xfffff, 1,   "packed mask bounds" },
    { ISA_FMT_V_I,     1, 0, 383, 1,       "broadcast lane" },
    { ISA_FMT_DELAY,   0, 0, INT32_MAX, 1, "delay" },
    { ISA_FMT_DMA,     1, 1, INT32_MAX, 1, "size in granules" },
    { ISA_FMT_DMA,     6, 0, INT32_MAX, 1, "steps per stride" },
    { ISA_FMT_DMA_DESC, 1, 0, INT32_MAX, 4, "smem offset" },
    { ISA_FMT_DMA_REM, 1, 1, INT32_MAX, 1, "size in granules" },
    { ISA_FMT_DMA_REM, 5, 0, INT32_MAX, 1, "core" },
    { ISA_FMT_SYNC_R,  2, 0, INT32_MAX, 1, "core" },
    { ISA_FMT_E_FC,    2, 0, INT32_MAX, 1, "core" },
};

static int check_transpose_width(const struct site *s, struct err *e)
{
    int32_t width = s->op->operand[1].value;
    int rows = isa_xpose_rows(s->op->operand[ISA_XPOSE_TYPE].value);

    if (width < rows || width > 128 || width % rows != 0)
        return op_violation(s, e, "transpose width %" PRId32 " (multiples of %d, %d..128)", width,
                            rows, rows);
    return 0;
}

static int check_immediate(const struct site *s, int index, struct err *e)
{
    const struct isa_info *info = isa_info((enum isa_opcode)s->op->code);
    int64_t value = s->op->operand[index].value;

    if (info->role[index] == 'L' && (value < 0 || value >= s->program->bundle_count))
        return op_violation(s, e, "branch to bundle %" PRId64 " (0..%" PRIu32 ")", value,
                            s->program->bundle_count - 1);
    if (info->role[index] == 'F' && (value < 0 || value >= s->limits->flag_count))
        return op_violation(s, e, "sync flag %" PRId64 " (0..%d)", value,
                            s->limits->flag_count - 1);
    if (info->role[index] == 'R' && ((uint32_t)value & 0x88888888u))
        return op_violation(s, e, "sublane pattern 0x%08" PRIx32 " (a digit 0..7 per sublane)",
                            (uint32_t)value);
    if (info->format == ISA_FMT_XPOSE && index == 1)
        return check_transpose_width(s, e);
    for (size_t i = 0; i < COUNT_OF(imm_ranges); i++) {
        const struct imm_range *r = &imm_ranges[i];

        if (r->format != info->format || r->operand != index)
            continue;
        if (value < r->lo || value > r->hi || value % r->multiple != 0)
            return op_violation(s, e, "%s %" PRId64 " (%s%" PRId64 "..%" PRId64 ")", r->name,
                                value, r->multiple == 4 ? "multiples of 4, " : "", r->lo, r->hi);
    }
    return 0;
}

static int check_kind(const struct site *s, int index, struct err *e)
{
    char role = isa_info((enum isa_opcode)s->op->code)->role[index];

    if (!isa_operand_allowed((enum isa_opcode)s->op->code, index, &s->op->operand[index]))
        return op_violation(s, e, "operand o%d is no %s", index, isa_role_meaning(role));
    return 0;
}

/* kinds of all operands and the choices are in order: ranges may depend on choices */
static int check_operand(const struct site *s, int index, struct err *e)
{
    const struct isa_info *info = isa_info((enum isa_opcode)s->op->code);
    const struct isa_operand *o = &s->op->operand[index];
    char role = info->role[index];

    if (isa_lacks_base(s->op, index))
        return op_violation(s, e, "operand o%d is an index register without a base register",
                            index);
    if (o->kind == OPERAND_REG && isa_role_file(role) == STATE_V &&
        o->value >= s->limits->vreg_count)
        return op_violation(s, e, "v%" PRId32 ", the chip has v0..v%d", o->value,
                            s->limits->vreg_count - 1);
    return o->kind == OPERAND_IMM ? check_immediate(s, index, e) : 0;
}

/* What not every chip has: CMEM, and the arithmetic of these. Matrix units: check_matrix. */
static bool is_packed_bf16(enum isa_opcode code)
{
    return code == OP_VARITH_BF16 || code == OP_VCMP_BF16 || code == OP_VEUP_BF16 ||
           code == OP_VXLANE_BF16;
}

static int check_features(const struct site *s, struct err *e)
{
    enum isa_opcode code = (enum isa_opcode)s->op->code;

    if (isa_touches(code) & (ISA_CMEM | ISA_CRF) && !(s->limits->features & ISA_FEATURE_CMEM) &&
        isa_info(code)->format != ISA_FMT_DMA_DESC)
        return op_violation(s, e, "the chip has no CMEM (cmem.bytes)");
    if (is_packed_bf16(code) && !(s->limits->features & ISA_FEATURE_PACKED_BF16))
        return op_violation(s, e, "the chip has no arithmetic on packed bf16 (valu.bf16)");
    return 0;
}

static int check_matrix_type(const struct site *s, const struct matrix_op *m, struct err *e)
{
    bool is_weights = m->kind == MATRIX_PUSH || m->kind == MATRIX_PREP_WEIGHTS;
    const bool *takes = is_weights ? s->limits->takes_weights : s->limits->takes_rows;
    char list[MATRIX_TYPE_COUNT * 16] = "";

    if (m->kind == MATRIX_POP || m->kind == MATRIX_GIVE_UP || takes[m->type])
        return 0;
    for (int t = 0; t < MATRIX_TYPE_COUNT; t++) {
        if (takes[t])
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", *list ? ", " : "",
                     matrix_type_name((enum matrix_type)t));
    }
    return op_violation(s, e, "the chip takes %s only", list);
}

static int check_accumulator(const struct site *s, const struct matrix_op *m, struct err *e)
{
    int count = s->limits->accumulator_count, last = m->accumulator;

    if (m->kind != MATRIX_MULTIPLY && m->kind != MATRIX_POP)
        return 0;
    if (m->accumulator < 0 && count > 0)
        return op_violation(s, e, "the chip has accumulators, \".mrb[0]\" to \".mrb[%d]\"",
                            count - 1);
    if (m->accumulator < 0)
        return 0;
    if (count == 0)
        return op_violation(s, e, "the chip has no accumulators, results leave through a FIFO");
    if (m->kind == MATRIX_MULTIPLY)
        last += matrix_values_per_word(m->type) - 1;    /* one for every 8 rows */
    if (last >= count)
        return op_violation(s, e, "up to accumulator %d (0..%d)", last, count - 1);
    return 0;
}

static int check_matrix(const struct site *s, struct err *e)
{
    struct matrix_op m = matrix_op_of_isa(s->op);
    bool has_halves = m.uses_prep || m.kind == MATRIX_PREP_WEIGHTS || m.kind == MATRIX_PREP_ROWS;

    if (has_halves && s->limits->mxu_size < 256)
        return op_violation(s, e, "only 256-wide arrays have halves, the chip's are %d wide",
                            s->limits->mxu_size);
    if (check_accumulator(s, &m, e))
        return -1;
    return check_matrix_type(s, &m, e);
}

static int check_unit(const struct site *s, struct err *e)
{
    const char *suffix = isa_unit_suffix((enum isa_opcode)s->op->code);
    int count = isa_info((enum isa_opcode)s->op->code)->unit == UNIT_MXU ? s->limits->mxu_count
                                                                        : s->limits->xlu_count;

    if (!suffix && s->op->unit_index > 0)
        return op_violation(s, e, "unit %d of an operation that has none", s->op->unit_index);
    if (suffix && s->op->unit_index >= count)
        return op_violation(s, e, "the chip has %s0..%s%d", suffix, suffix, count - 1);
    return 0;
}

/* operands that may be left out, all of them */
static int check_tail(const struct site *s, struct err *e)
{
    const struct isa_info *info = isa_info((enum isa_opcode)s->op->code);
    const struct isa_operand *operand = s->op->operand;

    for (int i = info->tail_first; i < info->choice_first; i++) {
        if ((operand[i].kind == OPERAND_NONE) != (operand[info->tail_first].kind == OPERAND_NONE))
            return op_violation(s, e, "operands o%d to o%d stand together or not at all",
                                info->tail_first, info->choice_first - 1);
    }
    return 0;
}

static int check_op(const struct site *s, struct err *e)
{
    const struct isa_op *op = s->op;
    const struct isa_info *info;

    if (op->code >= OP_COUNT)
        return violation(s, e, "operation code %d (0..%d)", op->code, OP_COUNT - 1);
    info = isa_info((enum isa_opcode)op->code);
    if (op->operand_count != info->operand_count)
        return op_violation(s, e, "%d operands, it takes %d", op->operand_count,
                            info->operand_count);
    if (op->pred == ISA_PRED_ALWAYS ? op->pred_is_negated : op->pred >= ISA_PRED_COUNT)
        return op_violation(s, e, "guard %sp%d (p0..p%d)", op->pred_is_negated ? "!" : "",
                            op->pred, ISA_PRED_COUNT - 1);
    if (check_unit(s, e))
        return -1;
    for (int i = 0; i < op->operand_count; i++) {
        if (check_kind(s, i, e))
            return -1;
    }
    for (int i = 0; i < op->operand_count; i++) {
        if (check_operand(s, i, e))
            return -1;
    }
    if (check_tail(s, e) || check_features(s, e))
        return -1;
    return info->unit == UNIT_MXU ? check_matrix(s, e) : 0;
}

/* Adds to `buf` why the misc slot is taken by (or takes) one more of a slot's operations. */
static void explain_lent(const struct isa_slots *slots, enum isa_slot slot, char *buf,
                         size_t buf_bytes)
{
    static const char *const ordinals[] = { "first", "second", "third", "fourth", "fifth" };
    size_t length = strlen(buf);

    snprintf(buf + length, buf_bytes - length, "%s the misc slot serves as the %s %s",
             length ? "," : "", ordinals[slots->count[slot]], isa_slot_name(slot));
}

/* What else took slots of the kind of which there are too few; "" if nothing. */
static void explain_slot(const struct isa_slots *slots, enum isa_slot slot,
                         const int ops[SLOT_COUNT], char *buf, size_t buf_bytes)
{
    int dma_takes = slot == SLOT_SCALAR ? slots->dma_scalar :
                    slot == SLOT_MISC ? slots->dma_misc : 0;

    buf[0] = '\0';
    if (slot == SLOT_VALU && ops[SLOT_EUP])
        snprintf(buf, buf_bytes, " an eup operation takes one too");
    if (dma_takes && ops[SLOT_DMA])
        snprintf(buf, buf_bytes, " a dma takes %d", dma_takes);
    if (slots->misc_load && (slot == SLOT_LOAD || slot == SLOT_MISC) &&
        ops[SLOT_LOAD] > slots->count[SLOT_LOAD])
        explain_lent(slots, SLOT_LOAD, buf, buf_bytes);
    if (slots->misc_store && (slot == SLOT_STORE || slot == SLOT_MISC) &&
        ops[SLOT_STORE] > slots->count[SLOT_STORE])
        explain_lent(slots, SLOT_STORE, buf, buf_bytes);
}

static int check_slots(const struct site *s, struct err *e)
{
    const struct isa_slots *slots = &s->limits->slots;
    int ops[SLOT_COUNT], taken[SLOT_COUNT];
    char why[120];

    isa_bundle_ops(s->program, s->bundle, ops);
    isa_slots_take(slots, ops, taken);
    for (int slot = SLOT_COUNT - 1; slot >= 0; slot--) {
        if (taken[slot] <= slots->count[slot])
            continue;
        if (slot == SLOT_LOAD || slot == SLOT_STORE)
            taken[slot] = ops[slot];
        explain_slot(slots, (enum isa_slot)slot, ops, why, sizeof(why));
        return violation(s, e, "%d operation%s for the %s slot, a bundle has %d%s%s%s", taken[slot],
                         taken[slot] == 1 ? "" : "s", isa_slot_name((enum isa_slot)slot),
                         slots->count[slot], why[0] ? " (" : "", why + (why[0] == ' '),
                         why[0] ? ")" : "");
    }
    return 0;
}

/* guards of which exactly one holds */
static bool are_exclusive(const struct isa_op *a, const struct isa_op *b)
{
    return a->pred != ISA_PRED_ALWAYS && a->pred == b->pred &&
           a->pred_is_negated != b->pred_is_negated;
}

/* No operation writes more than one register, and that is its first operand. */
static bool writes_register(const struct isa_op *op, char *class)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    *class = info->role[0];
    return info->operand_count > 0 && strchr("dmeq", info->role[0]);
}

static int check_writes(const struct site *s, struct err *e)
{
    static const char *const prefixes[] = { ['d'] = "v", ['m'] = "vm", ['e'] = "s", ['q'] = "p" };
    const struct isa_bundle *b = &s->program->bundle[s->bundle];
    char name[ISA_NAME_MAX], other_name[ISA_NAME_MAX];

    for (uint32_t i = 0; i < b->op_count; i++) {
        const struct isa_op *one = &s->program->op[b->first_op + i];
        char class, other_class;

        if (!writes_register(one, &class))
            continue;
        for (uint32_t j = 0; j < i; j++) {
            const struct isa_op *other = &s->program->op[b->first_op + j];

            if (writes_register(other, &other_class) && class == other_class &&
                one->operand[0].value == other->operand[0].value && !are_exclusive(one, other))
                return violation(s, e, "%s%" PRId32 " is written twice, by %s and %s",
                                 prefixes[(unsigned char)class], one->operand[0].value,
                                 isa_print_op_mnemonic(other, other_name, sizeof(other_name)),
                                 isa_print_op_mnemonic(one, name, sizeof(name)));
        }
    }
    return 0;
}

static int check_branches(const struct site *s, int64_t *last_branch, struct err *e)
{
    const struct isa_bundle *b = &s->program->bundle[s->bundle];
    int count = 0;

    for (uint32_t i = 0; i < b->op_count; i++)
        count += s->program->op[b->first_op + i].code == OP_SBR;
    if (count == 0)
        return 0;
    if (count > 1)
        return violation(s, e, "%d branches in one bundle (at most 1)", count);
    if (*last_branch >= 0 && s->bundle - *last_branch <= s->limits->branch_delay_bundles)
        return violation(s, e, "a branch in a delay bundle of the branch in bundle %" PRId64,
                         *last_branch);
    *last_branch = s->bundle;
    return 0;
}

static int check_bundle(struct site *s, int64_t *last_branch, struct err *e)
{
    const struct isa_bundle *b = &s->program->bundle[s->bundle];

    if (b->op_count > ISA_BUNDLE_OP_MAX)
        return violation(s, e, "%d operations (at most %d)", b->op_count, ISA_BUNDLE_OP_MAX);
    if ((uint64_t)b->first_op + b->op_count > s->program->op_count)
        return violation(s, e, "operations beyond the program's %" PRIu32, s->program->op_count);
    if (b->note > s->program->note_count)
        return violation(s, e, "note %" PRIu32 " of %" PRIu32, b->note, s->program->note_count);
    for (uint32_t i = 0; i < b->op_count; i++) {
        s->op = &s->program->op[b->first_op + i];
        if (check_op(s, e))
            return -1;
    }
    if (s->limits->is_lenient)
        return 0;
    if (check_slots(s, e) || check_writes(s, e))
        return -1;
    return check_branches(s, last_branch, e);
}

int isa_check_op(const struct isa_program *p, const struct isa_op *op,
                 const struct isa_limits *limits, struct err *e)
{
    struct site s = { .program = p, .limits = limits, .op = op };

    return check_op(&s, e);
}

int isa_check_slots(const struct isa_program *p, uint32_t bundle,
                    const struct isa_limits *limits, struct err *e)
{
    struct site s = { .program = p, .limits = limits, .bundle = bundle };

    return check_slots(&s, e);
}

int isa_check(const struct isa_program *p, const struct isa_limits *limits, struct err *e)
{
    struct site s = { .program = p, .limits = limits };
    int64_t last_branch = -1;

    if (p->bundle_count == 0)
        return err_at(e, p->name, 0, 0, "the program has no bundles");
    for (s.bundle = 0; s.bundle < p->bundle_count; s.bundle++) {
        if (check_bundle(&s, &last_branch, e))
            return -1;
    }
    return 0;
}

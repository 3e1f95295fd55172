/* The commands where, list, core and op show the program around a core, and what a bundle does. */
#include "cli/debug/debug.h"

#include "base/floats.h"
#include "base/text.h"
#include "isa/disasm.h"

#include <string.h>

#define LISTED 11                       /* bundles */
#define LISTED_MAX 1000
#define OP_TEXT_MAX 600

int debug_command_where(struct debugger *d, const struct debug_args *args, struct err *e)
{
    if (debug_expect_end(args->text, e))
        return -1;
    debug_print_end(d);
    debug_print_stop(d);
    return 0;
}

int debug_command_core(struct debugger *d, const struct debug_args *args, struct err *e)
{
    int64_t number = d->core;

    if (debug_parse_only_number(args->text, "the core", 0, d->core_count - 1, &number, e))
        return -1;
    d->core = (int)number;
    debug_print_stop(d);
    return 0;
}

/* ---- list ---- */

static void print_listed(const struct debugger *d, const struct isa_program *p, uint32_t bundle,
                         bool is_next)
{
    for (uint32_t i = 0; i < p->symbol_count; i++)
        if (p->symbol[i].bundle == bundle)
            fprintf(d->out, "%s:\n", p->symbol[i].name);
    fprintf(d->out, "%s%6u %6u %12s %12s  ", is_next ? "=>" : "  ", (unsigned)bundle,
            (unsigned)p->bundle[bundle].line,
            text_thousands(machine_bundle_count(d->m, d->core, bundle)).text,
            text_thousands(machine_bundle_stall(d->m, d->core, bundle)).text);
    debug_print_bundle(p, bundle, 43, d->out);
}

/* around a place, or so many bundles from there on */
int debug_command_list(struct debugger *d, const struct debug_args *args, struct err *e)
{
    const struct isa_program *p = machine_program(d->m, d->core);
    const char *at = args->text;
    char word[DEBUG_WORD_MAX];
    int64_t count = LISTED;
    uint32_t first, next;
    struct core_view v;

    if (!p)
        return err_set(e, "core %d has no program", d->core);
    machine_core(d->m, d->core, &v);
    next = v.bundle < p->bundle_count ? v.bundle : p->bundle_count - 1;
    first = next;
    if (debug_next_word(&at, word) && debug_find_bundle(d, d->core, word, &first, e))
        return -1;
    word[0] = '\0';
    if (*debug_skip_space(at)) {
        if (debug_parse_only_number(at, "the count", 1, LISTED_MAX, &count, e))
            return -1;
    } else {
        first = first > LISTED / 2 ? first - LISTED / 2 : 0;
    }
    fprintf(d->out, "  bundle   line        times       stalls\n");
    for (uint32_t i = first; i < p->bundle_count && i < first + count; i++)
        print_listed(d, p, i, i == v.bundle);
    return 0;
}

/* ---- op: the operations of a bundle with their values ---- */

/* which register an operand is, by the letter of its role; false for none */
static bool register_of(char role, enum register_kind *kind, bool *is_written)
{
    static const char letters[] = "eqmdsSFZOBpPnNvV";
    static const enum register_kind kinds[] = {
        REGISTER_SCALAR, REGISTER_PREDICATE, REGISTER_MASK, REGISTER_VECTOR,
        REGISTER_SCALAR, REGISTER_SCALAR, REGISTER_SCALAR, REGISTER_SCALAR, REGISTER_SCALAR,
        REGISTER_SCALAR, REGISTER_PREDICATE, REGISTER_PREDICATE, REGISTER_MASK, REGISTER_MASK,
        REGISTER_VECTOR, REGISTER_VECTOR};
    const char *at = role ? strchr(letters, role) : NULL;

    if (!at)
        return false;
    *kind = kinds[at - letters];
    *is_written = at - letters < 4;
    return true;
}

static void print_register(const struct debugger *d, int core, enum register_kind kind, int number)
{
    struct mask_view mask;
    int count = 0;

    if ((kind == REGISTER_MASK || kind == REGISTER_VECTOR) && !machine_knows_lanes(d->m)) {
        fprintf(d->out, "%s%d, not worked out\n", kind == REGISTER_MASK ? "vm" : "v", number);
        return;
    }
    switch (kind) {
    case REGISTER_SCALAR:
        fprintf(d->out, "s%d = %d (0x%x)\n", number, (int)machine_scalar(d->m, core, number),
                (unsigned)machine_scalar(d->m, core, number));
        break;
    case REGISTER_PREDICATE:
        fprintf(d->out, "p%d = %d\n", number, machine_predicate(d->m, core, number));
        break;
    case REGISTER_MASK:
        machine_mask(d->m, core, number, &mask);
        for (int i = 0; i < 1024; i++)
            count += (mask.low[i / 16] | mask.high[i / 16]) >> i % 16 & 1;
        fprintf(d->out, "vm%d = %d of 1024 elements\n", number, count);
        break;
    default:
        fprintf(d->out, "v%d = %.7g …, ", number,
                (double)f32_from_bits(machine_vector(d->m, core, number)[0]));
        debug_print_tile_summary(d->out, machine_vector(d->m, core, number), FORMAT_F32);
        break;
    }
}

static void print_operands(const struct debugger *d, int core, const struct isa_op *op,
                           bool wants_written)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    enum register_kind kind;
    bool is_written;

    for (int i = 0; i < op->operand_count; i++) {
        if (op->operand[i].kind != OPERAND_REG || !register_of(info->role[i], &kind, &is_written)
            || is_written != wants_written)
            continue;
        fputs(wants_written ? "      wrote " : "      reads ", d->out);
        print_register(d, core, kind, op->operand[i].value);
    }
}

static void print_op(const struct debugger *d, int core, const struct isa_program *p,
                     uint32_t number, const struct debug_access *access, int access_count)
{
    const struct isa_op *op = &p->op[number];
    char text[OP_TEXT_MAX];

    isa_print_op(p, op, text, sizeof(text));
    fprintf(d->out, "  %s\n", text);
    if (!debug_guard_holds(d, core, op)) {
        fprintf(d->out, "      does nothing: p%d is %d\n", op->pred,
                machine_predicate(d->m, core, op->pred));
        return;
    }
    print_operands(d, core, op, false);
    for (int i = 0; i < access_count; i++)
        if (access[i].op == number) {
            fputs("      ", d->out);
            debug_print_access(&access[i], d->out);
            fputc('\n', d->out);
        }
}

/* what the bundle was before it issued */
struct op_report {
    const struct isa_program *p;
    int core;
    struct core_view before;
    bool is_live[ISA_BUNDLE_OP_MAX];    /* guards held */
};

static bool writes_register(const struct isa_op *op)
{
    enum register_kind kind;
    bool is_written = false;

    return op->operand_count > 0 && op->operand[0].kind == OPERAND_REG
           && register_of(isa_info((enum isa_opcode)op->code)->role[0], &kind, &is_written)
           && is_written;
}

static void print_written(struct debugger *d, const void *context)
{
    const struct op_report *r = context;
    const struct isa_bundle *b = &r->p->bundle[r->before.bundle];
    struct core_view after;

    machine_core(d->m, r->core, &after);
    if (after.issued == r->before.issued)
        return;                         /* another core's stop came first */
    fprintf(d->out, "issued at %lld\n", (long long)after.now - 1);
    for (uint32_t i = 0; i < b->op_count; i++)
        if (r->is_live[i] && writes_register(&r->p->op[b->first_op + i]))
            print_operands(d, r->core, &r->p->op[b->first_op + i], true);
}

int debug_command_op(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct op_report r = {.p = machine_program(d->m, d->core), .core = d->core};
    struct debug_access access[DEBUG_ACCESS_MAX];
    int count;

    if (debug_expect_end(args->text, e) || debug_expect_running(d, e))
        return -1;
    machine_core(d->m, d->core, &r.before);
    if (!r.p || r.before.activity == CORE_HAS_HALTED || r.before.bundle >= r.p->bundle_count)
        return err_set(e, "core %d has no next bundle", d->core);
    count = debug_accesses(d, d->core, r.before.bundle, access);
    debug_print_place(d, d->core, r.before.bundle, d->out);
    fputs(":\n", d->out);
    for (uint32_t i = 0; i < r.p->bundle[r.before.bundle].op_count; i++) {
        uint32_t number = r.p->bundle[r.before.bundle].first_op + i;

        r.is_live[i] = debug_guard_holds(d, d->core, &r.p->op[number]);
        print_op(d, d->core, r.p, number, access, count);
    }
    return debug_step_bundle(d, print_written, &r, e);
}

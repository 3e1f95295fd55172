/*
 * Prepares a compiler's listing for a run, and reports which of its operations stand in for
 * unknown ones.
 */
#include "cli/common/from_dump.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/common/fail.h"
#include "cli/common/dump_data.h"
#include "isa/file.h"
#include "isa/listing/utilization.h"
#include "sim/chip/limits.h"

#include <stdlib.h>
#include <string.h>

#define WARNING_MAX 10
#define SHAPE_CHARS 160
#define UNKNOWN_SHOWN_MAX 100

/* ---- options ---- */

static struct listing_operand *operand_numbered(struct listing *l, int64_t number)
{
    for (uint32_t i = 0; i < l->operand_count; i++)
        if (l->operand[i].number == number)
            return &l->operand[i];
    return NULL;
}

/* "N=FILE" */
static int parse_file(struct listing *l, const char *option, const char *item,
                      struct dump_file *out, struct err *e)
{
    const char *equals = strchr(item, '=');
    char word[16];
    int64_t number;

    snprintf(word, sizeof(word), "%.*s", equals ? (int)(equals - item) : 0, item);
    if (!equals || !equals[1] || text_parse_int(word, -1, INT32_MAX, &number) != 0)
        return err_set(e, "%s \"%s\"; N=FILE.npy is needed", option, item);
    out->operand = operand_numbered(l, number);
    out->path = equals + 1;
    if (!out->operand)
        return err_set(e, "%s \"%s\"; the listing has no operand %lld (it has %u)", option, item,
                       (long long)number, (unsigned)l->operand_count);
    return 0;
}

static int parse_files(struct from_dump *d, struct err *e)
{
    const struct dump_options *o = d->options;

    for (int i = 0; i < o->operand.count; i++)
        if (parse_file(&d->listing, "--operand", o->operand.item[i], &d->input[i], e))
            return -1;
    for (int i = 0; i < o->result.count; i++)
        if (parse_file(&d->listing, "--result", o->result.item[i], &d->result[i], e) ||
            dump_data_check_result(&d->listing, d->result[i].operand, d->result[i].path, e))
            return -1;
    return o->utilization ? outfile_check(o->utilization, e) : 0;
}

/* ---- operands ---- */

static const char *file_of(const struct from_dump *d, const struct listing_operand *operand)
{
    for (int i = d->options->operand.count - 1; i >= 0; i--)
        if (d->input[i].operand == operand)
            return d->input[i].path;
    return NULL;
}

static int fill_operands(struct from_dump *d, struct err *e)
{
    for (uint32_t i = 0; i < d->listing.operand_count; i++) {
        struct listing_operand *o = &d->listing.operand[i];

        if (dump_data_fill(d->m, &d->listing, o, file_of(d, o), d->options->seed, e) ||
            machine_set_scalar(d->m, 0, o->reg, o->value, e))
            return -1;
    }
    return 0;
}

/* ---- units used ---- */

static struct utilization_row capacity_of(const struct chip *c)
{
    struct utilization_row row = {{
        [COLUMN_MXU] = (int)c->mxu_count, [COLUMN_XLU] = (int)c->xlu_count,
        [COLUMN_VALU] = (int)c->slots_valu, [COLUMN_EUP] = (int)c->slots_eup,
        [COLUMN_LOAD] = (int)(c->slots_load + c->slots_misc_load),
        [COLUMN_STORE] = (int)(c->slots_store + c->slots_misc_store),
        [COLUMN_SALU] = (int)c->slots_scalar,
    }};

    return row;
}

static int write_utilization(const struct from_dump *d, struct arena *a, struct err *e)
{
    struct utilization_row capacity = capacity_of(machine_chip(d->m));
    struct outfile f;

    if (!d->options->utilization)
        return 0;
    if (outfile_begin(&f, d->options->utilization, e))
        return -1;
    utilization_print(&capacity, utilization_count(&d->listing, a), d->listing.bundle_count, f.to);
    return outfile_commit(&f, e);
}

/* ---- reading ---- */

static int scan_file(struct from_dump *d, struct arena *a, bool *is_told, struct err *e)
{
    struct isa_errors errors;
    uint8_t *bytes;
    size_t size;

    if (isa_file_read(d->options->path, a, &bytes, &size, e))
        return -1;
    if (listing_scan((const char *)bytes, size, d->options->path, a, &d->listing, &errors) == 0)
        return 0;
    isa_errors_print(&errors, (const char *)bytes, size, stderr);
    *is_told = true;
    return -1;
}

/* The compiler's bundles fit its chip: where they do not, the chip asked for is another. */
static void warn_of_slots(const struct from_dump *d, const struct isa_limits *limits)
{
    const struct isa_program *p = &d->listing.program;
    char text[sizeof(struct err)];
    struct err e;
    int count = 0;

    for (uint32_t i = 0; i < p->bundle_count; i++)
        if (isa_check_slots(p, i, limits, &e) != 0 && ++count <= WARNING_MAX)
            fprintf(stderr, "systole: warning: %s\n", err_format(&e, text, sizeof(text)));
    if (count > WARNING_MAX)
        fprintf(stderr, "systole: warning: and %d more bundles\n", count - WARNING_MAX);
}

static int load(struct from_dump *d, struct arena *a, bool *is_told, struct err *e)
{
    const struct chip *chip = machine_chip(d->m);
    struct listing_memory memory = {
        .hbm_bytes = machine_hbm_share_bytes(d->m), .vmem_bytes = chip->vmem_bytes,
        .smem_bytes = chip->smem_bytes, .flag_count = (int)chip->sync_flags};
    struct isa_limits limits;

    chip_isa_limits(chip, &limits);
    if (scan_file(d, a, is_told, e))
        return -1;
    if (listing_place(&d->listing, &memory, e)) {
        struct err other;

        listing_assemble(&d->listing, &limits);         /* the table needs no memory */
        write_utilization(d, a, &other);
        return -1;
    }
    if (parse_files(d, e) || fill_operands(d, e))
        return -1;
    listing_assemble(&d->listing, &limits);
    warn_of_slots(d, &limits);
    if (machine_load_listing(d->m, 0, &d->listing.program, d->listing.branch_delay_most, e))
        return -1;
    return write_utilization(d, a, e);
}

int from_dump_prepare(struct from_dump *d, const struct dump_options *options, struct machine *m,
                      struct arena *a, bool *is_told, struct err *e)
{
    d->options = options;
    d->m = m;
    *is_told = false;
    return load(d, a, is_told, e) ? EXIT_USER_ERROR : 0;
}

/* ---- what is told ---- */

static void print_operand(const struct from_dump *d, const struct listing_operand *o, FILE *to)
{
    char shape[SHAPE_CHARS], place[64];
    const char *path = file_of(d, o);

    listing_print_shape(&o->shape, o->shape.elem_bits ? &o->layout : NULL, shape, sizeof(shape));
    if (o->space == SPACE_VALUE)
        snprintf(place, sizeof(place), "value 0x%x", (unsigned)o->value);
    else if (o->space == SPACE_SFLAG)
        snprintf(place, sizeof(place), "sflag %lld", (long long)o->address);
    else
        snprintf(place, sizeof(place), "%s 0x%llx", listing_space_name(o->space),
                 (long long)o->address);
    fprintf(to, "  operand %-2d %-6s %-28s %-18s s%-2d %s%s\n", o->number,
            !o->is_output ? "input" : o->is_input ? "in+out" : "output", shape, place, o->reg,
            path ? "from " : o->is_input ? "generated" : "zero", path ? path : "");
}

void from_dump_print_header(const struct from_dump *d, FILE *to)
{
    const struct listing *l = &d->listing;
    int delay = (int)machine_chip(d->m)->core_branch_delay_bundles;

    fprintf(to, "%s: %s\n", l->file, l->entry[0] ? l->entry : "entry not told");
    fprintf(to, "  %u bundles, %u operations, %u of them not known\n", (unsigned)l->bundle_count,
            (unsigned)l->program.op_count - 1, (unsigned)l->unknown_count);
    for (uint32_t i = 0; i < l->operand_count; i++)
        print_operand(d, &l->operand[i], to);
    if (l->branch_delay_most >= 0 && l->branch_delay_most < delay)
        fprintf(to, "  branches have %d delay bundles, not %d as in the chip file: the listing has "
                "no room for more\n", l->branch_delay_most, delay);
    for (uint32_t i = 0; i < l->allocation_count; i++) {
        const struct listing_allocation *a = &l->allocation[i];

        if (a->space == SPACE_SFLAG)
            fprintf(to, "  %-16s sflag %lld%s\n", a->name, (long long)a->address,
                    a->bytes > 1 ? " and on" : "");
        else
            fprintf(to, "  %-16s %s 0x%llx, %s%s\n", a->name, listing_space_name(a->space),
                    (long long)a->address, text_bytes(a->bytes).text,
                    a->is_declared ? "" : " (undeclared)");
    }
    fputc('\n', to);
}

/* one line per mnemonic that is not known, with its first place and why */
static void print_kinds(const struct listing *l, FILE *to)
{
    int shown = 0;

    for (uint32_t i = 0; i < l->op_count; i++) {
        const struct listing_op *op = &l->op[i];
        int count = 0;
        uint32_t j;

        if (!op->reason)
            continue;
        for (j = 0; j < i; j++)
            if (l->op[j].reason && strcmp(l->op[j].mnemonic, op->mnemonic) == 0)
                break;
        if (j < i)
            continue;
        for (j = i; j < l->op_count; j++)
            count += l->op[j].reason && strcmp(l->op[j].mnemonic, op->mnemonic) == 0;
        if (shown++ == UNKNOWN_SHOWN_MAX) {
            fprintf(to, "  …\n");
            return;
        }
        fprintf(to, "  %4d x %s: line %d, bundle 0x%llx: %s\n", count, op->mnemonic, op->line,
                (long long)l->bundle_number[op->bundle], op->reason);
    }
}

static const struct listing_op *first_unknown_of(const struct listing *l, uint32_t bundle)
{
    for (uint32_t i = 0; i < l->op_count; i++)
        if (l->op[i].bundle == bundle && l->op[i].reason && !l->op[i].is_nothing)
            return &l->op[i];
    return NULL;
}

/* copies that the kernel leaves to a later one */
static void print_flags(const struct from_dump *d, FILE *to)
{
    const struct listing *l = &d->listing;

    for (uint32_t i = 0; i < l->allocation_count; i++) {
        const struct listing_allocation *a = &l->allocation[i];
        int32_t value = a->space == SPACE_SFLAG ? machine_flag(d->m, 0, a->value) : 0;

        if (value)
            fprintf(to, "\nsync flag %d (%s) is left at %d\n", (int)a->value, a->name, (int)value);
    }
}

void from_dump_print_end(const struct from_dump *d, FILE *to)
{
    const struct stand_in_site *site = machine_stand_in(d->m, 0);
    const struct listing *l = &d->listing;
    const struct listing_op *op = site->is_met ? first_unknown_of(l, site->bundle) : NULL;

    print_flags(d, to);
    if (l->unknown_count == 0)
        return;
    fprintf(to, "\n%u operations are not known:\n", (unsigned)l->unknown_count);
    print_kinds(l, to);
    if (!op) {
        fprintf(to, "None of them was reached.\n");
        return;
    }
    fprintf(to, "The first that was reached is \"%s\" in bundle 0x%llx, line %d, at cycle %lld,\n"
            "after %s bundles with %s operations. From there on cycles assume that such an\n"
            "operation takes its slot and does nothing, and values mean nothing.\n", op->text,
            (long long)l->bundle_number[op->bundle], op->line, (long long)site->cycle,
            text_thousands(site->bundles).text, text_thousands(site->operations).text);
}

int from_dump_write_results(const struct from_dump *d, struct err *e)
{
    for (int i = 0; i < d->options->result.count; i++)
        if (dump_data_write_result(d->m, d->result[i].operand, d->result[i].path, e))
            return -1;
    return 0;
}

/* ---- for reports ---- */

static bool memory_of(enum listing_space space, enum memory *memory)
{
    *memory = space == SPACE_HBM ? MEMORY_HBM : space == SPACE_VMEM ? MEMORY_VMEM : MEMORY_SMEM;
    return space == SPACE_HBM || space == SPACE_VMEM || space == SPACE_SMEM;
}

static void add_buffer(struct report_step *step, struct report_buffer *list,
                       enum listing_space space, const char *name, int64_t address, int64_t bytes,
                       int64_t padded_bytes)
{
    struct report_buffer *b = &list[step->buffer_count];

    if (padded_bytes <= 0 || !memory_of(space, &b->memory))
        return;
    b->name = name;
    b->offset_bytes = address;
    b->bytes = bytes > 0 && bytes < padded_bytes ? bytes : padded_bytes;
    b->padded_bytes = padded_bytes;
    b->last_bundle = step->program->bundle_count - 1;
    step->buffer_count++;
}

void from_dump_list_buffers(const struct from_dump *d, struct report_step *step, struct arena *a)
{
    const struct listing *l = &d->listing;
    struct report_buffer *list =
        arena_array(a, (size_t)l->operand_count + l->allocation_count + 1, sizeof(*list));

    step->buffer = list;
    for (uint32_t i = 0; i < l->operand_count; i++) {
        const struct listing_operand *o = &l->operand[i];
        int64_t bits = o->shape.elem_bits ? listing_elem_count(&o->shape) * o->shape.elem_bits : 0;

        if (o->alias < 0)
            add_buffer(step, list, o->space, o->name, o->address, (bits + 7) / 8,
                       o->layout.bytes);
    }
    for (uint32_t i = 0; i < l->allocation_count; i++)
        add_buffer(step, list, l->allocation[i].space, l->allocation[i].name,
                   l->allocation[i].address, 0, l->allocation[i].bytes);
}

/* The commands print, x and display show registers, expressions and ranges of memories. */
#include "cli/debug/debug.h"

#include "base/floats.h"
#include "base/units.h"
#include "cli/debug/debug_expr.h"

#include <ctype.h>
#include <string.h>

#define WORDS_PER_LINE 8
#define TILE_ROWS 8
#define ROW_BYTES 512
#define WORDS_MAX 4096
#define TILES_MAX 64

/* ---- print ---- */

/* cycles until another bundle may use it, in front of a line's end */
static void print_readiness(const struct debugger *d, enum register_kind kind, int number)
{
    cycle_t ready_at = machine_ready_at(d->m, d->core, kind, number);

    if (ready_at > d->cycle)
        fprintf(d->out, "  (ready in %lld)", (long long)(ready_at - d->cycle));
}

static void print_scalars(const struct debugger *d)
{
    for (int i = 0; i < ISA_SREG_COUNT; i++) {
        char name[8];

        snprintf(name, sizeof(name), "s%d", i);
        fprintf(d->out, "  %3s = %11d%s", name, (int)machine_scalar(d->m, d->core, i),
                i % 4 == 3 ? "\n" : "");
    }
}

static void print_predicates(const struct debugger *d)
{
    for (int i = 0; i < ISA_PRED_COUNT; i++)
        fprintf(d->out, "  p%d = %d%s", i, machine_predicate(d->m, d->core, i),
                i == ISA_PRED_COUNT - 1 ? "\n" : "");
}

/* a line per vector register that is not all zeros */
static void print_vectors(const struct debugger *d, enum debug_format format)
{
    int registers = (int)machine_chip(d->m)->core_vregs, zeros = 0;

    for (int i = 0; i < registers; i++) {
        const uint32_t *tile = machine_vector(d->m, d->core, i);
        int used = 0;

        for (int j = 0; j < 1024 && !used; j++)
            used = tile[j] != 0;
        zeros += !used;
        if (used) {
            fprintf(d->out, "  v%-2d ", i);
            debug_print_tile_summary(d->out, tile, format);
        }
    }
    if (zeros > 0)
        fprintf(d->out, "  %d vector registers are all zeros\n", zeros);
}

/* 1 when `text` names all of a register file, 0 when not */
static int print_file(const struct debugger *d, const char *text, const struct debug_flags *f)
{
    if (strcmp(text, "s") == 0)
        print_scalars(d);
    else if (strcmp(text, "p") == 0)
        print_predicates(d);
    else if (strcmp(text, "v") == 0)
        print_vectors(d, f->format);
    else
        return 0;
    return 1;
}

/* a number behind `prefix`, less than `end`; *at moves behind it */
static bool take_number(const char **at, const char *prefix, int end, int *number)
{
    size_t length = strlen(prefix);
    int value = 0, digits = 0;

    if (strncmp(*at, prefix, length) != 0)
        return false;
    for (*at += length; isdigit((unsigned char)**at) && digits < 4; ++*at, digits++)
        value = 10 * value + **at - '0';
    *number = value;
    return digits > 0 && value < end;
}

static int print_vector(const struct debugger *d, int number, const char *at,
                        const struct debug_flags *f, struct err *e)
{
    struct debug_region region;

    if (debug_parse_region(&at, debug_tile_rows(f->format), &region, e)
        || debug_expect_end(at, e) || debug_expect_lanes(d->m, e))
        return -1;
    region.is_full = f->is_full;
    fprintf(d->out, "v%d:", number);
    print_readiness(d, REGISTER_VECTOR, number);
    fputc('\n', d->out);
    debug_print_tile(d->out, machine_vector(d->m, d->core, number), f->format, &region);
    return 0;
}

static int print_mask(const struct debugger *d, int number, struct err *e)
{
    struct mask_view mask;

    if (debug_expect_lanes(d->m, e))
        return -1;
    machine_mask(d->m, d->core, number, &mask);
    fprintf(d->out, "vm%d:", number);
    print_readiness(d, REGISTER_MASK, number);
    fputc('\n', d->out);
    debug_print_mask(d->out, &mask);
    return 0;
}

/* v3 and v3[0:2,0:8] are tiles; v3[0,5] is an element, for the expressions */
static bool is_tile(const char *at)
{
    at = debug_skip_space(at);
    return *at == '\0' || (*at == '[' && (strchr(at, ':') || !strchr(at, ',')));
}

static void print_plain(const struct debugger *d, const char *text, const struct debug_value *v,
                        const struct debug_flags *f)
{
    char number[40];

    fprintf(d->out, "%s = ", text);
    if (!f->has_format && !v->is_float && (v->i > 9 || v->i < 0))
        fprintf(d->out, "%lld (0x%llx)", (long long)v->i,
                v->i >= INT32_MIN && v->i <= UINT32_MAX ? (unsigned long long)(uint32_t)v->i
                                                        : (unsigned long long)v->i);
    else if (!f->has_format || v->is_float)
        fputs(debug_value_text(v, number, sizeof(number)), d->out);
    else if (f->format == FORMAT_F32)
        fprintf(d->out, "%.9g", (double)f32_from_bits((uint32_t)v->i));
    else if (f->format == FORMAT_BF16)
        fprintf(d->out, "%.9g", (double)f32_from_bf16((uint16_t)v->i));
    else if (f->format == FORMAT_HEX)
        fprintf(d->out, "0x%x", (unsigned)(uint32_t)v->i);
    else
        fprintf(d->out, "%lld", f->format == FORMAT_S32 ? (long long)(int32_t)(uint32_t)v->i
                                                       : (long long)(uint32_t)v->i);
}

static int print_expression(const struct debugger *d, const char *text,
                            const struct debug_flags *f, struct err *e)
{
    const char *at = text;
    struct debug_value v;
    int number;

    if (debug_evaluate(d->m, d->core, d->cycle, text, &v, e))
        return -1;
    print_plain(d, text, &v, f);
    if (take_number(&at, "s", ISA_SREG_COUNT, &number) && *at == '\0')
        print_readiness(d, REGISTER_SCALAR, number);
    at = text;
    if (take_number(&at, "p", ISA_PRED_COUNT, &number) && *at == '\0')
        print_readiness(d, REGISTER_PREDICATE, number);
    fputc('\n', d->out);
    return 0;
}

int debug_command_print(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_flags flags = {.format = FORMAT_F32};
    const char *text = debug_skip_space(args->text), *at = text;
    int number;

    if (debug_parse_flags(args->flags, &flags, e))
        return -1;
    if (*text == '\0')
        return err_set(e, "print what? for example: print s3, print/bf16 v2, print smem[0x40]");
    if (strcmp(text, "v") == 0 && debug_expect_lanes(d->m, e))
        return -1;
    if (print_file(d, text, &flags))
        return 0;
    if (take_number(&at, "vm", ISA_MASK_COUNT, &number) && *debug_skip_space(at) == '\0') {
        return print_mask(d, number, e);
    }
    at = text;
    if (take_number(&at, "v", ISA_VREG_MAX, &number) && is_tile(at))
        return print_vector(d, number, debug_skip_space(at), &flags, e);
    return print_expression(d, text, &flags, e);
}

/* ---- x ---- */

static int read_tile(const struct debugger *d, enum memory memory, int64_t address,
                     uint32_t tile[1024], struct err *e)
{
    return machine_memory_read(d->m, d->core, memory, address, tile, 4096, e);
}

static int examine_tiles(const struct debugger *d, const struct debug_range *r,
                         const struct debug_flags *f, struct err *e)
{
    struct debug_region region = {.is_full = f->is_full, .row_end = debug_tile_rows(f->format),
                                  .column_end = 128};
    uint32_t tile[1024];

    if (r->count > TILES_MAX)
        return err_set(e, "%lld tiles; at most %d at a time", (long long)r->count, TILES_MAX);
    for (int64_t i = 0; i < r->count; i++) {
        int64_t address = r->first * r->unit_bytes + i * 4096;

        if (read_tile(d, r->memory, address, tile, e))
            return -1;
        if (r->unit_bytes == ROW_BYTES)
            fprintf(d->out, "%s rows %lld..%lld:\n", memory_name(r->memory),
                    (long long)(address / ROW_BYTES), (long long)(address / ROW_BYTES + 7));
        else
            fprintf(d->out, "%s 0x%llx..0x%llx:\n", memory_name(r->memory),
                    (unsigned long long)address, (unsigned long long)address + 4095);
        debug_print_tile(d->out, tile, f->format, &region);
    }
    return 0;
}

static int examine_words(const struct debugger *d, const struct debug_range *r,
                         const struct debug_flags *f, struct err *e)
{
    if (r->count > WORDS_MAX)
        return err_set(e, "%lld words; at most %d at a time", (long long)r->count, WORDS_MAX);
    for (int64_t i = 0; i < r->count; i++) {
        int64_t address = 4 * (r->first + i);
        uint32_t word;

        if (machine_memory_read(d->m, d->core, r->memory, address, &word, 4, e))
            return -1;
        if (i % WORDS_PER_LINE == 0)
            fprintf(d->out, "%s%s 0x%08llx ", i ? "\n" : "", memory_name(r->memory),
                    (unsigned long long)address);
        debug_print_word(d->out, word, f->format);
        if (f->format == FORMAT_BF16)
            debug_print_word(d->out, word >> 16, f->format);
    }
    fputc('\n', d->out);
    return 0;
}

/* words of HBM and SMEM, tiles of VMEM and CMEM, or of HBM with /tile */
int debug_command_x(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_flags flags = {.format = FORMAT_F32};
    const char *at = args->text;
    struct debug_range range;
    bool is_rows;

    if (debug_parse_flags(args->flags, &flags, e))
        return -1;
    if (debug_parse_range(d, &at, 0, &range, e) || debug_expect_end(at, e))
        return -1;
    is_rows = range.unit_bytes == ROW_BYTES;
    if (is_rows && debug_expect_lanes(d->m, e))
        return -1;
    if (range.count == 0)
        range.count = is_rows || flags.is_tile ? 1 : WORDS_PER_LINE;
    if (!flags.has_format && range.memory == MEMORY_SMEM)
        flags.format = FORMAT_S32;
    return is_rows || flags.is_tile ? examine_tiles(d, &range, &flags, e)
                                    : examine_words(d, &range, &flags, e);
}

/* ---- display ---- */

static int show_displays(const struct debugger *d)
{
    int count = 0;

    for (int i = 0; i < DEBUG_DISPLAY_MAX; i++)
        if (d->display[i][0]) {
            fprintf(d->out, "%4d  %s\n", i + 1, d->display[i]);
            count++;
        }
    if (count == 0)
        fputs("nothing is displayed; help display\n", d->out);
    return 0;
}

int debug_command_display(struct debugger *d, const struct debug_args *args, struct err *e)
{
    const char *text = debug_skip_space(args->text);
    bool is_range = strncmp(text, "vmem ", 5) == 0 || strncmp(text, "smem ", 5) == 0
                    || strncmp(text, "hbm ", 4) == 0 || strncmp(text, "cmem ", 5) == 0;
    int free = 0;

    if (*text == '\0')
        return show_displays(d);
    while (free < DEBUG_DISPLAY_MAX && d->display[free][0])
        free++;
    if (free == DEBUG_DISPLAY_MAX)
        return err_set(e, "%d displays are all there is room for; undisplay frees some",
                       DEBUG_DISPLAY_MAX);
    if ((is_range ? debug_command_x : debug_command_print)(d, args, e))
        return -1;
    snprintf(d->display[free], DEBUG_LINE_MAX, "%s%s%s %.*s", is_range ? "x" : "print",
             args->flags[0] ? "/" : "", args->flags, DEBUG_LINE_MAX - 200, text);
    return 0;
}

int debug_command_undisplay(struct debugger *d, const struct debug_args *args, struct err *e)
{
    int64_t number = 0;

    if (debug_parse_only_number(args->text, "the display", 1, DEBUG_DISPLAY_MAX, &number, e))
        return -1;
    for (int i = 0; i < DEBUG_DISPLAY_MAX; i++)
        if (number == 0 || i + 1 == number)
            d->display[i][0] = '\0';
    return 0;
}

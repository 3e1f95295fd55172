/*
 * Prints a program's assembly with the issues and waits of each bundle, and their sums per kernel.
 */
#include "report/annotate/annotate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "isa/disasm.h"

void annotate_counts_init(struct annotate_counts *c, uint32_t bundle_count, struct arena *a)
{
    c->bundle_count = bundle_count;
    c->issued = arena_array(a, (size_t)bundle_count + 1, sizeof(*c->issued));
    c->waited = arena_array(a, (size_t)bundle_count + 1, sizeof(*c->waited));
}

void annotate_count(struct annotate_counts *c, const struct trace_record *r, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (r[i].kind == TRACE_RUN)
            for (int64_t k = 0; k < r[i].value; k++)
                c->issued[r[i].bundle + k]++;
        if (r[i].kind == TRACE_STALL)
            c->waited[r[i].bundle][r[i].reason] += r[i].value;
    }
}

struct printer {
    const struct isa_program *program;
    const struct annotate_counts *counts;
    const char *(*tell)(const void *context, int kernel);
    const void *context;
    uint32_t symbol;                    /* the first that has not been met */
};

/* the kernel whose first bundle this symbol is, or -1 */
static int kernel_of(const struct isa_symbol *s)
{
    char *end;
    long number = s->name[0] == 'k' ? strtol(s->name + 1, &end, 10) : -1;

    return number >= 0 && end > s->name + 1 && *end == '\0' ? (int)number : -1;
}

static cycle_t sum_of(const cycle_t waited[STALL_COUNT], int *most)
{
    cycle_t sum = 0;

    *most = 0;
    for (int r = 0; r < STALL_COUNT; r++) {
        sum += waited[r];
        if (waited[r] > waited[*most])
            *most = r;
    }
    return sum;
}

static void print_reasons(const cycle_t waited[STALL_COUNT], FILE *to)
{
    const char *between = " (";

    for (int r = 0; r < STALL_COUNT; r++) {
        if (!waited[r])
            continue;
        fprintf(to, "%s%s %s", between, stall_name((enum stall_reason)r),
                text_thousands(waited[r]).text);
        between = ", ";
    }
    if (between[0] == ',')
        fputc(')', to);
}

/* sums of the bundles from this symbol to that of the next kernel */
static void print_sums(const struct printer *p, uint32_t symbol, int kernel, FILE *to)
{
    uint32_t first = p->program->symbol[symbol].bundle, end = p->program->bundle_count;
    cycle_t waited[STALL_COUNT] = {0};
    int64_t issued = 0, sum;
    int most;

    for (uint32_t i = symbol + 1; i < p->program->symbol_count; i++)
        if (kernel_of(&p->program->symbol[i]) >= 0) {
            end = p->program->symbol[i].bundle;
            break;
        }
    for (uint32_t b = first; b < end; b++) {
        issued += p->counts->issued[b];
        for (int r = 0; r < STALL_COUNT; r++)
            waited[r] += p->counts->waited[b][r];
    }
    sum = sum_of(waited, &most);
    fprintf(to, "// k%d: %s cycles up to the next kernel: %s issued, %s waited", kernel,
            text_thousands(issued + sum).text,
            text_thousands(issued).text, text_thousands(sum).text);
    print_reasons(waited, to);
    fputc('\n', to);
}

static void print_heading(struct printer *p, uint32_t bundle, FILE *to)
{
    const struct isa_program *program = p->program;

    for (; p->symbol < program->symbol_count && program->symbol[p->symbol].bundle <= bundle;
         p->symbol++) {
        int kernel = kernel_of(&program->symbol[p->symbol]);

        if (kernel < 0)
            continue;
        fputc('\n', to);
        if (p->tell)
            fprintf(to, "// k%d: %s\n", kernel, p->tell(p->context, kernel));
        if (p->counts)
            print_sums(p, p->symbol, kernel, to);
    }
}

static void print_counts(const struct printer *p, uint32_t bundle, FILE *to)
{
    int most;
    cycle_t sum;

    if (!p->counts)
        return;
    sum = sum_of(p->counts->waited[bundle], &most);
    fprintf(to, "/* %9" PRId64 " %9" PRId64 " %-17s */ ", p->counts->issued[bundle], sum,
            sum ? stall_name((enum stall_reason)most) : "");
}

static void before_bundle(void *context, uint32_t bundle, bool is_at_line, FILE *to)
{
    if (is_at_line)
        print_counts(context, bundle, to);
    else
        print_heading(context, bundle, to);
}

void annotate_print(const struct isa_program *p, const struct annotate_counts *c,
                    const char *(*tell)(const void *context, int kernel), const void *context,
                    FILE *to)
{
    struct printer printer = {.program = p, .counts = c, .tell = tell, .context = context};

    fprintf(to, "// %s, %" PRIu32 " bundles\n", p->name, p->bundle_count);
    if (c)
        fprintf(to, "// of each bundle: times issued, cycles waited before it, and most of them "
                "for what\n");
    isa_print_program_with(p, before_bundle, &printer, to);
}

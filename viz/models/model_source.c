/* Sums cycles by line of a kernel's source, and finds what was made of a line. */
#include "viz/models/model_source.h"

#include "isa/disasm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ntrace_listing *ordered;    /* qsort hands on no context; one thread */

static int by_place(const void *a, const void *b)
{
    const struct ntrace_source_line *x = &ordered->line[*(const int *)a],
                                    *y = &ordered->line[*(const int *)b];
    int files = strcmp(x->file, y->file);

    return files ? files : x->number - y->number;
}

bool source_model_init(struct source_model *m, const struct ntrace *run, int core)
{
    const struct ntrace_listing *l = ntrace_info(run)->listing;
    const struct isa_program *p = ntrace_program(run, core);

    memset(m, 0, sizeof(*m));
    if (!l || !p || l->op_count != p->op_count)
        return false;
    m->listing = l;
    m->program = p;
    m->sums = mem_alloc((size_t)l->line_count * sizeof(*m->sums));
    m->order = mem_alloc((size_t)l->line_count * sizeof(*m->order));
    m->llo = mem_alloc((l->llo_count + 1) * sizeof(*m->llo));
    m->bundle = mem_alloc((p->bundle_count + 1u) * sizeof(*m->bundle));
    for (int i = 1; i < l->line_count; i++)
        m->order[m->order_count++] = i;
    ordered = l;
    qsort(m->order, (size_t)m->order_count, sizeof(*m->order), by_place);
    m->order[m->order_count++] = 0;
    m->chosen = -1;
    return true;
}

void source_model_fini(struct source_model *m)
{
    mem_free(m->sums);
    mem_free(m->order);
    mem_free(m->llo);
    mem_free(m->bundle);
    memset(m, 0, sizeof(*m));
}

/* reasons by how long was waited, longest first */
static void rank_reasons(struct source_model *m)
{
    double all[STALL_COUNT] = {0};

    m->reason_count = 0;
    for (int i = 0; i < m->listing->line_count; i++)
        for (int r = 0; r < STALL_COUNT; r++)
            all[r] += m->sums[i].stall[r];
    for (int r = 0; r < STALL_COUNT; r++) {
        int at = m->reason_count;

        if (all[r] < 0.5)
            continue;
        for (; at > 0 && all[m->reason[at - 1]] < all[r]; at--)
            m->reason[at] = m->reason[at - 1];
        m->reason[at] = (enum stall_reason)r;
        m->reason_count++;
    }
}

void source_model_sum(struct source_model *m, const struct code_counts *c)
{
    memset(m->sums, 0, (size_t)m->listing->line_count * sizeof(*m->sums));
    for (uint32_t b = 0; b < m->program->bundle_count && b < c->bundle_count; b++) {
        struct bundle_sums of = {.issued = (double)c->issued[b]};

        for (int r = 0; r < STALL_COUNT; r++)
            of.waited[r] = (double)c->waited[b][r];
        line_share(m->program, m->listing->line_of_op, b, &of, m->sums);
    }
    m->most = 0;
    for (int i = 0; i < m->listing->line_count; i++)
        m->most = source_model_cycles(m, i) > m->most ? source_model_cycles(m, i) : m->most;
    rank_reasons(m);
}

static bool has_line(const struct source_model *m, uint32_t bundle, int line)
{
    const struct isa_bundle *b = &m->program->bundle[bundle];

    for (uint32_t i = b->first_op; i < b->first_op + b->op_count; i++)
        if (m->listing->line_of_op[i] == line)
            return true;
    return false;
}

void source_model_choose(struct source_model *m, int line)
{
    if (m->chosen == line)
        return;
    m->chosen = line;
    m->llo_count = m->bundle_count = 0;
    for (size_t i = 0; i < m->listing->llo_count; i++)
        if (m->listing->llo[i].line == line)
            m->llo[m->llo_count++] = i;
    for (uint32_t b = 0; b < m->program->bundle_count; b++)
        if (has_line(m, b, line))
            m->bundle[m->bundle_count++] = b;
}

int source_model_dearest(const struct source_model *m)
{
    int best = m->order[0];

    for (int i = 1; i < m->listing->line_count; i++)
        if (best == 0 || source_model_cycles(m, i) > source_model_cycles(m, best))
            best = i;
    return best;
}

int source_model_line_of(const struct source_model *m, uint32_t bundle)
{
    const struct isa_bundle *b = &m->program->bundle[bundle];

    for (uint32_t i = b->first_op; i < b->first_op + b->op_count; i++)
        if (m->listing->line_of_op[i])
            return m->listing->line_of_op[i];
    return 0;
}

char *source_model_print(const struct source_model *m, uint32_t bundle, int line, char *buf,
                         size_t bytes)
{
    const struct isa_bundle *b = &m->program->bundle[bundle];
    size_t used = 0;
    int others = 0;

    buf[0] = '\0';
    for (uint32_t i = b->first_op; i < b->first_op + b->op_count && used < bytes; i++) {
        char op[512];

        if (m->listing->line_of_op[i] != line) {
            others++;
            continue;
        }
        isa_print_op(m->program, &m->program->op[i], op, sizeof(op));
        used += (size_t)snprintf(buf + used, bytes - used, "%s%s", used ? " ;; " : "", op);
    }
    if (others && used < bytes)
        snprintf(buf + used, bytes - used, "%s+%d", used ? "  " : "", others);
    return buf;
}

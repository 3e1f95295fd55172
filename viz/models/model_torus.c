/*
 * Places chips of a torus in a plane, sums the use of links, and finds the messages on them at an
 * instant.
 */
#include "viz/models/model_torus.h"

#include <stdlib.h>
#include <string.h>

void torus_model_init(struct torus_model *m)
{
    memset(m, 0, sizeof(*m));
    m->busiest = -1;
}

void torus_model_fini(struct torus_model *m)
{
    mem_free(m->link);
    torus_model_init(m);
}

void torus_model_coordinates(const struct torus_model *m, int chip, int to[3])
{
    to[0] = chip % m->dim[0];
    to[1] = chip / m->dim[0] % m->dim[1];
    to[2] = chip / m->dim[0] / m->dim[1];
}

static double ps_per_cycle(const struct ntrace_info *info)
{
    return 1e6 / (double)info->chip->chip_clock_mhz;
}

static void describe(const struct torus_model *m, struct torus_link *l)
{
    int a[3], b[3], i;

    torus_model_coordinates(m, l->from, a);
    torus_model_coordinates(m, l->to, b);
    for (i = 2; i >= 0; i--)            /* of a twisted torus the short axis, which comes first */
        if (a[i] != b[i]) {
            l->axis = i;
            l->is_wrap = abs(a[i] - b[i]) > 1;
        }
}

void torus_model_load(struct torus_model *m, struct ntrace *run, cycle_t from, cycle_t end)
{
    const struct ntrace_info *info = ntrace_info(run);
    const double ps = (double)(end > from ? end - from : 1) * ps_per_cycle(info);

    mem_free(m->link);
    torus_model_init(m);
    for (size_t i = 0; i < 3; i++)
        m->dim[i] = (int)i < info->slice->dims ? info->slice->dim[i] : 1;
    m->chip_count = info->chip_count;
    m->count = (size_t)info->link_count;
    m->link = mem_alloc((m->count + 1) * sizeof(*m->link));
    m->seconds = ps * 1e-12;
    for (size_t i = 0; i < m->count; i++) {
        struct torus_link *l = &m->link[i];
        int64_t sum[NTRACE_LINK_COUNT];

        ntrace_link_ends(run, (int)i, &l->from, &l->to);
        describe(m, l);
        ntrace_sum(run, NTRACE_LINK, (int)i, from, end, sum);
        l->payload_bytes = sum[NTRACE_LINK_PAYLOAD_BYTES];
        l->wire_bytes = sum[NTRACE_LINK_WIRE_BYTES];
        l->share = (double)sum[NTRACE_LINK_BUSY_PS] / ps;
        l->share = l->share > 1 ? 1 : l->share;
        if (l->share > 0 && (m->busiest < 0 || l->share > m->link[m->busiest].share))
            m->busiest = (int)i;
    }
}

/* ---- places ---- */

/* a step along z is drawn as part of a step to the right and up; planes do not cover each other */
static double depth_step(const struct torus_model *m)
{
    return m->dim[2] > 1 ? 1.0 / m->dim[2] * 0.8 : 0;
}

void torus_model_place(const struct torus_model *m, int chip, double *x, double *y)
{
    int at[3];

    torus_model_coordinates(m, chip, at);
    *x = at[0] + at[2] * depth_step(m);
    *y = at[1] + (m->dim[2] - 1 - at[2]) * depth_step(m);
}

void torus_model_extent(const struct torus_model *m, double *x, double *y)
{
    *x = m->dim[0] - 1 + (m->dim[2] - 1) * depth_step(m);
    *y = m->dim[1] - 1 + (m->dim[2] - 1) * depth_step(m);
}

/* ---- messages ---- */

struct looking {
    struct torus_message *to;
    int count, link;
    double ps;
};

static bool take_message(void *context, const struct trace_link *l)
{
    struct looking *k = context;

    if ((double)l->start > k->ps || (double)l->end <= k->ps)
        return true;
    if (k->count == TORUS_MESSAGE_MOST)
        return false;
    k->to[k->count++] = (struct torus_message){
        .link = k->link, .told = *l,
        .progress = (k->ps - (double)l->start) / (double)(l->end - l->start),
    };
    return true;
}

int torus_model_messages(const struct torus_model *m, struct ntrace *run, double cycle,
                         struct torus_message to[TORUS_MESSAGE_MOST])
{
    struct looking k = {.to = to, .ps = cycle * ps_per_cycle(ntrace_info(run))};

    for (size_t i = 0; i < m->count && k.count < TORUS_MESSAGE_MOST; i++) {
        k.link = (int)i;
        ntrace_walk_links(run, k.link, (cycle_t)cycle, (cycle_t)cycle + 1, take_message, &k);
    }
    return k.count;
}

/* Reads --costs FILE, a formula in place of a chip. Every key must stand there once. */
#include "cli/collective/collective.h"

#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <ini.h>
#include <string.h>

#define GBPS_UNBOUNDED 1e9              /* of what the formula does not name */

static const struct key {
    const char *section, *name;
    double lo, hi;
} keys[] = {
    {"link", "gbps", 0.001, 1e6}, {"link", "hop_ns", 0, 1e9}, {"arrival", "ns", 0, 1e9},
    {"arrival", "ns_per_byte", 0, 1e6}, {"array", "series", 1, 1024},
};
enum { LINK_GBPS, LINK_HOP_NS, ARRIVAL_NS, ARRIVAL_NS_PER_BYTE, ARRAY_SERIES };

struct reading {
    const char *path;
    double value[COUNT_OF(keys)];
    bool is_there[COUNT_OF(keys)];
    struct err *e;
    bool is_wrong;
};

/* inih's handler: 1 = accepted */
static int take_value(void *context, const char *section, const char *name, const char *value)
{
    struct reading *r = context;

    for (size_t i = 0; i < COUNT_OF(keys) && !r->is_wrong; i++) {
        if (strcmp(section, keys[i].section) || strcmp(name, keys[i].name))
            continue;
        if (r->is_there[i])
            err_set(r->e, "%s: %s.%s stands there twice", r->path, section, name);
        else if (text_parse_double(value, keys[i].lo, keys[i].hi, &r->value[i]))
            err_set(r->e, "%s: %s.%s is \"%s\", allowed are numbers in %g..%g", r->path, section,
                    name, value, keys[i].lo, keys[i].hi);
        else
            return r->is_there[i] = true;
        r->is_wrong = true;
        return 0;
    }
    if (!r->is_wrong)
        err_set(r->e, "%s: no such key: %.60s.%.60s; there are link.gbps, link.hop_ns, arrival.ns, "
                "arrival.ns_per_byte, array.series", r->path, section, name);
    r->is_wrong = true;
    return 0;
}

static void fill(const struct reading *r, struct collective_costs *k)
{
    *k = (struct collective_costs){
        .program = {.page_ops = 1, .add_round_bytes = INT64_MAX}, .clock_mhz = 1000000,
        .core_gbps = GBPS_UNBOUNDED, .local_gbps = GBPS_UNBOUNDED, .hbm_gbps = GBPS_UNBOUNDED,
        .hbm_mixed_gbps = GBPS_UNBOUNDED, .peer_gbps = GBPS_UNBOUNDED,
        .vector_bytes = 1, .chunk_bytes = INT64_MAX / 2, .queue_depth = INT32_MAX,
        .link_gbps = r->value[LINK_GBPS],
        .packet_bytes = 1 << 20, .hop_ps = (ps_t)(r->value[LINK_HOP_NS] * PS_PER_NS + 0.5),
        .arrival_ps = (ps_t)(r->value[ARRIVAL_NS] * PS_PER_NS + 0.5),
        .arrival_ps_per_byte = r->value[ARRIVAL_NS_PER_BYTE] * PS_PER_NS,
        .has_free_signals = true, .series = (int)r->value[ARRAY_SERIES]};
}

int collective_costs_read(const char *path, struct collective_costs *out, struct err *e)
{
    struct reading r = {.path = path, .e = e};
    int status = ini_parse(path, take_value, &r);

    if (status < 0)
        return err_set(e, "%s: cannot read it: %s", path, strerror(errno));
    if (r.is_wrong)
        return -1;
    if (status > 0)
        return err_at(e, path, status, 0, "neither [section] nor key = value");
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (!r.is_there[i])
            return err_set(e, "%s: %s.%s is missing", path, keys[i].section, keys[i].name);
    if (r.value[ARRAY_SERIES] != (int)r.value[ARRAY_SERIES])
        return err_set(e, "%s: array.series is %g, allowed are whole numbers in 1..1024", path,
                       r.value[ARRAY_SERIES]);
    fill(&r, out);
    return 0;
}

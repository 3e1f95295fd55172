/* Prints the network, its theoretical limits, and a row for each load or exchange. */
#include "cli/network/net_print.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define US(ps) ((double)(ps) / 1e6)

static const char *closing(const struct net_config *c)
{
    int axes = 0, rings = 0;

    if (c->is_twisted)
        return "twisted torus";
    for (int i = 0; i < NET_DIM_MAX; i++) {
        axes += c->dim[i] > 2;
        rings += c->dim[i] > 2 && c->is_ring[i];
    }
    return rings == 0 ? "mesh" : rings == axes ? "torus" : "some axes closed";
}

static void print_network(const struct net_options *o, const char *traffic)
{
    const struct net_config *c = &o->request.net;
    struct net *n = net_create(c);

    printf("%s%s", o->is_grid ? "" : o->slice.name, o->is_grid ? "" : ": ");
    printf("%dx%d", c->dim[0], c->dim[1]);
    if (c->dim[2] > 1 || o->slice.dims > 2)
        printf("x%d", c->dim[2]);
    printf(" chips, %s, %d links of %g GB/s each way, %g ns per hop, routing %s\n", closing(c),
           net_link_count(n), c->link_gbps, (double)c->hop_ps / PS_PER_NS,
           net_routing_name(c->routing));
    printf("%s traffic in messages of %s, %lld bytes on the wire: %.4g us of a link\n", traffic,
           text_bytes(o->request.bytes).text, (long long)net_wire_bytes(n, o->request.bytes),
           US(net_busy_ps(n, o->request.bytes)));
    net_destroy(n);
}

void net_print_heading(const struct net_options *o, const struct traffic_theory *t)
{
    print_network(o, traffic_name(o->request.pattern));
    printf("\nidle network   %.2f hops on average: %.2f x %g ns + %.4g us = %.4g us\n", t->hops,
           t->hops, (double)o->request.net.hop_ps / PS_PER_NS,
           US(t->idle_ps - t->hops * (double)o->request.net.hop_ps), US(t->idle_ps));
    printf("busiest link   carries %.3f times what one chip offers: %.1f %% can be accepted%s\n\n",
           t->busiest, 100 * t->saturation,
           o->request.net.routing == NET_ADAPTIVE ? " with xyz routing" : "");
}

#define PERCENT(name, above_, heading) \
    {TABLE_SHOWN(REAL, name, heading), .above = above_, .decimals = 1, .width = 7}
#define LATENCY(name, heading) \
    {TABLE_SHOWN(REAL, name, heading), .above = "latency us", .decimals = 3, .width = 8}

static const struct table_field fields[] = {
    PERCENT("offered_percent", "offered", "%"), PERCENT("accepted_percent", "accepted", "%"),
    LATENCY("mean_latency_us", "mean"), LATENCY("p99_latency_us", "99 %"),
    LATENCY("most_latency_us", "most"), PERCENT("link_use_min_percent", "links busy %", "min"),
    PERCENT("link_use_mean_percent", "links busy %", "mean"),
    PERCENT("link_use_max_percent", "links busy %", "max"),
    PERCENT("source_min_percent", "accepted per chip %", "min"),
    PERCENT("source_max_percent", "accepted per chip %", "max"),
    {TABLE_SHOWN(REAL, "jain_index", "Jain index"), .decimals = 4},
    {TABLE_HIDDEN(INT, "sent_messages")}, {TABLE_HIDDEN(INT, "delivered_messages")}, {0}};

void net_begin_table(struct table *t, FILE *csv)
{
    table_begin(t, fields, NULL);
    t->indent = "";
    table_print_head(t, stdout);
    if (csv)
        table_print_csv(t, csv);
}

void net_print_row(struct table *t, const struct traffic_result *r, FILE *csv)
{
    TABLE_ROW(t, cell_real(100 * r->offered), cell_real(100 * r->accepted),
              cell_real(US(r->mean_ps)), cell_real(US(r->p99_ps)), cell_real(US(r->most_ps)),
              cell_real(100 * r->use_min), cell_real(100 * r->use_mean),
              cell_real(100 * r->use_max), cell_real(100 * r->source_min),
              cell_real(100 * r->source_max), cell_real(r->jain), cell_int(r->sent),
              cell_int(r->delivered));
    if (csv)
        table_print_csv_rows(t, csv);
    table_print_rows(t, stdout);
}

void net_print_end(const struct net_options *o, const struct traffic_theory *t, double kept_up,
                   const struct traffic_result *last)
{
    (void)o;
    printf("\n");
    if (kept_up >= 0)
        printf("keeps up to %.1f %%, %.0f %% of what the busiest link can carry; beyond it queues "
               "grow as long as one measures\n", 100 * kept_up,
               100 * kept_up / (t->saturation > 0 ? t->saturation : 1));
    printf("%s%lld of %lld messages delivered, %d of %d chips send\n",
           kept_up >= 0 ? "last row: " : "", (long long)last->delivered, (long long)last->sent,
           t->senders, o->slice.chip_count);
}

static void print_one(const char *name, const struct traffic_exchange *x)
{
    printf("%-14s %10.3f us %10.3f us %8.1f %%   %5.1f %5.1f %5.1f\n", name, US(x->time_ps),
           US(x->bound_ps), 100.0 * (double)x->bound_ps / (double)x->time_ps, 100 * x->use_min,
           100 * x->use_mean, 100 * x->use_max);
}

void net_print_exchange(const struct net_options *o, const struct traffic_exchange *here,
                        const struct traffic_exchange *other, FILE *csv)
{
    const struct net_config *c = &o->request.net;
    const struct traffic_exchange *twisted = c->is_twisted ? here : other;
    const struct traffic_exchange *plain = c->is_twisted ? other : here;

    print_network(o, "all-to-all");
    printf("\n                   time       busiest link   of its bound   links busy %%\n"
           "%56smin  mean   max\n", "");
    print_one(closing(c), here);
    if (other) {
        print_one(c->is_twisted ? "torus" : "twisted torus", other);
        printf("\nthe twisted torus is %.2f times as fast (its bound: %.2f)\n",
               (double)plain->time_ps / (double)twisted->time_ps,
               (double)plain->bound_ps / (double)twisted->bound_ps);
    }
    if (csv)
        fprintf(csv, "network,time_us,bound_us,link_use_min_percent,link_use_mean_percent,"
                "link_use_max_percent\n%s,%.6f,%.6f,%.3f,%.3f,%.3f\n", closing(c),
                US(here->time_ps), US(here->bound_ps), 100 * here->use_min,
                100 * here->use_mean, 100 * here->use_max);
}

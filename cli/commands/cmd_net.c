/* `systole net` sends synthetic traffic over the network of a slice or of any grid. */
#include "cli/commands/cli.h"
#include "cli/network/net_options.h"
#include "cli/network/net_print.h"

#include "base/outfile.h"

/* loads of a sweep, in percent of the bound */
static const int sweep[] = {10, 20, 30, 40, 50, 60, 70, 80, 85,
                            90, 95, 100, 110, 125, 150, 200, 300};
enum { DIMENSION_ORDER_LOADS = 14 };    /* no more gets through than the busiest link carries */

/* averages over seeds; the least, the most and what was counted over all of them */
static void add_result(struct traffic_result *sum, const struct traffic_result *r, int seeds)
{
    sum->offered += r->offered / seeds;
    sum->accepted += r->accepted / seeds;
    sum->mean_ps += r->mean_ps / seeds;
    sum->p99_ps += r->p99_ps / seeds;
    sum->most_ps = later(sum->most_ps, r->most_ps);
    sum->use_min = r->use_min < sum->use_min ? r->use_min : sum->use_min;
    sum->use_mean += r->use_mean / seeds;
    sum->use_max = r->use_max > sum->use_max ? r->use_max : sum->use_max;
    sum->source_min = r->source_min < sum->source_min ? r->source_min : sum->source_min;
    sum->source_max = r->source_max > sum->source_max ? r->source_max : sum->source_max;
    sum->least_share = r->least_share < sum->least_share ? r->least_share : sum->least_share;
    sum->jain = r->jain < sum->jain ? r->jain : sum->jain;
    sum->sent += r->sent;
    sum->delivered += r->delivered;
    sum->delivered_bytes += r->delivered_bytes;
}

/* at one load, with every seed */
static void run_seeds(const struct net_options *o, double load, struct traffic_result *sum)
{
    struct traffic_request request = o->request;
    struct traffic_result r;

    *sum = (struct traffic_result){.use_min = 1, .source_min = TRAFFIC_LOAD_MAX * 2, .jain = 1,
                                    .least_share = 1};
    request.load = load;
    for (int i = 0; i < o->seeds; i++) {
        request.seed = o->request.seed + (uint64_t)i;
        traffic_run(&request, &r);
        add_result(sum, &r, o->seeds);
    }
}

static double load_of(const struct traffic_theory *t, int percent)
{
    double load = t->saturation * percent / 100;

    return load < TRAFFIC_LOAD_MAX ? load : TRAFFIC_LOAD_MAX;
}

static int run_traffic(const struct net_options *o, FILE *csv)
{
    struct traffic_theory theory;
    struct traffic_result r;
    struct table t;
    double kept_up = 0;
    size_t count = o->request.net.routing == NET_ADAPTIVE ? COUNT_OF(sweep)
                                                          : DIMENSION_ORDER_LOADS;

    traffic_find_theory(&o->request, &theory);
    net_print_heading(o, &theory);
    net_begin_table(&t, csv);
    if (o->load > 0) {
        run_seeds(o, o->load, &r);
        net_print_row(&t, &r, csv);
        net_print_end(o, &theory, -1, &r);
        table_end(&t);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        run_seeds(o, load_of(&theory, sweep[i]), &r);
        net_print_row(&t, &r, csv);
        if (r.least_share >= 0.95)
            kept_up = r.offered;
    }
    net_print_end(o, &theory, kept_up, &r);
    table_end(&t);
    return 0;
}

static int run_exchange(const struct net_options *o, FILE *csv, struct err *e)
{
    struct net_config other = o->request.net;
    struct traffic_exchange here, there;
    int chips = other.dim[0] * other.dim[1] * other.dim[2];
    bool compares = net_can_twist(other.dim) && (other.is_twisted || other.is_ring[0]);

    if (chips < 2 || chips > TRAFFIC_EXCHANGE_CHIPS)
        return err_set(e, "all-to-all takes grids of 2 to %d chips, not %d",
                       TRAFFIC_EXCHANGE_CHIPS, chips);
    traffic_exchange(&o->request.net, o->request.bytes, &here);
    if (compares) {
        other.is_twisted = !other.is_twisted;
        for (int i = 0; i < NET_DIM_MAX; i++)
            other.is_ring[i] = true;
        traffic_exchange(&other, o->request.bytes, &there);
    }
    net_print_exchange(o, &here, compares ? &there : NULL, csv);
    return 0;
}

static int run(const struct net_options *o, struct err *e)
{
    struct outfile f = {.to = NULL};

    if (!o->is_exchange && traffic_check(&o->request, e))
        return -1;
    if (o->csv && outfile_begin(&f, o->csv, e))
        return -1;
    if (o->is_exchange ? run_exchange(o, f.to, e) : run_traffic(o, f.to)) {
        if (o->csv)
            outfile_abandon(&f);
        return -1;
    }
    return o->csv ? outfile_commit(&f, e) : 0;
}

int cmd_net(int argc, char **argv)
{
    struct net_options o;
    struct err e;
    int status = net_options_read(&o, argc, argv, &e) || run(&o, &e);

    return status ? cli_fail(&e) : 0;
}

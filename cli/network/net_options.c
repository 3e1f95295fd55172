/*
 * Parses the options of `systole net`: the shape of the network, the pattern of traffic, and
 * message sizes.
 */
#include "cli/network/net_options.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/common/options.h"

#define MOST_GRID_CHIPS 16384

struct arguments {
    struct cli_target target;
    const char *traffic, *grid, *load, *routing, *csv;
    int64_t bytes, messages, seeds, hot;
    bool is_torus, is_mesh, is_twisted, is_sweep;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"traffic", 0, "PATTERN", "uniform (default), neighbour, tornado, transpose, "
     "bit-complement, hotspot, permutation, or all-to-all: everything to everyone at once", 1,
     CLI_TEXT, AT(traffic)},
    {"grid", 0, "AxB[xC]", "Any grid instead of a slice's, with the links of its chips", 1,
     CLI_TEXT, AT(grid)},
    {"torus", 0, NULL, "The grid closes along all axes (default)", 1, CLI_FLAG, AT(is_torus)},
    {"mesh", 0, NULL, "The grid ends at its edges", 1, CLI_FLAG, AT(is_mesh)},
    {"twisted", 0, NULL, "The grid is a twisted torus", 1, CLI_FLAG, AT(is_twisted)},
    {"routing", 0, "NAME", "xyz, zyx or adaptive; short for --set ici.routing=NAME", 1, CLI_TEXT,
     AT(routing)},
    {"load", 'l', "LOAD", "Offered by each chip, as a part of what one link carries: 0.5", 2,
     CLI_TEXT, AT(load)},
    {"sweep", 0, NULL, "Loads up to beyond what the busiest link bears (default)", 2, CLI_FLAG,
     AT(is_sweep)},
    {"bytes", 'b', "SIZE", "Payload of a message (default: %s)", 2, CLI_BYTES, AT(bytes), .lo = 1,
     .hi = 1 << 30},
    {"messages", 0, "N", "Messages of each chip that are measured (default: %s)", 2, CLI_WHOLE,
     AT(messages), .lo = 10, .hi = 1000000},
    {"seeds", 0, "N", "Runs with N different seeds, together (default: %s)", 2, CLI_WHOLE,
     AT(seeds), .lo = 1, .hi = 1000},
    {"hot", 0, "PERCENT", "Of hotspot, what goes to the one chip (default: %s)", 2, CLI_WHOLE,
     AT(hot), .lo = 1, .hi = 100},
    CLI_ROW_CSV(struct arguments, csv, 3),
    {0}};

static int check(void *values, struct err *e)
{
    const struct arguments *a = values;
    int kinds = a->is_torus + a->is_mesh + a->is_twisted;

    if (kinds > 1)
        return err_set(e, "--torus, --mesh and --twisted do not go together");
    if (kinds && !a->grid)
        return err_set(e, "--torus, --mesh and --twisted go with --grid; a slice closes as its "
                       "chips do");
    return a->load && a->is_sweep ? err_set(e, "--load or --sweep") : 0;
}

static const struct cli_part parts[] = {
    {&cli_target_options, offsetof(struct arguments, target)}, {0}};

static const struct cli_syntax syntax = {
    .own = {options, parts, check},
    .doc =
    "Drives the network of a slice, or of any grid, with synthetic traffic: what is offered and "
    "what gets through, how long messages are under way, how fairly and how evenly.\v"
    "Every link is free from an instant on, and who is there first goes first; waiting messages "
    "keep no others from their links, so a network takes all that its busiest link can carry "
    "(docs/network.md says what routers with small buffers reach). Loads and what is accepted "
    "are in percent of what one link carries, per chip that sends.\n\n"
    "Examples:\n"
    "  systole net --traffic uniform --grid 8x8 --torus\n"
    "  systole net --traffic tornado --grid 8x8 --mesh --load 0.2 --seeds 5\n"
    "  systole net --traffic transpose --tpu v5e-256 --routing adaptive --csv net.csv\n"
    "  systole net --traffic all-to-all --tpu v4-256_twisted"};

static int read_pattern(struct net_options *o, const char *name, struct err *e)
{
    const char *names[TRAFFIC_PATTERN_COUNT + 1];

    o->is_exchange = name && strcmp(name, "all-to-all") == 0;
    if (!name || o->is_exchange)
        return 0;
    o->request.pattern = traffic_find(name);
    if (o->request.pattern != TRAFFIC_PATTERN_COUNT)
        return 0;
    for (int p = 0; p < TRAFFIC_PATTERN_COUNT; p++)
        names[p] = traffic_name((enum traffic_pattern)p);
    names[TRAFFIC_PATTERN_COUNT] = "all-to-all";
    return err_set(e, "no traffic \"%s\"%s; there are uniform, neighbour, tornado, transpose, "
                   "bit-complement, hotspot, permutation, all-to-all", name,
                   text_did_you_mean(name, names, COUNT_OF(names)).text);
}

static int read_sizes(struct net_options *o, const struct arguments *a, struct err *e)
{
    if (a->load && text_parse_double(a->load, 0.001, TRAFFIC_LOAD_MAX, &o->load))
        return err_set(e, "--load %s is not a number from 0.001 to %g", a->load,
                       TRAFFIC_LOAD_MAX);
    o->request.bytes = a->bytes;
    o->request.messages = (int)a->messages;
    o->request.hot_percent = (int)a->hot;
    o->request.seed = 1;
    o->seeds = (int)a->seeds;
    return 0;
}

static int read_chips(struct net_options *o, struct arguments *a, struct err *e)
{
    struct cli_list *set = &a->target.set;
    char routing[64];

    if (a->routing) {
        snprintf(routing, sizeof(routing), "ici.routing=%s", a->routing);
        if (set->count == CLI_LIST_MAX)
            return err_set(e, "--set: at most %d parameters beside --routing", CLI_LIST_MAX - 1);
        set->item[set->count++] = routing;
    }
    return cli_load_slice(&a->target, &o->slice, &o->chip, NULL, NULL, e);
}

static bool read_axes(const char *text, int dim[3])
{
    char rest;
    int count = sscanf(text, "%5dx%5dx%5d%c", &dim[0], &dim[1], &dim[2], &rest);

    if (count == 2 && sscanf(text, "%*5dx%*5d%c", &rest) != 1)
        dim[2] = 1;
    else if (count != 3)
        return false;
    for (int i = 0; i < 3; i++)
        if (dim[i] < 1 || dim[i] > NET_AXIS_MAX)
            return false;
    return (int64_t)dim[0] * dim[1] * dim[2] <= MOST_GRID_CHIPS;
}

static int read_grid(struct net_options *o, const struct arguments *a, struct err *e)
{
    int dim[3] = {1, 1, 1}, k;

    if (!read_axes(a->grid, dim))
        return err_set(e, "--grid %s is no grid of at most %d chips; they are written 8x8 or "
                       "4x4x8", a->grid, MOST_GRID_CHIPS);
    k = dim[0] > 2 ? dim[0] : 3;
    if (a->is_twisted && !net_can_twist(dim))
        return err_set(e, "a grid of %dx%dx%d cannot be twisted: k x k x 2k and k x 2k x 2k can, "
                       "k being at least 3; the nearest is %dx%dx%d", dim[0], dim[1], dim[2], k,
                       dim[1] * 2 > 3 * k ? 2 * k : k, 2 * k);
    for (int i = 0; i < 3; i++) {
        o->slice.dim[i] = dim[i];
        o->slice.is_ring[i] = !a->is_mesh && dim[i] > 2;
    }
    o->slice.dims = dim[2] > 1 ? 3 : 2;
    o->slice.chip_count = dim[0] * dim[1] * dim[2];
    o->slice.is_twisted = a->is_twisted;
    o->is_grid = true;
    return 0;
}

int net_options_read(struct net_options *o, int argc, char **argv, struct err *e)
{
    struct arguments a = {.target.tpu = "v4-128", .bytes = 4 * KIB, .messages = 1000, .seeds = 1,
                          .hot = 20};

    cli_parse(&syntax, argc, argv, &a);
    *o = (struct net_options){.csv = a.csv};
    if (read_pattern(o, a.traffic, e) || read_sizes(o, &a, e) || read_chips(o, &a, e)
        || (a.grid && read_grid(o, &a, e)))
        return -1;
    o->request.net = slice_net_config(&o->slice, &o->chip);
    return 0;
}

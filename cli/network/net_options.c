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
#define MOST_BYTES (1 << 30)

enum { KEY_GRID = 256, KEY_TORUS, KEY_MESH, KEY_TWISTED, KEY_SWEEP, KEY_SEEDS, KEY_ROUTING,
       KEY_HOT, KEY_CSV };

enum shape_kind { SHAPE_TORUS, SHAPE_MESH, SHAPE_TWISTED };

struct arguments {
    const char *traffic, *tpu, *grid, *load, *bytes, *messages, *seeds, *routing, *hot;
    const char *csv;
    enum shape_kind kind;
    bool has_kind, is_sweep;
    struct cli_list set;
};

static const struct argp_option options[] = {
    {"traffic", 't', "PATTERN", 0, "uniform (default), neighbour, tornado, transpose, "
     "bit-complement, hotspot, permutation, or all-to-all: everything to everyone at once", 0},
    {"tpu", 'T', "SLICE", 0, "The slice whose network it is (default v4-128)", 1},
    {"grid", KEY_GRID, "AxB[xC]", 0, "Take any grid instead, with the links of the chips", 1},
    {"torus", KEY_TORUS, NULL, 0, "The grid closes along all axes (default)", 1},
    {"mesh", KEY_MESH, NULL, 0, "The grid ends at its edges", 1},
    {"twisted", KEY_TWISTED, NULL, 0, "The grid is a twisted torus", 1},
    {"routing", KEY_ROUTING, "NAME", 0, "xyz, zyx or adaptive; short for --set ici.routing=NAME",
     1},
    {"set", 'S', "SECTION.KEY=VALUE", 0, "Change a parameter of the chips; may be repeated", 1},
    {"load", 'l', "LOAD", 0, "Offered by each chip, as a part of what one link carries: 0.5", 2},
    {"sweep", KEY_SWEEP, NULL, 0, "Loads up to beyond what the busiest link bears (default)", 2},
    {"bytes", 'b', "BYTES", 0, "Payload of a message (default 4K)", 2},
    {"messages", 'm', "N", 0, "Messages of each chip that are measured (default 1000)", 2},
    {"seeds", KEY_SEEDS, "N", 0, "Run with N different seeds, counted together (default 1)", 2},
    {"hot", KEY_HOT, "PERCENT", 0, "What goes to the one chip under hotspot (default 20)", 2},
    {"csv", KEY_CSV, "FILE", 0, "Write the table as CSV too", 3},
    {0},
};

static void set_kind(struct arguments *a, enum shape_kind kind, struct argp_state *state)
{
    if (a->has_kind && a->kind != kind)
        argp_error(state, "--torus, --mesh and --twisted do not go together");
    a->kind = kind;
    a->has_kind = true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case 't': a->traffic = arg; return 0;
    case 'T': a->tpu = arg; return 0;
    case KEY_GRID: a->grid = arg; return 0;
    case KEY_TORUS: set_kind(a, SHAPE_TORUS, state); return 0;
    case KEY_MESH: set_kind(a, SHAPE_MESH, state); return 0;
    case KEY_TWISTED: set_kind(a, SHAPE_TWISTED, state); return 0;
    case KEY_ROUTING: a->routing = arg; return 0;
    case 'S': cli_list_add(&a->set, arg, state); return 0;
    case 'l': a->load = arg; return 0;
    case KEY_SWEEP: a->is_sweep = true; return 0;
    case 'b': a->bytes = arg; return 0;
    case 'm': a->messages = arg; return 0;
    case KEY_SEEDS: a->seeds = arg; return 0;
    case KEY_HOT: a->hot = arg; return 0;
    case KEY_CSV: a->csv = arg; return 0;
    case ARGP_KEY_ARG: argp_error(state, "what is \"%s\"? a pattern goes behind --traffic", arg);
        return 0;
    case ARGP_KEY_END:
        if (a->has_kind && !a->grid)
            argp_error(state, "--torus, --mesh and --twisted go with --grid; a slice closes "
                       "as its chips do");
        if (a->load && a->is_sweep)
            argp_error(state, "--load and --sweep do not go together");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    options, parse_option, "",
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
    "  systole net --traffic all-to-all --tpu v4-256_twisted",
    NULL, NULL, NULL,
};

static int read_number(const char *option, const char *text, int64_t lo, int64_t hi,
                       int64_t *value, struct err *e)
{
    if (text && text_parse_int(text, lo, hi, value))
        return err_set(e, "%s %s is not a number from %lld to %lld", option, text, (long long)lo,
                       (long long)hi);
    return 0;
}

static int read_pattern(struct net_options *o, const char *name, struct err *e)
{
    const char *names[TRAFFIC_PATTERN_COUNT + 1];
    char hint[64];

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
                   text_did_you_mean(name, names, COUNT_OF(names), hint, sizeof(hint)));
}

static int read_sizes(struct net_options *o, const struct arguments *a, struct err *e)
{
    int64_t messages = 1000, seeds = 1, hot = 20;

    o->request.bytes = 4 * KIB;
    if (a->bytes && text_parse_bytes(a->bytes, 1, MOST_BYTES, &o->request.bytes))
        return err_set(e, "--bytes %s is not a size from 1 to 1G", a->bytes);
    if (read_number("--messages", a->messages, 10, 1000000, &messages, e)
        || read_number("--seeds", a->seeds, 1, 1000, &seeds, e)
        || read_number("--hot", a->hot, 1, 100, &hot, e))
        return -1;
    if (a->load && text_parse_double(a->load, 0.001, TRAFFIC_LOAD_MAX, &o->load))
        return err_set(e, "--load %s is not a number from 0.001 to %g", a->load,
                       TRAFFIC_LOAD_MAX);
    o->request.messages = (int)messages;
    o->request.hot_percent = (int)hot;
    o->request.seed = 1;
    o->seeds = (int)seeds;
    return 0;
}

static int read_chips(struct net_options *o, const struct arguments *a, struct err *e)
{
    struct cli_list set = a->set;
    char routing[64];

    if (a->routing) {
        snprintf(routing, sizeof(routing), "ici.routing=%s", a->routing);
        if (set.count == CLI_LIST_MAX)
            return err_set(e, "--set: at most %d parameters beside --routing", CLI_LIST_MAX - 1);
        set.item[set.count++] = routing;
    }
    return cli_load_slice(a->tpu ? a->tpu : "v4-128", &set, &o->slice, &o->chip, NULL, NULL, e);
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
    if (a->kind == SHAPE_TWISTED && !net_can_twist(dim))
        return err_set(e, "a grid of %dx%dx%d cannot be twisted: k x k x 2k and k x 2k x 2k can, "
                       "k being at least 3; the nearest is %dx%dx%d", dim[0], dim[1], dim[2], k,
                       dim[1] * 2 > 3 * k ? 2 * k : k, 2 * k);
    for (int i = 0; i < 3; i++) {
        o->slice.dim[i] = dim[i];
        o->slice.is_ring[i] = a->kind != SHAPE_MESH && dim[i] > 2;
    }
    o->slice.dims = dim[2] > 1 ? 3 : 2;
    o->slice.chip_count = dim[0] * dim[1] * dim[2];
    o->slice.is_twisted = a->kind == SHAPE_TWISTED;
    o->is_grid = true;
    return 0;
}

int net_options_read(struct net_options *o, int argc, char **argv, struct err *e)
{
    struct arguments a = {.kind = SHAPE_TORUS};

    argp_parse(&parser, argc, argv, 0, NULL, &a);
    *o = (struct net_options){.csv = a.csv};
    if (read_pattern(o, a.traffic, e) || read_sizes(o, &a, e) || read_chips(o, &a, e)
        || (a.grid && read_grid(o, &a, e)))
        return -1;
    o->request.net = slice_net_config(&o->slice, &o->chip);
    return 0;
}

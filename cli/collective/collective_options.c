/*
 * Reads the options of `systole collective`: a table of setters, which the command line and sweeps
 * share.
 */
#include "cli/collective/collective.h"

#include <limits.h>
#include <string.h>

static int parse_kind(const struct cli_option *row, const char *text, void *values, struct err *e)
{
    struct collective_options *o = values;

    (void)row;
    o->has_kind = true;
    return collective_find_kind(text, &o->kind, e);
}

static int parse_algo(const struct cli_option *row, const char *text, void *values, struct err *e)
{
    struct collective_options *o = values;

    (void)row;
    return collective_find_algo(text, &o->algo, e);
}

static int parse_axes(const struct cli_option *row, const char *text, void *values, struct err *e)
{
    static const char letters[] = "xyz";
    struct collective_options *o = values;
    bool axis[3] = {false, false, false};

    (void)row;
    for (const char *c = text; *c; c++) {
        const char *at = strchr(letters, *c);

        if (!at || axis[at - letters])
            return err_set(e, "--axes is \"%s\", allowed are x, y and z, each once, as in xy",
                           text);
        axis[at - letters] = true;
    }
    if (!*text)
        return err_set(e, "--axes is empty; name one or more of x, y and z, as in xy");
    memcpy(o->axis, axis, sizeof(axis));
    return 0;
}

#define AT(member) CLI_AT(struct collective_options, member)
#define BYTES_MAX (1LL << 40)

static const struct cli_option rows[] = {
    CLI_ROW_TPU(struct collective_options, target.tpu, 1),
    {"bytes", 'b', "SIZE", "array of a device: with K, M, G for powers of 1024 (256M)", 1,
     CLI_BYTES, AT(bytes), .lo = 1, .hi = BYTES_MAX},
    {"type", 0, "TYPE", "f32 (default) or bf16", 1, CLI_CHOICE, AT(type), .words = "f32|bf16"},
    {"over", 0, "WHAT", "devices: chips, each core with its part of the chip's array "
     "(default on v4 and v5p, whose cores form one device), or cores", 1, CLI_CHOICE, AT(over),
     .words = "chips|cores"},
    {"axes", 0, "AXES", "of the grid that form a group, as in xy (default: all)", 1, CLI_OTHER,
     .parse = parse_axes},
    {"root", 0, "RANK", "of broadcast and tree (default: %s)", 1, CLI_WHOLE, AT(root),
     .hi = INT_MAX},
    {"shift", 0, "K", "permute: rank r sends to rank r + K (default: %s)", 1, CLI_WHOLE, AT(shift),
     .lo = -INT_MAX, .hi = INT_MAX},
    {"algo", 0, "NAME", "auto (default: the least time predicted), ring, biring, torus, "
     "tree, exchange, direct", 2, CLI_OTHER, .parse = parse_algo},
    {"chunk", 0, "SIZE", "piece of a step that travels by itself (default: chosen)", 2, CLI_BYTES,
     AT(chunk_bytes), .lo = 1, .hi = BYTES_MAX},
    {"engine", 0, "NAME", "cores: programs on the simulated cores; steps: operation by "
     "operation, for large slices; auto (default): cores where that takes seconds", 2, CLI_CHOICE,
     AT(engine), .words = "auto|cores|steps"},
    {0}};

const struct cli_options collective_point_options = {.row = rows};

/* a sweep may go through kinds, too, which the command line has as its argument */
static const struct cli_option kind_row[] = {
    {"kind", 0, NULL, NULL, 1, CLI_OTHER, .parse = parse_kind}, {0}};
static const struct cli_part swept_parts[] = {{&collective_point_options, 0}, {0}};
static const struct cli_options swept_options = {.row = kind_row, .part = swept_parts};

int collective_set_option(struct collective_options *o, const char *key, const char *text,
                          struct err *e)
{
    return cli_set_option(&swept_options, key, text, o, e);
}

/* Adds up repeated options, and loads the chip or slice that --tpu and --set name. */
#include "cli/common/options.h"

#include <stdio.h>
#include <string.h>

void cli_list_add(struct cli_list *l, const char *item, struct argp_state *state)
{
    if (l->count == CLI_LIST_MAX)
        argp_error(state, "an option may be given at most %d times", CLI_LIST_MAX);
    l->item[l->count++] = item;
}

error_t cli_parse_program(const char **program, bool is_optional, int key, char *arg,
                          struct argp_state *state)
{
    switch (key) {
    case ARGP_KEY_ARG:
        if (*program)
            argp_error(state, "only one program may be given, not %s and %s", *program, arg);
        *program = arg;
        return 0;
    case ARGP_KEY_END:
        if (!*program && !is_optional)
            argp_error(state, "which program?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_set_params(const struct cli_list *set, struct chip *chip, struct chip_origin *origins,
                   struct arena *a, struct err *e)
{
    return chip_set_all(chip, set->item, set->count, origins, a, e);
}

int cli_load_slice(const char *tpu, const struct cli_list *set, struct slice *slice,
                   struct chip *chip, struct chip_origin *origins, struct arena *a,
                   struct err *e)
{
    if (slice_parse(slice, tpu, e) ||
        chip_load_builtin(chip, slice->chip_name, origins, a, e) ||
        cli_set_params(set, chip, origins, a, e))
        return -1;
    return slice_fit(slice, chip, e);
}

int cli_add_chip(const char *tpu, struct err *e)
{
    size_t length = strlen(e->msg);

    snprintf(e->msg + length, sizeof(e->msg) - length, "; the chip is %s (--tpu)", tpu);
    return -1;
}

void cli_walk_options(const struct argp *parser,
                      void (*fn)(void *context, const char *name, const char *arg),
                      void *context)
{
    for (const struct argp_option *o = parser->options; o && (o->name || o->key || o->doc); o++)
        if (o->name)
            fn(context, o->name, o->arg);
    for (const struct argp_child *c = parser->children; c && c->argp; c++)
        cli_walk_options(c->argp, fn, context);
}

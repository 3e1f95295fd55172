/* Declares what the commands share in reading their arguments. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H
#include "base/arena.h"
#include "base/err.h"
#include "sim/chip/chip.h"

#include <argp.h>

#define CLI_LIST_MAX 64

/* an option that may be given more than once */
struct cli_list {
    const char *item[CLI_LIST_MAX];
    int count;
};

void cli_list_add(struct cli_list *l, const char *item, struct argp_state *state);

/*
 * For the end of an argp parser: takes the one argument that is no option, a
 * program. Without one: an error, unless `is_optional`.
 */
error_t cli_parse_program(const char **program, bool is_optional, int key, char *arg,
                          struct argp_state *state);

/* --tpu and every --set; `origins` as in chip_load_builtin */
int cli_load_slice(const char *tpu, const struct cli_list *set, struct slice *slice,
                   struct chip *chip, struct chip_origin *origins, struct arena *a,
                   struct err *e);
/* Ends a program's mistake with the chip it was held against, which may be a default; -1. */
int cli_add_chip(const char *tpu, struct err *e);
/* the options that `parser` and its children know, with their arguments (NULL: none) */
void cli_walk_options(const struct argp *parser,
                      void (*fn)(void *context, const char *name, const char *arg),
                      void *context);
int cli_set_params(const struct cli_list *set, struct chip *chip, struct chip_origin *origins,
                   struct arena *a, struct err *e);
#endif

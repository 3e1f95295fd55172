/* Names the kinds and algorithms of collectives. */
#include "stack/collective/collective.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const kind_names[COLLECTIVE_KIND_COUNT] = {
    [COLLECTIVE_ALL_REDUCE] = "all-reduce", [COLLECTIVE_REDUCE_SCATTER] = "reduce-scatter",
    [COLLECTIVE_ALL_GATHER] = "all-gather", [COLLECTIVE_ALL_TO_ALL] = "all-to-all",
    [COLLECTIVE_BROADCAST] = "broadcast", [COLLECTIVE_PERMUTE] = "permute",
    [COLLECTIVE_BARRIER] = "barrier",
};

static const char *const algo_names[COLLECTIVE_ALGO_COUNT] = {
    [COLLECTIVE_AUTO] = "auto", [COLLECTIVE_RING] = "ring", [COLLECTIVE_BIRING] = "biring",
    [COLLECTIVE_TORUS] = "torus", [COLLECTIVE_TREE] = "tree",
    [COLLECTIVE_EXCHANGE] = "exchange", [COLLECTIVE_DIRECT] = "direct",
};

const char *collective_kind_name(enum collective_kind k)
{
    return kind_names[k];
}

const char *collective_algo_name(enum collective_algo a)
{
    return algo_names[a];
}

/* the index of `name`; -1 with a message that lists them all */
static int find(const char *what, const char *name, const char *const *names, int count,
                struct err *e)
{
    char list[256], hint[TEXT_NEAR_BYTES];
    int found = text_find(name, names, sizeof(*names), (size_t)count, hint);
    size_t length = 0;

    for (int i = 0; i < count && found < 0; i++)
        length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s", i ? ", " : "",
                                   names[i]);
    return found >= 0 ? found : err_set(e, "no %s \"%s\"%s; there are %s", what, name, hint, list);
}

int collective_find_kind(const char *name, enum collective_kind *k, struct err *e)
{
    int i = find("collective", name, kind_names, COLLECTIVE_KIND_COUNT, e);

    if (i >= 0)
        *k = (enum collective_kind)i;
    return i < 0 ? -1 : 0;
}

int collective_find_algo(const char *name, enum collective_algo *a, struct err *e)
{
    int i = find("algorithm", name, algo_names, COLLECTIVE_ALGO_COUNT, e);

    if (i >= 0)
        *a = (enum collective_algo)i;
    return i < 0 ? -1 : 0;
}

/* --carry: results that are the next step's parameters, so that a training step trains. */
#include "cli/exec/exec.h"

#include <stdlib.h>
#include <string.h>

/* "3" or "3-7"; what follows it, NULL: neither */
static const char *read_range(const char *text, int *first, int *count)
{
    char *end;
    long low = strtol(text, &end, 10), high = low;

    if (end == text || low < 0)
        return NULL;
    if (*end == '-') {
        text = end + 1;
        high = strtol(text, &end, 10);
        if (end == text || high < low)
            return NULL;
    }
    if (high > INT32_MAX - 1)
        return NULL;
    *first = (int)low;
    *count = (int)(high - low) + 1;
    return end;
}

static int check(const struct exec_carry *c, const struct exec_program *p, struct err *e)
{
    char from[200], to[200];

    if (c->result + c->count > p->result_count || c->parameter + c->count > p->parameter_count)
        return err_set(e, "--carry: the program has %d results and %d parameters, counted from 0",
                       p->result_count, p->parameter_count);
    for (int i = 0; i < c->count; i++) {
        const struct hlo_type *r = &p->result[c->result + i].type;
        const struct hlo_type *x = &p->parameter[c->parameter + i].type;

        if (!hlo_type_equal(r, x))
            return err_set(e, "--carry: result %d is %s, parameter %d %s", c->result + i,
                           hlo_type_print(r, from, sizeof(from)), c->parameter + i,
                           hlo_type_print(x, to, sizeof(to)));
    }
    return 0;
}

int exec_parse_carry(const char *text, struct exec_program *p, struct err *e)
{
    const char *at = text;
    size_t commas = 0;

    for (const char *c = text; *c; c++)
        commas += *c == ',';
    p->carry = arena_array(&p->arena, commas + 1, sizeof(*p->carry));
    do {
        struct exec_carry *c = &p->carry[p->carry_count++];
        int count;

        at = read_range(at, &c->result, &c->count);
        c->parameter = c->result;
        if (at && *at == ':') {
            at = read_range(at + 1, &c->parameter, &count);
            at = at && (count == c->count || count == 1) ? at : NULL;
        }
        if (!at || (*at && *at != ','))
            return err_set(e, "--carry is \"%s\", wanted are results, and the parameters that they "
                           "become where the numbers differ: 0-9 or 1-10:0-9 or 0,2:5", text);
        if (check(c, p, e))
            return -1;
    } while (*at++ == ',');
    return 0;
}

void exec_feed_back(struct exec_program *p)
{
    for (int c = 0; c < p->carry_count; c++) {
        for (int i = 0; i < p->carry[c].count; i++) {
            const struct exec_tensor *from = &p->result[p->carry[c].result + i];

            memcpy(p->parameter[p->carry[c].parameter + i].data, from->data,
                   hlo_type_bytes(&from->type));
        }
    }
}

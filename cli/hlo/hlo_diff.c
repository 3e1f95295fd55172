/* In what two programs differ: both are walked from their results, side by side. */
#include "cli/hlo/hlo.h"

#include "import/program/same.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 20, TYPE_BYTES = 160 };

struct walk {
    const struct hlo_module *a, *b;
    int *pair;                          /* of all instructions of a: 1 + the one it was held against */
    int64_t *first;                     /* by computation of a: where its instructions begin there */
    int differences;
};

/* what is still to be held against each other */
struct visit { int computation_a, a, computation_b, b; };
struct visits { struct visit *item; int count; size_t capacity; };

static void tell(struct walk *w, const struct hlo_instruction *x, const struct hlo_instruction *y,
                 const char *what)
{
    char from[TYPE_BYTES], to[TYPE_BYTES];

    if (w->differences++ >= SHOWN_MAX)
        return;
    printf("  line %d %s = %s %s: another %s: line %d %s = %s %s\n", x->line, hlo_name(x),
           hlo_type_print(x->type, from, sizeof(from)), hlo_opcode_name(x->op), what, y->line,
           hlo_name(y), hlo_type_print(y->type, to, sizeof(to)), hlo_opcode_name(y->op));
}

static void push(struct visits *v, int computation_a, int a, int computation_b, int b)
{
    MEM_ADD(v->item, v->count, v->capacity) = (struct visit){computation_a, a, computation_b, b};
}

/* What is the same goes on to its operands and computations; what is not ends there. */
static void hold(struct walk *w, struct visits *v, struct visit at)
{
    const struct hlo_instruction *x = &w->a->computation[at.computation_a].instruction[at.a];
    const struct hlo_instruction *y = &w->b->computation[at.computation_b].instruction[at.b];
    int *pair = &w->pair[w->first[at.computation_a] + at.a];
    const char *what = hlo_instruction_differs(x, y);

    if (*pair)
        what = *pair == at.b + 1 ? NULL : "use of it";
    if (what)
        tell(w, x, y, what);
    if (what || *pair)
        return;
    *pair = at.b + 1;
    for (int k = 0; k < x->operand_count; k++)
        push(v, at.computation_a, x->operand[k], at.computation_b, y->operand[k]);
    for (int k = 0; k < hlo_detail(x)->computation_count; k++)
        push(v, hlo_detail(x)->computation[k],
             w->a->computation[hlo_detail(x)->computation[k]].root, hlo_detail(y)->computation[k],
             w->b->computation[hlo_detail(y)->computation[k]].root);
}

static void walk(struct walk *w)
{
    struct visits v = {0};

    push(&v, w->a->entry, w->a->computation[w->a->entry].root, w->b->entry,
         w->b->computation[w->b->entry].root);
    while (v.count)
        hold(w, &v, v.item[--v.count]);
    mem_free(v.item);
}

static void print_counts(const struct hlo_module *a, const struct hlo_module *b)
{
    struct hlo_counts x = hlo_counts_of(a), y = hlo_counts_of(b);

    for (int op = 0; op < OPCODE_COUNT; op++) {
        if (x.by_opcode[op] != y.by_opcode[op])
            printf("  %lld %s here, %lld there\n", (long long)x.by_opcode[op],
                   hlo_opcode_name((enum hlo_opcode)op), (long long)y.by_opcode[op]);
    }
}

int hlo_print_diff(const struct hlo_module *a, const struct hlo_module *b)
{
    struct walk w = {.a = a, .b = b};
    int64_t total = 0;

    if (a->entry < 0 || b->entry < 0) {
        printf("one of them has no entry computation; operations counted:\n");
        print_counts(a, b);
        return 1;
    }
    w.first = mem_alloc((size_t)(a->computation_count + 1) * sizeof(*w.first));
    for (int c = 0; c < a->computation_count; c++) {
        w.first[c] = total;
        total += a->computation[c].count;
    }
    w.pair = mem_alloc((size_t)(total + 1) * sizeof(*w.pair));
    walk(&w);
    if (w.differences) {
        if (w.differences > SHOWN_MAX)
            printf("  and %d more\n", w.differences - SHOWN_MAX);
        printf("%d difference%s\n", w.differences, w.differences == 1 ? "" : "s");
        print_counts(a, b);
    } else {
        printf("they do the same\n");
    }
    mem_free(w.first);
    mem_free(w.pair);
    return w.differences;
}

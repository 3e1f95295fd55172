/*
 * check.* custom calls on cores: tests of StableHLO hold a result against a wanted one within the
 * program itself. Cores do not compare; what is held against each other becomes results, and the
 * host's evaluator says of each pair what the call would have said.
 */
#include "cli/exec/exec_impl.h"

#include "import/eval/eval.h"
#include "import/program/build.h"

#include <stdio.h>
#include <string.h>

struct exec_checks {
    int count;
    const struct hlo_instruction **call;        /* as they were read, each of two operands */
};

struct taking {
    struct hlo_rewrite rewrite;         /* first */
    int entry, count;
    int *operand;                       /* in the new entry: got, wanted, got, .. */
};

static bool is_check(const struct hlo_instruction *i)
{
    return i->op == OPCODE_CUSTOM_CALL && hlo_detail(i)->target &&
           strncmp(hlo_detail(i)->target, "check.", 6) == 0 && i->operand_count == 2;
}

static bool has_parallel(const struct hlo_computation *c)
{
    for (int i = 0; i < c->count; i++)
        if (exec_is_parallel(&c->instruction[i]))
            return true;
    return false;
}

static int count_checks(const struct hlo_computation *c)
{
    int count = 0;

    for (int i = 0; i < c->count; i++)
        count += is_check(&c->instruction[i]);
    return count;
}

static int take_out(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                    const int *operand)
{
    struct taking *t = (struct taking *)r;

    if (b->computation != t->entry)
        return -1;
    if (exec_is_parallel(from)) {
        int made = exec_run_parallel(b, from, operand, r->err);

        r->status = made < 0 ? -1 : r->status;
        return made;
    }
    if (!is_check(from))
        return -1;
    t->operand[2 * t->count] = operand[0];
    t->operand[2 * t->count + 1] = operand[1];
    t->count++;
    return hlo_tuple(b, 0, NULL);       /* what nobody uses */
}

/* the results that there were, then the pairs */
static void add_results(struct taking *t, struct hlo_module *m)
{
    struct hlo_builder b = {.module = m, .computation = t->entry};
    int *all = mem_alloc((size_t)(2 * t->count + 1) * sizeof(*all));

    all[0] = m->computation[t->entry].root;
    memcpy(all + 1, t->operand, (size_t)(2 * t->count) * sizeof(*all));
    m->computation[t->entry].root = hlo_tuple(&b, 2 * t->count + 1, all);
    mem_free(all);
}

int exec_take_out_checks(struct exec_program *p, struct err *e)
{
    const struct hlo_module *m = p->graph.device;
    const struct hlo_computation *entry = &m->computation[m->entry];
    struct taking t = {.rewrite = {.visit = take_out}, .entry = m->entry};
    struct exec_checks *checks;
    int count = count_checks(entry);

    if ((count == 0 && !has_parallel(entry)) || p->graph.is_cut)
        return 0;
    p->checks = checks = arena_alloc(&p->arena, sizeof(*checks));
    checks->call = arena_array(&p->arena, (size_t)count + 1, sizeof(*checks->call));
    for (int i = 0; i < entry->count; i++) {
        if (is_check(&entry->instruction[i]))
            checks->call[checks->count++] = &entry->instruction[i];
    }
    t.operand = arena_array(&p->arena, 2 * (size_t)count + 1, sizeof(*t.operand));
    if (hlo_rewrite_module(m, &p->graph.cut, &p->arena, &t.rewrite, e))
        return -1;
    add_results(&t, &p->graph.cut);
    p->graph.device = &p->graph.cut;
    p->graph.is_made = true;
    p->graph.devices = (int)(p->graph.cut.replica_count * p->graph.cut.partition_count);
    return 0;
}

/* a program of two parameters and the call, on the values that the cores have made */
static int hold(const struct exec_program *p, const struct hlo_instruction *call,
                const struct exec_tensor *pair, struct eval_report *r, struct err *e)
{
    struct eval_array input[2], output[1];
    const struct eval_array *const inputs[] = {input};
    struct eval_array *const outputs[] = {output};
    struct eval_settings settings = {.precision = EVAL_EXACT};
    struct hlo_builder b;
    struct hlo_module m;
    struct arena a;
    int status;

    arena_init(&a);
    hlo_module_init(&m, &a, "check");
    m.file = p->graph.module->file;
    b = (struct hlo_builder){.module = &m, .computation = hlo_add_computation(&m, "check")};
    m.entry = b.computation;
    for (int k = 0; k < 2; k++) {
        hlo_parameter(&b, k, &pair[k].type);
        input[k] = (struct eval_array){.type = pair[k].type, .data = pair[k].data};
    }
    hlo_copy_instruction(&b, call, (int[]){0, 1});
    hlo_tuple(&b, 0, NULL);
    status = eval_run(&m, &settings, inputs, outputs, &a, r, e);
    hlo_module_fini(&m);
    arena_fini(&a);
    return status;
}

int exec_hold_checks(const struct exec_options *o, struct exec_program *p, struct err *e)
{
    const struct exec_tensor *pair = &p->result[p->result_count];
    int failures = 0;

    for (int c = 0; p->checks && c < p->checks->count; c++) {
        struct eval_report r = {0};

        if (hold(p, p->checks->call[c], &pair[2 * c], &r, e))
            return -1;
        if (r.failures && failures++ == 0)
            *e = r.first_failure;
    }
    if (p->checks && !o->is_quiet)
        printf("%d of the program's own %d checks hold\n", p->checks->count - failures,
               p->checks->count);
    return failures ? -1 : 0;
}

int exec_pair_count(const struct exec_program *p) { return p->checks ? 2 * p->checks->count : 0; }

const struct hlo_type *exec_pair_type(const struct exec_program *p, int n)
{
    const struct hlo_instruction *call = p->checks->call[n / 2];
    const struct hlo_module *m = p->graph.module;

    return m->computation[m->entry].instruction[call->operand[n % 2]].type;
}

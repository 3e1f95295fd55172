/*
 * `NAME-start(x), ATTRIBUTES`: how printers write an async-start whose computation is one operation,
 * with the attributes of that operation.
 */
#include "import/hlo_text/reader.h"

#include "base/text.h"

#include <string.h>

/* the value of an attribute that is kept as it stands, without its quotes; NULL: there is none */
static const char *thread_of(struct hlo_reader *r, const struct hlo_detail *d)
{
    for (int p = 0; p < d->other.count; p++) {
        const struct hlo_pair *pair = &d->other.item[p];

        if (strcmp(pair->key, "async_execution_thread") == 0 && strlen(pair->value) >= 2)
            return hlo_read_keep(r, (struct hlo_span){pair->value + 1, strlen(pair->value) - 2});
    }
    return NULL;
}

/* parameters of the operands' types, and the operation on them */
static void fill(struct hlo_reader *r, struct hlo_computation *c, struct hlo_instruction *wrapped,
                 const struct hlo_computation *around)
{
    int count = wrapped->operand_count;
    int *own = hlo_pool_alloc(&r->pool, (size_t)count * sizeof(*own));

    for (int p = 0; p < count; p++) {
        struct hlo_instruction parameter = {
            .op = OPCODE_PARAMETER, .index = p, .line = wrapped->line, .col = wrapped->col,
            .type = around->instruction[wrapped->operand[p]].type,
            .label = hlo_label(arena_printf(r->pool.arena, "param_%d", p))};

        own[p] = c->count;
        MEM_ADD(c->parameter, c->parameter_count, c->parameter_capacity) = c->count;
        MEM_ADD(c->instruction, c->count, c->capacity) = parameter;
    }
    wrapped->operand = own;
    c->root = c->count;
    MEM_ADD(c->instruction, c->count, c->capacity) = *wrapped;
}

int hlo_read_async_start(struct hlo_reader *r, struct hlo_reading *g,
                         const struct hlo_computation *c)
{
    struct hlo_module *m = r->module;
    struct hlo_instruction *i = &g->f.i, wrapped = *i, start = *i;
    struct hlo_detail *own = &g->f.d, of_wrapped = *own;
    struct hlo_computation body = {.line = i->line, .col = i->col, .thread = thread_of(r, &g->f.d)};
    bool has_config = i->op == OPCODE_CUSTOM_CALL || i->op == OPCODE_FUSION;

    if (!g->has_type || i->type->part_count < 2)
        return hlo_scan_error(&r->scan, g->at, "%s-start needs a type, which is a tuple of the "
                              "operands, the result and a state", hlo_opcode_name(i->op));
    wrapped.type = &i->type->part[1];
    wrapped.label = hlo_label(hlo_opcode_name(i->op));
    of_wrapped.sharding_count = 0;
    of_wrapped.frontend = of_wrapped.other = (struct hlo_pairs){.count = 0};
    of_wrapped.control = (struct hlo_ints){.count = 0};
    of_wrapped.config = has_config ? own->config : NULL;
    wrapped.detail = hlo_read_keep_detail(r, &of_wrapped);
    fill(r, &body, &wrapped, c);

    *i = (struct hlo_instruction){
        .op = OPCODE_ASYNC_START, .type = start.type, .operand = start.operand,
        .operand_count = start.operand_count,
        .place = start.place, .line = start.line, .col = start.col};
    *own = (struct hlo_detail){
        .computation_count = 1,
        .computation = hlo_pool_copy(&r->pool, &m->computation_count, 1, sizeof(int)),
        .config = has_config ? NULL : own->config, .frontend = own->frontend, .other = own->other,
        .sharding_count = own->sharding_count, .sharding = own->sharding,
        .control = own->control};
    MEM_ADD(m->computation, m->computation_count, m->computation_capacity) = body;
    return 0;
}

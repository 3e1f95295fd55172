/* Which memory a program wants its results in: its author said so (annotate_device_placement). */
#include "pjrt/program/program.h"

#include <string.h>

static const char *value_of(const struct hlo_pairs *pairs, const char *key)
{
    for (int i = 0; i < pairs->count; i++)
        if (strcmp(pairs->item[i].key, key) == 0)
            return pairs->item[i].value;
    return NULL;
}

/* with quotes or without */
static bool is_kind(const char *text, enum memory_kind kind)
{
    const char *name = memory_kind_name(kind);
    size_t length = strlen(name);

    text += *text == '"';
    return strncmp(text, name, length) == 0 && (!text[length] || text[length] == '"');
}

/* what the value behind constraints and placements of its own is said to lie in */
static enum memory_kind placement_of(const struct hlo_computation *c, int i)
{
    const struct hlo_instruction *n = &c->instruction[i];

    while ((n->op == OPCODE_CUSTOM_CALL || n->op == OPCODE_COPY) && n->operand_count == 1) {
        const struct hlo_detail *detail = hlo_detail(n);
        const char *said = value_of(&detail->frontend, "_xla_buffer_placement");

        for (int k = 0; said && k < MEMORY_KINDS; k++)
            if (is_kind(said, (enum memory_kind)k))
                return (enum memory_kind)k;
        if (n->op == OPCODE_CUSTOM_CALL && strcmp(detail->target, "Sharding") != 0)
            return MEMORY_DEVICE;
        n = &c->instruction[n->operand[0]];
    }
    return MEMORY_DEVICE;
}

void program_list_placements(struct PJRT_Executable *p)
{
    const struct hlo_module *m = p->x.graph.module;
    const struct hlo_computation *c = &m->computation[m->entry];
    const struct hlo_instruction *root = &c->instruction[c->root];
    bool is_tuple = root->op == OPCODE_TUPLE && root->operand_count == p->outputs;

    p->placement = arena_array(&p->arena, (size_t)p->outputs + 1, sizeof(*p->placement));
    for (int i = 0; i < p->outputs && (is_tuple || p->outputs == 1); i++) {
        p->placement[i] = placement_of(c, is_tuple ? root->operand[i] : c->root);
        p->output_kind[i] = memory_kind_name(p->placement[i]);
        p->output_kind_size[i] = strlen(p->output_kind[i]);
    }
}

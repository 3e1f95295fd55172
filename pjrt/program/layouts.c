/*
 * In which order of dimensions callers want parameters and results to lie (mhlo.layout_mode). They lie
 * as the compiler has them, and come to the host in any order, so it is what they are called alone.
 */
#include "pjrt/program/layouts.h"

#include "pjrt/program/program.h"

#include <stdlib.h>
#include <string.h>

#define MODE "mhlo.layout_mode"

/* "{0,2,1}", quoted or not; false: it is none of that rank, or no order of dimensions */
static bool read_order(const char *text, size_t rank, int64_t *minor_to_major)
{
    uint64_t seen = 0;

    text += *text == '"';
    if (*text++ != '{')
        return false;
    for (size_t i = 0; i < rank; i++) {
        char *end;
        long d = strtol(text, &end, 10);

        if (end == text || d < 0 || (size_t)d >= rank || seen >> d & 1)
            return false;
        seen |= UINT64_C(1) << d;
        minor_to_major[i] = d;
        text = end + (*end == ',');
    }
    return *text == '}' || *text == ':';
}

/* of type `t`, as `mode` says; row-major where that says nothing of it ("default", "auto", NULL) */
static struct PJRT_Layouts_MemoryLayout *layout_of(struct arena *a, const struct hlo_type *t,
                                                   const char *mode)
{
    struct PJRT_Layouts_MemoryLayout *made = arena_alloc(a, sizeof(*made));
    size_t rank = (size_t)t->rank;
    int64_t *order = arena_array(a, rank + 1, sizeof(*order));

    if (!mode || !read_order(mode, rank, order))
        for (size_t i = 0; i < rank; i++)
            order[i] = (int64_t)(rank - 1 - i);
    *made = (struct PJRT_Layouts_MemoryLayout){.rank = rank, .minor_to_major = order};
    return made;
}

static const char *value_of(const struct hlo_pairs *pairs, const char *key)
{
    for (int i = 0; i < pairs->count; i++)
        if (strcmp(pairs->item[i].key, key) == 0)
            return pairs->item[i].value;
    return NULL;
}

/*
 * What the dictionary of result `number` says in "[{...}, {...}]"; braces inside of quotes are text.
 * NULL: nothing.
 */
static const char *result_mode(const char *dicts, int number)
{
    bool is_quoted = false;
    int depth = 0, at = -1;

    for (const char *c = dicts; c && *c; c++) {
        if (*c == '"' && (c == dicts || c[-1] != '\\'))
            is_quoted = !is_quoted;
        if (is_quoted)
            continue;
        if (*c == '{' && depth++ == 0)
            at++;
        if (*c == '}')
            depth--;
        if (depth == 1 && at == number && strncmp(c, MODE " = ", strlen(MODE " = ")) == 0)
            return c + strlen(MODE " = ");
    }
    return NULL;
}

void program_list_layouts(struct PJRT_Executable *p)
{
    const struct hlo_module *m = p->x.graph.module;
    const struct hlo_computation *c = &m->computation[m->entry];
    const char *dicts = value_of(&hlo_detail(&c->instruction[c->root])->other, "res_attrs");
    struct PJRT_Layouts_MemoryLayout **list;

    list = arena_array(&p->arena, (size_t)(p->parameters + p->outputs) + 1, sizeof(*list));
    p->parameter_layout = list;
    p->output_layout = list + p->parameters;
    for (int i = 0; i < p->parameters; i++) {
        const struct hlo_instruction *n = i < c->parameter_count && c->parameter_count == p->parameters
                                              ? &c->instruction[c->parameter[i]] : NULL;

        list[i] = layout_of(&p->arena, p->x.parameter[i],
                            n ? value_of(&hlo_detail(n)->other, MODE) : NULL);
    }
    for (int i = 0; i < p->outputs; i++)
        p->output_layout[i] = layout_of(&p->arena, p->x.result[i], result_mode(dicts, i));
}

/*
 * What is alive at once in HBM: the least that any placing needs, and who made it, for the message
 * when it is too much.
 */
#include "stack/module/module_impl.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define LAYERS_TOLD 4
#define NAME_TOLD 60                    /* of a name so many characters */

struct layer { const char *name; int length; int64_t bytes; };

static bool is_in_hbm(const struct module_buffer *b)
{
    return module_buffer_lives(b) && b->space == SPACE_HBM && !b->is_given && !b->is_guest;
}

/* parameters and literals live from before the first step to behind the last */
static int first_of(const struct module_buffer *b) { return b->first > 0 ? b->first : 0; }
static int end_of(const struct module_plan *p, const struct module_buffer *b)
{
    return b->last < p->step_count ? b->last + 1 : p->step_count;
}

int module_plan_fullest_step(const struct module_plan *p, int64_t *most)
{
    int64_t *change = mem_alloc(((size_t)p->step_count + 1) * sizeof(*change));
    int64_t bytes = 0, best = -1;
    int step = 0;

    for (int k = 0; k < p->buffer_count; k++) {
        const struct module_buffer *b = &p->buffer[k];

        if (is_in_hbm(b) && first_of(b) < p->step_count) {
            change[first_of(b)] += b->bytes;
            change[end_of(p, b)] -= b->bytes;
        }
    }
    for (int i = 0; i < p->step_count; i++) {
        bytes += change[i];
        if (bytes > best) {
            best = bytes;
            step = i;
        }
    }
    mem_free(change);
    if (most)
        *most = best;
    return step;
}

/* ----- who made it */

/* who writes each buffer first; what nobody writes was there before */
static const char **makers(const struct module_plan *p)
{
    const char **maker = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*maker));

    for (int i = 0; i < p->step_count; i++)
        for (int k = 0; k < p->step[i].result_count; k++) {
            int at = (int)(module_plan_buffer(p, p->step[i].result[k]) - p->buffer);

            if (!maker[at])
                maker[at] = p->step[i].source ? p->step[i].source : "";
        }
    return maker;
}

static const char *maker_of(const struct module_buffer *b, const char *maker)
{
    if (b->role == BUFFER_PARAMETER)
        return "variables and inputs";
    if (b->role == BUFFER_CONSTANT || !maker)
        return "constants";
    return b->role == BUFFER_SUMS ? "sums over devices" : *maker ? maker : "no layer";
}

static int most_first(const void *x, const void *y)
{
    const struct layer *a = x, *b = y;

    return a->bytes < b->bytes ? 1 : a->bytes > b->bytes ? -1 : 0;
}

/* behind "jit(step)/jvp(M)/" of JAX: what was done to a function says nothing of who made an array */
static const char *behind_transforms(const char *source)
{
    const char *name = source;
    int depth = 0;

    for (const char *c = source; *c; c++) {
        depth += *c == '(' ? 1 : *c == ')' ? -1 : 0;
        if (*c == '/' && depth == 0) {
            if (c == name || c[-1] != ')')
                break;
            name = c + 1;
        }
    }
    return name;
}

/*
 * "block1_conv1/Conv2D" and "gradients/block1_conv1/Conv2D" are of what stands before Conv2D. Of a
 * program that JAX has named it is the operation itself: its modules, if it has any, are nested.
 */
static struct layer layer_of(const char *source)
{
    static const char backwards[] = "gradients/";
    const char *name = behind_transforms(source);
    size_t before = strncmp(source, backwards, strlen(backwards)) == 0 ? strlen(backwards) : 0;

    if (name > source)
        return (struct layer){name, (int)strlen(name), 0};
    return (struct layer){source, (int)(before + strcspn(source + before, "/")), 0};
}

static int list_layers(const struct module_plan *p, int step, struct layer *list)
{
    const char **maker = makers(p);
    int count = 0;

    for (int i = 0; i < p->buffer_count; i++) {
        const struct module_buffer *b = &p->buffer[i];
        struct layer one = layer_of(maker_of(b, maker[i]));
        int k = 0;

        if (!is_in_hbm(b) || first_of(b) > step || end_of(p, b) <= step)
            continue;
        while (k < count && (list[k].length != one.length ||
                             strncmp(list[k].name, one.name, (size_t)one.length) != 0))
            k++;
        if (k == count)
            list[count++] = one;
        list[k].bytes += b->bytes;
    }
    mem_free(maker);
    qsort(list, (size_t)count, sizeof(*list), most_first);
    return count;
}

int module_plan_refuse(const struct module_plan *p, int64_t need, struct err *e)
{
    struct layer *list = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*list));
    int64_t alive, rest = 0;
    int step = module_plan_fullest_step(p, &alive), count = list_layers(p, step, list), status;
    char told[360] = "";

    for (int i = 0; i < count; i++)
        if (i < LAYERS_TOLD)
            snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s %s %.*s",
                     i ? "," : "", text_bytes(list[i].bytes).text,
                     list[i].length < NAME_TOLD ? list[i].length : NAME_TOLD, list[i].name);
        else
            rest += list[i].bytes;
    if (rest > 0)
        snprintf(told + strlen(told), sizeof(told) - strlen(told), ", %s others",
                 text_bytes(rest).text);
    status = err_set(e, "arrays that live at the same time need %s of HBM, a core has %s; %s are "
                     "alive at once:%s; a smaller batch or bf16 needs less",
                     text_bytes(need).text,
                     text_bytes(module_plan_hbm_bytes(p->settings)).text,
                     text_bytes(alive).text, told);
    mem_free(list);
    return status;
}

/* Grid, windows and arguments of a kernel's function, from the attributes that it carries. */
#include "import/mosaic/mosaic_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int ints_of(struct mosaic_reader *r, const struct mlir_attr *a, const char *what,
                   int64_t *list)
{
    if (!a)
        return 0;
    if (a->kind != MLIR_INTS && (a->kind != MLIR_ARRAY || a->count != 0)) {
        mosaic_fail(r, "%s is no list of numbers", what);
        return 0;
    }
    if (a->count > MOSAIC_RANK_MAX) {
        mosaic_fail(r, "%s has %d entries; %d are the most", what, a->count, MOSAIC_RANK_MAX);
        return 0;
    }
    for (int i = 0; i < a->count && a->kind == MLIR_INTS; i++)
        list[i] = a->ints[i];
    return a->count;
}

static int64_t int_of(const struct mlir_op *op, const char *name)
{
    const struct mlir_attr *a = mlir_op_attr(op, name);

    return a && a->kind == MLIR_INTEGER ? a->integer : 0;
}

static void read_semantics(struct mosaic_reader *r, const struct mlir_attr *list)
{
    static const char *const names[] = {"arbitrary", "parallel", "core_parallel",
                                        "subcore_parallel"};

    if (!list || list->kind != MLIR_ARRAY)
        return;
    for (int i = 0; i < list->count && i < r->k->grid_rank; i++) {
        const char *text = mosaic_inner(r, list->item[i]);

        for (int s = 0; s < 4; s++)
            if (!strcmp(text, names[s]))
                r->k->semantics[i] = (enum mosaic_semantics)s;
    }
}

static const struct mosaic_function *find_function(struct mosaic_reader *r,
                                                   const struct mlir_attr *symbol)
{
    for (int i = 0; symbol && i < r->k->function_count; i++)
        if (mlir_text_is(symbol->text, r->k->function[i]->name))
            return r->k->function[i];
    return NULL;
}

/* #tpu.element_window<[low, ...], [high, ...]> */
static void read_element_window(struct mosaic_reader *r, const char *text, int rank,
                                struct mosaic_window *w)
{
    int64_t *const list[] = {w->pad_low, w->pad_high};
    char *end = (char *)(uintptr_t)text;

    for (int l = 0; l < 2; l++) {
        const char *open = strchr(end, '[');

        if (!open) {
            mosaic_fail(r, "an element window \"%s\" without its two lists", text);
            return;
        }
        end = (char *)(uintptr_t)open + 1;
        for (int i = 0; i < rank && *end && *end != ']'; i++) {
            list[l][i] = strtoll(end, &end, 10);
            w->is_element[i] = true;
            end += strspn(end, ", ");
        }
    }
}

static void read_window(struct mosaic_reader *r, const struct mlir_attr *entry, int number,
                        struct mosaic_window *w)
{
    const struct mlir_attr *kind = mlir_attr_find(entry, "window_kind");
    const struct mlir_attr *pipeline = mlir_attr_find(entry, "pipeline_mode");
    const struct mlir_attr *revisit = mlir_attr_find(entry, "revisit_mode");
    int rank = ints_of(r, mlir_attr_find(entry, "window_bounds"), "window_bounds", w->bound);

    w->buffers = 2;
    if (!mlir_attr_find(entry, "window_bounds"))
        return;
    w->is_windowed = true;
    w->transform = find_function(r, mlir_attr_find(entry, "transform_indices"));
    if (!w->transform)
        mosaic_fail(r, "the index map of operand %d is no function of the module", number);
    if (kind)
        read_element_window(r, mosaic_inner(r, kind), rank, w);
    if (pipeline && !strcmp(mosaic_inner(r, pipeline), "synchronous"))
        w->buffers = 1;
    w->is_revisited = revisit && !strcmp(mosaic_inner(r, revisit), "any");
    for (int i = 0; i < rank; i++)
        if (w->bound[i] < 1)
            mosaic_fail(r, "operand %d has blocks of size %lld", number,
                        (long long)w->bound[i]);
}

static void read_windows(struct mosaic_reader *r, const struct mlir_attr *list)
{
    struct mosaic_kernel *k = r->k;
    struct mosaic_window *w = arena_array(r->arena, (size_t)k->operand_count, sizeof(*w));

    if (list && (list->kind != MLIR_ARRAY || list->count != k->operand_count)) {
        mosaic_fail(r, "%d window_params for %d operands",
                    list->kind == MLIR_ARRAY ? list->count : 0, k->operand_count);
        return;
    }
    for (int i = 0; list && i < list->count; i++) {
        if (list->item[i]->kind != MLIR_DICTIONARY)
            mosaic_fail(r, "window_params of operand %d are no dictionary", i);
        else
            read_window(r, list->item[i], i, &w[i]);
    }
    k->window = w;
}

int mosaic_read_grid(struct mosaic_reader *r, const struct mlir_op *func)
{
    const struct mlir_attr *name = mlir_op_attr(func, "sym_name");
    struct mosaic_kernel *k = r->k;
    int64_t prefetch = int_of(func, "scalar_prefetch"), scratch = int_of(func, "scratch_operands");

    for (int i = 0; i < k->function_count; i++)
        if (name && mlir_text_is(name->text, k->function[i]->name))
            k->main = k->function[i];
    if (!k->main)
        return mosaic_fail(r, "the kernel's function is not there");
    k->grid_rank = ints_of(r, mlir_op_attr(func, "iteration_bounds"), "iteration_bounds", k->grid);
    for (int i = 0; i < k->grid_rank; i++) {
        k->dynamic_count += k->grid[i] == MOSAIC_DYNAMIC;
        if (k->grid[i] != MOSAIC_DYNAMIC && k->grid[i] < 0)
            return mosaic_fail(r, "the grid has a bound of %lld", (long long)k->grid[i]);
    }
    read_semantics(r, mlir_op_attr(func, "dimension_semantics"));
    k->operand_count = (int)(k->main->body->argument_count - k->grid_rank - prefetch - scratch);
    if (prefetch < 0 || scratch < 0 || prefetch > k->main->body->argument_count ||
        scratch > k->main->body->argument_count || k->operand_count < 0)
        return mosaic_fail(r, "%d arguments are fewer than its grid, prefetched and scratch ones",
                           k->main->body->argument_count);
    k->prefetch_count = (int)prefetch;
    k->scratch_count = (int)scratch;
    read_windows(r, mlir_op_attr(func, "window_params"));
    return r->is_failed ? -1 : 0;
}

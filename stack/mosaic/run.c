/* A kernel step by step over its grid, with the blocks of its windows. */
#include "stack/mosaic/run.h"

#include <stdlib.h>
#include <string.h>

#include "stack/mosaic/watch_impl.h"

struct mosaic_block_run {               /* of a windowed operand */
    struct mosaic_buffer array, buffer;
    struct mosaic_type type;            /* of the whole array */
    int64_t first[MOSAIC_RANK_MAX];     /* element of the array where it begins */
    bool is_there;
};

static const struct mosaic_value *argument_of(const struct mosaic_run *r, int operand)
{
    return r->k->main->body->argument[r->k->grid_rank + r->k->prefetch_count + operand];
}

const struct mosaic_op *mosaic_place_of_map(const struct mosaic_kernel *k, int operand)
{
    const struct mosaic_block *map = k->window[operand].transform->body;

    for (int i = 0; i < map->op_count; i++)
        if (map->op[i]->place.file)
            return map->op[i];
    return NULL;
}

int mosaic_find_block(struct mosaic_run *r, int operand, int64_t *first)
{
    const struct mosaic_window *w = &r->k->window[operand];
    const struct mosaic_block *map = w->transform->body;
    int rank = argument_of(r, operand)->type.rank;

    for (int i = 0; i < r->k->grid_rank; i++)
        mosaic_set_int(r, map->argument[i], r->step[i]);
    for (int i = 0; i < r->k->prefetch_count; i++)
        mosaic_copy_value(r, map->argument[r->k->grid_rank + i],
                          r->k->main->body->argument[r->k->grid_rank + i]);
    if (mosaic_run_block(r, map))
        return -1;
    for (int d = 0; d < rank; d++) {
        int64_t index = mosaic_int_in(r, r->ended->operand[d]);

        first[d] = w->is_element[d] ? index - w->pad_low[d] : index * w->bound[d];
    }
    return 0;
}

int mosaic_check_block(struct mosaic_run *r, int operand, const struct mosaic_type *array,
                       const int64_t *first)
{
    const struct mosaic_window *w = &r->k->window[operand];

    for (int d = 0; d < array->rank; d++)
        if (first[d] + w->bound[d] <= 0 || first[d] >= array->dim[d] ||
            (first[d] < 0 && !w->is_element[d]))
            return mosaic_stop(r, mosaic_place_of_map(r->k, operand), "the block of operand %d from "
                               "element %lld on, of dimension %d, lies outside its array, which "
                               "has %lld", operand,
                               (long long)first[d], d, (long long)array->dim[d]);
    return 0;
}

/* between array and block; elements beyond the array are unwritten in the block */
static void copy_block(struct mosaic_block_run *b, const struct mosaic_window *w, bool is_in)
{
    int64_t index[MOSAIC_RANK_MAX] = {0}, i = 0;

    do {
        int64_t at = 0;
        bool is_within = true;

        for (int d = 0; d < b->type.rank; d++) {
            int64_t where = b->first[d] + index[d];

            is_within = is_within && where >= 0 && where < b->type.dim[d];
            at = at * b->type.dim[d] + where;
        }
        if (is_in)
            b->buffer.word[i] = is_within ? b->array.word[at]
                                          : mosaic_unwritten(b->type.element);
        else if (is_within)
            b->array.word[at] = b->buffer.word[i];
        i++;
    } while (mosaic_next(index, w->bound, b->type.rank));
}

static bool is_output(const struct mosaic_run *r, int operand)
{
    return operand >= r->k->operand_count - r->k->output_count;
}

static int enter_block(struct mosaic_run *r, int operand, struct mosaic_block_run *b)
{
    const struct mosaic_window *w = &r->k->window[operand];
    int64_t first[MOSAIC_RANK_MAX];

    if (mosaic_find_block(r, operand, first) || mosaic_check_block(r, operand, &b->type, first))
        return -1;
    if (is_output(r, operand))
        watch_owner(r, operand, first, b->type.rank);
    if (b->is_there && !memcmp(first, b->first, (size_t)b->type.rank * sizeof(*first)))
        return 0;
    if (b->is_there && is_output(r, operand)) {
        watch_block(r, &b->buffer, operand, false);
        copy_block(b, w, false);
    }
    memcpy(b->first, first, sizeof(first));
    b->is_there = true;
    watch_block(r, &b->buffer, operand, true);
    if (!is_output(r, operand)) {
        copy_block(b, w, true);
        return 0;
    }
    for (int64_t i = 0; i < b->buffer.count; i++)
        b->buffer.word[i] = mosaic_unwritten(b->type.element);
    watch_set_written(&b->buffer, false);
    return 0;
}

static int run_grid(struct mosaic_run *r, struct mosaic_block_run *block)
{
    do {
        for (int i = 0; i < r->k->operand_count; i++)
            if (r->k->window[i].is_windowed && enter_block(r, i, &block[i]))
                return -1;
        for (int i = 0; i < r->k->grid_rank; i++)
            mosaic_set_int(r, r->k->main->body->argument[i], r->step[i]);
        if (mosaic_run_block(r, r->k->main->body))
            return -1;
    } while (mosaic_next(r->step, r->grid, r->k->grid_rank));
    for (int i = 0; i < r->k->operand_count; i++)
        if (block[i].is_there && is_output(r, i)) {
            watch_block(r, &block[i].buffer, i, false);
            copy_block(&block[i], &r->k->window[i], false);
        }
    return 0;
}

/* a result that begins as one of the operands */
static bool is_begun(const struct mosaic_run *r, int array)
{
    return r->k->alias[array - (r->k->array_count - r->k->output_count)] >= 0;
}

/* Arrays of the call and blocks of them become what the arguments stand for. */
static void place_arguments(struct mosaic_run *r, uint32_t *const *array, struct mosaic_block_run *block)
{
    struct mosaic_value *const *argument = r->k->main->body->argument + r->k->grid_rank;

    for (int i = 0; i < r->k->array_count; i++) {
        struct mosaic_block_run *b = &block[i];
        const struct mosaic_type *t = &argument[i]->type;
        bool is_windowed =
            i >= r->k->prefetch_count && r->k->window[i - r->k->prefetch_count].is_windowed;

        b->type = r->k->array[i];
        b->array = (struct mosaic_buffer){.word = array[i], .count = mosaic_elements(&b->type)};
        b->buffer = b->array;
        if (is_windowed) {
            b->buffer.count = mosaic_elements(t);
            b->buffer.word = mem_alloc((size_t)b->buffer.count * sizeof(uint32_t) + 1);
            b->buffer.is_owned = true;
        }
        b->buffer.id = argument[i]->id;
        watch_buffer(r, &b->buffer, i < r->k->array_count - r->k->output_count || is_begun(r, i));
        mosaic_datum(r, argument[i])->view = mosaic_whole(&b->buffer, t);
    }
    for (int i = 0; i < r->k->scratch_count; i++)
        mosaic_allocate(r, argument[r->k->array_count + i]);
}

/* What is left in a semaphore would disturb the next kernel. */
int mosaic_check_semaphore(struct mosaic_run *r, const struct mosaic_op *at,
                           const struct mosaic_value *v)
{
    const struct mosaic_buffer *b = r->value[v->id].own;

    if (!b || r->value[v->id].view.buffer != b ||
        mosaic_element_kind(v->type.element) != MOSAIC_KIND_SEMAPHORE)
        return 0;
    for (int64_t w = 0; w < b->count; w++) {
        const struct mosaic_copy *c = watch_copy_of(r, &b->word[w]);

        if (!b->word[w])
            continue;
        if (c) {
            memcpy(r->step, c->step, sizeof(c->step));
            return mosaic_stop(r, c->op, "a copy that is never waited for: its semaphore has %d "
                               "left at the end", (int)b->word[w]);
        }
        return mosaic_refuse(r->k, at, r->err, "semaphore %s has %d left at the end",
                             v->name ? v->name : "of its scratch", (int)b->word[w]);
    }
    return 0;
}

static int check_semaphores(struct mosaic_run *r)
{
    for (int j = 0; j < r->k->main->body->argument_count; j++)
        if (mosaic_check_semaphore(r, NULL, r->k->main->body->argument[j]))
            return -1;
    return 0;
}

static int find_grid(struct mosaic_run *r, int64_t *steps)
{
    int next = 0;

    *steps = 1;
    for (int i = 0; i < r->k->grid_rank; i++) {
        r->grid[i] = r->k->grid[i] == MOSAIC_DYNAMIC ? r->s->bound[next++] : r->k->grid[i];
        if (r->grid[i] < 0)
            return mosaic_refuse(r->k, NULL, r->err, "a grid of %lld steps in dimension %d",
                                 (long long)r->grid[i], i);
        *steps *= r->grid[i] ? 1 : 0;
    }
    return 0;
}

void mosaic_free_values(struct mosaic_run *r)
{
    for (int i = 0; i < r->k->value_count; i++) {
        mem_free(r->value[i].word);
        if (r->value[i].own) {
            watch_free(r->value[i].own);
            mem_free(r->value[i].own->word);
        }
        mem_free(r->value[i].own);
    }
    mem_free(r->value);
}

int mosaic_run_begin(struct mosaic_run *r, uint32_t *const *array)
{
    r->value = mem_alloc(((size_t)r->k->value_count + 1) * sizeof(*r->value));
    r->block = mem_alloc(((size_t)r->k->array_count + 1) * sizeof(*r->block));
    r->barrier = (struct mosaic_buffer){.word = &r->barrier_word, .count = 1, .id = BARRIER_ID};
    watch_begin(r);
    watch_buffer(r, &r->barrier, true);
    if (find_grid(r, &r->steps))
        return -1;
    place_arguments(r, array, r->block);
    return 0;
}

int mosaic_run_go(struct mosaic_run *r)
{
    return r->steps ? run_grid(r, r->block + r->k->prefetch_count) : 0;
}

int mosaic_run_check(struct mosaic_run *r)
{
    return r->steps ? check_semaphores(r) : 0;
}

void mosaic_run_end(struct mosaic_run *r)
{
    for (int i = 0; i < r->k->array_count; i++) {
        watch_free(&r->block[i].buffer);
        if (r->block[i].buffer.is_owned)
            mem_free(r->block[i].buffer.word);
    }
    watch_free(&r->barrier);
    watch_end(r);
    mosaic_free_values(r);
    mem_free(r->block);
}

int mosaic_run(const struct mosaic_kernel *k, uint32_t *const *array,
               const struct mosaic_run_settings *s, struct err *e)
{
    struct mosaic_copies copies = {NULL, 0, 0};
    struct mosaic_run r = {.k = k, .s = s, .err = e, .copies = &copies};
    int status = mosaic_run_begin(&r, array) || mosaic_run_go(&r) || mosaic_run_check(&r);

    mosaic_run_end(&r);
    mem_free(copies.item);
    if (!status && s->watch)
        s->watch->kernels++;
    return status ? -1 : 0;
}

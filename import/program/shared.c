/* Types and details of a module, found again by a hash of what they say (open addressing). */
#include "import/program/shared.h"

#include <string.h>

#define SET_MIN 64                      /* entries; a power of two */

struct hlo_shared_entry {
    const void *item;                   /* NULL: free */
    uint32_t hash;
};

typedef bool is_same_item(const void *a, const void *b);

/* Where lists of numbers stand: each is copied, compared and hashed. */
#define LIST(type, field) offsetof(struct type, field)
static const size_t detail_lists[] = {
    LIST(hlo_detail, dims), LIST(hlo_detail, start), LIST(hlo_detail, limit),
    LIST(hlo_detail, stride), LIST(hlo_detail, sizes), LIST(hlo_detail, control)};
/* SLICE's three are PAD's, too: they stand in one place */
_Static_assert(offsetof(struct hlo_detail, low) == offsetof(struct hlo_detail, start) &&
              offsetof(struct hlo_detail, interior) == offsetof(struct hlo_detail, stride),
              "detail_lists names all lists once");
static const size_t gather_lists[] = {
    LIST(hlo_gather, offset_dims), LIST(hlo_gather, collapsed_dims),
    LIST(hlo_gather, start_index_map), LIST(hlo_gather, operand_batching),
    LIST(hlo_gather, indices_batching)};
static const size_t dot_lists[] = {
    LIST(hlo_dot, lhs_batch), LIST(hlo_dot, rhs_batch), LIST(hlo_dot, lhs_contract),
    LIST(hlo_dot, rhs_contract), LIST(hlo_dot, lhs_ragged), LIST(hlo_dot, rhs_group)};
static const size_t conv_lists[] = {
    LIST(hlo_conv, in_spatial), LIST(hlo_conv, kernel_spatial), LIST(hlo_conv, out_spatial)};
static const size_t groups_lists[] = {
    LIST(hlo_groups, size), LIST(hlo_groups, id), LIST(hlo_groups, pair)};
static const size_t sharding_lists[] = {
    LIST(hlo_sharding, tile), LIST(hlo_sharding, id), LIST(hlo_sharding, subgroup),
    LIST(hlo_sharding, open)};

#define LISTS(table) table, sizeof(table) / sizeof(*(table))

static struct hlo_ints list_of(const void *of, size_t offset)
{
    return *(const struct hlo_ints *)((const char *)of + offset);
}

static bool is_same_ints(struct hlo_ints a, struct hlo_ints b)
{
    return a.count == b.count &&
           (a.count == 0 || memcmp(a.item, b.item, (size_t)a.count * sizeof(*a.item)) == 0);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool have_same_lists(const void *a, const void *b, const size_t *offset, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (!is_same_ints(list_of(a, offset[k]), list_of(b, offset[k])))
            return false;
    return true;
}

static void copy_lists(struct arena *a, void *of, const size_t *offset, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        struct hlo_ints *list = (struct hlo_ints *)((char *)of + offset[k]);

        *list = hlo_ints_copy(a, list->item, list->count);
    }
}

static uint32_t mix(uint32_t hash, uint64_t value)
{
    return (uint32_t)((((uint64_t)hash << 7) ^ hash ^ value ^ (value >> 32)) *
                          0x9e3779b97f4a7c15u >>
                      24);
}

static uint32_t mix_ints(uint32_t hash, struct hlo_ints list)
{
    hash = mix(hash, (uint64_t)list.count);
    for (int k = 0; k < list.count; k++)
        hash = mix(hash, (uint64_t)list.item[k]);
    return hash;
}

static uint32_t mix_lists(uint32_t hash, const void *of, const size_t *offset, size_t count)
{
    for (size_t k = 0; k < count; k++)
        hash = mix_ints(hash, list_of(of, offset[k]));
    return hash;
}

static uint32_t mix_text(uint32_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = mix(hash, (unsigned char)*text);
    return hash;
}

static bool is_same_layout(const struct hlo_layout *a, const struct hlo_layout *b)
{
    if (a == b || !a || !b)
        return a == b;
    for (int k = 0; k < a->tile_count && k < b->tile_count; k++)
        if (!is_same_ints(a->tile[k], b->tile[k]))
            return false;
    return is_same_ints(a->minor_to_major, b->minor_to_major) && a->tile_count == b->tile_count &&
           a->element_bits == b->element_bits && a->memory_space == b->memory_space &&
           is_same_text(a->rest, b->rest);
}

static bool is_same_type(const void *of_a, const void *of_b)
{
    const struct hlo_type *a = of_a, *b = of_b;

    if (a->element != b->element || a->is_buffer != b->is_buffer || a->rank != b->rank ||
        a->part_count != b->part_count || !a->is_bounded != !b->is_bounded ||
        !is_same_layout(a->layout, b->layout))
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d] || (a->is_bounded && a->is_bounded[d] != b->is_bounded[d]))
            return false;
    for (int p = 0; p < a->part_count; p++)
        if (!is_same_type(&a->part[p], &b->part[p]))
            return false;
    return true;
}

static uint32_t hash_type(const struct hlo_type *t)
{
    uint32_t hash = mix((uint32_t)t->element * 2 + t->is_buffer, (uint64_t)t->part_count);

    hash = mix_ints(hash, (struct hlo_ints){t->rank, t->dim});
    if (t->layout)
        hash = mix(mix_ints(hash, t->layout->minor_to_major), (uint64_t)t->layout->memory_space);
    for (int p = 0; p < t->part_count; p++)
        hash = mix(hash, hash_type(&t->part[p]));
    return hash;
}

static bool is_same_gather(const struct hlo_gather *a, const struct hlo_gather *b)
{
    if (!a || !b)
        return a == b;
    return have_same_lists(a, b, LISTS(gather_lists)) &&
           a->index_vector_dim == b->index_vector_dim && a->is_sorted == b->is_sorted &&
           a->is_unique == b->is_unique;
}

static bool is_same_dot(const struct hlo_dot *a, const struct hlo_dot *b)
{
    if (!a || !b)
        return a == b;
    return have_same_lists(a, b, LISTS(dot_lists)) && is_same_text(a->algorithm, b->algorithm);
}

static bool is_same_conv(const struct hlo_conv *a, const struct hlo_conv *b)
{
    if (!a || !b)
        return a == b;
    return have_same_lists(a, b, LISTS(conv_lists)) && a->in_batch == b->in_batch &&
           a->in_feature == b->in_feature && a->kernel_in == b->kernel_in &&
           a->kernel_out == b->kernel_out && a->out_batch == b->out_batch &&
           a->out_feature == b->out_feature && a->feature_groups == b->feature_groups &&
           a->batch_groups == b->batch_groups;
}

static bool is_same_groups(const struct hlo_groups *a, const struct hlo_groups *b)
{
    if (!a || !b)
        return a == b;
    return have_same_lists(a, b, LISTS(groups_lists)) && a->channel_id == b->channel_id &&
           a->use_global_ids == b->use_global_ids && a->is_host_transfer == b->is_host_transfer &&
           is_same_text(a->text, b->text);
}

static bool have_same_windows(const struct hlo_detail *a, const struct hlo_detail *b)
{
    if (a->window_count != b->window_count)
        return false;
    for (int d = 0; d < a->window_count; d++) {
        const struct hlo_window *x = &a->window[d], *y = &b->window[d];

        if (x->size != y->size || x->stride != y->stride || x->pad_low != y->pad_low ||
            x->pad_high != y->pad_high || x->base_dilation != y->base_dilation ||
            x->window_dilation != y->window_dilation || x->is_reversed != y->is_reversed)
            return false;
    }
    return true;
}

static bool is_same_pairs(struct hlo_pairs a, struct hlo_pairs b)
{
    if (a.count != b.count)
        return false;
    for (int k = 0; k < a.count; k++)
        if (!is_same_text(a.item[k].key, b.item[k].key) ||
            !is_same_text(a.item[k].value, b.item[k].value))
            return false;
    return true;
}

static bool have_same_shardings(const struct hlo_detail *a, const struct hlo_detail *b)
{
    if (a->sharding_count != b->sharding_count)
        return false;
    for (int k = 0; k < a->sharding_count; k++) {
        const struct hlo_sharding *x = &a->sharding[k], *y = &b->sharding[k];

        if (x->kind != y->kind || x->device != y->device || !is_same_text(x->text, y->text) ||
            !have_same_lists(x, y, LISTS(sharding_lists)))
            return false;
    }
    return true;
}

static bool have_same_scalars(const struct hlo_detail *a, const struct hlo_detail *b)
{
    return a->transpose == b->transpose && a->fft == b->fft && a->random == b->random &&
           a->is_lower == b->is_lower && a->is_left == b->is_left &&
           a->is_unit_diagonal == b->is_unit_diagonal && a->is_stable == b->is_stable &&
           a->is_largest == b->is_largest && a->is_predicated == b->is_predicated &&
           a->is_reverse == b->is_reverse && a->exponent_bits == b->exponent_bits &&
           a->mantissa_bits == b->mantissa_bits &&
           memcmp(&a->epsilon, &b->epsilon, sizeof(a->epsilon)) == 0;
}

static bool have_same_texts(const struct hlo_detail *a, const struct hlo_detail *b)
{
    return !a->target == !b->target && a->target_bytes == b->target_bytes &&
           (!a->target || a->target_bytes == 0 ||
            memcmp(a->target, b->target, a->target_bytes) == 0) &&
           is_same_text(a->config, b->config) && is_same_pairs(a->frontend, b->frontend) &&
           is_same_pairs(a->other, b->other);
}

static bool have_same_computations(const struct hlo_detail *a, const struct hlo_detail *b)
{
    return a->computation_count == b->computation_count &&
           (a->computation_count == 0 ||
            memcmp(a->computation, b->computation,
                   (size_t)a->computation_count * sizeof(*a->computation)) == 0);
}

static bool is_same_detail(const void *of_a, const void *of_b)
{
    const struct hlo_detail *a = of_a, *b = of_b;

    return have_same_scalars(a, b) && have_same_computations(a, b) &&
           have_same_lists(a, b, LISTS(detail_lists)) && is_same_gather(a->gather, b->gather) &&
           is_same_dot(a->dot, b->dot) && is_same_conv(a->conv, b->conv) &&
           is_same_groups(a->groups, b->groups) && have_same_windows(a, b) &&
           have_same_shardings(a, b) && have_same_texts(a, b);
}

static uint32_t hash_detail(const struct hlo_detail *d)
{
    uint32_t hash = mix((uint32_t)d->window_count, (uint64_t)d->sharding_count);

    for (int k = 0; k < d->computation_count; k++)
        hash = mix(hash, (uint64_t)d->computation[k]);
    hash = mix_lists(hash, d, LISTS(detail_lists));
    if (d->gather)
        hash = mix_lists(hash, d->gather, LISTS(gather_lists));
    if (d->dot)
        hash = mix_lists(hash, d->dot, LISTS(dot_lists));
    if (d->groups)
        hash =
            mix(mix_lists(hash, d->groups, LISTS(groups_lists)), (uint64_t)d->groups->channel_id);
    for (int w = 0; w < d->window_count; w++)
        hash = mix(mix(hash, (uint64_t)d->window[w].size), (uint64_t)d->window[w].stride);
    for (int k = 0; k < d->other.count; k++)
        hash = mix_text(hash, d->other.item[k].value);
    for (int k = 0; k < d->frontend.count; k++)
        hash = mix_text(hash, d->frontend.item[k].value);
    return mix_text(mix_text(hash, d->target), d->config);
}

static void *copy_one(struct arena *a, const void *from, size_t bytes, const size_t *offset,
                      size_t count)
{
    void *made = from ? arena_copy(a, from, 1, bytes) : NULL;

    if (made)
        copy_lists(a, made, offset, count);
    return made;
}

/* What a caller may have on its stack; texts and shardings live as long as the module. */
static void *copy_detail(struct hlo_module *m, const void *from)
{
    struct arena *a = m->arena;
    struct hlo_detail *d = copy_one(a, from, sizeof(*d), LISTS(detail_lists));

    d->computation = d->computation_count ? arena_copy(a, d->computation,
                                                       (size_t)d->computation_count,
                                                       sizeof(*d->computation)) : NULL;
    d->gather = copy_one(a, d->gather, sizeof(*d->gather), LISTS(gather_lists));
    d->dot = copy_one(a, d->dot, sizeof(*d->dot), LISTS(dot_lists));
    d->conv = copy_one(a, d->conv, sizeof(*d->conv), LISTS(conv_lists));
    d->groups = copy_one(a, d->groups, sizeof(*d->groups), LISTS(groups_lists));
    if (d->window_count)
        d->window = arena_copy(a, d->window, (size_t)d->window_count, sizeof(*d->window));
    return d;
}

/* Types in a tuple are those of others. */
static void *copy_type(struct hlo_module *m, const void *from)
{
    struct arena *a = m->arena;
    struct hlo_type *t = arena_copy(a, from, 1, sizeof(*t)), *part;

    t->dim = hlo_ints_copy(a, t->dim, t->rank).item;
    if (t->is_bounded)
        t->is_bounded = arena_copy(a, t->is_bounded, (size_t)t->rank, sizeof(*t->is_bounded));
    if (t->part_count) {
        part = arena_copy(a, t->part, (size_t)t->part_count, sizeof(*part));
        for (int p = 0; p < t->part_count; p++)
            part[p] = *hlo_keep_type(m, &part[p]);
        t->part = part;
    }
    return t;
}

/* the entry where such an item is, or would be put */
static struct hlo_shared_entry *place_in(const struct hlo_shared_set *s, uint32_t hash,
                                         const void *item, is_same_item *is_same)
{
    size_t at = hash & (s->capacity - 1);

    while (s->entry[at].item &&
           (s->entry[at].hash != hash || !is_same(s->entry[at].item, item)))
        at = (at + 1) & (s->capacity - 1);
    return &s->entry[at];
}

static void grow(struct hlo_shared_set *s)
{
    struct hlo_shared_set grown = {.capacity = s->capacity ? s->capacity * 2 : SET_MIN,
                                   .count = s->count};

    grown.entry = mem_alloc(grown.capacity * sizeof(*grown.entry));
    for (size_t k = 0; k < s->capacity; k++) {
        size_t at = s->entry[k].hash & (grown.capacity - 1);

        if (!s->entry[k].item)
            continue;
        while (grown.entry[at].item)
            at = (at + 1) & (grown.capacity - 1);
        grown.entry[at] = s->entry[k];
    }
    mem_free(s->entry);
    *s = grown;
}

static const void *keep(struct hlo_module *m, struct hlo_shared_set *s, const void *item,
                        uint32_t hash, is_same_item *is_same,
                        void *(*copy)(struct hlo_module *m, const void *from))
{
    struct hlo_shared_entry *entry;
    bool was_packed;
    void *made;

    if (s->count >= s->capacity / 4 * 3)
        grow(s);
    entry = place_in(s, hash, item, is_same);
    if (entry->item)
        return entry->item;
    was_packed = arena_pack(m->arena, true);
    made = copy(m, item);
    arena_pack(m->arena, was_packed);
    if (s->count >= s->capacity / 4 * 3)
        grow(s);                        /* it may be made of others */
    *place_in(s, hash, item, is_same) = (struct hlo_shared_entry){made, hash};
    s->count++;
    return made;
}

const struct hlo_type *hlo_keep_type(struct hlo_module *m, const struct hlo_type *t)
{
    return keep(m, &m->shared.type, t, hash_type(t), is_same_type, copy_type);
}

struct hlo_detail *hlo_keep_detail(struct hlo_module *m, const struct hlo_detail *d)
{
    if (!d || is_same_detail(d, &hlo_no_detail))
        return NULL;
    return (struct hlo_detail *)(uintptr_t)keep(m, &m->shared.detail, d, hash_detail(d),
                                                is_same_detail, copy_detail);
}

#define SMALL_MAX 64u                   /* bytes of a literal that are looked at */

static size_t small_bytes(const struct hlo_literal *l)
{
    size_t bytes = l->is_splat ? hlo_element_bytes(l->type.element) : hlo_type_bytes(&l->type);

    return l->data && bytes <= SMALL_MAX ? bytes : 0;
}

static bool is_same_literal(const void *of_a, const void *of_b)
{
    const struct hlo_literal *a = of_a, *b = of_b;
    size_t bytes = small_bytes(a);

    return a->is_splat == b->is_splat && a->part == b->part && is_same_type(&a->type, &b->type) &&
           (a->data == b->data ||
            (bytes && bytes == small_bytes(b) && memcmp(a->data, b->data, bytes) == 0));
}

static uint32_t hash_literal(const struct hlo_literal *l)
{
    uint32_t hash = mix(hash_type(&l->type), l->is_splat);
    size_t bytes = small_bytes(l);

    for (size_t k = 0; k < bytes; k++)
        hash = mix(hash, ((const unsigned char *)l->data)[k]);
    return bytes ? hash : mix(hash, (uint64_t)(uintptr_t)l->data);
}

static void *copy_literal(struct hlo_module *m, const void *from)
{
    return arena_copy(m->arena, from, 1, sizeof(struct hlo_literal));
}

const struct hlo_literal *hlo_keep_literal(struct hlo_module *m, const struct hlo_literal *l)
{
    return keep(m, &m->shared.literal, l, hash_literal(l), is_same_literal, copy_literal);
}

void hlo_shared_fini(struct hlo_shared *s)
{
    mem_free(s->type.entry);
    mem_free(s->detail.entry);
    mem_free(s->literal.entry);
    *s = (struct hlo_shared){.type = {.entry = NULL}};
}

/*
 * Arrays of more dimensions than the compiler has: programs drawn at random, one operation each on
 * arrays of nine to fourteen dimensions of one to three elements, before and after their expansion.
 */
#include "tests/test.h"

#include "base/rng.h"
#include "tests/rigs/expand_rig.h"

#include <stdarg.h>

enum { RANK_MAX = 14, TRIES = 40, TEXT_BYTES = 6000 };

struct drawn {
    struct rng rng;
    int rank;
    int64_t dim[RANK_MAX];
    char text[TEXT_BYTES];
    size_t length;
};

static void put(struct drawn *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct drawn *d, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    d->length += (size_t)vsnprintf(d->text + d->length, TEXT_BYTES - d->length, fmt, args);
    va_end(args);
    assert_true(d->length < TEXT_BYTES);
}

static int below(struct drawn *d, int n) { return (int)rng_below(&d->rng, (uint32_t)n); }

/* dimensions of two elements mostly; so few of three that all elements are at most some thousands */
static void start(struct drawn *d, uint64_t seed)
{
    int64_t elements = 1;

    *d = (struct drawn){.rank = 0};
    rng_init(&d->rng, seed);
    d->rank = 9 + below(d, RANK_MAX - 9 + 1);
    for (int k = 0; k < d->rank; k++) {
        int drawn = below(d, 8);

        d->dim[k] = drawn == 0 ? 3 : drawn < 3 ? 1 : 2;
        if (elements * d->dim[k] > 2500)
            d->dim[k] = 1;
        elements *= d->dim[k];
    }
    put(d, "HloModule m\ns { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
           " ROOT c = f32[] add(a, b) }\n"
           "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
           " ROOT c = pred[] compare(a, b), direction=LT }\n"
           "both { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n"
           " d = f32[] parameter(3)\n e = f32[] add(a, c)\n f = f32[] maximum(b, d)\n"
           " ROOT g = (f32[], f32[]) tuple(e, f) }\nENTRY e {\n");
}

static void list(struct drawn *d, int count, const int64_t *item, const char *open,
                 const char *close)
{
    put(d, "%s", open);
    for (int k = 0; k < count; k++)
        put(d, "%s%lld", k ? "," : "", (long long)item[k]);
    put(d, "%s", close);
}

static void shape(struct drawn *d, int rank, const int64_t *dim) { list(d, rank, dim, "f32[", "]"); }

static void parameter(struct drawn *d, const char *name, int number, int rank, const int64_t *dim)
{
    put(d, " %s = ", name);
    shape(d, rank, dim);
    put(d, " parameter(%d)\n", number);
}

static void order(struct drawn *d, int rank, int64_t *item)
{
    for (int k = 0; k < rank; k++)
        item[k] = k;
    for (int k = rank - 1; k > 0; k--) {
        int other = below(d, k + 1);
        int64_t was = item[k];

        item[k] = item[other];
        item[other] = was;
    }
}

/* some dimensions, in their order; the others */
static int some(struct drawn *d, int64_t *item, int64_t *rest)
{
    int count = 0;

    for (int k = 0; k < d->rank; k++)
        if (below(d, 2))
            item[count++] = k;
        else
            *rest++ = k;
    return count;
}

static int sizes(const struct drawn *d, int count, const int64_t *of, int64_t *size)
{
    for (int k = 0; k < count; k++)
        size[k] = d->dim[of[k]];
    return count;
}

static void transpose(struct drawn *d)
{
    int64_t to[RANK_MAX], dim[RANK_MAX];

    order(d, d->rank, to);
    sizes(d, d->rank, to, dim);
    parameter(d, "x", 0, d->rank, d->dim);
    put(d, " ROOT r = ");
    shape(d, d->rank, dim);
    list(d, d->rank, to, " transpose(x), dimensions={", "}\n}\n");
}

static void broadcast(struct drawn *d)
{
    int64_t kept[RANK_MAX], rest[RANK_MAX], dim[RANK_MAX];
    int count = some(d, kept, rest);

    sizes(d, count, kept, dim);
    parameter(d, "x", 0, count, dim);
    put(d, " ROOT r = ");
    shape(d, d->rank, d->dim);
    list(d, count, kept, " broadcast(x), dimensions={", "}\n}\n");
}

static void reduce(struct drawn *d)
{
    int64_t gone[RANK_MAX], rest[RANK_MAX], dim[RANK_MAX];
    int count = some(d, gone, rest);

    sizes(d, d->rank - count, rest, dim);
    parameter(d, "x", 0, d->rank, d->dim);
    put(d, " z = f32[] constant(0)\n ROOT r = ");
    shape(d, d->rank - count, dim);
    list(d, count, gone, " reduce(x, z), dimensions={", "}, to_apply=s\n}\n");
}

static void slice(struct drawn *d)
{
    int64_t first[RANK_MAX], last[RANK_MAX], dim[RANK_MAX];

    for (int k = 0; k < d->rank; k++) {
        first[k] = below(d, 2) ? below(d, (int)d->dim[k]) : 0;
        last[k] = first[k] > 0 || below(d, 2) ? d->dim[k] : 1 + below(d, (int)d->dim[k]);
        dim[k] = last[k] - first[k];
    }
    parameter(d, "x", 0, d->rank, d->dim);
    put(d, " ROOT r = ");
    shape(d, d->rank, dim);
    put(d, " slice(x), slice={");
    for (int k = 0; k < d->rank; k++)
        put(d, "%s[%lld:%lld]", k ? "," : "", (long long)first[k], (long long)last[k]);
    put(d, "}\n}\n");
}

static void pad(struct drawn *d)
{
    int64_t low[RANK_MAX], high[RANK_MAX], inner[RANK_MAX], dim[RANK_MAX];

    for (int k = 0; k < d->rank; k++) {
        bool moves = below(d, 5) == 0;

        low[k] = moves ? below(d, 3) - 1 : 0;
        high[k] = moves ? below(d, 2) : 0;
        inner[k] = moves ? below(d, 2) : 0;
        dim[k] = d->dim[k] + low[k] + high[k] + inner[k] * (d->dim[k] - 1);
    }
    parameter(d, "x", 0, d->rank, d->dim);
    put(d, " z = f32[] constant(7)\n ROOT r = ");
    shape(d, d->rank, dim);
    put(d, " pad(x, z), padding=");
    for (int k = 0; k < d->rank; k++)
        put(d, "%s%lld_%lld_%lld", k ? "x" : "", (long long)low[k], (long long)high[k],
            (long long)inner[k]);
    put(d, "\n}\n");
}

static void reverse(struct drawn *d)
{
    int64_t some_of[RANK_MAX], rest[RANK_MAX];
    int count = some(d, some_of, rest);

    parameter(d, "x", 0, d->rank, d->dim);
    put(d, " ROOT r = ");
    shape(d, d->rank, d->dim);
    list(d, count, some_of, " reverse(x), dimensions={", "}\n}\n");
}

static void concatenate(struct drawn *d)
{
    int along = below(d, d->rank);
    int64_t dim[RANK_MAX];

    parameter(d, "x", 0, d->rank, d->dim);
    memcpy(dim, d->dim, sizeof(dim));
    dim[along] = 1 + below(d, 3);
    parameter(d, "y", 1, d->rank, dim);
    dim[along] += d->dim[along];
    put(d, " ROOT r = ");
    shape(d, d->rank, dim);
    put(d, " concatenate(x, y), dimensions={%d}\n}\n", along);
}

/* numbers along one dimension, in the order of another's sum with the parameter */
static void iota_and_sort(struct drawn *d)
{
    parameter(d, "x", 0, d->rank, d->dim);
    put(d, " i = ");
    shape(d, d->rank, d->dim);
    put(d, " iota(), iota_dimension=%d\n y = ", below(d, d->rank));
    shape(d, d->rank, d->dim);
    put(d, " add(x, i)\n ROOT r = ");
    shape(d, d->rank, d->dim);
    put(d, " sort(y), dimensions={%d}, is_stable=true, to_apply=less\n}\n", below(d, d->rank));
}

static void greatest(struct drawn *d)
{
    int64_t dim[RANK_MAX];

    memcpy(dim, d->dim, sizeof(dim));
    dim[d->rank - 1] = 5;
    parameter(d, "x", 0, d->rank, dim);
    dim[d->rank - 1] = 2;
    put(d, " ROOT r = (");
    shape(d, d->rank, dim);
    list(d, d->rank, dim, ", s32[", "]) topk(x), k=2, largest=true\n}\n");
}

static void windows(struct drawn *d)
{
    int64_t dim[RANK_MAX];
    int along = below(d, d->rank);

    memcpy(dim, d->dim, sizeof(dim));
    dim[along] += 1;
    parameter(d, "x", 0, d->rank, d->dim);
    put(d, " z = f32[] constant(0)\n ROOT r = ");
    shape(d, d->rank, dim);
    put(d, " reduce-window(x, z), window={size=");
    for (int k = 0; k < d->rank; k++)
        put(d, "%s%d", k ? "x" : "", k == along ? 2 : 1);
    put(d, " pad=");
    for (int k = 0; k < d->rank; k++)
        put(d, "%s%s", k ? "x" : "", k == along ? "1_1" : "0_0");
    put(d, "}, to_apply=s\n}\n");
}

/* a product over some dimensions, some of which both arrays keep */
static void dot(struct drawn *d)
{
    int64_t mine[RANK_MAX], rest[RANK_MAX], other[RANK_MAX], both[RANK_MAX], summed[RANK_MAX];
    int64_t dim[2 * RANK_MAX], of_other[2][RANK_MAX];
    int count = some(d, mine, rest), batches = count > 0 ? below(d, count) / 2 : 0, rank = 0;

    parameter(d, "x", 0, d->rank, d->dim);
    order(d, count, both);              /* the other array: those of `mine`, and one of its own */
    for (int k = 0; k < count; k++)
        other[k] = d->dim[mine[both[k]]];
    other[count] = 3;
    parameter(d, "y", 1, count + 1, other);
    for (int k = 0; k < batches; k++)
        dim[rank++] = other[k];
    for (int k = 0; k < d->rank - count; k++)
        dim[rank++] = d->dim[rest[k]];
    dim[rank++] = 3;
    for (int k = 0; k < count; k++) {
        summed[k] = mine[both[k]];
        of_other[k >= batches][k >= batches ? k - batches : k] = k;
    }
    put(d, " ROOT r = ");
    shape(d, rank, dim);
    list(d, batches, summed, " dot(x, y), lhs_batch_dims={", "}");
    list(d, batches, of_other[0], ", rhs_batch_dims={", "}");
    list(d, count - batches, summed + batches, ", lhs_contracting_dims={", "}");
    list(d, count - batches, of_other[1], ", rhs_contracting_dims={", "}\n}\n");
}

static void index_parameters(struct drawn *d, int first)
{
    for (int k = 0; k < d->rank; k++)
        put(d, " i%d = s32[] parameter(%d)\n", k, first + k);
}

static void indices(struct drawn *d)
{
    for (int k = 0; k < d->rank; k++)
        put(d, ", i%d", k);
    put(d, ")");
}

static void slice_sizes(struct drawn *d, int64_t *dim)
{
    for (int k = 0; k < d->rank; k++)
        dim[k] = below(d, 3) ? d->dim[k] : 1 + below(d, (int)d->dim[k]);
}

static void dynamic_slice(struct drawn *d)
{
    int64_t dim[RANK_MAX];

    slice_sizes(d, dim);
    parameter(d, "x", 0, d->rank, d->dim);
    index_parameters(d, 1);
    put(d, " ROOT r = ");
    shape(d, d->rank, dim);
    put(d, " dynamic-slice(x");
    indices(d);
    list(d, d->rank, dim, ", dynamic_slice_sizes={", "}\n}\n");
}

static void dynamic_update(struct drawn *d)
{
    int64_t dim[RANK_MAX];

    slice_sizes(d, dim);
    parameter(d, "x", 0, d->rank, d->dim);
    parameter(d, "u", 1, d->rank, dim);
    index_parameters(d, 2);
    put(d, " ROOT r = ");
    shape(d, d->rank, d->dim);
    put(d, " dynamic-update-slice(x, u");
    indices(d);
    put(d, "\n}\n");
}

/* the attributes that a gather and a scatter share, and the shape of what they take or write */
static int rows_of(struct drawn *d, int64_t *found, int *count, int64_t *window, int64_t *dim)
{
    int64_t rest[RANK_MAX];
    int rank = 0;

    *count = some(d, found, rest);
    if (*count > 3)
        *count = 3;
    dim[rank++] = 5;
    for (int k = 0; k < d->rank; k++) {
        bool is_found = false;

        for (int f = 0; f < *count; f++)
            is_found = is_found || found[f] == k;
        if (is_found)
            continue;
        window[rank - 1] = rank;
        dim[rank++] = d->dim[k];
    }
    return rank;
}

static void gather(struct drawn *d)
{
    int64_t found[RANK_MAX], window[RANK_MAX], dim[RANK_MAX], size[RANK_MAX];
    int count, rank = rows_of(d, found, &count, window, dim);

    memcpy(size, d->dim, sizeof(size));
    for (int k = 0; k < count; k++)
        size[found[k]] = 1;
    parameter(d, "x", 0, d->rank, d->dim);
    put(d, " i = s32[5,%d] parameter(1)\n ROOT r = ", count);
    shape(d, rank, dim);
    list(d, rank - 1, window, " gather(x, i), offset_dims={", "}");
    list(d, count, found, ", collapsed_slice_dims={", "}");
    list(d, count, found, ", start_index_map={", "}, index_vector_dim=1");
    list(d, d->rank, size, ", slice_sizes={", "}\n}\n");
}

/* two arrays at once */
static void scatter(struct drawn *d)
{
    int64_t found[RANK_MAX], window[RANK_MAX], dim[RANK_MAX];
    int count, rank = rows_of(d, found, &count, window, dim);

    put(d, " i = s32[5,%d] parameter(0)\n", count);
    for (int k = 0; k < 2; k++) {
        parameter(d, k ? "y" : "x", 1 + k, d->rank, d->dim);
        parameter(d, k ? "v" : "u", 3 + k, rank, dim);
    }
    put(d, " ROOT r = (");
    shape(d, d->rank, d->dim);
    put(d, ", ");
    shape(d, d->rank, d->dim);
    put(d, ") scatter(x, y, i, u, v)");
    list(d, rank - 1, window, ", update_window_dims={", "}");
    list(d, count, found, ", inserted_window_dims={", "}");
    list(d, count, found, ", scatter_dims_to_operand_dims={",
         "}, index_vector_dim=1, to_apply=both\n}\n");
}

static void draw_programs(void (*write)(struct drawn *d))
{
    static struct drawn d;
    uint64_t seed = expand_rig_seed();

    for (uint64_t k = 0; k < TRIES; k++) {
        start(&d, seed + k);
        write(&d);
        printf("%s\n", d.text);
        expand_rig_check(&(struct expand_rig){.text = d.text, .bound = 1e-5, .floor = 100,
                                              .integer_bits = 2}, seed + k);
    }
}

TEST(orders_of_dimensions) { draw_programs(transpose); }
TEST(new_dimensions) { draw_programs(broadcast); }
TEST(sums) { draw_programs(reduce); }
TEST(parts) { draw_programs(slice); }
TEST(paddings) { draw_programs(pad); }
TEST(reversals) { draw_programs(reverse); }
TEST(joints) { draw_programs(concatenate); }
TEST(numbers_and_sorts) { draw_programs(iota_and_sort); }
TEST(greatest_of_the_last) { draw_programs(greatest); }
TEST(windows_along_one) { draw_programs(windows); }
TEST(products) { draw_programs(dot); }
TEST(parts_at_computed_places) { draw_programs(dynamic_slice); }
TEST(updates_at_computed_places) { draw_programs(dynamic_update); }
TEST(gathers) { draw_programs(gather); }
TEST(scatters) { draw_programs(scatter); }

TEST(what_takes_parts_of_dimensions_is_refused)
{
    expand_rig_refused("HloModule m\nENTRY e {\n x = f32[2,2,2,2,2,2,2,2,3] parameter(0)\n"
                       " i = s32[5,1] parameter(1)\n"
                       " ROOT r = f32[5,2,2,2,2,2,2,2,2,2] gather(x, i),"
                       " offset_dims={1,2,3,4,5,6,7,8,9}, collapsed_slice_dims={},"
                       " start_index_map={8}, index_vector_dim=1,"
                       " slice_sizes={2,2,2,2,2,2,2,2,2}\n}\n",
                       "takes parts of dimensions, of an array of more than 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_of_dimensions),
        cmocka_unit_test(new_dimensions),
        cmocka_unit_test(sums),
        cmocka_unit_test(parts),
        cmocka_unit_test(paddings),
        cmocka_unit_test(reversals),
        cmocka_unit_test(joints),
        cmocka_unit_test(numbers_and_sorts),
        cmocka_unit_test(greatest_of_the_last),
        cmocka_unit_test(windows_along_one),
        cmocka_unit_test(products),
        cmocka_unit_test(parts_at_computed_places),
        cmocka_unit_test(updates_at_computed_places),
        cmocka_unit_test(gathers),
        cmocka_unit_test(scatters),
        cmocka_unit_test(what_takes_parts_of_dimensions_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

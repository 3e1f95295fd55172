/*
 * Every operation with random sizes, its operands and results cut at random over several devices:
 * the parts together compute what the whole does.
 */
#include "tests/import/shard/shard_rig.h"

#include <time.h>

enum { TEXT_BYTES = 16384, CASES_EACH = 12 };

/*
 * `$A` is a random size, `$AB` the product of two; `@2` a random sharding of two dimensions.
 */
static const char *const add_scalars =
    "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
    "max { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"
    "put { x = f32[] parameter(0)\n ROOT y = f32[] parameter(1) }\n"
    "less { x = f32[] parameter(0)\n y = f32[] parameter(1)\n u = s32[] parameter(2)\n"
    "v = s32[] parameter(3)\n ROOT z = pred[] compare(x, y), direction=LT }\n"
    "top { x = f32[] parameter(0)\n i = s32[] parameter(1)\n y = f32[] parameter(2)\n"
    "j = s32[] parameter(3)\n g = pred[] compare(x, y), direction=GE\n"
    "a = f32[] select(g, x, y)\n b = s32[] select(g, i, j)\n"
    "ROOT t = (f32[], s32[]) tuple(a, b) }\n"
    "smooth { x = f32[] parameter(0)\n y = f32[] parameter(1)\n a = f32[] exponential(x)\n"
    "b = f32[] exponential(y)\n c = f32[] add(a, b)\n ROOT z = f32[] log(c) }\n"
    "ge { x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
    "ROOT z = pred[] compare(x, y), direction=GE }\n";

struct operation { const char *name, *text, *result; int rank; };

static const struct operation operations[] = {
    {"elementwise", "p = f32[$A,$B] parameter(0), sharding=@2\n"
     "q = f32[$A,$B] parameter(1), sharding=@2\n r = f32[$A,$B] multiply(p, q)\n",
     "f32[$A,$B]", 2},
    {"broadcast", "p = f32[$B] parameter(0), sharding=@1\n"
     "r = f32[$A,$B,$C] broadcast(p), dimensions={1}\n", "f32[$A,$B,$C]", 3},
    {"transpose", "p = f32[$A,$B,$C] parameter(0), sharding=@3\n"
     "r = f32[$C,$A,$B] transpose(p), dimensions={2,0,1}\n", "f32[$C,$A,$B]", 3},
    {"merge", "p = f32[$A,$B,$C] parameter(0), sharding=@3\n r = f32[$AB,$C] reshape(p)\n",
     "f32[$AB,$C]", 2},
    {"split", "p = f32[$AB,$C] parameter(0), sharding=@2\n r = f32[$A,$B,$C] reshape(p)\n",
     "f32[$A,$B,$C]", 3},
    {"regroup", "p = f32[$AB,$C] parameter(0), sharding=@2\n r = f32[$A,$BC] reshape(p)\n",
     "f32[$A,$BC]", 2},
    {"iota", "p = s32[$A,$B] parameter(0), sharding=@2\n i = s32[$A,$B] iota(), iota_dimension=1\n"
     "r = s32[$A,$B] add(p, i)\n", "s32[$A,$B]", 2},
    {"dot", "p = f32[$A,$B] parameter(0), sharding=@2\n q = f32[$B,$C] parameter(1), sharding=@2\n"
     "r = f32[$A,$C] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
     "f32[$A,$C]", 2},
    {"dot_batch", "p = f32[$A,$B,$C] parameter(0), sharding=@3\n"
     "q = f32[$D,$A,$C] parameter(1), sharding=@3\n r = f32[$A,$B,$D] dot(p, q), "
     "lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_contracting_dims={2}\n",
     "f32[$A,$B,$D]", 3},
    {"dot_two", "p = f32[$A,$B,$C] parameter(0), sharding=@3\n"
     "q = f32[$B,$C,$D] parameter(1), sharding=@3\n r = f32[$A,$D] dot(p, q), "
     "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}\n", "f32[$A,$D]", 2},
    {"reduce_add", "p = f32[$A,$B,$C] parameter(0), sharding=@3\n z = f32[] constant(1.5)\n"
     "r = f32[$B] reduce(p, z), dimensions={0,2}, to_apply=add\n", "f32[$B]", 1},
    {"reduce_max", "p = f32[$A,$B] parameter(0), sharding=@2\n z = f32[] constant(-inf)\n"
     "r = f32[$A] reduce(p, z), dimensions={1}, to_apply=max\n", "f32[$A]", 1},
    {"reduce_all", "p = f32[$A,$B] parameter(0), sharding=@2\n z = f32[] parameter(1)\n"
     "r = f32[] reduce(p, z), dimensions={0,1}, to_apply=add\n", "f32[]", 0},
    {"argmax", "p = f32[$A,$B] parameter(0), sharding=@2\n i = s32[$A,$B] iota(), iota_dimension=1\n"
     "z = f32[] constant(-inf)\n o = s32[] constant(0)\n"
     "t = (f32[$A], s32[$A]) reduce(p, i, z, o), dimensions={1}, to_apply=top\n"
     "r = s32[$A] get-tuple-element(t), index=1\n", "s32[$A]", 1},
    {"slice", "p = f32[$AB,$C] parameter(0), sharding=@2\n"
     "r = f32[$A,$C] slice(p), slice={[0:$A], [0:$C]}\n", "f32[$A,$C]", 2},
    {"pad", "p = f32[$A,$B] parameter(0), sharding=@2\n z = f32[] constant(3)\n"
     "e = f32[$A,$A] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "f = f32[1,$A] slice(e), slice={[0:1], [0:$A]}\n"
     "r = f32[4,$A] pad(f, z), padding=1_2x0_0\n", "f32[4,$A]", 2},
    {"concatenate", "p = f32[$A,$B] parameter(0), sharding=@2\n"
     "q = f32[$A,$B] parameter(1), sharding=@2\n"
     "a = f32[$A,1,$B] reshape(p)\n b = f32[$A,1,$B] reshape(q)\n"
     "r = f32[$A,2,$B] concatenate(a, b), dimensions={1}\n", "f32[$A,2,$B]", 3},
    {"reverse", "p = f32[$A,$B] parameter(0), sharding=@2\n"
     "r = f32[$A,$B] reverse(p), dimensions={1}\n", "f32[$A,$B]", 2},
    {"argmax_of_two", "p = f32[$A,$B,$C] parameter(0), sharding=@3\n"
     "i = s32[$A,$B,$C] iota(), iota_dimension=2\n"
     "z = f32[] constant(-inf)\n o = s32[] constant(0)\n"
     "t = (f32[$B], s32[$B]) reduce(p, i, z, o), dimensions={0,2}, to_apply=top\n"
     "r = f32[$B] get-tuple-element(t), index=0\n", "f32[$B]", 1},
    {"smooth_max", "p = f32[$A,$B] parameter(0), sharding=@2\n z = f32[] constant(-100)\n"
     "r = f32[$B] reduce(p, z), dimensions={0}, to_apply=smooth\n", "f32[$B]", 1},
    {"slice_inside", "p = f32[24,$C] parameter(0), sharding=@2\n"
     "r = f32[13,$C] slice(p), slice={[7:20], [0:$C]}\n", "f32[13,$C]", 2},
    {"slice_strided", "p = f32[31,12] parameter(0), sharding=@2\n"
     "r = f32[10,6] slice(p), slice={[2:31:3], [1:12:2]}\n", "f32[10,6]", 2},
    {"pad_both", "p = f32[16,9] parameter(0), sharding=@2\n z = f32[] constant(3)\n"
     "r = f32[19,8] pad(p, z), padding=1_2x-2_1\n", "f32[19,8]", 2},
    {"pad_large", "p = f32[6,$B] parameter(0), sharding=@2\n z = f32[] parameter(1)\n"
     "r = f32[40,$B] pad(p, z), padding=30_4x0_0\n", "f32[40,$B]", 2},
    {"pad_interior", "p = f32[12,8] parameter(0), sharding=@2\n z = f32[] constant(-2)\n"
     "r = f32[24,16] pad(p, z), padding=1_0_1x0_1_1\n", "f32[24,16]", 2},
    {"pieces", "p = f32[12,$B] parameter(0), sharding=@2\n q = f32[9,$B] parameter(1), sharding=@2\n"
     "s = f32[1,$B] parameter(2), sharding=@2\n"
     "r = f32[22,$B] concatenate(p, s, q), dimensions={0}\n", "f32[22,$B]", 2},
    {"halves", "p = f32[$B,16] parameter(0), sharding=@2\n"
     "a = f32[$B,8] slice(p), slice={[0:$B], [0:8]}\n"
     "b = f32[$B,8] slice(p), slice={[0:$B], [8:16]}\n"
     "n = f32[$B,8] negate(b)\n r = f32[$B,16] concatenate(n, a), dimensions={1}\n",
     "f32[$B,16]", 2},
    {"reverse_uneven", "p = f32[13,17] parameter(0), sharding=@2\n"
     "r = f32[13,17] reverse(p), dimensions={0,1}\n", "f32[13,17]", 2},
    {"neighbours", "p = f32[$A,16] parameter(0), sharding=@2\n z = f32[] constant(-inf)\n"
     "r = f32[$A,16] reduce-window(p, z), window={size=1x3 pad=0_0x1_1}, to_apply=max\n",
     "f32[$A,16]", 2},
    {"pooling", "p = f32[19,22,$B] parameter(0), sharding=@3\n z = f32[] constant(0)\n"
     "r = f32[9,11,$B] reduce-window(p, z), window={size=3x4x1 stride=2x2x1 pad=0_0x1_2x0_0}, "
     "to_apply=add\n", "f32[9,11,$B]", 3},
    {"argmax_windows", "p = f32[16,$B] parameter(0), sharding=@2\n"
     "i = s32[16,$B] iota(), iota_dimension=0\n z = f32[] constant(-inf)\n o = s32[] constant(0)\n"
     "t = (f32[8,$B], s32[8,$B]) reduce-window(p, i, z, o), window={size=3x1 stride=2x1 "
     "pad=1_0x0_0}, to_apply=top\n r = s32[8,$B] get-tuple-element(t), index=1\n", "s32[8,$B]", 2},
    {"running_sum", "p = f32[24,$B] parameter(0), sharding=@2\n z = f32[] constant(0)\n"
     "r = f32[24,$B] reduce-window(p, z), window={size=24x1 pad=23_0x0_0}, to_apply=add\n",
     "f32[24,$B]", 2},
    {"image", "p = f32[2,17,16,3] parameter(0), sharding=@4\n"
     "k = f32[3,5,3,$C] parameter(1), sharding=@4\n r = f32[2,9,16,$C] convolution(p, k), "
     "window={size=3x5 stride=2x1 pad=1_1x4_4 rhs_dilate=1x2 rhs_reversal=0x1}, "
     "dim_labels=b01f_01io->b01f\n", "f32[2,9,16,$C]", 4},
    {"image_gradient", "p = f32[2,8,9,3] parameter(0), sharding=@4\n"
     "k = f32[3,3,3,$C] parameter(1), sharding=@4\n r = f32[2,16,18,$C] convolution(p, k), "
     "window={size=3x3 pad=1_2x2_1 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f\n",
     "f32[2,16,18,$C]", 4},
    {"kernel_gradient", "p = f32[4,16,17,3] parameter(0), sharding=@4\n"
     "k = f32[4,8,17,5] parameter(1), sharding=@4\n r = f32[4,3,3,5] convolution(p, k), "
     "window={size=8x17 pad=1_1x1_1 rhs_dilate=2x1}, dim_labels=f01b_i01o->01bf\n",
     "f32[4,3,3,5]", 4},
    {"dynamic_slice", "p = f32[$AB,$C] parameter(0), sharding=@2\n i = s32[] parameter(1)\n"
     "z = s32[] constant(0)\n r = f32[$A,$C] dynamic-slice(p, i, z), dynamic_slice_sizes={$A,$C}\n",
     "f32[$A,$C]", 2},
    {"update_slice", "p = f32[$AB,$C] parameter(0), sharding=@2\n i = s32[] parameter(1)\n"
     "u = f32[$A,$C] parameter(2), sharding=@2\n z = s32[] constant(0)\n"
     "r = f32[$AB,$C] dynamic-update-slice(p, u, i, z)\n", "f32[$AB,$C]", 2},
    {"sort", "p = f32[$A,$B] parameter(0), sharding=@2\n i = s32[$A,$B] iota(), iota_dimension=0\n"
     "t = (f32[$A,$B], s32[$A,$B]) sort(p, i), dimensions={0}, is_stable=true, to_apply=less\n"
     "r = s32[$A,$B] get-tuple-element(t), index=1\n", "s32[$A,$B]", 2},
    {"take", "p = f32[$A,$B] parameter(0), sharding=@2\n i = s32[$C,$D] parameter(1), sharding=@2\n"
     "r = f32[$C,$D,$B] gather(p, i), offset_dims={2}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=2, slice_sizes={1,$B}\n", "f32[$C,$D,$B]", 3},
    {"take_two", "p = f32[$A,$B,$C] parameter(0), sharding=@3\n"
     "i = u32[$D,2] parameter(1), sharding=@2\n"
     "r = f32[$D,$C] gather(p, i), offset_dims={1}, collapsed_slice_dims={0,1}, "
     "start_index_map={1,0}, index_vector_dim=1, slice_sizes={1,1,$C}\n", "f32[$D,$C]", 2},
    {"take_along", "p = f32[$A,$B] parameter(0), sharding=@2\n"
     "i = s32[$A,$C,1] parameter(1), sharding=@3\n"
     "r = f32[$A,$C] gather(p, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
     "slice_sizes={1,1}\n", "f32[$A,$C]", 2},
    {"scatter_add", "p = f32[$A,$B] parameter(0), sharding=@2\n"
     "i = s32[$C,1] parameter(1), sharding=@2\n u = f32[$C,$B] parameter(2), sharding=@2\n"
     "r = f32[$A,$B] scatter(p, i, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n", "f32[$A,$B]", 2},
    {"scatter_max", "p = f32[$A,$B] parameter(0), sharding=@2\n"
     "i = u32[$C] parameter(1), sharding=@1\n u = f32[$B,$C] parameter(2), sharding=@2\n"
     "r = f32[$A,$B] scatter(p, i, u), update_window_dims={0}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=max\n", "f32[$A,$B]", 2},
    {"scatter_put", "p = f32[$A,$B] parameter(0), sharding=@2\n"
     "i = s32[1,2] parameter(1), sharding=@2\n u = f32[1] parameter(2), sharding=@1\n"
     "r = f32[$A,$B] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0,1}, "
     "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=put\n", "f32[$A,$B]", 2},
    {"convolution", "p = f32[$A,6,5,$B] parameter(0), sharding=@4\n"
     "k = f32[3,3,$B,$C] parameter(1), sharding=@4\n r = f32[$A,6,5,$C] convolution(p, k), "
     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n", "f32[$A,6,5,$C]", 4},
    {"depthwise", "p = f32[$A,6,$B] parameter(0), sharding=@3\n"
     "k = f32[3,1,$BC] parameter(1), sharding=@3\n r = f32[$A,4,$BC] convolution(p, k), "
     "window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=$B\n", "f32[$A,4,$BC]", 3},
    {"batch_groups", "p = f32[$AB,6,$D] parameter(0), sharding=@3\n"
     "k = f32[3,$D,$AC] parameter(1), sharding=@3\n r = f32[$B,4,$AC] convolution(p, k), "
     "window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=$A\n", "f32[$B,4,$AC]", 3},
    {"windows", "p = f32[$A,8,$B] parameter(0), sharding=@3\n z = f32[] constant(0)\n"
     "r = f32[$A,4,$B] reduce-window(p, z), window={size=1x2x1 stride=1x2x1}, to_apply=add\n",
     "f32[$A,4,$B]", 3},
    {"select_and_scatter", "p = f32[$A,8,$B] parameter(0), sharding=@3\n"
     "s = f32[$A,4,$B] parameter(1), sharding=@3\n z = f32[] constant(0)\n"
     "r = f32[$A,8,$B] select-and-scatter(p, s, z), window={size=1x2x1 stride=1x2x1}, "
     "select=ge, scatter=add\n", "f32[$A,8,$B]", 3},
    {"constraint", "p = f32[$A,$B] parameter(0), sharding=@2\n"
     "c = f32[$A,$B] custom-call(p), custom_call_target=\"Sharding\", sharding=@2\n"
     "r = f32[$A,$B] sine(c)\n", "f32[$A,$B]", 2},
    {"constant", "p = f32[4,2] parameter(0), sharding=@2\n"
     "c = f32[4,2] constant({{1,2},{3,4},{5,6},{7,8}})\n r = f32[4,2] add(p, c)\n", "f32[4,2]", 2},
};

/* ----- text with sizes and shardings drawn */

struct drawing { struct rng rng; int64_t size[26]; char *to; size_t mesh; };

static const struct { int devices; const char *shape; } meshes[] = {
    {8, "2,2,2"}, {8, "2,2,2"}, {2, "1,2,1"}, {4, "2,2,1"}, {12, "2,3,2"}, {6, "3,1,2"},
};

/* tiles take sizes of the mesh one by one, each in a dimension of its own or behind another */
static void put_sharding(struct drawing *d, int rank)
{
    static const char *const order[] = {"", "T(0,2,1)", "T(1,0,2)", "T(1,2,0)", "T(2,0,1)",
                                        "T(2,1,0)"};
    int tile[8] = {1, 1, 1, 1, 1, 1, 1, 1}, left = meshes[d->mesh].devices;
    const char *mesh = meshes[d->mesh].shape;

    if (!rank || rng_below(&d->rng, 5) == 0) {
        d->to += sprintf(d->to, "{replicated}");
        return;
    }
    for (int i = 0, k = 0; i < 3; i++) {
        int size = mesh[2 * i] - '0';

        k += (int)rng_below(&d->rng, (uint32_t)(rank - k) + 1);
        if (k == rank)
            break;
        tile[k] *= size;
        left /= size;
    }
    d->to += sprintf(d->to, "{devices=[");
    for (int i = 0; i < rank; i++)
        d->to += sprintf(d->to, "%s%d", i ? "," : "", tile[i]);
    if (left > 1)
        d->to += sprintf(d->to, ",%d", left);
    d->to += sprintf(d->to, "]<=[%s]%s%s}", mesh,
                     order[rng_below(&d->rng, 6)], left > 1 ? " last_tile_dim_replicate" : "");
}

static void put_text(struct drawing *d, const char *text)
{
    for (; *text; text++) {
        int64_t size = 1;

        if (*text == '@') {
            put_sharding(d, *++text - '0');
        } else if (*text == '$') {
            while (text[1] >= 'A' && text[1] <= 'Z')
                size *= d->size[*++text - 'A'];
            d->to += sprintf(d->to, "%lld", (long long)size);
        } else {
            *d->to++ = *text;
        }
    }
    *d->to = 0;
}

static void draw(char *text, const struct operation *o, uint64_t seed)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 8, 8, 12, 16};
    struct drawing d = {.to = text};
    char rank[4];

    rng_init(&d.rng, seed);
    for (int i = 0; i < 26; i++)
        d.size[i] = sizes[rng_below(&d.rng, sizeof(sizes) / sizeof(*sizes))];
    d.mesh = rng_below(&d.rng, sizeof(meshes) / sizeof(*meshes));
    d.to += sprintf(d.to, "HloModule test, num_partitions=%d\n", meshes[d.mesh].devices);
    put_text(&d, add_scalars);
    put_text(&d, "ENTRY main {\n");
    put_text(&d, o->text);
    put_text(&d, "ROOT results = (");
    put_text(&d, o->result);
    snprintf(rank, sizeof(rank), "@%d", o->rank);
    put_text(&d, ") tuple(r), sharding={");
    put_text(&d, rank);
    put_text(&d, "}\n}\n");
}

static uint64_t first_seed(void)
{
    const char *said = getenv("SEED");

    return said ? strtoull(said, NULL, 10) : (uint64_t)time(NULL);
}

TEST(operations_cut_at_random_compute_what_whole_ones_do)
{
    uint64_t seed = first_seed();
    char *text = mem_alloc(TEXT_BYTES);
    const char *only = getenv("ONLY");

    for (size_t k = 0; k < sizeof(operations) / sizeof(*operations); k++)
        for (int n = 0; n < (test_is_long() ? 40 : 1) * CASES_EACH; n++) {
            struct shard_rig r;

            if (only && strcmp(only, operations[k].name))
                continue;
            draw(text, &operations[k], seed + (uint64_t)n);
            rig_check(&r, text, seed + (uint64_t)n, 1e-4);
            rig_end(&r);
        }
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_cut_at_random_compute_what_whole_ones_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

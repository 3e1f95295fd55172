#include "tests/rigs/conv_rig.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stack/hlo/graph_shape.h"
#include "stack/kernels/registry.h"

static const char *label(const char *text, int *first, char a, int *second, char b, int *spatial)
{
    int i = 0;

    for (; *text && *text != '_' && *text != '-' && *text != ' '; text++, i++) {
        if (*text == a)
            *first = i;
        else if (*text == b)
            *second = i;
        else
            spatial[*text - '0'] = i;
    }
    return text;
}

static const char *numbers(const char *text, int64_t *to, int *count)
{
    char *end = (char *)text;

    for (*count = 0; *count < GRAPH_RANK_MAX; text = end + 1) {
        to[(*count)++] = strtol(text, &end, 10);
        if (*end != 'x' && *end != '_')
            break;
    }
    return end;
}

static void field(struct conv_case *c, const char *text)
{
    int64_t x[GRAPH_RANK_MAX];
    int count, spatial = c->conv.spatial_count;
    const char *value = strchr(text, '=');

    if (!strncmp(text, "bf16", 4)) {
        c->lhs.dtype = c->rhs.dtype = DTYPE_BF16;
        return;
    }
    if (!strncmp(text, "out=bf16", 8)) {
        c->result = DTYPE_BF16;
        return;
    }
    assert_non_null(value);
    numbers(value + 1, x, &count);
    if (!strncmp(text, "fgc", 3)) {
        c->conv.feature_groups = x[0];
    } else if (!strncmp(text, "bgc", 3)) {
        c->conv.batch_groups = x[0];
    } else {
        for (int i = 0; i < spatial; i++) {
            struct graph_window *w = &c->window[i];

            if (!strncmp(text, "pad", 3)) {
                w->pad_low = x[2 * i];
                w->pad_high = x[2 * i + 1];
            } else if (!strncmp(text, "stride", 6)) {
                w->stride = x[i];
            } else if (!strncmp(text, "lhs_dilate", 10)) {
                w->base_dilation = x[i];
            } else if (!strncmp(text, "rhs_dilate", 10)) {
                w->window_dilation = x[i];
            } else if (!strncmp(text, "rhs_reversal", 12)) {
                w->is_reversed = x[i] != 0;
            } else {
                fail_msg("unknown field: %s", text);
            }
        }
    }
}

void conv_case_parse(struct conv_case *c, const char *text)
{
    struct graph_conv *k = &c->conv;

    *c = (struct conv_case){.conv = {.feature_groups = 1, .batch_groups = 1}};
    text = label(text, &k->in_batch, 'b', &k->in_feature, 'f', k->in_spatial) + 1;
    text = label(text, &k->kernel_in, 'i', &k->kernel_out, 'o', k->kernel_spatial) + 2;
    text = label(text, &k->out_batch, 'b', &k->out_feature, 'f', k->out_spatial) + 1;
    text = numbers(text, c->lhs.dim, &c->lhs.rank) + 1;
    text = numbers(text, c->rhs.dim, &c->rhs.rank);
    k->spatial_count = c->lhs.rank - 2;
    for (int i = 0; i < k->spatial_count; i++)
        c->window[i] = (struct graph_window){.size = c->rhs.dim[k->kernel_spatial[i]], .stride = 1,
                                             .base_dilation = 1, .window_dilation = 1};
    while (*text == ' ') {
        field(c, ++text);
        while (*text && *text != ' ')
            text++;
    }
}

int conv_case_graph(const struct conv_case *c, struct graph *g)
{
    int x = graph_parameter(g, c->lhs, "x"), w = graph_parameter(g, c->rhs, "w");

    return graph_convolution(g, x, w, c->window, &c->conv, c->result, PRECISION_DEFAULT);
}

void conv_rig_layouts(struct kernel_rig *r, const struct graph *g, int conv,
                      struct conv_layouts *l)
{
    conv_layouts(g, conv, NULL, l);
    r->operand_order[0] = l->lhs;
    r->operand_order[1] = l->rhs;
    for (int i = 0; i < KERNEL_RIG_ARRAYS; i++)
        r->result_order[i] = l->result;
}

static void build(struct kernel_rig *r, const char *text, struct conv_layouts *l, struct arena *a,
                  struct graph *g)
{
    struct conv_case c;
    int conv;

    graph_init(g, a, text);
    conv_case_parse(&c, text);
    conv = conv_case_graph(&c, g);
    graph_output(g, conv, "y", -1);
    conv_rig_layouts(r, g, conv, l);
}

static cycle_t run(const char *chip, const char *text, enum codegen codegen, bool has_data,
                   int64_t vmem_rows, int64_t *predicted)
{
    struct kernel_rig r = {.chip = chip, .codegen = codegen, .vmem_rows = vmem_rows};
    struct conv_layouts l;
    struct arena a;
    struct graph g;

    arena_init(&a);
    build(&r, text, &l, &a, &g);
    kernel_rig_open(&r, &g);
    if (predicted)
        *predicted = r.segment.cost.total_cycles;
    if (has_data)
        kernel_rig_check(&r, 1);
    else
        kernel_rig_time(&r);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
    return r.cycles;
}

cycle_t conv_check(const char *chip, const char *text)
{
    return run(chip, text, CODEGEN_BEST, true, 0, NULL);
}

cycle_t conv_check_in(const char *chip, const char *text, int64_t vmem_rows)
{
    return run(chip, text, CODEGEN_BEST, true, vmem_rows, NULL);
}

cycle_t conv_time(const char *chip, const char *text, enum codegen codegen, int64_t *predicted)
{
    return run(chip, text, codegen, false, 0, predicted);
}

/* the cheapest tiling with dense rows (stack/kernels/conv/conv_plan.c tells what its numbers mean) */
static bool find_dense(const struct kernel_rig *r, struct arena *a, struct tiling *out)
{
    int max = 2000, count;
    struct tiling *list = arena_array(a, (size_t)max, sizeof(*list));

    count = kernel_kind_of(r->body)->tilings(&r->job, list, max);
    for (int i = 0; i < count; i++)
        if (list[i].size[6]) {
            *out = list[i];
            return true;
        }
    return false;
}

bool conv_check_dense(const char *chip, const char *text, int64_t vmem_rows)
{
    struct kernel_rig r = {.chip = chip, .vmem_rows = vmem_rows, .spoils_padding = true};
    struct tiling dense;
    struct conv_layouts l;
    struct arena a;
    struct graph g;
    bool is_there;

    arena_init(&a);
    build(&r, text, &l, &a, &g);
    kernel_rig_open(&r, &g);
    is_there = find_dense(&r, &a, &dense);
    kernel_rig_close(&r);
    if (is_there) {
        r.tiling = &dense;
        kernel_rig_open(&r, &g);
        kernel_rig_check(&r, 1);
        kernel_rig_close(&r);
    }
    graph_fini(&g);
    arena_fini(&a);
    return is_there;
}

/*
 * Operations of older serializations as today's: what was not said then is said here. Rules go by
 * what an operation lacks rather than by the version alone, for writers differ; docs/mosaic.md lists
 * them.
 */
#include "import/mosaic/mosaic_impl.h"

#include <string.h>

static void set_segments(struct mosaic_reader *r, struct mosaic_op *op, int count,
                         const int *segment)
{
    op->segment = arena_copy(r->arena, segment, (size_t)count, sizeof(*segment));
    op->segment_count = count;
}

/* Groups of newer versions stand behind the older ones and are empty. */
static void extend_segments(struct mosaic_reader *r, struct mosaic_op *op, int count)
{
    int segment[8] = {0};

    if (op->segment_count == 0 || op->segment_count >= count)
        return;
    memcpy(segment, op->segment, (size_t)op->segment_count * sizeof(*segment));
    set_segments(r, op, count, segment);
}

static int upgrade_dma(struct mosaic_reader *r, struct mosaic_op *op)
{
    static const int local[] = {1, 0, 1, 1, 0, 0, 0}, remote[] = {1, 1, 1, 1, 1, 0, 0};

    if (op->segment_count == 0 && op->operand_count == 3)
        set_segments(r, op, 7, local);
    else if (op->segment_count == 0 && op->operand_count == 5)
        set_segments(r, op, 7, remote);
    extend_segments(r, op, 7);
    return 0;
}

static int upgrade_signal(struct mosaic_reader *r, struct mosaic_op *op)
{
    static const int local[] = {1, 1, 0, 0, 0}, remote[] = {1, 1, 1, 0, 0};

    if (op->segment_count == 0 && op->operand_count <= 3)
        set_segments(r, op, 5, op->operand_count == 3 ? remote : local);
    extend_segments(r, op, 5);
    return 0;
}

static int upgrade_wait2(struct mosaic_reader *r, struct mosaic_op *op)
{
    static const int plain[] = {1, 1, 1, 0, 0};

    if (op->segment_count == 0 && op->operand_count == 3)
        set_segments(r, op, 5, plain);
    extend_segments(r, op, 5);
    return 0;
}

/* Of version 1 wait_dma is (semaphore, reference): today's wait_dma2, whose source has its size. */
static int upgrade_wait(struct mosaic_reader *r, struct mosaic_op *op)
{
    static const int old[] = {1, 1, 1, 0, 0};

    if (op->segment_count != 0 || op->operand_count != 2) {
        extend_segments(r, op, 7);
        return 0;
    }
    struct mosaic_value **operand = arena_array(r->arena, 3, sizeof(*operand));

    operand[0] = op->operand[0];
    operand[1] = operand[2] = op->operand[1];
    op->operand = operand;
    op->operand_count = 3;
    op->code = MOSAIC_WAIT_DMA2;
    op->name = mosaic_code_name(MOSAIC_WAIT_DMA2);
    set_segments(r, op, 5, old);
    return 0;
}

static int upgrade_reinterpret(struct mosaic_reader *r, struct mosaic_op *op)
{
    const int segment[] = {1, op->operand_count > 1, 0};

    if (op->segment_count == 0)
        set_segments(r, op, 3, segment);
    return 0;
}

/* `dimension` became `dimensions` */
static int upgrade_dimension(struct mosaic_reader *r, struct mosaic_op *op)
{
    const struct mosaic_attr *one = mosaic_attr(op, "dimension");
    struct mosaic_attr *attr;
    int64_t *list;

    if (!one || one->kind != MOSAIC_ATTR_INT || mosaic_attr(op, "dimensions"))
        return 0;
    attr = arena_array(r->arena, (size_t)op->attr_count + 1, sizeof(*attr));
    memcpy(attr, op->attr, (size_t)op->attr_count * sizeof(*attr));
    list = arena_copy(r->arena, &one->integer, 1, sizeof(*list));
    attr[op->attr_count++] = (struct mosaic_attr){.name = "dimensions", .kind = MOSAIC_ATTR_INTS,
                                                  .count = 1, .ints = list};
    op->attr = attr;
    return 0;
}

int mosaic_upgrade(struct mosaic_reader *r, struct mosaic_op *op)
{
    switch (op->code) {
    case MOSAIC_ENQUEUE_DMA: return upgrade_dma(r, op);
    case MOSAIC_SEM_SIGNAL: return upgrade_signal(r, op);
    case MOSAIC_WAIT_DMA2: return upgrade_wait2(r, op);
    case MOSAIC_WAIT_DMA: return upgrade_wait(r, op);
    case MOSAIC_REINTERPRET: return upgrade_reinterpret(r, op);
    case MOSAIC_IOTA: case MOSAIC_DYNAMIC_GATHER: return upgrade_dimension(r, op);
    default: return 0;
    }
}

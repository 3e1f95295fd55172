/*
 * Ring all-reduce as a program on the cores.
 *
 * The bucket of gradients is cut into as many chunks as there are replicas.
 * Reduce-scatter: in step s replica r pushes chunk r-s to its successor, which
 * adds it to its own copy: chunk c is summed in the order c, c+1, … around the
 * ring, and ends complete at replica c-1. All-gather: the complete chunks go
 * round once more and overwrite the partial sums.
 *
 * Arrivals of each step have their own room, so the only thing a sender must
 * know is that its successor has reached the exchange: one remote flag before
 * the first push. An all-gather push cannot meet a reader: a chunk is complete
 * only after every replica's copy has been sent on.
 */
#include "base/units.h"
#include "stack/lower.h"

#define GRANULES_PER_TILE 128
#define ROWS_TO_GRANULES_SHIFT 4        /* 512-byte rows to 32-byte granules */
#define ADD_TILES 8                     /* per round of the adding loop */

enum ring_flag { FLAG_READY, FLAG_ARRIVED, FLAG_SENT };

struct ring {
    struct lower *l;
    int64_t replicas, chunk_tiles, chunk_rows;
    int64_t bucket_row, arrival_row;
    int bucket, arrivals;               /* regions */
};

static struct isa_operand flag(const struct ring *r, enum ring_flag f)
{
    return operand_imm(r->l->first_ring_flag + (int)f);
}

static void load_word(struct ring *r, int sreg, int address)
{
    vcode_emit(r->l->code, OP_SLD, 3,
               (struct isa_operand[]){operand_reg(sreg), operand_none(), operand_imm(address)});
}

static void wait_and_take(struct ring *r, enum ring_flag f, int64_t count)
{
    lower_misc(r->l, OP_DMA_DONE, 2,
               (struct isa_operand[]){flag(r, f), operand_imm((int32_t)count)});
    lower_misc(r->l, OP_VSYNCADD, 2,
               (struct isa_operand[]){flag(r, f), operand_imm((int32_t)-count)});
}

/* the chunks may hold more than the gradients; the rest is sent and added along */
static void clear_rest(struct ring *r, const struct kernel *k)
{
    const struct plan *p = r->l->plan;
    int64_t tile = 0, end = r->chunk_tiles * r->replicas;
    int zero = -1;

    for (int i = 0; i < k->node_count; i++)
        tile += p->buffer[p->value[k->node[i]].buffer].tile_count;
    for (; tile < end; tile++) {
        zero = zero < 0 ? lower_op1(r->l, OP_VMOV, operand_imm(0)) : zero;
        lower_store(r->l, (struct address){-1, r->bucket_row + tile * TILE_ROWS, r->bucket},
                    zero);
    }
}

static void meet_neighbours(struct ring *r)
{
    struct lower *l = r->l;

    load_word(r, SREG_RANK, SMEM_REPLICA);
    load_word(r, SREG_NEXT_CORE, SMEM_RING_NEXT);
    load_word(r, SREG_PREVIOUS_CORE, SMEM_RING_PREVIOUS);
    lower_scalar(l, OP_SMUL, SREG_SEND, SREG_RANK, operand_imm((int32_t)r->chunk_rows));
    lower_misc(l, OP_VSYNCADD_R, 3,
               (struct isa_operand[]){flag(r, FLAG_READY), operand_imm(1),
                                      operand_reg(SREG_PREVIOUS_CORE)});
    wait_and_take(r, FLAG_READY, 1);
}

/* S[d] = granule address of row S[offset] + row */
static void granule_address(struct ring *r, int d, int offset, int64_t row)
{
    lower_scalar(r->l, OP_SADD, d, offset, operand_imm((int32_t)row));
    lower_scalar(r->l, OP_SSHLL, d, d, operand_imm(ROWS_TO_GRANULES_SHIFT));
}

/* push the chunk at SREG_SEND to row S[to] + to_row of the successor */
static void push_chunk(struct ring *r, int to, int64_t to_row)
{
    granule_address(r, SREG_TEMP_A, SREG_SEND, r->bucket_row);
    granule_address(r, SREG_TEMP_B, to, to_row);
    lower_misc(r->l, OP_DMA_VMEM_REMOTE, 6,
               (struct isa_operand[]){
                   operand_reg(SREG_TEMP_A),
                   operand_imm((int32_t)(r->chunk_tiles * GRANULES_PER_TILE)),
                   operand_reg(SREG_TEMP_B), flag(r, FLAG_ARRIVED), flag(r, FLAG_SENT),
                   operand_reg(SREG_NEXT_CORE)});
}

/* SREG_RECEIVE = the chunk before SREG_SEND, around the ring */
static void find_received_chunk(struct ring *r)
{
    struct lower *l = r->l;

    lower_scalar(l, OP_SSUB, SREG_RECEIVE, SREG_SEND, operand_imm((int32_t)r->chunk_rows));
    lower_scalar(l, OP_SADD, SREG_TEMP_C, SREG_RECEIVE,
                 operand_imm((int32_t)(r->chunk_rows * r->replicas)));
    vcode_emit(l->code, OP_SCMP_LT, 3,
               (struct isa_operand[]){operand_reg(PREG_TEMP), operand_reg(SREG_RECEIVE),
                                      operand_imm(0)});
    vcode_emit(l->code, OP_SELECT, 4,
               (struct isa_operand[]){operand_reg(SREG_RECEIVE), operand_reg(PREG_TEMP),
                                      operand_reg(SREG_TEMP_C), operand_reg(SREG_RECEIVE)});
}

static void wait_for_step(struct ring *r)
{
    int64_t granules = r->chunk_tiles * GRANULES_PER_TILE;

    wait_and_take(r, FLAG_ARRIVED, granules);
    wait_and_take(r, FLAG_SENT, granules);
}

static void add_tiles(struct ring *r, int64_t first, int64_t count)
{
    struct lower *l = r->l;

    for (int64_t t = first; t < first + count; t++) {
        struct address own = {SREG_MATRIX, r->bucket_row + t * TILE_ROWS, r->bucket};
        struct address arrived = {SREG_COLUMN, r->arrival_row + t * TILE_ROWS, r->arrivals};
        int sum = lower_load(l, arrived, 1);

        sum = lower_op2(l, OP_VADD_F32, sum, operand_reg(lower_load(l, own, 1)));
        lower_store(l, own, sum);
    }
}

/* the chunk at SREG_RECEIVE += this step's arrivals */
static void add_arrivals(struct ring *r)
{
    struct lower *l = r->l;
    int64_t rounds = r->chunk_tiles / ADD_TILES;

    lower_scalar(l, OP_SADD, SREG_MATRIX, SREG_RECEIVE, operand_imm(0));
    lower_scalar(l, OP_SADD, SREG_COLUMN, SREG_ARRIVAL, operand_imm(0));
    if (rounds > 0) {
        vcode_loop_begin(l->code, SREG_COUNTER, rounds);
        add_tiles(r, 0, ADD_TILES);
        lower_scalar(l, OP_SADD, SREG_MATRIX, SREG_MATRIX, operand_imm(ADD_TILES * TILE_ROWS));
        lower_scalar(l, OP_SADD, SREG_COLUMN, SREG_COLUMN, operand_imm(ADD_TILES * TILE_ROWS));
        vcode_loop_end(l->code, SREG_COUNTER);
        vcode_begin_block(l->code);
    }
    add_tiles(r, 0, r->chunk_tiles % ADD_TILES);
}

static void reduce_scatter(struct ring *r)
{
    struct lower *l = r->l;

    lower_scalar_set(l, SREG_ARRIVAL, 0);
    vcode_loop_begin(l->code, SREG_OUTER_COUNTER, r->replicas - 1);
    push_chunk(r, SREG_ARRIVAL, r->arrival_row);
    find_received_chunk(r);
    wait_for_step(r);
    vcode_begin_block(l->code);
    add_arrivals(r);
    lower_scalar(l, OP_SADD, SREG_SEND, SREG_RECEIVE, operand_imm(0));
    lower_scalar(l, OP_SADD, SREG_ARRIVAL, SREG_ARRIVAL, operand_imm((int32_t)r->chunk_rows));
    vcode_loop_end(l->code, SREG_OUTER_COUNTER);
    vcode_begin_block(l->code);
}

static void all_gather(struct ring *r)
{
    struct lower *l = r->l;

    vcode_loop_begin(l->code, SREG_OUTER_COUNTER, r->replicas - 1);
    push_chunk(r, SREG_SEND, r->bucket_row);
    find_received_chunk(r);
    wait_for_step(r);
    lower_scalar(l, OP_SADD, SREG_SEND, SREG_RECEIVE, operand_imm(0));
    vcode_loop_end(l->code, SREG_OUTER_COUNTER);
    vcode_begin_block(l->code);
}

void lower_all_reduce_kernel(struct lower *l, const struct kernel *k)
{
    struct ring r = {.l = l, .replicas = k->tile_columns, .chunk_tiles = k->tile_rows};

    if (r.replicas == 1)
        return;
    r.chunk_rows = r.chunk_tiles * TILE_ROWS;
    r.bucket = k->scratch_buffer[0];
    r.arrivals = k->scratch_buffer[1];
    r.bucket_row = plan_tile_row(l->plan, r.bucket, 0);
    r.arrival_row = plan_tile_row(l->plan, r.arrivals, 0);
    vcode_begin_block(l->code);
    clear_rest(&r, k);
    meet_neighbours(&r);
    reduce_scatter(&r);
    all_gather(&r);
}

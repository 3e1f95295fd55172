/*
 * SMEM, VMEM and CMEM as programs see them: sublane i of a tile is a row.
 */
#include "tests/reference/ref_impl.h"
#include "tests/test.h"

#include "base/arena.h"

#define ROW_BYTES 512

bool ref_is_load(const struct isa_op *op)
{
    return op->code == OP_VLD || op->code == OP_VLD_SSHFL || op->code == OP_VLD_IAR;
}

bool ref_is_store(const struct isa_op *op)
{
    return op->code == OP_VST || op->code == OP_VST_SSHFL || op->code == OP_VST_IAR
           || op->code == OP_VST_MSK;
}

/* operands base and offset, then stride and mask, or the mask alone */
static void find_rows(const struct ref_op *x, int first, const int32_t *iar, int64_t row[8])
{
    int64_t base = (int64_t)ref_s(x, first) + ref_s(x, first + 1);
    int32_t mask = x->op->operand[first + (iar ? 2 : 3)].value;

    for (int i = 0; i < 8; i++)
        if (!(mask >> i & 1))
            row[i] = REF_NO_ROW;
        else
            row[i] = base + (iar ? iar[i] : (int64_t)i * x->op->operand[first + 2].value);
}

void ref_rows(const struct ref_core *c, const struct isa_op *op, int64_t row[8])
{
    struct ref_op x = {.c = (struct ref_core *)c, .op = op};
    bool has_iar = op->code == OP_VLD_IAR || op->code == OP_VST_IAR;

    find_rows(&x, ref_is_load(op) ? 1 : 0, has_iar ? c->iar[ref_choice(&x, 0)] : NULL, row);
}

/* false after a fault */
static bool find_vmem_rows(struct ref_op *x, int64_t row[8])
{
    ref_rows(x->c, x->op, row);
    for (int i = 0; i < 8; i++)
        if (row[i] != REF_NO_ROW
            && (row[i] < 0 || row[i] >= x->c->m->chip.vmem_bytes / ROW_BYTES)) {
            ref_fault(x->c, x->at, FAULT_ADDRESS, "a row outside VMEM");
            return false;
        }
    return true;
}

static void load(struct ref_op *x)
{
    int64_t row[8];

    if (!find_vmem_rows(x, row))
        return;
    for (int i = 0; i < 8; i++)
        if (row[i] == REF_NO_ROW)
            memset(x->tile[i], 0, ROW_BYTES);
        else
            memcpy(x->tile[i], x->c->vmem + row[i] * ROW_BYTES, ROW_BYTES);
}

void ref_VLD(struct ref_op *x) { load(x); }
void ref_VLD_IAR(struct ref_op *x) { load(x); }

static int digit(int32_t pattern, int i)
{
    return (int)((uint32_t)pattern >> 4 * i & 7);
}

void ref_VLD_SSHFL(struct ref_op *x)
{
    ref_tile loaded;

    load(x);
    memcpy(loaded, x->tile, sizeof(loaded));
    for (int i = 0; i < 8; i++)
        memcpy(x->tile[i], loaded[digit(x->op->operand[5].value, i)], ROW_BYTES);
}

/* those that no load can meet any more are forgotten */
static void remember_store(struct ref_op *x, const int64_t row[8])
{
    struct ref_core *c = x->c;
    size_t kept = 0;

    for (size_t i = 0; i < c->store_count; i++)
        if (c->store[i].at + c->m->chip.vmem_store_to_load_cycles > x->at)
            c->store[kept++] = c->store[i];
    c->store = mem_grow(c->store, &c->store_capacity, kept + 1, sizeof(*c->store));
    c->store[kept].at = c->last_vst_at = x->at;
    c->store[kept].is_anywhere = x->op->code == OP_VST_IAR;
    memcpy(c->store[kept].row, row, sizeof(c->store[kept].row));
    c->store_count = kept + 1;
}

/* under a mask, or without one (NULL) */
static void store(struct ref_op *x, const struct ref_mask *mask, const uint32_t (*tile)[LANES])
{
    static const uint32_t bits[2] = {0xffff, 0xffff0000};
    int64_t row[8];

    if (!find_vmem_rows(x, row))
        return;
    remember_store(x, row);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < LANES && row[i] != REF_NO_ROW; j++)
            for (int half = 0; half < 2; half++) {
                unsigned char *at = x->c->vmem + row[i] * ROW_BYTES + 4 * j;
                uint32_t word;

                memcpy(&word, at, 4);
                if (!mask || mask->half[half][i][j])
                    word = (word & ~bits[half]) | (tile[i][j] & bits[half]);
                memcpy(at, &word, 4);
            }
}

void ref_VST(struct ref_op *x) { store(x, NULL, ref_v(x, 4)); }
void ref_VST_IAR(struct ref_op *x) { store(x, NULL, ref_v(x, 3)); }
void ref_VST_MSK(struct ref_op *x) { store(x, ref_m(x, 4), ref_v(x, 5)); }

void ref_VST_SSHFL(struct ref_op *x)
{
    const uint32_t (*from)[LANES] = ref_v(x, 5);
    ref_tile tile;

    for (int i = 0; i < 8; i++)
        memcpy(tile[i], from[digit(x->op->operand[4].value, i)], ROW_BYTES);
    store(x, NULL, (const uint32_t (*)[LANES])tile);
}

void ref_VSETIAR(struct ref_op *x)
{
    const uint32_t (*tile)[LANES] = ref_v(x, 0);

    for (int i = 0; i < 8; i++)
        x->c->iar[ref_choice(x, 0)][i] = (int32_t)tile[i][0];
}

void ref_CLD(struct ref_op *x)
{
    int64_t row[8];
    ref_tile tile = {{0}};

    find_rows(x, 0, NULL, row);
    for (int i = 0; i < 8; i++) {
        if (!(x->op->operand[3].value >> i & 1))
            continue;
        x->c->counters.cmem_read_bytes += ROW_BYTES;
        if (row[i] < 0 || row[i] >= x->c->m->cmem_bytes / ROW_BYTES)
            ref_fault(x->c, x->at, FAULT_ADDRESS, "a row outside CMEM");
        else
            memcpy(tile[i], x->c->cmem + row[i] * ROW_BYTES, ROW_BYTES);
    }
    ref_push(x, x->fifo, x->ready_at, OP_VPOP_CRF, false, (const uint32_t (*)[LANES])tile);
}

void ref_VPOP_CRF(struct ref_op *x) { ref_pop(x, &x->c->crf); }

/* NULL after a fault */
static unsigned char *find_word(struct ref_op *x, int first)
{
    int64_t at = (int64_t)ref_s(x, first) + ref_s(x, first + 1);

    if (at >= 0 && at + 4 <= x->c->m->chip.smem_bytes && at % 4 == 0)
        return x->c->smem + at;
    ref_fault(x->c, x->at, FAULT_ADDRESS, "a word outside SMEM");
    return NULL;
}

void ref_SLD(struct ref_op *x)
{
    const unsigned char *word = find_word(x, 1);

    if (word)
        memcpy(&x->result.s, word, 4);
}

void ref_SST(struct ref_op *x)
{
    unsigned char *word = find_word(x, 0);
    int32_t value = ref_s(x, 2);

    if (word)
        memcpy(word, &value, 4);
    x->c->last_sst_at = x->at;
}

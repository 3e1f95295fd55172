/*
 * Compares a launch's inputs with those of the one before, and puts its end state back where all
 * of them are equal.
 */
#include "sim/fastpath/launch_memo.h"

#include "sim/machine/machine_impl.h"

#include <string.h>

#define LOG_MAX (1 << 18)               /* entries per core */
#define LOG_BYTES_MAX (4 * MIB)         /* of contents per core */

struct hbm_log {
    struct hbm_access {
        enum { HBM_READ, HBM_WRITTEN, HBM_UNKNOWN } kind;
        int64_t address, bytes;
        size_t data;                    /* where its contents stand below */
    } *item;
    size_t count, capacity;
    unsigned char *data;
    size_t data_bytes, data_capacity;
    bool is_lost;
};

/* SMEM up to its last byte that is not 0 */
struct smem_copy {
    unsigned char *data;
    size_t bytes, capacity;
};

struct launch_memo {
    bool is_valid;
    int64_t repeats;
    int core_count;
    struct core_inputs {
        int32_t s[ISA_SREG_COUNT];
        struct smem_copy before, after;
        struct hbm_log log;
    } *core;
};

struct launch_memo *launch_memo_create(struct machine *m)
{
    struct launch_memo *l = mem_alloc(sizeof(*l));

    l->core_count = m->core_count;
    l->core = mem_alloc((size_t)m->core_count * sizeof(*l->core));
    for (int i = 0; i < m->core_count; i++)
        m->core[i].hbm_log = &l->core[i].log;
    return l;
}

void launch_memo_destroy(struct launch_memo *l)
{
    if (!l)
        return;
    for (int i = 0; i < l->core_count; i++) {
        mem_free(l->core[i].before.data);
        mem_free(l->core[i].after.data);
        mem_free(l->core[i].log.item);
        mem_free(l->core[i].log.data);
    }
    mem_free(l->core);
    mem_free(l);
}

static struct hbm_access *log_access(struct hbm_log *g, int64_t address, int64_t bytes)
{
    if (!g || g->is_lost)
        return NULL;
    if (g->count == LOG_MAX || (int64_t)g->data_bytes + bytes > LOG_BYTES_MAX) {
        g->is_lost = true;
        return NULL;
    }
    g->item = mem_grow(g->item, &g->capacity, g->count + 1, sizeof(*g->item));
    g->item[g->count] = (struct hbm_access){.address = address, .bytes = bytes,
                                            .data = g->data_bytes};
    return &g->item[g->count++];
}

static void log_contents(struct hbm_log *g, const struct core *c, int64_t address, int64_t bytes)
{
    g->data = mem_grow(g->data, &g->data_capacity, g->data_bytes + (size_t)bytes, 1);
    hbm_store_read(c->hbm, address, g->data + g->data_bytes, (size_t)bytes);
    g->data_bytes += (size_t)bytes;
}

void launch_memo_hbm_read(struct hbm_log *g, const struct core *c, int64_t address, int64_t bytes)
{
    struct hbm_access *a = log_access(g, address, bytes);

    if (!a)
        return;
    a->kind = HBM_READ;
    log_contents(g, c, address, bytes);
}

void launch_memo_hbm_write(struct hbm_log *g, const struct core *c, int64_t address, int64_t bytes)
{
    struct hbm_access *a = log_access(g, address, bytes);

    if (!a)
        return;
    a->kind = HBM_WRITTEN;
    log_contents(g, c, address, bytes);
}

/* a large copy comes in pieces, one behind the other */
void launch_memo_hbm_unknown(struct hbm_log *g, int64_t address, int64_t bytes)
{
    struct hbm_access *last = g && g->count > 0 ? &g->item[g->count - 1] : NULL;

    if (last && last->kind == HBM_UNKNOWN && last->address + last->bytes == address)
        last->bytes += bytes;
    else if ((last = log_access(g, address, 0)) != NULL)
        *last = (struct hbm_access){.kind = HBM_UNKNOWN, .address = address, .bytes = bytes};
}

void launch_memo_hbm_give_up(struct hbm_log *g)
{
    if (g)
        g->is_lost = true;
}

static size_t used_bytes(const struct core *c)
{
    size_t bytes = (size_t)c->smem_end;

    while (bytes > 0 && c->smem[bytes - 1] == 0)
        bytes--;
    return bytes;
}

static void keep_smem(struct smem_copy *s, const struct core *c)
{
    s->bytes = used_bytes(c);
    s->data = mem_grow(s->data, &s->capacity, s->bytes + 1, 1);
    memcpy(s->data, c->smem, s->bytes);
}

static bool is_kept_smem(const struct smem_copy *s, const struct core *c)
{
    return used_bytes(c) == s->bytes && memcmp(s->data, c->smem, s->bytes) == 0;
}

static void put_back_smem(const struct smem_copy *s, struct core *c)
{
    memset(c->smem, 0, used_bytes(c));
    memcpy(c->smem, s->data, s->bytes);
    core_note_smem(c, (int64_t)s->bytes);
}

/* the same bytes, and known */
static bool is_in_hbm(const struct hbm_log *g, const struct hbm_access *a, const struct core *c)
{
    unsigned char buffer[4096];
    int64_t part;

    if (ranges_find(c->unknown_hbm, a->address, a->address + a->bytes))
        return false;
    for (int64_t done = 0; done < a->bytes; done += part) {
        part = a->bytes - done;
        part = part < (int64_t)sizeof(buffer) ? part : (int64_t)sizeof(buffer);
        hbm_store_read(c->hbm, a->address + done, buffer, (size_t)part);
        if (memcmp(buffer, g->data + a->data + done, (size_t)part) != 0)
            return false;
    }
    return true;
}

static bool has_same_inputs(const struct core_inputs *k, const struct core *c)
{
    if (memcmp(k->s, c->entry_s, sizeof(k->s)) != 0 || !is_kept_smem(&k->before, c))
        return false;
    for (size_t i = 0; i < k->log.count; i++)
        if (k->log.item[i].kind == HBM_READ && !is_in_hbm(&k->log, &k->log.item[i], c))
            return false;
    return true;
}

static void put_back_hbm(const struct hbm_log *g, struct core *c)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct hbm_access *a = &g->item[i];

        if (a->kind == HBM_UNKNOWN)
            ranges_add(c->unknown_hbm, a->address, a->address + a->bytes);
        if (a->kind != HBM_WRITTEN)
            continue;
        hbm_store_write(c->hbm, a->address, g->data + a->data, (size_t)a->bytes);
        ranges_remove(c->unknown_hbm, a->address, a->address + a->bytes);
    }
}

bool launch_memo_repeat(struct machine *m)
{
    struct launch_memo *l = m->launch_memo;

    if (!l || !l->is_valid)
        return false;
    for (int i = 0; i < m->core_count; i++)
        if (m->core[i].program && !has_same_inputs(&l->core[i], &m->core[i]))
            return false;
    for (int i = 0; i < m->core_count; i++) {
        put_back_hbm(&l->core[i].log, &m->core[i]);
        if (m->core[i].program)
            put_back_smem(&l->core[i].after, &m->core[i]);
    }
    l->repeats++;
    return true;
}

void launch_memo_begin(struct machine *m)
{
    for (int i = 0; m->launch_memo && i < m->core_count; i++) {
        struct core_inputs *k = &m->launch_memo->core[i];

        k->log.count = k->log.data_bytes = 0;
        k->log.is_lost = false;
        if (!m->core[i].program)
            continue;
        memcpy(k->s, m->core[i].entry_s, sizeof(k->s));
        keep_smem(&k->before, &m->core[i]);
    }
}

void launch_memo_end(struct machine *m)
{
    struct launch_memo *l = m->launch_memo;

    if (!l || m->fault.kind != FAULT_NONE)
        return;
    for (int i = 0; i < m->core_count; i++) {
        if (l->core[i].log.is_lost)
            return;
        if (m->core[i].program)
            keep_smem(&l->core[i].after, &m->core[i]);
    }
    l->is_valid = true;
}

void launch_memo_forget(struct machine *m)
{
    if (!m->launch_memo)
        return;
    m->launch_memo->is_valid = false;
    for (int i = 0; i < m->core_count; i++)
        m->launch_memo->core[i].log.is_lost = true;     /* until launch_memo_begin */
}

int64_t launch_memo_repeats(const struct machine *m)
{
    return m->launch_memo ? m->launch_memo->repeats : 0;
}

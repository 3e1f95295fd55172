#include "tests/reference/collective_host.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/units.h"

#define GRANULE 32

/* One memory of a core, with marks per granule. */
struct memory {
    int64_t bytes;
    uint8_t *data;
    uint8_t *reads, *writes;            /* copies under way that read, that write it */
    bool *written;                      /* ever; HBM: all */
};

struct host_core {
    struct memory memory[2];            /* by collective_space */
    int64_t *flag;
    int next, count, in_flight;
    int known;                          /* operation that `op` is; -1: none */
    struct collective_op op;
    int64_t sent_bytes;
};

struct flight {
    struct collective_op op;
    int from, to;                       /* cores */
    bool is_read;
    uint8_t *data;
};

struct collective_host {
    const struct collective_plan *plan;
    int core_count, flag_count, queue_depth, most_in_flight;
    struct host_core *core;
    struct flight *flight;
    size_t flight_capacity;
    int flight_count;
    struct rng rng;
    char error[256];
};

float host_bf16_to_f32(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof(value));
    return value;
}

uint16_t host_f32_to_bf16(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static void init_memory(struct memory *m, int64_t bytes)
{
    size_t granules = (size_t)div_up(bytes, GRANULE) + 1;

    m->bytes = bytes;
    m->data = mem_alloc((size_t)bytes + GRANULE);
    m->reads = mem_alloc(granules);
    m->writes = mem_alloc(granules);
    m->written = mem_alloc(granules);
}

struct collective_host *host_create(const struct collective_plan *p)
{
    const struct collective_request *r = collective_plan_request(p);
    struct collective_arrays arrays = collective_arrays_of(p);
    struct collective_host *h = mem_alloc(sizeof(*h));

    h->plan = p;
    h->core_count = r->slice->core_count;
    h->flag_count = collective_flag_count(p);
    h->queue_depth = (int)r->chip->dma_queue_depth;
    h->core = mem_alloc((size_t)h->core_count * sizeof(*h->core));
    for (int i = 0; i < h->core_count; i++) {
        struct host_core *c = &h->core[i];
        int64_t in_end = arrays.in + arrays.in_bytes, out_end = arrays.out + arrays.out_bytes;

        init_memory(&c->memory[COLLECTIVE_HBM], later(in_end, out_end));
        init_memory(&c->memory[COLLECTIVE_VMEM], collective_vmem_bytes(p));
        c->flag = mem_alloc(((size_t)h->flag_count + 1) * sizeof(*c->flag));
        c->count = collective_op_count(p, i);
    }
    return h;
}

void host_destroy(struct collective_host *h)
{
    for (int i = 0; i < h->core_count; i++) {
        for (int j = 0; j < 2; j++) {
            struct memory *m = &h->core[i].memory[j];

            mem_free(m->data);
            mem_free(m->reads);
            mem_free(m->writes);
            mem_free(m->written);
        }
        mem_free(h->core[i].flag);
    }
    for (int i = 0; i < h->flight_count; i++)
        mem_free(h->flight[i].data);
    mem_free(h->flight);
    mem_free(h->core);
    mem_free(h);
}

uint8_t *host_hbm(struct collective_host *h, int core)
{
    return h->core[core].memory[COLLECTIVE_HBM].data;
}

int64_t host_sent_bytes(const struct collective_host *h, int core)
{
    return h->core[core].sent_bytes;
}

int host_most_in_flight(const struct collective_host *h)
{
    return h->most_in_flight;
}

static bool fail(struct collective_host *h, int core, const char *what)
{
    if (h->error[0] == '\0')
        snprintf(h->error, sizeof(h->error), "core %d, operation %d of %d: %s", core,
                 h->core[core].next, h->core[core].count, what);
    return false;
}

/* address of run `run` of one side of a copy */
static int64_t run_address(const struct collective_op *o, int64_t run, bool is_to)
{
    int64_t address = is_to ? o->to : o->from;

    for (int i = 0; i < COLLECTIVE_LEVELS; i++) {
        int64_t at = run % o->level[i].count;

        address += at * (is_to ? o->level[i].to_stride : o->level[i].from_stride);
        run /= o->level[i].count;
    }
    return address;
}

enum touch { TOUCH_READ, TOUCH_WRITE, TOUCH_BEGIN_READ, TOUCH_BEGIN_WRITE, TOUCH_END_READ,
             TOUCH_END_WRITE };

static bool touch_granule(struct collective_host *h, int core, struct memory *m, int64_t g,
                          enum touch touch, bool is_hbm)
{
    bool reads = touch == TOUCH_READ || touch == TOUCH_BEGIN_READ;

    if (touch == TOUCH_END_READ) {
        m->reads[g]--;
        return true;
    }
    if (touch == TOUCH_END_WRITE) {
        m->writes[g]--;
        m->written[g] = true;
        return true;
    }
    if (m->writes[g])
        return fail(h, core, reads ? "reads what a copy is writing" : "two writes at once");
    if (!reads && m->reads[g])
        return fail(h, core, "writes what a copy is reading");
    if (reads && !is_hbm && !m->written[g])
        return fail(h, core, "reads VMEM that nobody has written");
    m->reads[g] = (uint8_t)(m->reads[g] + (touch == TOUCH_BEGIN_READ));
    m->writes[g] = (uint8_t)(m->writes[g] + (touch == TOUCH_BEGIN_WRITE));
    if (touch == TOUCH_WRITE)
        m->written[g] = true;
    return true;
}

static bool touch_range(struct collective_host *h, int core, int target, int space, int64_t first,
                        int64_t bytes, enum touch touch)
{
    struct memory *m = &h->core[target].memory[space];

    if (first < 0 || bytes <= 0 || first % GRANULE || bytes % GRANULE ||
        first + bytes > round_up(m->bytes, GRANULE))
        return fail(h, core, "a range outside its memory, or not of granules");
    for (int64_t g = first / GRANULE; g < (first + bytes) / GRANULE; g++)
        if (!touch_granule(h, core, m, g, touch, space == COLLECTIVE_HBM))
            return false;
    return true;
}

static int64_t run_count(const struct collective_op *o)
{
    int64_t count = 1;

    for (int i = 0; i < COLLECTIVE_LEVELS; i++)
        count *= o->level[i].count;
    return count;
}

static bool touch_side(struct collective_host *h, int core, int target,
                       const struct collective_op *o, bool is_to, enum touch touch)
{
    for (int64_t run = 0; run < run_count(o); run++)
        if (!touch_range(h, core, target, is_to ? o->to_space : o->from_space,
                         run_address(o, run, is_to), o->run_bytes, touch))
            return false;
    return true;
}

static bool start_copy(struct collective_host *h, int core, const struct collective_op *o)
{
    struct host_core *c = &h->core[core];
    struct flight f = {.op = *o, .from = core,
                       .to = o->kind == COLLECTIVE_SEND ? o->peer : core};

    if (o->bytes != run_count(o) * o->run_bytes)
        return fail(h, core, "bytes that are not runs times levels");
    if (o->kind == COLLECTIVE_SEND && o->peer == core)
        return fail(h, core, "sends to itself");
    if (!touch_side(h, core, f.from, o, false, TOUCH_BEGIN_READ) ||
        !touch_side(h, core, f.to, o, true, TOUCH_BEGIN_WRITE))
        return false;
    f.data = mem_alloc((size_t)o->bytes);
    h->flight = mem_grow(h->flight, &h->flight_capacity, (size_t)h->flight_count + 1,
                         sizeof(*h->flight));
    h->flight[h->flight_count++] = f;
    c->in_flight++;
    h->most_in_flight = c->in_flight > h->most_in_flight ? c->in_flight : h->most_in_flight;
    c->sent_bytes += o->kind == COLLECTIVE_SEND ? o->bytes : 0;
    return true;
}

static void add_pair(enum collective_type type, const uint8_t *from, uint8_t *to)
{
    if (type == COLLECTIVE_F32) {
        float a, b;

        memcpy(&a, from, sizeof(a));
        memcpy(&b, to, sizeof(b));
        b = a + b;
        memcpy(to, &b, sizeof(b));
    } else {
        uint16_t a, b;

        memcpy(&a, from, sizeof(a));
        memcpy(&b, to, sizeof(b));
        b = host_f32_to_bf16(host_bf16_to_f32(a) + host_bf16_to_f32(b));
        memcpy(to, &b, sizeof(b));
    }
}

static bool add(struct collective_host *h, int core, const struct collective_op *o)
{
    enum collective_type type = collective_plan_request(h->plan)->type;
    int64_t elem_bytes = type == COLLECTIVE_F32 ? 4 : 2;
    uint8_t *vmem = h->core[core].memory[COLLECTIVE_VMEM].data;

    if (o->from % 512 || o->to % 512)
        return fail(h, core, "an addition that begins inside a row");
    if (!touch_range(h, core, core, COLLECTIVE_VMEM, o->from, o->bytes, TOUCH_READ) ||
        !touch_range(h, core, core, COLLECTIVE_VMEM, o->to, o->bytes, TOUCH_READ) ||
        !touch_range(h, core, core, COLLECTIVE_VMEM, o->to, o->bytes, TOUCH_WRITE))
        return false;
    for (int64_t i = 0; i < o->bytes; i += elem_bytes)
        add_pair(type, vmem + o->from + i, vmem + o->to + i);
    return true;
}

/* false: the core has to wait, or something is wrong */
static bool step_core(struct collective_host *h, int core)
{
    struct host_core *c = &h->core[core];
    const struct collective_op *o = &c->op;

    if (c->next == c->count)
        return false;
    if (c->known != c->next)
        collective_op(h->plan, core, c->known = c->next, &c->op);
    switch (o->kind) {
    case COLLECTIVE_WAIT:
        if (c->flag[o->flag] < o->value)
            return false;
        c->flag[o->flag] -= o->value;
        break;
    case COLLECTIVE_SIGNAL:
        h->core[o->peer].flag[o->flag] += o->value;
        break;
    case COLLECTIVE_ADD:
        if (!add(h, core, o))
            return false;
        break;
    default:
        if (c->in_flight == h->queue_depth || !start_copy(h, core, o))
            return false;
    }
    c->next++;
    return true;
}

static void move_bytes(struct collective_host *h, struct flight *f, bool is_to)
{
    const struct collective_op *o = &f->op;
    uint8_t *memory = h->core[is_to ? f->to : f->from]
                          .memory[is_to ? o->to_space : o->from_space].data;

    for (int64_t run = 0; run < run_count(o); run++) {
        uint8_t *at = memory + run_address(o, run, is_to);
        uint8_t *data = f->data + run * o->run_bytes;

        memcpy(is_to ? at : data, is_to ? data : at, (size_t)o->run_bytes);
    }
}

/* A copy under way reads its source, and later arrives. */
static void step_flight(struct collective_host *h, int index)
{
    struct flight *f = &h->flight[index];
    const struct collective_op *o = &f->op;

    if (!f->is_read) {
        f->is_read = true;
        move_bytes(h, f, false);
        touch_side(h, f->from, f->from, o, false, TOUCH_END_READ);
        if (o->kind == COLLECTIVE_SEND)
            h->core[f->from].flag[o->source_flag] += o->bytes / GRANULE;
        return;
    }
    move_bytes(h, f, true);
    touch_side(h, f->from, f->to, o, true, TOUCH_END_WRITE);
    h->core[f->to].flag[o->flag] += o->bytes / GRANULE;
    h->core[f->from].in_flight--;
    mem_free(f->data);
    *f = h->flight[--h->flight_count];
}

static bool all_done(const struct collective_host *h)
{
    for (int i = 0; i < h->core_count; i++)
        if (h->core[i].next < h->core[i].count)
            return false;
    return h->flight_count == 0;
}

static void check_end(struct collective_host *h)
{
    for (int i = 0; i < h->core_count; i++)
        for (int j = 0; j < h->flag_count; j++)
            if (h->core[i].flag[j] != 0)
                fail(h, i, "a flag is not 0 at the end");
}

/* The first core from `first` on that can go on takes up to `steps` steps. */
static bool step_some_core(struct collective_host *h, int first, int steps)
{
    for (int i = 0; i < h->core_count; i++) {
        int core = (first + i) % h->core_count;

        if (step_core(h, core)) {
            while (--steps > 0 && step_core(h, core))
                continue;
            return true;
        }
        if (h->error[0])
            return false;
    }
    return false;
}

int host_finish_without(struct collective_host *h, int core)
{
    int finished = 0;
    bool goes_on = true;

    h->error[0] = '\0';
    for (int i = 0; i < h->core_count; i++) {
        h->core[i].next = 0;
        h->core[i].known = -1;
    }
    while (goes_on && h->error[0] == '\0') {
        goes_on = h->flight_count > 0;
        while (h->flight_count > 0)
            step_flight(h, 0);
        for (int i = 0; i < h->core_count; i++)
            while (i != core && step_core(h, i))
                goes_on = true;
    }
    for (int i = 0; i < h->core_count; i++)
        finished += i != core && h->core[i].next == h->core[i].count;
    return finished;
}

const char *host_run(struct collective_host *h, uint64_t seed)
{
    uint32_t copies_in_8, burst;

    rng_init(&h->rng, seed);
    copies_in_8 = rng_below(&h->rng, 9);        /* 0: copies rest as long as any core goes on */
    burst = 1U << rng_below(&h->rng, 8);
    h->error[0] = '\0';
    h->most_in_flight = 0;
    for (int i = 0; i < h->core_count; i++) {
        h->core[i].next = 0;
        h->core[i].known = -1;
        h->core[i].sent_bytes = 0;
    }
    while (h->error[0] == '\0' && !all_done(h)) {
        bool is_copy = h->flight_count > 0 && rng_below(&h->rng, 8) < copies_in_8;

        if (!is_copy && step_some_core(h, (int)rng_below(&h->rng, (uint32_t)h->core_count),
                                       (int)rng_below(&h->rng, burst) + 1))
            continue;
        if (h->error[0])
            break;
        if (h->flight_count > 0) {
            step_flight(h, (int)rng_below(&h->rng, (uint32_t)h->flight_count));
            continue;
        }
        for (int i = 0; i < h->core_count; i++)
            if (h->core[i].next < h->core[i].count)
                fail(h, i, "waits for ever");
    }
    if (h->error[0] == '\0')
        check_end(h);
    return h->error[0] ? h->error : NULL;
}

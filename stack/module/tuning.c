/*
 * Keeps measured tilings sorted by chip, kind and a hash of the kernel, and reads and writes their
 * file.
 */
#include "stack/module/tuning.h"

#include "base/outfile.h"
#include "stack/kernels/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_LINE "systole tuning 1\n"
#define LINE_CHARS 512

struct entry {
    char chip[32], kind[16];
    int codegen;
    uint64_t hash;
    int64_t cycles;
    struct tiling tiling;
};

struct tuning {
    struct entry *entry;
    int count;
    size_t capacity;
};

struct tuning *tuning_create(void)
{
    return mem_alloc(sizeof(struct tuning));
}

void tuning_destroy(struct tuning *t)
{
    if (!t)
        return;
    mem_free(t->entry);
    mem_free(t);
}

static void mix(uint64_t *h, const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < bytes; i++)
        *h = (*h ^ p[i]) * 0x100000001b3u;      /* FNV-1a */
}

static void mix_int(uint64_t *h, int64_t value) { mix(h, &value, sizeof(value)); }

static void mix_shape(uint64_t *h, const struct shape *s)
{
    mix_int(h, s->dtype);
    mix_int(h, s->rank);
    mix(h, s->dim, (size_t)s->rank * sizeof(s->dim[0]));
}

static void mix_window(uint64_t *h, const struct graph_window *w, int count)
{
    for (int i = 0; w && i < count; i++) {
        const int64_t fields[] = {w[i].size, w[i].stride, w[i].pad_low, w[i].pad_high,
                                  w[i].base_dilation, w[i].window_dilation, w[i].is_reversed};

        mix(h, fields, sizeof(fields));
    }
}

static void mix_node(uint64_t *h, const struct graph *g, const struct graph_node *n)
{
    int rank = n->conv ? n->conv->spatial_count
               : n->operand_count ? g->node[n->operand[0]].shape.rank : 0;

    mix_int(h, n->op);
    mix_shape(h, &n->shape);
    mix(h, n->operand, (size_t)n->operand_count * sizeof(n->operand[0]));
    mix(h, &n->value, sizeof(n->value));
    mix_int(h, n->dim);
    mix(h, n->dims, sizeof(n->dims));
    mix(h, &n->dot, sizeof(n->dot));
    mix_int(h, (int64_t)n->precision * 64 + (int64_t)n->direction * 8 + (int64_t)n->reduce_kind);
    mix_int(h, n->reduce_mask);
    mix(h, n->start, sizeof(n->start));
    mix(h, n->limit, sizeof(n->limit));
    mix(h, n->stride, sizeof(n->stride));
    mix(h, n->low, sizeof(n->low));
    mix(h, n->high, sizeof(n->high));
    mix(h, n->interior, sizeof(n->interior));
    mix(h, n->sizes, sizeof(n->sizes));
    mix_int(h, n->count);
    mix_window(h, n->window, rank);
    if (n->conv)
        mix(h, n->conv, sizeof(*n->conv));
}

static void mix_array(uint64_t *h, const struct array *a)
{
    mix_shape(h, &a->shape);
    mix(h, a->order, (size_t)a->shape.rank * sizeof(a->order[0]));
    mix_int(h, a->space);
}

static uint64_t hash_of(const struct kernel_job *job)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (int i = 0; i < job->body->node_count; i++)
        mix_node(&h, job->body, &job->body->node[i]);
    for (int i = 0; i < job->body->output_count; i++)
        mix_int(&h, job->body->output[i].node);
    for (int i = 0; i < job->operand_count; i++)
        mix_array(&h, job->operand[i]);
    for (int i = 0; i < job->result_count; i++)
        mix_array(&h, job->result[i]);
    mix_int(&h, job->vmem_rows);
    mix_int(&h, job->core_count);
    return h;
}

static struct entry entry_of(const struct kernel_job *job)
{
    const struct kernel_kind *kind = kernel_kind_of(job->body);
    struct entry e = {.codegen = (int)job->codegen, .hash = hash_of(job)};

    snprintf(e.chip, sizeof(e.chip), "%s", job->chip->chip_name);
    for (char *c = e.chip; *c; c++)
        *c = *c == ' ' ? '_' : *c;
    snprintf(e.kind, sizeof(e.kind), "%s", kind ? kind->name : "none");
    return e;
}

/* order of the file */
static int compare(const struct entry *a, const struct entry *b)
{
    int order = strcmp(a->chip, b->chip);

    if (order == 0)
        order = a->codegen - b->codegen;
    if (order == 0)
        order = strcmp(a->kind, b->kind);
    return order != 0 ? order : a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* the first entry not before `key` */
static int place_of(const struct tuning *t, const struct entry *key)
{
    int low = 0, high = t->count;

    while (low < high) {
        int middle = (low + high) / 2;

        if (compare(&t->entry[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct tuning *t, const struct entry *e)
{
    int at = place_of(t, e);

    if (at < t->count && compare(&t->entry[at], e) == 0) {
        if (e->cycles < t->entry[at].cycles)
            t->entry[at] = *e;
        return;
    }
    t->entry = mem_grow(t->entry, &t->capacity, (size_t)t->count + 1, sizeof(*t->entry));
    memmove(t->entry + at + 1, t->entry + at, (size_t)(t->count - at) * sizeof(*t->entry));
    t->entry[at] = *e;
    t->count++;
}

void tuning_add(struct tuning *t, const struct kernel_job *job, const struct tiling *tiling,
                int64_t cycles)
{
    struct entry e = entry_of(job);

    e.cycles = cycles;
    e.tiling = *tiling;
    insert(t, &e);
}

const struct tiling *tuning_find(const struct tuning *t, const struct kernel_job *job)
{
    struct entry key;
    int at;

    if (!t || t->count == 0)
        return NULL;
    key = entry_of(job);
    at = place_of(t, &key);
    return at < t->count && compare(&t->entry[at], &key) == 0 ? &t->entry[at].tiling : NULL;
}

static int parse(const char *line, struct entry *out)
{
    char policy[8];
    int used = 0;

    *out = (struct entry){0};
    if (sscanf(line, "%31s %7s %15s %" SCNx64 " %" SCNd64 "%n", out->chip, policy, out->kind,
               &out->hash, &out->cycles, &used) != 5 || out->cycles < 0 ||
        (strcmp(policy, "xla") != 0 && strcmp(policy, "best") != 0))
        return -1;
    out->codegen = strcmp(policy, "best") == 0 ? CODEGEN_BEST : CODEGEN_XLA;
    for (line += used; *line && *line != '\n'; line += used) {
        if (out->tiling.count == TILING_MAX ||
            sscanf(line, " %" SCNd64 "%n", &out->tiling.size[out->tiling.count], &used) != 1)
            return -1;
        out->tiling.count++;
    }
    out->tiling.predicted_cycles = out->cycles;
    return 0;
}

int tuning_load(struct tuning *t, const char *path, struct err *e)
{
    char line[LINE_CHARS];
    FILE *from = fopen(path, "r");
    int number = 1, status = 0;

    if (!from)
        return errno == ENOENT ? 0 : err_at(e, path, 0, 0, "%s", strerror(errno));
    if ((!fgets(line, sizeof(line), from) || strcmp(line, VERSION_LINE) != 0) && !ferror(from))
        status = err_at(e, path, 1, 0, "not a tuning cache of this version: its first line must "
                        "be \"systole tuning 1\"");
    while (status == 0 && fgets(line, sizeof(line), from)) {
        struct entry entry;

        number++;
        if (parse(line, &entry))
            status = err_at(e, path, number, 0, "not \"CHIP xla|best KIND HASH CYCLES TILING...\"");
        else
            insert(t, &entry);
    }
    if (ferror(from))                   /* a part would be saved as all */
        status = err_at(e, path, 0, 0, "cannot be read: %s", strerror(errno));
    fclose(from);
    return status;
}

int tuning_save(const struct tuning *t, const char *path, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    fputs(VERSION_LINE, f.to);
    for (int i = 0; i < t->count; i++) {
        const struct entry *x = &t->entry[i];

        fprintf(f.to, "%s %s %s %016" PRIx64 " %" PRId64, x->chip,
                x->codegen == CODEGEN_BEST ? "best" : "xla", x->kind, x->hash, x->cycles);
        for (int k = 0; k < x->tiling.count; k++)
            fprintf(f.to, " %" PRId64, x->tiling.size[k]);
        fputc('\n', f.to);
    }
    return outfile_commit(&f, e);
}

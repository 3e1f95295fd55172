/*
 * Numbers the cores of a slice as TensorFlow does, host by host, and prints and parses device
 * names.
 */
#include "train/cluster/topology.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_BYTES 32

/* ----- hosts: boxes of chips */

static void host_box(const struct topology *t, const struct slice *s, const struct chip *chip,
                     int box[3])
{
    for (int i = 0; i < 3; i++)
        box[i] = t->mesh[i];
    if (s->chip_count <= chip->host_chips)
        return;
    box[0] = t->mesh[0] % 2 == 0 ? 2 : 1;
    box[1] = t->mesh[1] % 2 == 0 ? 2 : 1;
    box[2] = 1;
}

static void add_host(struct topology *t, const int first[3], const int box[3], int *device)
{
    for (int z = first[2]; z < first[2] + box[2]; z++)
        for (int y = first[1]; y < first[1] + box[1]; y++)
            for (int x = first[0]; x < first[0] + box[0]; x++)
                for (int core = 0; core < t->mesh[TOPOLOGY_CORE]; core++) {
                    int *to = t->coordinate[(*device)++];

                    to[TOPOLOGY_X] = x;
                    to[TOPOLOGY_Y] = y;
                    to[TOPOLOGY_Z] = z;
                    to[TOPOLOGY_CORE] = core;
                }
}

void topology_init(struct topology *t, const struct slice *s, const struct chip *chip,
                   struct arena *a)
{
    int box[3], first[3], device = 0;

    memset(t, 0, sizeof(*t));
    for (int i = 0; i < 3; i++) {
        t->mesh[i] = i < s->dims ? s->dim[i] : 1;
        t->is_ring[i] = i < s->dims && s->is_ring[i];
    }
    t->mesh[TOPOLOGY_CORE] = s->core_count / s->chip_count;
    snprintf(t->slice, sizeof(t->slice), "%s", s->name);
    host_box(t, s, chip, box);
    t->devices_per_task = box[0] * box[1] * box[2] * t->mesh[TOPOLOGY_CORE];
    t->task_count = s->core_count / t->devices_per_task;
    t->coordinate = arena_array(a, (size_t)s->core_count, sizeof(*t->coordinate));
    for (first[2] = 0; first[2] < t->mesh[2]; first[2] += box[2])
        for (first[1] = 0; first[1] < t->mesh[1]; first[1] += box[1])
            for (first[0] = 0; first[0] < t->mesh[0]; first[0] += box[0])
                add_host(t, first, box, &device);
    assert(device == s->core_count);
}

/* ----- one way and the other */

bool topology_has(const struct topology *t, const int coordinate[TOPOLOGY_RANK])
{
    for (int i = 0; i < TOPOLOGY_RANK; i++)
        if (coordinate[i] < 0 || coordinate[i] >= t->mesh[i])
            return false;
    return true;
}

int topology_core(const struct topology *t, const int coordinate[TOPOLOGY_RANK])
{
    int chip = coordinate[TOPOLOGY_Z] * t->mesh[TOPOLOGY_Y] + coordinate[TOPOLOGY_Y];

    assert(topology_has(t, coordinate));
    chip = chip * t->mesh[TOPOLOGY_X] + coordinate[TOPOLOGY_X];
    return chip * t->mesh[TOPOLOGY_CORE] + coordinate[TOPOLOGY_CORE];
}

void topology_coordinate_of_core(const struct topology *t, int core,
                                 int coordinate[TOPOLOGY_RANK])
{
    static const int order[] = {TOPOLOGY_CORE, TOPOLOGY_X, TOPOLOGY_Y, TOPOLOGY_Z};

    assert(core >= 0 && core < topology_device_count(t));
    for (int i = 0; i < TOPOLOGY_RANK; i++) {
        coordinate[order[i]] = core % t->mesh[order[i]];
        core /= t->mesh[order[i]];
    }
}

int topology_device(const struct topology *t, const int coordinate[TOPOLOGY_RANK])
{
    int device = 0;

    assert(topology_has(t, coordinate));
    while (memcmp(t->coordinate[device], coordinate, sizeof(t->coordinate[0])) != 0)
        device++;
    return device;
}

/* ----- names */

/* a number after `key`, up to the next '/' or ':' or the end; *at goes behind it */
static int read_number(const char **at, const char *key, int *to)
{
    size_t length = strlen(key);
    char *end;
    long value;

    if (strncmp(*at, key, length) != 0 || (*at)[length] < '0' || (*at)[length] > '9')
        return -1;
    value = strtol(*at + length, &end, 10);
    if (value > 1 << 24 || (*end && *end != '/'))
        return -1;
    *to = (int)value;
    *at = end;
    return 0;
}

static void skip(const char **at, const char *text)
{
    if (strncmp(*at, text, strlen(text)) == 0)
        *at += strlen(text);
}

int topology_find(const struct topology *t, const char *name, int *core, struct err *e)
{
    const char *at = name;
    int task = 0, ordinal;

    skip(&at, "/job:worker");
    skip(&at, "/");
    skip(&at, "replica:0/");            /* TensorFlow's, of which there is one */
    if (read_number(&at, "task:", &task) == 0)
        skip(&at, "/");
    skip(&at, "device:");
    if (read_number(&at, "TPU:", &ordinal) || *at)
        return err_set(e, "\"%s\" is not a device: write TPU:0 or "
                       "/job:worker/task:0/device:TPU:0", name);
    if (task >= t->task_count)
        return err_set(e, "%s: %s has task%s 0..%d", name, t->slice,
                       t->task_count > 1 ? "s" : "", t->task_count - 1);
    if (ordinal >= t->devices_per_task)
        return err_set(e, "%s: each task of %s has TPU:0..%d", name, t->slice,
                       t->devices_per_task - 1);
    *core = topology_core(t, t->coordinate[task * t->devices_per_task + ordinal]);
    return 0;
}

/* ----- the map */

struct map {
    const struct topology *topology;
    topology_label *label;
    void *user;
    FILE *to;
    int cell_columns;
};

static void cell_text(const struct map *m, int x, int y, int z, char *buf, size_t buf_bytes)
{
    const struct topology *t = m->topology;
    size_t length = 0;

    buf[0] = '\0';
    for (int core = 0; core < t->mesh[TOPOLOGY_CORE]; core++) {
        char label[LABEL_BYTES];
        int written;

        m->label(m->user, topology_core(t, (int[]){x, y, z, core}), label, sizeof(label));
        written = snprintf(buf + length, buf_bytes - length, "%s%s", core ? " " : "", label);
        length += (size_t)written < buf_bytes - length ? (size_t)written : 0;
    }
}

static int widest_cell(const struct map *m)
{
    const int *mesh = m->topology->mesh;
    size_t widest = 0;

    for (int i = 0; i < mesh[0] * mesh[1] * mesh[2]; i++) {
        char text[4 * LABEL_BYTES];

        cell_text(m, i % mesh[0], i / mesh[0] % mesh[1], i / mesh[0] / mesh[1], text,
                  sizeof(text));
        widest = strlen(text) > widest ? strlen(text) : widest;
    }
    return (int)widest;
}

static void print_plane(const struct map *m, int z)
{
    const int *mesh = m->topology->mesh;

    if (mesh[TOPOLOGY_Z] > 1)
        fprintf(m->to, "z = %d\n", z);
    fprintf(m->to, "  y\\x");
    for (int x = 0; x < mesh[TOPOLOGY_X]; x++)
        fprintf(m->to, "  %*d", m->cell_columns, x);
    fprintf(m->to, "\n");
    for (int y = 0; y < mesh[TOPOLOGY_Y]; y++) {
        fprintf(m->to, "  %3d", y);
        for (int x = 0; x < mesh[TOPOLOGY_X]; x++) {
            char text[4 * LABEL_BYTES];

            cell_text(m, x, y, z, text, sizeof(text));
            fprintf(m->to, "  %*s", m->cell_columns, text);
        }
        fprintf(m->to, "\n");
    }
}

void topology_print(const struct topology *t, topology_label *label, void *user, FILE *to)
{
    struct map m = {t, label, user, to, 0};

    m.cell_columns = widest_cell(&m);
    for (int z = 0; z < t->mesh[TOPOLOGY_Z]; z++)
        print_plane(&m, z);
}

static void device_label(void *user, int core, char *buf, size_t buf_bytes)
{
    const struct topology *t = user;
    int coordinate[TOPOLOGY_RANK];

    topology_coordinate_of_core(t, core, coordinate);
    snprintf(buf, buf_bytes, "%d", topology_device(t, coordinate));
}

void topology_print_devices(const struct topology *t, FILE *to)
{
    fprintf(to, "%s: %d x %d x %d chips of %d core%s, %d host%s of %d devices; devices by chip:\n",
            t->slice, t->mesh[0], t->mesh[1], t->mesh[2], t->mesh[3], t->mesh[3] > 1 ? "s" : "",
            t->task_count, t->task_count > 1 ? "s" : "", t->devices_per_task);
    topology_print(t, device_label, (void *)t, to);
}

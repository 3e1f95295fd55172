/* Parses which layers go on which logical device, and lets the others follow their first input. */
#include "train/strategy/layer_devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NAME_BYTES 128
#define DEVICE_MOST 4095

/* "name=device" and what follows its comma; 1: there was one, 0: the text is at its end */
static int read_one(const char **text, char *name, int *device, struct err *e)
{
    const char *from = *text, *equals;
    char *end;
    size_t bytes;
    long number;

    if (!*from)
        return 0;
    bytes = strcspn(from, "=,");
    equals = from + bytes;
    number = *equals == '=' && equals[1] >= '0' && equals[1] <= '9' ? strtol(equals + 1, &end, 10)
                                                                    : -1;
    if (bytes == 0 || bytes >= NAME_BYTES || number < 0 || number > DEVICE_MOST ||
        (*end && *end != ',') || (*end == ',' && !end[1]))
        return err_set(e, "devices of layers: \"%.60s\" does not begin with a layer, = and a "
                       "device, as in \"dense_1=0,dense_2=1\"", from);
    memcpy(name, from, bytes);
    name[bytes] = '\0';
    *device = (int)number;
    *text = *end ? end + 1 : end;
    return 1;
}

int layer_devices_count(const char *text, int *count, struct err *e)
{
    char name[NAME_BYTES];
    int device = 0, status;

    *count = 1;
    while ((status = read_one(&text, name, &device, e)) > 0)
        *count = device + 1 > *count ? device + 1 : *count;
    return status;
}

static struct layer *find_layer(const struct model *m, const char *name, struct err *e)
{
    const char **names = mem_alloc(((size_t)m->layer_count + 1) * sizeof(*names));
    struct layer *found = NULL;

    for (int i = 0; i < m->layer_count && !found; i++) {
        names[i] = m->layer[i]->name;
        found = strcmp(names[i], name) == 0 ? m->layer[i] : NULL;
    }
    if (!found)
        err_set(e, "%s is to be on a device, but no layer has that name%s", name,
                text_did_you_mean(name, names, (size_t)m->layer_count).text);
    mem_free(names);
    return found;
}

/* in the order of calls: a layer is where its first call has it */
static void follow_inputs(struct model *m)
{
    for (int i = 0; i < m->node_count; i++) {
        const struct model_node *n = &m->node[i];
        struct layer *l = m->layer[n->layer];

        if (l->device < 0 && n->input_count > 0)
            l->device = m->layer[m->node[n->input[0]].layer]->device;
    }
}

int layer_devices_set(struct model *m, const char *text, int device_count, struct err *e)
{
    char name[NAME_BYTES];
    int device = 0, status;

    for (int i = 0; i < m->layer_count; i++)
        m->layer[i]->device = -1;
    while ((status = read_one(&text, name, &device, e)) > 0) {
        struct layer *l = find_layer(m, name, e);

        if (!l)
            return -1;
        if (device >= device_count)
            return err_set(e, "layer %s on logical device %d: a replica has %d, allowed are 0..%d",
                           name, device, device_count, device_count - 1);
        if (l->device >= 0)
            return err_set(e, "layer %s is on devices %d and %d; it can be on one", name,
                           l->device, device);
        if (l->kind == LAYER_INPUT)
            return err_set(e, "layer %s on device %d: inputs are on all devices", name, device);
        l->device = device;
    }
    if (status == 0)
        follow_inputs(m);
    return status;
}

char *layer_devices_print(const struct model *m, int device_count, char *buf, size_t buf_bytes)
{
    size_t used = 0;

    *buf = '\0';
    for (int d = 0; d < device_count; d++) {
        int count = 0;

        for (int i = 0; i < m->layer_count; i++)
            if (m->layer[i]->device == d && used < buf_bytes)
                used += (size_t)snprintf(buf + used, buf_bytes - used, "%s%s",
                                         count++ ? ", " : used ? "; " : "", m->layer[i]->name);
        if (count && used < buf_bytes)
            used += (size_t)snprintf(buf + used, buf_bytes - used, " on %d", d);
    }
    return buf;
}

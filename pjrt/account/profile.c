/* Takes down launches and copies while a profile is wanted, and makes an XSpace of them. */
#include "pjrt/account/profile.h"

#include "pjrt/account/account_impl.h"
#include "report/proto/xplane.pb-c.h"

#include <string.h>
#include <time.h>

static const char *const line_name[PROFILE_LINES] = {"XLA Modules", "XLA Ops", "Host transfers"};

struct event {
    int device;
    enum profile_line line;
    int64_t name;                       /* its number among the profile's, from 1 */
    int64_t start_ps, end_ps;
};

struct profile {
    struct arena arena;                 /* of texts and messages */
    struct event *event;
    size_t count, capacity;
    const char **name;
    size_t name_count, name_capacity;
    int64_t *first_ps;                  /* by device: its time at the beginning */
    int devices;
    int64_t began_ns;                   /* of the host's clock */
    uint8_t *bytes;
    size_t size;
};

/* who is taken down for; one for the process */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct profile *wanted;

static int64_t name_number(struct profile *p, const char *name)
{
    for (size_t i = 0; i < p->name_count; i++)
        if (strcmp(p->name[i], name) == 0)
            return (int64_t)i + 1;
    MEM_ADD(p->name, p->name_count, p->name_capacity) = arena_strdup(&p->arena, name);
    return (int64_t)p->name_count;
}

bool account_is_profiled(void)
{
    bool is_wanted;

    pthread_mutex_lock(&lock);
    is_wanted = wanted != NULL;
    pthread_mutex_unlock(&lock);
    return is_wanted;
}

void account_profile(int device, enum profile_line line, const char *name, int64_t start_ps,
                     int64_t end_ps)
{
    pthread_mutex_lock(&lock);
    if (wanted && device < wanted->devices) {
        struct event e = {device, line, name_number(wanted, name), start_ps, end_ps};

        MEM_ADD(wanted->event, wanted->count, wanted->capacity) = e;
    }
    pthread_mutex_unlock(&lock);
}

struct profile *profile_begin(void)
{
    struct profile *p = mem_alloc(sizeof(*p));
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    arena_init(&p->arena);
    p->began_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    while (sy_device_time_ns(p->devices) >= 0)
        p->devices++;
    p->first_ps = arena_array(&p->arena, (size_t)p->devices + 1, sizeof(*p->first_ps));
    for (int i = 0; i < p->devices; i++)
        p->first_ps[i] = sy_device_time_ns(i) * 1000;
    pthread_mutex_lock(&lock);
    wanted = p;
    pthread_mutex_unlock(&lock);
    return p;
}

void profile_stop(struct profile *p)
{
    pthread_mutex_lock(&lock);
    if (wanted == p)
        wanted = NULL;
    pthread_mutex_unlock(&lock);
}

void profile_end(struct profile *p)
{
    profile_stop(p);
    arena_fini(&p->arena);
    mem_free(p->event);
    mem_free(p->name);
    mem_free(p->bytes);
    mem_free(p);
}

/* ----- the XSpace */

/* one line of a device, its events in the order in which they were taken down */
static XLine *make_line(struct profile *p, int device, enum profile_line line)
{
    XLine *made = arena_alloc(&p->arena, sizeof(*made));
    size_t n = 0;

    xline__init(made);
    made->id = (int64_t)line + 1;
    made->name = (char *)(uintptr_t)line_name[line];
    made->timestamp_ns = p->began_ns;
    made->events = arena_array(&p->arena, p->count + 1, sizeof(*made->events));
    for (size_t i = 0; i < p->count; i++) {
        const struct event *e = &p->event[i];
        XEvent *x;

        if (e->device != device || e->line != line)
            continue;
        x = arena_alloc(&p->arena, sizeof(*x));
        xevent__init(x);
        x->metadata_id = e->name;
        x->offset_ps = e->start_ps - p->first_ps[device];
        x->duration_ps = e->end_ps - e->start_ps;
        made->events[n++] = x;
    }
    made->n_events = n;
    return made;
}

static void name_events(struct profile *p, XPlane *plane)
{
    plane->n_event_metadata = p->name_count;
    plane->event_metadata = arena_array(&p->arena, p->name_count + 1,
                                        sizeof(*plane->event_metadata));
    for (size_t i = 0; i < p->name_count; i++) {
        XEventMetadataEntry *entry = arena_alloc(&p->arena, sizeof(*entry));
        XEventMetadata *metadata = arena_alloc(&p->arena, sizeof(*metadata));

        xevent_metadata_entry__init(entry);
        xevent_metadata__init(metadata);
        entry->key = metadata->id = (int64_t)i + 1;
        metadata->name = (char *)(uintptr_t)p->name[i];
        entry->value = metadata;
        plane->event_metadata[i] = entry;
    }
}

static XPlane *make_plane(struct profile *p, int device)
{
    XPlane *plane = arena_alloc(&p->arena, sizeof(*plane));

    xplane__init(plane);
    plane->id = device + 1;
    plane->name = arena_printf(&p->arena, "/device:TPU:%d", device);
    plane->lines = arena_array(&p->arena, PROFILE_LINES, sizeof(*plane->lines));
    plane->n_lines = PROFILE_LINES;
    for (int i = 0; i < PROFILE_LINES; i++)
        plane->lines[i] = make_line(p, device, (enum profile_line)i);
    name_events(p, plane);
    return plane;
}

const uint8_t *profile_bytes(struct profile *p, size_t *size)
{
    XSpace space = XSPACE__INIT;

    profile_stop(p);
    if (!p->bytes) {
        space.planes = arena_array(&p->arena, (size_t)p->devices + 1, sizeof(*space.planes));
        space.n_planes = (size_t)p->devices;
        for (int i = 0; i < p->devices; i++)
            space.planes[i] = make_plane(p, i);
        p->size = xspace__get_packed_size(&space);
        p->bytes = mem_alloc_unset(p->size + 1);
        xspace__pack(&space, p->bytes);
    }
    *size = p->size;
    return p->bytes;
}

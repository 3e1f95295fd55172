/*
 * The elements of an array from launch to launch: as the host has them, dense and row-major, or as
 * they lay in a simulated memory behind the launch that made them, whose pages they share until
 * somebody writes there. The host's form is made when it is asked for; a launch of a program that
 * has the array in the same order of tiles takes the pages.
 *
 * One thread fills a value, in one of both forms; then any may read it.
 */
#ifndef EXEC_VALUE_H
#define EXEC_VALUE_H
#include "exec/loaded.h"

#include <pthread.h>

struct value {
    pthread_mutex_t mutex;              /* of `data` */
    void *data;                         /* as the host has them; NULL: not yet */
    struct resident *resident;          /* as a device has them; NULL: none has */
    size_t bytes;
};

void value_init(struct value *v, size_t bytes);
void value_fini(struct value *v);

void *value_room(struct value *v);      /* elements, to be filled */
const void *value_data(struct value *v);

/* Between launches: a leaf's value into the memory of a device, and out of it. */
int value_write(struct value *v, const struct loaded_device *d, const struct lowered_leaf *leaf,
                struct arena *a, struct err *e);
int value_read(struct value *v, const struct loaded_device *d, const struct lowered_leaf *leaf,
               struct arena *a, struct err *e);
#endif

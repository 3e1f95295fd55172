/*
 * A graph compiled and put onto a machine, for as many launches as are wanted.
 *
 * Each of its devices is a core, or both cores of a chip (megacore). Values are put in and read
 * back leaf by leaf (struct lowered_leaf): elements as the host has them, dense and row-major. The
 * command `exec` and the library that JAX loads both run programs by this.
 */
#ifndef EXEC_LOADED_H
#define EXEC_LOADED_H
#include "base/cache/disk_cache.h"
#include "import/lower/lower.h"
#include "sim/machine/machine.h"
#include "stack/module/module.h"

struct loaded {
    struct module module;
    struct machine *machine;            /* NULL without one */
    int devices;
    int32_t *core;                      /* by device: its first */
    bool has_megacore;
    bool was_found;                     /* in the cache */
    struct disk_cache *cache;           /* of programs compiled before; NULL: without. Before */
                                        /* loaded_compile the caller's to set */
};

struct loaded_device {                  /* one of them */
    const struct module *module;
    struct machine *machine;
    int core, number;
};

/* how many cores a device is */
int loaded_cores_each(const struct chip *chip, bool has_megacore);

/*
 * Compiles `g` for `devices` devices with the settings; where these are replicas of each other
 * (replica_count), slice and device_core are filled in. `core`: the first core of each device, or
 * NULL: one behind the other. All in `a`; `g` and the arena must live as long.
 */
int loaded_compile(const struct graph *g, struct module_settings *settings, int devices,
                   const int32_t *core, const struct slice *slice, struct arena *a,
                   struct loaded *l, struct err *e);
/* makes the machine and puts programs, tables and constants of every device onto it */
int loaded_make_machine(struct loaded *l, const struct slice *slice, const struct chip *chip,
                        struct machine_options *options, struct err *e);
int loaded_put(struct loaded *l, struct err *e);
/* the machine goes; loaded_make_machine makes another */
void loaded_drop_machine(struct loaded *l);
struct loaded_device loaded_device(const struct loaded *l, int number);

/* the elements of a leaf, between launches; what is made on the way is in `a` */
int loaded_write_leaf(const struct loaded_device *d, const struct lowered_leaf *leaf,
                      const void *from, struct arena *a, struct err *e);
int loaded_read_into(const struct loaded_device *d, const struct lowered_leaf *leaf, void *to,
                     struct arena *a, struct err *e);
/* size[rank] gets how much is there of each dimension, unless NULL; NULL with the error set */
void *loaded_read_leaf(const struct loaded_device *d, const struct lowered_leaf *leaf,
                       int64_t *size, struct arena *a, struct err *e);
#endif

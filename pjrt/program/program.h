/*
 * Executables: compiled programs, and these on the devices of a client.
 *
 * An executable is shared by its handles, a loaded one among them, and by launches under way. All
 * that callers are told of it lives as long as it.
 */
#ifndef PJRT_PROGRAM_H
#define PJRT_PROGRAM_H
#include "exec/executable.h"
#include "pjrt/device/client.h"
#include "pjrt/program/options.h"

#include <pthread.h>

/* how arrays lie on the devices, an OpSharding each; none where the program is for one */
struct program_shardings {
    size_t count;
    const char **bytes;
    size_t *size;
};

struct PJRT_Executable {
    atomic_int holders;
    struct executable x;
    struct arena arena;                 /* of what stands below */
    struct compile_options options;
    const char *name;
    char *program, *option_bytes;       /* as they came */
    size_t program_bytes, option_size;
    const char *slice_name;
    char fingerprint[17];
    int outputs, parameters;
    enum PJRT_Buffer_Type *output_type;
    int64_t *output_dim;                /* of all outputs, one behind the other */
    size_t *output_rank;
    enum memory_kind *placement;        /* by output: in which memory it lies */
    const char **output_kind, **parameter_kind;         /* the same by name; parameters: device */
    size_t *output_kind_size, *parameter_kind_size;
    struct program_shardings parameter_sharding, output_sharding;
    struct PJRT_Layouts_MemoryLayout **parameter_layout, **output_layout;
    bool *is_donated;                   /* by parameter: its buffer is given up at a launch */
    struct PJRT_NamedValue *cost;       /* once it was asked for */
    unsigned char *optimized;           /* hlo_with_config, once it was asked for */
    size_t optimized_bytes;
    struct account_program *account;    /* of the client that loaded it first; NULL: none has */
    double compile_s;                   /* of the host */
    pthread_mutex_t mutex;              /* of what is made when it is asked for */
};

struct PJRT_LoadedExecutable {
    struct PJRT_Executable *executable;
    struct PJRT_Client *client;
    int device_count;
    struct PJRT_Device **device;        /* by replica * partitions + partition */
    struct PJRT_LogicalDeviceIds *logical;
    atomic_bool is_deleted;
};

/* settings: of the machine that it is for, where a client is there */
struct PJRT_Executable *program_compile(const struct PJRT_TopologyDescription *t,
                                        const struct settings *settings, const char *code,
                                        size_t code_size, const char *options, size_t option_size,
                                        struct PJRT_Error **error);
/* of an executable that has been cut for its devices, or is the same on all of them */
/* of a device's memory while it runs, beside its arguments and results */
int64_t program_temp_bytes(const struct PJRT_Executable *p);
void program_list_placements(struct PJRT_Executable *p);
void program_list_shardings(struct PJRT_Executable *p);
void program_list_layouts(struct PJRT_Executable *p);
struct PJRT_Executable *program_hold(struct PJRT_Executable *p);
void program_drop(struct PJRT_Executable *p);           /* NULL is nothing */
/* takes the executable over, in any case */
struct PJRT_LoadedExecutable *program_load(struct PJRT_Client *c, struct PJRT_Executable *p);
#endif

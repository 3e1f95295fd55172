/* Reads a caller's options of a compilation. */
#include "pjrt/program/options.h"

#include "pjrt/program/options.pb-c.h"

static int check_device(int64_t id, const struct PJRT_TopologyDescription *t, struct err *e)
{
    if (id >= 0 && id < t->device_count)
        return 0;
    return err_set(e, "the program is for device %lld; %s has 0..%d", (long long)id, t->name,
                   t->device_count - 1);
}

static int read_assignment(struct compile_options *o, const PjrtWire__DeviceAssignment *from,
                           const struct PJRT_TopologyDescription *t, struct arena *a,
                           struct err *e)
{
    if (from->replica_count != o->replicas || from->computation_count != o->partitions ||
        from->n_computation_devices != (size_t)o->partitions)
        return err_set(e, "the devices are for %d replicas of %d partitions, the program is of %lld "
                       "and %lld", from->replica_count, from->computation_count,
                       (long long)o->replicas, (long long)o->partitions);
    o->device = arena_array(a, (size_t)(o->replicas * o->partitions), sizeof(*o->device));
    for (int64_t p = 0; p < o->partitions; p++) {
        const PjrtWire__ComputationDevices *of = from->computation_devices[p];

        if (of->n_replica_device_ids != (size_t)o->replicas)
            return err_set(e, "partition %lld has %zu devices, and there are %lld replicas",
                           (long long)p, of->n_replica_device_ids, (long long)o->replicas);
        for (int64_t r = 0; r < o->replicas; r++) {
            if (check_device(of->replica_device_ids[r], t, e))
                return -1;
            o->device[r * o->partitions + p] = (int32_t)of->replica_device_ids[r];
        }
    }
    return 0;
}

static int read_build(struct compile_options *o, const PjrtWire__BuildOptions *from,
                      const struct PJRT_TopologyDescription *t, struct arena *a, struct err *e)
{
    o->replicas = from->num_replicas > 0 ? from->num_replicas : 1;
    o->partitions = from->num_partitions > 0 ? from->num_partitions : 1;
    if (o->replicas > t->device_count || o->partitions > t->device_count / o->replicas)
        return err_set(e, "the program is for %lld devices, %s has %d",
                       (long long)(o->replicas * o->partitions), t->name, t->device_count);
    if (from->device_assignment)
        return read_assignment(o, from->device_assignment, t, a, e);
    if (from->device_ordinal > 0 && o->replicas * o->partitions == 1) {
        o->device = arena_alloc(a, sizeof(*o->device));
        *o->device = (int32_t)from->device_ordinal;
        return check_device(from->device_ordinal, t, e);
    }
    return 0;
}

int compile_options_read(struct compile_options *o, const char *bytes, size_t size,
                         const struct PJRT_TopologyDescription *t, struct arena *a, struct err *e)
{
    PjrtWire__CompileOptions *from =
        pjrt_wire__compile_options__unpack(NULL, size, (const uint8_t *)bytes);
    int status = 0;

    *o = (struct compile_options){.replicas = 1, .partitions = 1};
    if (!from)
        return err_set(e, "the options of the compilation are no CompileOptionsProto");
    o->is_portable = from->compile_portable_executable;
    if (from->executable_build_options)
        status = read_build(o, from->executable_build_options, t, a, e);
    pjrt_wire__compile_options__free_unpacked(from, NULL);
    return status;
}

/* How an array lies in a kind of memory, as a ShapeProto. */
#include "import/hlo_proto/hlo_proto.h"
#include "pjrt/abi/functions.h"
#include "pjrt/buffer/buffer.h"
#include "pjrt/device/topology.h"

#include <string.h>

enum { HOST_SPACE = 5 };                /* of XLA's layouts: memory of the host */

static void free_shape(const char *shape)
{
    mem_free((void *)(uintptr_t)shape);
}

static void write_shape(struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args *args,
                        const int64_t *minor_to_major)
{
    struct hlo_layout layout = {
        .minor_to_major = {(int)args->num_dims, minor_to_major},
        .memory_space = args->memory_space_kind_id == MEMORY_DEVICE ? 0 : HOST_SPACE};
    struct hlo_type t = {.element = element_of(args->element_type), .rank = (int)args->num_dims,
                         .dim = args->dims, .layout = &layout};
    struct arena a;
    const char *bytes;
    char *shape;

    arena_init(&a);
    bytes = hlo_proto_write_type(&t, &a, &args->serialized_shape_size);
    shape = mem_alloc_unset(args->serialized_shape_size + 1);
    memcpy(shape, bytes, args->serialized_shape_size + 1);
    arena_fini(&a);
    args->serialized_shape = shape;
    args->serialized_shape_deleter = free_shape;
}

/* No kind of memory here asks for another order of dimensions than the caller wants. */
struct PJRT_Error *pjrt_TopologyDescription_MakeCanonicalShapeForMemorySpace(
    struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args *args)
{
    const struct PJRT_Buffer_MemoryLayout *layout = args->layout;
    struct PJRT_Error *error = buffer_check_type(args->element_type, args->dims, args->num_dims);
    int64_t order[PJRT_RANK_MAX];

    if (error)
        return error;
    if (args->memory_space_kind_id < 0 || args->memory_space_kind_id >= MEMORY_KINDS)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "no kind of memory has number %d, there "
                          "are 0..%d", args->memory_space_kind_id, MEMORY_KINDS - 1);
    for (size_t i = 0; i < args->num_dims; i++)
        order[i] = (int64_t)(args->num_dims - 1 - i);
    if (layout && layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
        if (layout->tiled.minor_to_major_size != args->num_dims)
            return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the layout is of %zu dimensions, "
                              "the array has %zu", layout->tiled.minor_to_major_size,
                              args->num_dims);
        memcpy(order, layout->tiled.minor_to_major, args->num_dims * sizeof(*order));
    }
    write_shape(args, order);
    return NULL;
}

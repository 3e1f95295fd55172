/* A program from a file: its form by its content, then that form's reader. */
#include "import/read/read.h"

#include "import/bytecode/bytecode.h"
#include "import/hlo_proto/hlo_proto.h"
#include "import/hlo_text/hlo_text.h"
#include "import/mlir/mlir.h"
#include "import/stablehlo/stablehlo.h"

#include <string.h>

static const uint8_t magic[4] = {'M', 'L', 0xef, 'R'};

static struct hlo_module *read_bytecode(const void *bytes, size_t size, const char *name,
                                        struct arena *a, struct err *e)
{
    struct mlir_tree tree;

    mlir_tree_init(&tree, a, name);
    return mlir_open_bytecode(&tree, bytes, size, e) ? NULL : stablehlo_to_program(&tree, a, e);
}

/* the artifact that jax.export has put into a flatbuffer, as a vector with its length in front */
static struct hlo_module *read_export(const uint8_t *bytes, size_t size, const char *name,
                                      struct arena *a, struct err *e)
{
    const uint8_t *at = bytes;
    uint32_t length;

    while ((at = memchr(at, magic[0], size - (size_t)(at - bytes)))) {
        size_t before = (size_t)(at - bytes);

        if (before >= sizeof(length) && size - before >= sizeof(magic) &&
            memcmp(at, magic, sizeof(magic)) == 0) {
            memcpy(&length, at - sizeof(length), sizeof(length));
            if (length <= size - before)
                return read_bytecode(at, length, name, a, e);
        }
        at++;
    }
    err_at(e, name, 0, 0, "it looks like what jax.export serializes, but has no artifact in it");
    return NULL;
}

static struct hlo_module *read_proto(const void *bytes, size_t size, const char *name,
                                     struct arena *a, struct err *e)
{
    struct hlo_module *m = arena_alloc(a, sizeof(*m));

    if (hlo_proto_read(m, bytes, size, name, a, e) == 0)
        return m;
    hlo_module_fini(m);
    return NULL;
}

static struct hlo_module *read_form(const void *bytes, size_t size, const char *name,
                                    struct arena *a, struct err *e)
{
    switch (program_format_of(bytes, size)) {
    case PROGRAM_HLO_TEXT: return hlo_text_read(bytes, size, name, a, e);
    case PROGRAM_HLO_PROTO: return read_proto(bytes, size, name, a, e);
    case PROGRAM_MLIR_TEXT: return stablehlo_read_text(bytes, size, name, a, e);
    case PROGRAM_MLIR_BYTECODE: return read_bytecode(bytes, size, name, a, e);
    case PROGRAM_JAX_EXPORT: return read_export(bytes, size, name, a, e);
    default: break;
    }
    err_at(e, name, 0, 0, "it is no program; read are HLO text, HloModuleProto, StableHLO text, a "
           "StableHLO artifact, what jax.export serializes, each gzipped or not");
    return NULL;
}

/* Names, lists and types are small and very many. */
struct hlo_module *program_read_bytes(const void *bytes, size_t size, const char *name,
                                      struct arena *a, struct err *e)
{
    bool was_packed = arena_pack(a, true);
    struct hlo_module *m;

    *e = (struct err){0};
    m = read_form(bytes, size, name, a, e);
    arena_pack(a, was_packed);
    return m;
}

struct hlo_module *program_read(const char *path, struct arena *a, struct err *e)
{
    struct hlo_module *m;
    uint8_t *bytes;
    size_t size;

    if (program_file_bytes(path, &bytes, &size, e))
        return NULL;
    m = program_read_bytes(bytes, size, path, a, e);
    mem_free(bytes);
    return m;
}

void program_free(struct hlo_module *first)
{
    for (; first; first = first->next)
        hlo_module_fini(first);
}

/* The backend_config of a tpu_custom_call: JSON with the body in base64 and what surrounds it. */
#include "import/mosaic/mosaic_impl.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int digit(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

unsigned char *mosaic_base64(struct arena *a, const char *text, size_t length, size_t *bytes)
{
    unsigned char *out;
    size_t n = 0;
    uint32_t word = 0;
    int bits = 0;

    while (length && text[length - 1] == '=')
        length--;
    out = arena_alloc(a, length / 4 * 3 + 3);
    for (size_t i = 0; i < length; i++) {
        int d = digit((unsigned char)text[i]);

        if (d < 0)
            return NULL;
        word = word << 6 | (uint32_t)d;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[n++] = (unsigned char)(word >> bits);
        }
    }
    *bytes = n;
    return out;
}

static int64_t number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);

    if (json_is_string(v))              /* protobuf writes large integers in quotes */
        return strtoll(json_string_value(v), NULL, 10);
    return json_is_number(v) ? (int64_t)json_number_value(v) : 0;
}

static int bytes_of(const json_t *call, const char *key, struct arena *a,
                    const unsigned char **to, size_t *count, struct err *e)
{
    const json_t *v = json_object_get(call, key);

    if (!v)
        return 0;
    *to = json_is_string(v) ? mosaic_base64(a, json_string_value(v), json_string_length(v), count)
                            : NULL;
    return *to ? 0 : err_set(e, "the %s of the kernel is not written in base64", key);
}

#define LIMIT_FLAG "--xla_tpu_scoped_vmem_limit_kib="

/* what users give the TPU's compiler where a kernel says nothing itself; 0: nothing */
int64_t mosaic_limit_of_flags(const char *flags)
{
    const char *at = flags ? strstr(flags, LIMIT_FLAG) : NULL;
    long long kib = at ? strtoll(at + strlen(LIMIT_FLAG), NULL, 10) : 0;

    return kib > 0 && kib < INT32_MAX ? kib * 1024 : 0;
}

static void limits(const json_t *call, struct mosaic_config *c)
{
    json_t *list = json_object_get(call, "scoped_memory_configs"), *item;
    size_t i;

    json_array_foreach(list, i, item) {
        if (number(item, "memory_space") == 1)  /* XLA's number of VMEM */
            c->vmem_limit_bytes = number(item, "size");
    }
}

static int read_call(const json_t *root, struct arena *a, struct mosaic_config *c, struct err *e)
{
    const json_t *call = json_object_get(root, "custom_call_config"), *cost;
    const char *device = json_string_value(json_object_get(root, "device_type"));

    if (device && strcmp(device, "DEVICE_TYPE_SPARSECORE") == 0)
        return err_set(e, "a kernel for the SparseCore; those for the TensorCore are made");
    if (!json_is_object(call) || !json_object_get(call, "body"))
        return err_set(e, "backend_config has no custom_call_config with a body");
    if (json_object_get(call, "serialization_format") && number(call, "serialization_format") != 1)
        return err_set(e, "serialization_format %lld of the body; 1, bytecode, is read",
                       (long long)number(call, "serialization_format"));
    c->collective_id = json_object_get(call, "collective_id") ? (int)number(call, "collective_id")
                                                              : -1;
    c->has_communication = json_is_true(json_object_get(call, "has_communication"));
    c->skips_device_barrier = json_is_true(json_object_get(call, "skip_device_barrier"));
    cost = json_object_get(call, "cost_estimate");
    c->cost = (struct mosaic_cost){.flops = number(cost, "flops"),
                                   .bytes = number(cost, "bytes_accessed"),
                                   .transcendentals = number(cost, "transcendentals"),
                                   .remote_bytes = number(cost, "remote_bytes_transferred")};
    limits(call, c);
    return bytes_of(call, "body", a, &c->body, &c->body_bytes, e) ||
           bytes_of(call, "debug_locations", a, &c->locations, &c->location_bytes, e) ? -1 : 0;
}

int mosaic_config_read(const char *text, struct arena *a, struct mosaic_config *c, struct err *e)
{
    const struct mlir_attr *quoted = text[0] == '"' ? mlir_attr_of_text(a, text) : NULL;
    struct mlir_text json = {text, strlen(text)};
    json_error_t why;
    json_t *root;
    int status;

    *c = (struct mosaic_config){.collective_id = -1};
    if (quoted && quoted->kind == MLIR_STRING)
        json = quoted->text;
    root = json_loadb(json.data, json.bytes, 0, &why);
    if (!json_is_object(root)) {
        json_decref(root);
        return err_set(e, "backend_config is no JSON object: %s", why.text);
    }
    status = read_call(root, a, c, e);
    json_decref(root);
    return status;
}

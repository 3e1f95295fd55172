/*
 * Any file is a list of tensors that cover its data, or gives an error; the header written again
 * for that list gives the same list. As a checkpoint it opens and verifies, or gives an error.
 *
 * An input is a header, a NUL, and the data; the size of the header is put in front. One whose
 * ninth byte is '{' is a file itself.
 */
#include "base/archive.h"
#include "tests/rigs/round_trip.h"
#include "train/checkpoint/checkpoint.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_file(struct bytes *to, const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\0', size);
    uint64_t length = end ? (uint64_t)(end - data) : size;

    if (size > 8 && data[8] == '{') {
        bytes_append(to, data, size);
        return;
    }
    bytes_append(to, &length, sizeof(length));
    bytes_append(to, data, (size_t)length);
    if (end)
        bytes_append(to, end + 1, size - (size_t)length - 1);
}

static FILE *open_bytes(struct bytes *b)
{
    FILE *f = fmemopen(b->data, b->size, "rb");

    if (!f)
        fuzz_fail("fmemopen", "");
    return f;
}

static void check_data(const struct safetensors *s)
{
    unsigned char part[256];
    struct err e;
    int64_t at = 0;

    for (int i = 0; i < s->tensor_count; i++) {
        const struct safetensor *t = &s->tensor[i];
        int64_t bytes = safetensor_bytes(t);

        if (t->begin != at || t->end - t->begin != bytes)
            fuzz_fail("tensors do not cover the data", t->name);
        at = t->end;
        if (bytes > 256)
            bytes = 256;
        if (safetensors_read(s, i, t->end - t->begin - bytes, part, bytes, &e))
            fuzz_fail("a tensor cannot be read", e.msg);
    }
    if (at != s->data_bytes)
        fuzz_fail("tensors do not cover the data", "");
}

static void check_again(const struct safetensors *s)
{
    struct safetensor *copy = arena_array((struct arena *)(uintptr_t)&s->arena,
                                          (size_t)s->tensor_count + 1, sizeof(*copy));
    struct safetensors other;
    struct err e = {.msg = ""};
    FILE *f = tmpfile();

    if (s->tensor_count > 0)
        memcpy(copy, s->tensor, (size_t)s->tensor_count * sizeof(*copy));
    if (safetensors_write_header(f, copy, s->tensor_count, s->pair, s->pair_count, NULL, &e) < 0) {
        fclose(f);                      /* a name that is "" */
        return;
    }
    for (int64_t i = 0; i < s->data_bytes; i++)
        fputc(0, f);
    if (fflush(f) != 0 || safetensors_of(&other, f, "again", &e))
        fuzz_fail("what was written is refused", e.msg);
    if (other.tensor_count != s->tensor_count || other.pair_count != s->pair_count)
        fuzz_fail("what was written differs", "");
    safetensors_close(&other);
}

static void check_checkpoint(struct bytes *file)
{
    struct err e = {.msg = ""};
    struct checkpoint c;

    if (checkpoint_of(&c, open_bytes(file), "input", &e)) {
        if (!e.msg[0])
            fuzz_fail("refused without a message", "");
        return;
    }
    if (checkpoint_verify(&c, &e) && !e.msg[0])
        fuzz_fail("refused without a message", "");
    checkpoint_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes file = {0};
    struct err e = {.msg = ""};
    struct safetensors s;

    make_file(&file, data, size);
    if (safetensors_of(&s, open_bytes(&file), "input", &e) == 0) {
        check_data(&s);
        check_again(&s);
        safetensors_close(&s);
        check_checkpoint(&file);
    } else if (!e.msg[0]) {
        fuzz_fail("refused without a message", "");
    }
    mem_free(file.data);
    return 0;
}

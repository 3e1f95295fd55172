/* The primitives of MLIR bytecode, each held against the bytes that are left. */
#include "import/bytecode/stream.h"

#include "base/text.h"

#include <stdarg.h>
#include <string.h>

#define PADDING 0xCB

void bytecode_fail(const struct bytecode_stream *s, const char *fmt, ...)
{
    char msg[sizeof(s->fault->err->msg)];
    va_list args;

    if (s->fault->is_failed)
        return;
    s->fault->is_failed = true;
    va_start(args, fmt);
    text_print_args(msg, sizeof(msg), fmt, args);
    va_end(args);
    err_at(s->fault->err, s->fault->file, 0, 0, "MLIR bytecode, byte %zu: %s",
           (size_t)(s->at - s->start), msg);
}

const unsigned char *bytecode_take(struct bytecode_stream *s, uint64_t bytes, const char *what)
{
    const unsigned char *taken = s->at;

    if (s->fault->is_failed)
        return NULL;
    if (bytes > bytecode_left(s)) {
        bytecode_fail(s, "%s of %llu bytes where %zu are left", what, (unsigned long long)bytes,
                      bytecode_left(s));
        return NULL;
    }
    s->at += bytes;
    return taken;
}

struct bytecode_stream bytecode_part(struct bytecode_stream *s, uint64_t bytes, const char *what)
{
    struct bytecode_stream part = *s;
    const unsigned char *taken = bytecode_take(s, bytes, what);

    part.end = taken ? taken + bytes : part.at;
    return part;
}

uint8_t bytecode_byte(struct bytecode_stream *s)
{
    const unsigned char *p = bytecode_take(s, 1, "a byte");

    return p ? *p : 0;
}

static uint64_t little_endian(const unsigned char *p, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

/* The zero bits below the lowest one of the first byte say how many bytes follow it. */
uint64_t bytecode_varint(struct bytecode_stream *s)
{
    const unsigned char *p = bytecode_take(s, 1, "a number");
    int more;

    if (!p)
        return 0;
    if (*p & 1)
        return *p >> 1;
    more = *p ? __builtin_ctz(*p) : 8;
    if (!bytecode_take(s, (uint64_t)more, "a number"))
        return 0;
    return more == 8 ? little_endian(p + 1, 8) : little_endian(p, more + 1) >> (more + 1);
}

int64_t bytecode_svarint(struct bytecode_stream *s)
{
    uint64_t u = bytecode_varint(s);

    return (int64_t)((u >> 1) ^ (0 - (u & 1)));
}

uint64_t bytecode_flagged(struct bytecode_stream *s, bool *flag)
{
    uint64_t u = bytecode_varint(s);

    *flag = u & 1;
    return u >> 1;
}

size_t bytecode_count(struct bytecode_stream *s, const char *what)
{
    uint64_t count = bytecode_varint(s);

    if (count <= bytecode_left(s))
        return bytecode_is_failed(s) ? 0 : (size_t)count;
    bytecode_fail(s, "%llu %s where %zu bytes are left", (unsigned long long)count, what,
                  bytecode_left(s));
    return 0;
}

size_t bytecode_check_index(struct bytecode_stream *s, uint64_t i, size_t limit, const char *what)
{
    if (i < limit)
        return bytecode_is_failed(s) ? 0 : (size_t)i;
    bytecode_fail(s, "%s number %llu of %zu", what, (unsigned long long)i, limit);
    return 0;
}

size_t bytecode_index(struct bytecode_stream *s, size_t limit, const char *what)
{
    return bytecode_check_index(s, bytecode_varint(s), limit, what);
}

void bytecode_align(struct bytecode_stream *s, uint64_t alignment)
{
    if (bytecode_is_failed(s))
        return;
    if (alignment == 0 || (alignment & (alignment - 1))) {
        bytecode_fail(s, "an alignment of %llu, which is no power of two",
                      (unsigned long long)alignment);
        return;
    }
    while (!bytecode_is_failed(s) && (uint64_t)(s->at - s->start) % alignment) {
        if (bytecode_byte(s) != PADDING)
            bytecode_fail(s, "the bytes before something aligned to %llu are not padding",
                          (unsigned long long)alignment);
    }
}

void bytecode_end(struct bytecode_stream *s, const char *what)
{
    if (!bytecode_is_failed(s) && s->at != s->end)
        bytecode_fail(s, "%s has %zu more bytes than it needs", what, bytecode_left(s));
}

/* One byte up to 8 bits, else a zigzag number of the bits without a sign. */
int64_t bytecode_integer(struct bytecode_stream *s, int bits, bool is_signed)
{
    uint64_t value = bits <= 8 ? bytecode_byte(s) : (uint64_t)bytecode_svarint(s);

    if (bits >= 64)
        return (int64_t)value;
    value &= (UINT64_C(1) << bits) - 1;
    if (is_signed && bits > 0 && value >> (bits - 1))
        value |= ~((UINT64_C(1) << bits) - 1);
    return (int64_t)value;
}

/* Tells the forms of programs apart by their first bytes. */
#include "import/read/read.h"

#include "import/hlo_proto/hlo_proto.h"

#include <ctype.h>
#include <string.h>

static const char *const names[] = {
    [PROGRAM_HLO_TEXT] = "HLO text", [PROGRAM_HLO_PROTO] = "HloModuleProto",
    [PROGRAM_MLIR_TEXT] = "StableHLO text", [PROGRAM_MLIR_BYTECODE] = "StableHLO artifact",
    [PROGRAM_JAX_EXPORT] = "jax.export", [PROGRAM_UNKNOWN] = "unknown"};

static const uint8_t magic[4] = {'M', 'L', 0xef, 'R'};

const char *program_format_name(enum program_format f) { return names[f]; }

/* the first word that is no blank and no comment; where the text begins with it */
static const char *skip_blank(const char *at, const char *end)
{
    while (at < end) {
        if (isspace((unsigned char)*at)) {
            at++;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
            while (at < end && *at != '\n')
                at++;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
            at += 2;
            while (end - at >= 2 && !(at[0] == '*' && at[1] == '/'))
                at++;
            at += end - at >= 2 ? 2 : end - at;
        } else {
            break;
        }
    }
    return at;
}

static bool begins_with(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);

    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

/* text has no NUL in its first part, and few bytes that are no text */
static bool is_text(const uint8_t *bytes, size_t size)
{
    size_t looked = size < 4096 ? size : 4096;

    for (size_t i = 0; i < looked; i++) {
        if (bytes[i] < 9 || (bytes[i] > 13 && bytes[i] < 32))
            return false;
    }
    return true;
}

static const char *const mlir_words[] = {"module", "func.func", "\"builtin.module\"",
                                         "\"func.func\"", "{-#"};

/* `#loc1 = ...` or `!type = ...` */
static bool is_alias(const char *at, const char *end)
{
    if (*at != '#' && *at != '!')
        return false;
    at++;
    if (at == end || !(isalpha((unsigned char)*at) || *at == '_'))
        return false;
    while (at < end && (isalnum((unsigned char)*at) || strchr("_.$", *at)))
        at++;
    at = skip_blank(at, end);
    return at < end && *at == '=';
}

/* `name (`, `%name`, `ENTRY`, `name {`: a computation without a header */
static bool is_computation(const char *at, const char *end)
{
    if (begins_with(at, end, "ENTRY") || *at == '%')
        return true;
    if (!isalpha((unsigned char)*at) && *at != '_')
        return false;
    while (at < end && (isalnum((unsigned char)*at) || strchr("_.-", *at)))
        at++;
    at = skip_blank(at, end);
    return at < end && (*at == '{' || *at == '(');
}

static enum program_format format_of_text(const char *at, const char *end)
{
    at = skip_blank(at, end);
    if (at == end)
        return PROGRAM_UNKNOWN;
    if (begins_with(at, end, "HloModule"))
        return PROGRAM_HLO_TEXT;
    for (size_t i = 0; i < sizeof(mlir_words) / sizeof(mlir_words[0]); i++) {
        if (begins_with(at, end, mlir_words[i]))
            return PROGRAM_MLIR_TEXT;
    }
    if (is_alias(at, end))
        return PROGRAM_MLIR_TEXT;
    return is_computation(at, end) ? PROGRAM_HLO_TEXT : PROGRAM_UNKNOWN;
}

/* where a portable artifact begins in other bytes; NULL: nowhere */
static const uint8_t *find_magic(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i + sizeof(magic) <= size; i++) {
        const uint8_t *at = memchr(bytes + i, magic[0], size - i);

        if (!at)
            return NULL;
        i = (size_t)(at - bytes);
        if (size - i >= sizeof(magic) && memcmp(at, magic, sizeof(magic)) == 0)
            return at;
    }
    return NULL;
}

enum program_format program_format_of(const void *data, size_t size)
{
    const uint8_t *bytes = data;

    if (size >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0)
        return PROGRAM_MLIR_BYTECODE;
    if (size && is_text(bytes, size))
        return format_of_text((const char *)data, (const char *)data + size);
    /* a flatbuffer begins with the offset of its table */
    if (size > 16 && bytes[3] == 0 && bytes[2] == 0 && find_magic(bytes, size))
        return PROGRAM_JAX_EXPORT;
    return hlo_proto_is(bytes, size) ? PROGRAM_HLO_PROTO : PROGRAM_UNKNOWN;
}

/* models and assembly are never packed so: what is wrong with it is told as of a program */
static bool is_gzip(const char *path)
{
    FILE *f = fopen(path, "rb");
    bool is = f && fgetc(f) == 0x1f && fgetc(f) == 0x8b;

    if (f)
        fclose(f);
    return is;
}

bool program_is_file(const char *path)
{
    uint8_t *bytes;
    size_t size;
    struct err e;
    bool is_program;

    if (is_gzip(path))
        return true;
    if (program_file_bytes(path, &bytes, &size, &e))
        return false;
    is_program = program_format_of(bytes, size) != PROGRAM_UNKNOWN;
    mem_free(bytes);
    return is_program;
}

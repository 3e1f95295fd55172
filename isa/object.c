/* Encodes programs into object files and decodes them again, refusing whatever does not add up. */
#include "isa/object.h"

#include "base/outfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define OP_HEADER_BYTES 5
#define OPERAND_BYTES 5
#define NEGATED 0x80
#define BUNDLE_BYTES 10
#define SYMBOL_BYTES 8
#define NOTE_BYTES 4

static const uint8_t magic[4] = { 'S', 'Y', 'S', 'O' };

static void put16(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *to, uint32_t value)
{
    put16(to, value);
    put16(to + 2, value >> 16);
}

static uint32_t get16(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8;
}

static uint32_t get32(const uint8_t *from)
{
    return get16(from) | get16(from + 2) << 16;
}

/* Names and operands of all operations: object files of another table mean something else. */
static uint32_t table_crc(void)
{
    uLong crc = crc32(0, NULL, 0);

    for (int code = 0; code < OP_COUNT; code++) {
        const struct isa_info *info = isa_info((enum isa_opcode)code);
        const char *template = isa_format_template(info->format);

        crc = crc32_z(crc, (const Bytef *)info->pattern, strlen(info->pattern) + 1);
        crc = crc32_z(crc, (const Bytef *)template, strlen(template) + 1);
    }
    return (uint32_t)crc;
}

/* u16 code; guard; unit; operand count; then a kind byte and 32 bits per operand */
size_t isa_encode(const struct isa_op *op, uint8_t bytes[ISA_ENCODED_MAX])
{
    uint8_t *to = bytes + OP_HEADER_BYTES;

    put16(bytes, op->code);
    bytes[2] = (uint8_t)(op->pred | (op->pred_is_negated ? NEGATED : 0));
    bytes[3] = op->unit_index;
    bytes[4] = op->operand_count;
    for (int i = 0; i < op->operand_count; i++, to += OPERAND_BYTES) {
        to[0] = (uint8_t)(op->operand[i].kind | (op->operand[i].is_negated ? NEGATED : 0));
        put32(to + 1, (uint32_t)op->operand[i].value);
    }
    return (size_t)(to - bytes);
}

static int decode_header(const uint8_t *bytes, struct isa_op *op, struct err *e)
{
    uint8_t pred = bytes[2] & (NEGATED - 1);
    const struct isa_info *info;
    int unit_count;

    if (get16(bytes) >= OP_COUNT)
        return err_set(e, "code %" PRIu32 " (0..%d)", get16(bytes), OP_COUNT - 1);
    op->code = (uint16_t)get16(bytes);
    op->pred = pred;
    op->pred_is_negated = (bytes[2] & NEGATED) != 0;
    op->unit_index = bytes[3];
    op->operand_count = bytes[4];
    info = isa_info((enum isa_opcode)op->code);
    unit_count = isa_unit_suffix((enum isa_opcode)op->code) ? ISA_UNIT_MAX : 1;
    if (pred == ISA_PRED_ALWAYS ? op->pred_is_negated : pred >= ISA_PRED_COUNT)
        return err_set(e, "%s: guard %sp%d (p0..p%d)", info->mnemonic,
                       op->pred_is_negated ? "!" : "", pred, ISA_PRED_COUNT - 1);
    if (op->unit_index >= unit_count)
        return err_set(e, "%s: unit %d (0..%d)", info->mnemonic, op->unit_index,
                       unit_count - 1);
    if (op->operand_count != info->operand_count)
        return err_set(e, "%s: %d operands, it takes %d", info->mnemonic, op->operand_count,
                       info->operand_count);
    return 0;
}

size_t isa_decode(const uint8_t *bytes, size_t available, struct isa_op *op, struct err *e)
{
    const uint8_t *from = bytes + OP_HEADER_BYTES;

    memset(op, 0, sizeof(*op));
    if (available < OP_HEADER_BYTES) {
        err_set(e, "cut off after %zu bytes", available);
        return 0;
    }
    if (decode_header(bytes, op, e))
        return 0;
    if (available < OP_HEADER_BYTES + (size_t)op->operand_count * OPERAND_BYTES) {
        err_set(e, "%s: operands cut off", isa_info(op->code)->mnemonic);
        return 0;
    }
    for (int i = 0; i < op->operand_count; i++, from += OPERAND_BYTES) {
        op->operand[i].kind = from[0] & (NEGATED - 1);
        op->operand[i].is_negated = (from[0] & NEGATED) != 0;
        op->operand[i].value = (int32_t)get32(from + 1);
        if (!isa_operand_allowed((enum isa_opcode)op->code, i, &op->operand[i])) {
            err_set(e, "%s: operand o%d is no %s", isa_info(op->code)->mnemonic, i,
                    isa_role_meaning(isa_info(op->code)->role[i]));
            return 0;
        }
        if (isa_lacks_base(op, i)) {
            err_set(e, "%s: operand o%d is an index register without a base register",
                    isa_info(op->code)->mnemonic, i);
            return 0;
        }
    }
    return (size_t)(from - bytes);
}

/* A growing file image. */
struct image {
    uint8_t *bytes;
    size_t size, room;
};

static uint8_t *append(struct image *im, size_t count)
{
    im->bytes = mem_grow(im->bytes, &im->room, im->size + count, 1);
    im->size += count;
    return im->bytes + im->size - count;
}

static uint32_t append_string(struct image *strings, const char *s)
{
    uint32_t at = (uint32_t)strings->size;
    size_t length = strlen(s) + 1;

    memcpy(append(strings, length), s, length);
    return at;
}

static uint32_t append_operations(struct image *im, const struct isa_program *p)
{
    uint8_t encoded[ISA_ENCODED_MAX];
    uint32_t count = 0;

    for (uint32_t b = 0; b < p->bundle_count; b++) {
        for (uint32_t i = 0; i < p->bundle[b].op_count; i++, count++) {
            size_t length = isa_encode(&p->op[p->bundle[b].first_op + i], encoded);

            memcpy(append(im, length), encoded, length);
        }
    }
    return count;
}

static void append_tables(struct image *im, struct image *strings, const struct isa_program *p)
{
    for (uint32_t b = 0; b < p->bundle_count; b++) {
        uint8_t *to = append(im, BUNDLE_BYTES);

        put16(to, p->bundle[b].op_count);
        put32(to + 2, p->bundle[b].line);
        put32(to + 6, p->bundle[b].note);
    }
    for (uint32_t i = 0; i < p->symbol_count; i++) {
        uint8_t *to = append(im, SYMBOL_BYTES);

        put32(to, append_string(strings, p->symbol[i].name));
        put32(to + 4, p->symbol[i].bundle);
    }
    for (uint32_t i = 0; i < p->note_count; i++)
        put32(append(im, NOTE_BYTES), append_string(strings, p->note[i]));
}

static void build_image(struct image *im, const struct isa_program *p)
{
    struct image strings = { 0 };
    uint32_t name = append_string(&strings, p->name ? p->name : ""), op_count;

    append(im, ISA_OBJECT_HEADER_BYTES);
    op_count = append_operations(im, p);
    append_tables(im, &strings, p);
    memcpy(append(im, strings.size), strings.bytes, strings.size);
    memcpy(im->bytes, magic, sizeof(magic));
    put32(im->bytes + 4, ISA_OBJECT_VERSION);
    put32(im->bytes + ISA_OBJECT_SIZE_AT, (uint32_t)im->size);
    put32(im->bytes + 16, op_count);
    put32(im->bytes + 20, p->bundle_count);
    put32(im->bytes + 24, p->symbol_count);
    put32(im->bytes + 28, p->note_count);
    put32(im->bytes + 32, (uint32_t)strings.size);
    put32(im->bytes + 36, name);
    put32(im->bytes + ISA_OBJECT_TABLE_AT, table_crc());
    put32(im->bytes + ISA_OBJECT_CRC_AT,
          (uint32_t)crc32_z(0, im->bytes + 16, im->size - 16));
    mem_free(strings.bytes);
}

uint8_t *isa_object_bytes(const struct isa_program *p, size_t *size)
{
    struct image im = { 0 };

    build_image(&im, p);
    *size = im.size;
    return im.bytes;
}

int isa_object_write(const struct isa_program *p, const char *path, struct err *e)
{
    struct outfile f;
    uint8_t *bytes;
    size_t size;

    if (outfile_begin(&f, path, e))
        return -1;
    bytes = isa_object_bytes(p, &size);
    fwrite(bytes, 1, size, f.to);
    mem_free(bytes);
    return outfile_commit(&f, e);
}

bool isa_object_is(const uint8_t *bytes, size_t size)
{
    return size >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

/* What the header says, checked against the size of the file. */
struct reader {
    const uint8_t *at, *end;            /* what is left of operations and tables */
    const char *strings;                /* in the arena: names point into them */
    uint32_t string_bytes;
    const char *file;
};

static int check_header(const uint8_t *bytes, size_t size, const char *file, struct err *e)
{
    uint32_t crc;

    if (!isa_object_is(bytes, size))
        return err_at(e, file, 0, 0, "not an object file: it does not begin with \"SYSO\"");
    if (size < ISA_OBJECT_HEADER_BYTES)
        return err_at(e, file, 0, 0, "truncated object file: %zu bytes, the header alone has %d",
                      size, ISA_OBJECT_HEADER_BYTES);
    if (get32(bytes + 4) != ISA_OBJECT_VERSION)
        return err_at(e, file, 0, 0, "object file of version %" PRIu32 ", this program reads %u: "
                      "assemble its text again", get32(bytes + 4), ISA_OBJECT_VERSION);
    if (get32(bytes + ISA_OBJECT_SIZE_AT) != size)
        return err_at(e, file, 0, 0, "object file of %zu bytes says it has %" PRIu32, size,
                      get32(bytes + ISA_OBJECT_SIZE_AT));
    crc = (uint32_t)crc32_z(0, bytes + 16, size - 16);
    if (get32(bytes + ISA_OBJECT_CRC_AT) != crc)
        return err_at(e, file, 0, 0, "damaged object file: checksum 0x%08" PRIx32 ", expected 0x%08"
                      PRIx32, crc, get32(bytes + ISA_OBJECT_CRC_AT));
    if (get32(bytes + ISA_OBJECT_TABLE_AT) != table_crc())
        return err_at(e, file, 0, 0, "object file of another table of operations than this "
                      "program's: assemble its text again");
    return 0;
}

/* Counts that fit the file at their least sizes, so that nothing too large is allocated. */
static int check_counts(const uint8_t *bytes, size_t size, struct reader *r,
                        struct isa_program *out, struct err *e)
{
    uint64_t need;

    out->op_count = get32(bytes + 16);
    out->bundle_count = get32(bytes + 20);
    out->symbol_count = get32(bytes + 24);
    out->note_count = get32(bytes + 28);
    r->string_bytes = get32(bytes + 32);
    need = ISA_OBJECT_HEADER_BYTES + (uint64_t)out->op_count * OP_HEADER_BYTES +
           (uint64_t)out->bundle_count * BUNDLE_BYTES +
           (uint64_t)out->symbol_count * SYMBOL_BYTES +
           (uint64_t)out->note_count * NOTE_BYTES + r->string_bytes;
    if (need > size)
        return err_at(e, r->file, 0, 0, "object file of %zu bytes holds at least %" PRIu64
                      " by its counts", size, need);
    if (r->string_bytes == 0 || bytes[size - 1] != '\0')
        return err_at(e, r->file, 0, 0, "strings of the object file do not end in NUL");
    r->at = bytes + ISA_OBJECT_HEADER_BYTES;
    r->end = bytes + size - r->string_bytes;
    return 0;
}

static int read_string(const struct reader *r, uint32_t at, const char **out, struct err *e)
{
    if (at >= r->string_bytes)
        return err_at(e, r->file, 0, 0, "string at %" PRIu32 " lies outside the %" PRIu32
                      " bytes of strings", at, r->string_bytes);
    *out = r->strings + at;
    return 0;
}

static int read_operations(struct reader *r, struct isa_program *out, struct err *e)
{
    for (uint32_t i = 0; i < out->op_count; i++) {
        struct err why;
        size_t length = isa_decode(r->at, (size_t)(r->end - r->at), &out->op[i], &why);

        if (length == 0)
            return err_at(e, r->file, 0, 0, "operation %" PRIu32 ": %s", i, why.msg);
        r->at += length;
    }
    if ((uint64_t)(r->end - r->at) != (uint64_t)out->bundle_count * BUNDLE_BYTES +
                                      (uint64_t)out->symbol_count * SYMBOL_BYTES +
                                      (uint64_t)out->note_count * NOTE_BYTES)
        return err_at(e, r->file, 0, 0, "tables of the object file do not fill it exactly");
    return 0;
}

static int read_bundles(struct reader *r, struct isa_program *out, struct err *e)
{
    uint64_t first_op = 0;

    for (uint32_t b = 0; b < out->bundle_count; b++, r->at += BUNDLE_BYTES) {
        struct isa_bundle *bundle = &out->bundle[b];

        bundle->first_op = (uint32_t)first_op;
        bundle->op_count = (uint16_t)get16(r->at);
        bundle->line = get32(r->at + 2);
        bundle->note = get32(r->at + 6);
        first_op += bundle->op_count;
        if (bundle->op_count > ISA_BUNDLE_OP_MAX || first_op > out->op_count)
            return err_at(e, r->file, 0, 0, "bundle %" PRIu32 " has %d operations (0..%d, %" PRIu32
                          " in all)", b, bundle->op_count, ISA_BUNDLE_OP_MAX, out->op_count);
        if (bundle->note > out->note_count)
            return err_at(e, r->file, 0, 0, "bundle %" PRIu32 " has note %" PRIu32 " of %" PRIu32,
                          b, bundle->note, out->note_count);
    }
    if (first_op != out->op_count)
        return err_at(e, r->file, 0, 0, "bundles hold %" PRIu64 " of %" PRIu32 " operations",
                      first_op, out->op_count);
    return 0;
}

static int read_names(struct reader *r, struct isa_program *out, struct err *e)
{
    for (uint32_t i = 0; i < out->symbol_count; i++, r->at += SYMBOL_BYTES) {
        if (read_string(r, get32(r->at), &out->symbol[i].name, e))
            return -1;
        out->symbol[i].bundle = get32(r->at + 4);
        if (out->symbol[i].bundle >= out->bundle_count)
            return err_at(e, r->file, 0, 0, "symbol %" PRIu32 " names bundle %" PRIu32 " of %"
                          PRIu32, i, out->symbol[i].bundle, out->bundle_count);
        if (i > 0 && out->symbol[i].bundle < out->symbol[i - 1].bundle)
            return err_at(e, r->file, 0, 0, "symbol %" PRIu32 " names bundle %" PRIu32 ", the one "
                          "before it %" PRIu32 ": they go by bundle", i, out->symbol[i].bundle,
                          out->symbol[i - 1].bundle);
    }
    for (uint32_t i = 0; i < out->note_count; i++, r->at += NOTE_BYTES) {
        if (read_string(r, get32(r->at), &out->note[i], e))
            return -1;
    }
    return 0;
}

int isa_object_parse(const uint8_t *bytes, size_t size, const char *file, struct arena *a,
                     struct isa_program *out, struct err *e)
{
    struct reader r = { .file = file };

    memset(out, 0, sizeof(*out));
    if (check_header(bytes, size, file, e) || check_counts(bytes, size, &r, out, e))
        return -1;
    out->op = arena_array(a, out->op_count, sizeof(*out->op));
    out->bundle = arena_array(a, out->bundle_count, sizeof(*out->bundle));
    out->symbol = arena_array(a, out->symbol_count, sizeof(*out->symbol));
    out->note = arena_array(a, out->note_count, sizeof(*out->note));
    r.strings = memcpy(arena_alloc(a, r.string_bytes), r.end, r.string_bytes);
    if (read_string(&r, get32(bytes + 36), &out->name, e) || read_operations(&r, out, e) ||
        read_bundles(&r, out, e) || read_names(&r, out, e))
        return -1;
    return 0;
}

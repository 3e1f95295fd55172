/*
 * Shared by the files of the assembler: its state, errors, one operation.
 *
 * A function that returns -1 has added an error.
 */
#ifndef ISA_ASM_INTERNAL_H
#define ISA_ASM_INTERNAL_H
#include "base/hash.h"
#include "isa/asm.h"
#include "isa/scan.h"

struct asm_name {                       /* .equ */
    const char *name;
    int32_t value;
    int line;
};

struct asm_label {                      /* its definition, or its use in a branch */
    const char *name;
    uint32_t index;                     /* bundle defined, or operation that branches */
    int line, col;
};

struct asm_note {                       /* .note, found by its text */
    const char *text;
    uint32_t number;                    /* as in struct isa_bundle */
    UT_hash_handle hh;
};

/* Growing arrays: the assembler frees them, the program gets copies in the arena. */
struct assembler {
    const char *file;
    struct arena *arena;
    struct isa_errors *errors;
    struct scan scan;
    struct scan last;                   /* behind the last token taken */

    struct isa_op *op;
    struct isa_bundle *bundle;
    struct asm_label *label, *use;
    struct asm_name *name;
    const char **note;
    struct asm_note *note_of_text;
    size_t op_count, bundle_count, label_count, use_count, name_count, note_count;
    size_t op_room, bundle_room, label_room, use_room, name_room, note_room;
    uint32_t current_note;              /* as in struct isa_bundle */
};

/* Token helpers that keep `last`. asm_peek leaves the scan before the token. */
struct scan_token asm_word(struct assembler *as);
struct scan_token asm_peek(struct assembler *as);
bool asm_take(struct assembler *as, char c);
int asm_char(struct assembler *as);     /* next character that is not blank, -1 at the end */

/*
 * asm_error: at a place. asm_expected: at the next token, with what is there
 * instead; where the line ended too early, at its end.
 */
int asm_error(struct assembler *as, int line, int col, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int asm_expected(struct assembler *as, const char *what);
#define asm_error_at(as, scan, ...) asm_error(as, (scan)->line, scan_col(scan), __VA_ARGS__)

/* One operand of a role (two for an address) to operand[0], operand[1]. */
int asm_operand(struct assembler *as, char role, struct isa_operand *operand);
int asm_register(struct assembler *as, char class, const char *meaning, int32_t *number);
int asm_immediate(struct assembler *as, int32_t *value);

/* 'v', 's', 'p', 'm' and the number if the word names a register, decorated or not; else 0 */
char asm_register_class(struct scan_token w, int64_t *number);

/* One operation, appended to as->op. */
int asm_operation(struct assembler *as);
#endif

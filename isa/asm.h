/*
 * Assembly text to programs.
 *
 * A bundle is "{ op ;; op ;; … }", a label "name:" before it; "//" and "#" at
 * the start of a word begin a comment to the end of the line, C comments are
 * white space. The decoration of compiler listings is accepted: a leading
 * bundle number with ':', "%54 = " before operations without result, and
 * "%v77_v9", "%s12_s3", "%p4_p0", "%vm3_vm1" for v9, s3, p0, vm1, a comma
 * behind a guard, "target bundleno = 31 (0x1f), region = 20". Directives:
 * ".equ NAME, value" names an immediate; ".note text" names what follows for
 * reports.
 */
#ifndef ISA_ASM_H
#define ISA_ASM_H
#include "base/arena.h"
#include "base/err.h"
#include "isa/isa.h"
#include <stdio.h>

#define ISA_ERROR_MAX 20

struct isa_errors {
    int count;                          /* gathered, at most ISA_ERROR_MAX */
    struct err err[ISA_ERROR_MAX];
};

/*
 * 0, or -1 with at least one error. `text` need not end in NUL. All of *out
 * lies in `a`.
 */
int isa_assemble(const char *text, size_t bytes, const char *file, struct arena *a,
                 struct isa_program *out, struct isa_errors *errors);

/* "file:line:col: error: msg", the source line, and a caret, for each error */
void isa_errors_print(const struct isa_errors *errors, const char *text, size_t bytes, FILE *to);
#endif

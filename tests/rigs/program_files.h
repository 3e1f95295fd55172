/*
 * Programs of frameworks that tests read: the small ones of tests/import/data, and the samples of
 * ../shared (or SYSTOLE_SHARED) where they are at hand.
 */
#ifndef TESTS_RIGS_PROGRAM_FILES_H
#define TESTS_RIGS_PROGRAM_FILES_H
#include <stdbool.h>
#include <stddef.h>

/* paths that a pattern below a folder matches, sorted; of own data, of samples */
struct program_files {
    char **path;
    size_t count;
};
void program_files_own(struct program_files *f, const char *pattern);          /* "*.mlirbc" */
void program_files_samples(struct program_files *f, const char *pattern);
void program_files_end(struct program_files *f);

/* All of a file, unpacked where it is gzip; a NUL behind it. For free(); NULL: it is not there. */
char *program_file_read(const char *path, size_t *bytes);
/* the same of the path with its last `from` replaced by `to` */
char *program_file_read_beside(const char *path, const char *from, const char *to, size_t *bytes);
#endif

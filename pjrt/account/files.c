/*
 * Files of the whole run: launches.csv and timeline.json grow with it, programs.csv and summary.txt
 * are written at the end.
 *
 * timeline.json is an array of events in the Trace Event Format, a track for each device in
 * simulated microseconds; Perfetto opens it, also where the process did not live to end the array.
 */
#include "pjrt/account/account_impl.h"

#include "base/outfile.h"
#include "base/text.h"
#include "report/folder/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const program_columns =
    "number,name,folder,launches,cycles,device_us,compile_s,host_s,was_on_disk\n";

static char *path_in(const struct account *a, const char *name)
{
    size_t bytes = strlen(a->out) + strlen(name) + 2;
    char *path = mem_alloc(bytes);

    snprintf(path, bytes, "%s/%s", a->out, name);
    return path;
}

void account_fail_files(struct account *a, const struct err *e)
{
    fprintf(stderr, "systole: %s; SYSTOLE_OUT is left as it is\n", e->msg);
    a->out = NULL;
    if (a->launch_file)
        fclose(a->launch_file);
    if (a->timeline_file)
        fclose(a->timeline_file);
    a->launch_file = a->timeline_file = NULL;
}

static FILE *open_file(struct account *a, const char *name, struct err *e)
{
    char *path = path_in(a, name);
    FILE *f = outfile_allow(path, e) ? NULL : fopen(path, "w");

    if (!f && errno)
        err_set(e, "cannot write %s: %s", path, strerror(errno));
    mem_free(path);
    return f;
}

/* names of the tracks */
static void print_devices(const struct account *a)
{
    for (int i = 0; i < a->client.devices; i++)
        fprintf(a->timeline_file, "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%d,"
                "\"args\":{\"name\":\"%s %d\"}}", i ? ",\n" : "[\n", i, a->client.kind, i);
    fflush(a->timeline_file);
}

void account_open_files(struct account *a)
{
    struct err e;

    if (!a->out)
        return;
    errno = 0;
    if (report_make_folder(a->out, &e) || !(a->launch_file = open_file(a, "launches.csv", &e)) ||
        !(a->timeline_file = open_file(a, "timeline.json", &e))) {
        account_fail_files(a, &e);
        return;
    }
    fputs("launch,program,name,devices,start_ns,end_ns,cycles,host_s\n", a->launch_file);
    fflush(a->launch_file);
    print_devices(a);
}

/* of a function's name or a path: what JSON does not take as it is is left out */
static void print_name(const char *name, FILE *to)
{
    for (; *name; name++)
        if (*name != '"' && *name != '\\' && (unsigned char)*name >= ' ')
            putc(*name, to);
}

static void print_event(struct account *a, int device, const char *name, int64_t start_ps,
                        int64_t end_ps)
{
    fputs(",\n{\"ph\":\"X\",\"name\":\"", a->timeline_file);
    print_name(name, a->timeline_file);
    text_print_file(a->timeline_file, "\",\"pid\":1,\"tid\":%d,\"ts\":%.6f,\"dur\":%.6f", device,
                    1e-6 * (double)start_ps, 1e-6 * (double)(end_ps - start_ps));
}

void account_write_launch(struct account *a, const struct account_program *p, const int *device,
                          int devices, int64_t start_ps, int64_t end_ps, int64_t cycles,
                          double seconds)
{
    if (!a->launch_file)
        return;
    fprintf(a->launch_file, "%" PRId64 ",%d,", a->launches, p->number);
    text_print_csv(p->name, a->launch_file);
    for (int i = 0; i < devices; i++)
        fprintf(a->launch_file, "%s%d", i ? " " : ",", device[i]);
    text_print_file(a->launch_file, ",%.3f,%.3f,%" PRId64 ",%.6f\n", 1e-3 * (double)start_ps,
                    1e-3 * (double)end_ps, cycles, seconds);
    for (int i = 0; i < devices; i++) {
        print_event(a, device[i], p->name, start_ps, end_ps);
        fprintf(a->timeline_file, ",\"args\":{\"launch\":%" PRId64 ",\"cycles\":%" PRId64 "}}",
                a->launches, cycles);
    }
    fflush(a->launch_file);
    fflush(a->timeline_file);
}

void account_write_copy(struct account *a, int device, int64_t bytes, bool is_to_device,
                        int64_t start_ps, int64_t end_ps)
{
    if (!a->timeline_file)
        return;
    print_event(a, device, account_copy_name(is_to_device), start_ps, end_ps);
    fprintf(a->timeline_file, ",\"args\":{\"bytes\":%" PRId64 "}}", bytes);
}

/* ----- at the end */

static void print_programs(const struct account *a, FILE *to)
{
    fputs(program_columns, to);
    for (const struct account_program *p = a->first; p; p = p->next) {
        fprintf(to, "%d,", p->number);
        text_print_csv(p->name, to);
        text_print_file(to, ",%s,%" PRId64 ",%" PRId64 ",%.3f,%.6f,%.6f,%s\n",
                        p->file ? p->file : "", p->launches, p->cycles,
                        (double)p->cycles / (double)a->client.chip->chip_clock_mhz, p->compile_s,
                        p->launch_s, p->was_found ? "yes" : "no");
    }
}

static int write_file(const struct account *a, const char *name,
                      void (*print)(const struct account *a, FILE *to), struct err *e)
{
    char *path = path_in(a, name);
    struct outfile f;
    int status = outfile_begin(&f, path, e);

    if (status == 0) {
        print(a, f.to);
        status = outfile_commit(&f, e);
    }
    mem_free(path);
    return status;
}

void account_close_files(struct account *a)
{
    struct err e;
    bool is_written;

    if (!a->out)
        return;
    fputs("\n]\n", a->timeline_file);
    is_written = !ferror(a->launch_file) && !ferror(a->timeline_file);
    is_written &= fclose(a->launch_file) == 0;
    is_written &= fclose(a->timeline_file) == 0;
    a->launch_file = a->timeline_file = NULL;
    if (!is_written)
        err_set(&e, "launches.csv and timeline.json of %s could not be written whole", a->out);
    if (!is_written || write_file(a, "programs.csv", print_programs, &e) ||
        write_file(a, "summary.txt", account_print_summary, &e))
        account_fail_files(a, &e);
}

/*
 * Runs a command and lets its Nth call of the system fail, that concerns files below a folder:
 *
 *   fault_calls KIND N FOLDER REPORT COMMAND [ARGUMENT]...
 *
 * KIND is a row of `kinds`; N counts from 1 through all processes and threads of the command, in
 * the order in which they are stopped. Standard streams count when they are files of the folder,
 * sockets and pipes do when KIND says so. REPORT becomes "hit CALL" or "none COUNT", the exit status
 * is the command's, or 128 and its signal. Calls are caught by ptrace, below the C library, so that
 * what stdio and zlib do fails as well, and in all children. Only for x86-64: elsewhere the status
 * is 77.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
    READS = 1, WRITES = 2, NAMES = 4, SYNCS = 8, LOOKS = 16, WAITS = 32, SOCKETS = 64, REMOVES = 128
};

/* What a call is for, and which of its arguments is a descriptor or a path (-1: none). */
static const struct call {
    long number;
    const char *name;
    int use, fd_arg, path_arg;
} calls[] = {
    {SYS_read, "read", READS, 0, -1},
    {SYS_pread64, "pread64", READS, 0, -1},
    {SYS_readv, "readv", READS, 0, -1},
    {SYS_getdents64, "getdents64", LOOKS, 0, -1},
    {SYS_lseek, "lseek", LOOKS, 0, -1},
    {SYS_fstat, "fstat", LOOKS, 0, -1},
    {SYS_newfstatat, "newfstatat", LOOKS, 0, 1},
    {SYS_stat, "stat", LOOKS, -1, 0},
    {SYS_lstat, "lstat", LOOKS, -1, 0},
    {SYS_access, "access", LOOKS, -1, 0},
    {SYS_write, "write", WRITES, 0, -1},
    {SYS_pwrite64, "pwrite64", WRITES, 0, -1},
    {SYS_writev, "writev", WRITES, 0, -1},
    {SYS_ftruncate, "ftruncate", WRITES, 0, -1},
    {SYS_fsync, "fsync", SYNCS, 0, -1},
    {SYS_fdatasync, "fdatasync", SYNCS, 0, -1},
    {SYS_close, "close", SYNCS, 0, -1},
    {SYS_flock, "flock", NAMES, 0, -1},
    {SYS_open, "open", NAMES, -1, 0},
    {SYS_openat, "openat", NAMES, -1, 1},
    {SYS_mkdir, "mkdir", NAMES, -1, 0},
    {SYS_mkdirat, "mkdirat", NAMES, -1, 1},
    {SYS_rename, "rename", NAMES, -1, 0},
    {SYS_renameat, "renameat", NAMES, -1, 1},
    {SYS_renameat2, "renameat2", NAMES, -1, 1},
    {SYS_unlink, "unlink", NAMES | REMOVES, -1, 0},
    {SYS_unlinkat, "unlinkat", NAMES | REMOVES, 0, 1},
    {SYS_rmdir, "rmdir", NAMES | REMOVES, -1, 0},
    {SYS_fchmod, "fchmod", NAMES, 0, -1},
    {SYS_recvfrom, "recvfrom", READS | SOCKETS, 0, -1},
    {SYS_sendto, "sendto", WRITES | SOCKETS, 0, -1},
    {SYS_recvmsg, "recvmsg", READS | SOCKETS, 0, -1},
    {SYS_sendmsg, "sendmsg", WRITES | SOCKETS, 0, -1},
    {SYS_accept, "accept", WAITS | SOCKETS, 0, -1},
    {SYS_accept4, "accept4", WAITS | SOCKETS, 0, -1},
    {SYS_wait4, "wait4", WAITS, -1, -1},
    {SYS_poll, "poll", WAITS, -1, -1},
};

/* What a kind of fault makes of which calls. Looks at a file that cannot be looked at are those of a
 * disk that is gone; a close never fails with EINTR where descriptors are closed all the same. */
static const struct kind {
    const char *name;
    int uses;
    int code;                           /* the call returns this error and does nothing; or: */
    enum { FAIL, HALVE, KILL } how;
} kinds[] = {
    {"enospc", WRITES | SYNCS | NAMES, ENOSPC, FAIL},
    {"stays", REMOVES, EPERM, FAIL},
    {"eio", READS | WRITES | SYNCS | NAMES | LOOKS, EIO, FAIL},
    {"eintr", READS | WRITES | WAITS | SOCKETS, EINTR, FAIL},
    {"short", READS | WRITES | SOCKETS, 0, HALVE},
    {"reset", SOCKETS | READS | WRITES | WAITS, ECONNRESET, FAIL},
    {"kill", WRITES | SYNCS | NAMES, 0, KILL},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A thread of the command, while it is inside a call that fails. */
struct thread {
    pid_t id;
    bool is_inside;                     /* stopped on the way in, last */
    long fails_with;                    /* what the way out puts into the result */
};

static struct thread threads[512];
static const struct kind *kind;
static const char *folder;
static long target, counted;
static const char *hit;

static struct thread *thread_of(pid_t id)
{
    struct thread *unused = NULL;

    for (size_t i = 0; i < COUNT(threads); i++) {
        if (threads[i].id == id)
            return &threads[i];
        if (!threads[i].id && !unused)
            unused = &threads[i];
    }
    if (!unused)
        exit(125);
    *unused = (struct thread){.id = id};
    return unused;
}

static bool is_below(const char *path)
{
    size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

static bool link_is_below(pid_t id, const char *what, bool *is_socket)
{
    char link[64], path[PATH_MAX];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/%d/%s", (int)id, what);
    length = readlink(link, path, sizeof(path) - 1);
    if (length < 0)
        return false;
    path[length] = '\0';
    if (is_socket)
        *is_socket = strncmp(path, "socket:", 7) == 0;
    return is_below(path);
}

static unsigned long long argument(const struct user_regs_struct *r, int index)
{
    const unsigned long long all[] = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9};

    return all[index];
}

/* whether the call concerns a file of the folder; a relative path is one of its process's folder */
static bool concerns(pid_t id, const struct call *c, const struct user_regs_struct *r)
{
    char path[PATH_MAX] = "", what[32];
    bool is_socket = false;

    if (c->use & WAITS && c->fd_arg < 0)
        return true;
    if (c->path_arg >= 0) {
        struct iovec to = {path, sizeof(path) - 1};
        struct iovec from = {(void *)(uintptr_t)argument(r, c->path_arg), sizeof(path) - 1};

        /* what follows the path may not be mapped: the part of its page is enough */
        from.iov_len = 4096 - ((uintptr_t)from.iov_base & 4095);
        if (process_vm_readv(id, &to, 1, &from, 1, 0) <= 0)
            return false;
        if (path[0])
            return path[0] == '/' ? is_below(path) : link_is_below(id, "cwd", NULL);
    }
    if (c->fd_arg < 0)
        return false;
    snprintf(what, sizeof(what), "fd/%d", (int)argument(r, c->fd_arg));
    if (link_is_below(id, what, &is_socket))
        return !(kind->uses & SOCKETS) || kind->code != ECONNRESET;
    return is_socket && kind->uses & SOCKETS;
}

static const struct call *call_of(long number)
{
    for (size_t i = 0; i < COUNT(calls); i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

static void enter(struct thread *t)
{
    struct user_regs_struct r;
    const struct call *c;

    t->fails_with = 0;
    if (hit || ptrace(PTRACE_GETREGS, t->id, NULL, &r) != 0)
        return;
    c = call_of((long)r.orig_rax);
    if (!c || !(c->use & ~SOCKETS & kind->uses) || !concerns(t->id, c, &r) || ++counted != target)
        return;
    hit = c->name;
    if (kind->how == KILL) {
        kill(t->id, SIGKILL);
    } else if (kind->how == HALVE) {
        r.rdx = r.rdx > 1 ? r.rdx / 2 : r.rdx;
        ptrace(PTRACE_SETREGS, t->id, NULL, &r);
    } else {
        r.orig_rax = ~0ull;             /* no such call: the kernel does nothing */
        ptrace(PTRACE_SETREGS, t->id, NULL, &r);
        t->fails_with = -kind->code;
    }
}

static void leave(struct thread *t)
{
    struct user_regs_struct r;

    if (!t->fails_with || ptrace(PTRACE_GETREGS, t->id, NULL, &r) != 0)
        return;
    r.rax = (unsigned long long)t->fails_with;
    ptrace(PTRACE_SETREGS, t->id, NULL, &r);
    t->fails_with = 0;
}

/* the exit status of `first`, once all that it started has ended or only strangers are left */
static int watch(pid_t first)
{
    int status, result = 125;
    pid_t id;

    while ((id = waitpid(-1, &status, __WALL)) > 0) {
        struct thread *t = thread_of(id);
        int signal = 0;

        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (id == first)
                result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            t->id = 0;
            continue;
        }
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            t->is_inside = !t->is_inside;
            if (t->is_inside)
                enter(t);
            else
                leave(t);
        } else if (status >> 16 == PTRACE_EVENT_EXEC) {
            t->is_inside = true;        /* the way out of execve follows */
        } else if (!(status >> 16) && WSTOPSIG(status) != SIGSTOP) {
            signal = WSTOPSIG(status);
        }
        ptrace(PTRACE_SYSCALL, id, NULL, signal);
    }
    return result;
}

int main(int argc, char **argv)
{
    char real[PATH_MAX];
    FILE *report;
    int status;
    pid_t id;

    for (size_t i = 0; argc > 5 && i < COUNT(kinds); i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            kind = &kinds[i];
    if (!kind || !(folder = realpath(argv[3], real)) || (target = atol(argv[2])) < 1) {
        fprintf(stderr, "usage: fault_calls KIND N FOLDER REPORT COMMAND [ARGUMENT]...\n");
        return 126;
    }
    id = fork();
    if (id == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        execvp(argv[5], argv + 5);
        _exit(127);
    }
    if (id < 0 || waitpid(id, &status, 0) != id ||
        ptrace(PTRACE_SETOPTIONS, id, NULL,
               PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                   PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) != 0)
        return 77;
    ptrace(PTRACE_SYSCALL, id, NULL, 0);
    status = watch(id);
    report = fopen(argv[4], "w");
    if (!report)
        return 125;
    if (hit)
        fprintf(report, "hit %s\n", hit);
    else
        fprintf(report, "none %ld\n", counted);
    fclose(report);
    return status;
}
#else
int main(void)
{
    return 77;
}
#endif

/* Stands between a process and the calls that change files below one folder (or send to a server), counts them, and at
 * the n-th one kills the process, lets the call fail, or writes half of what it was given. Loaded with LD_PRELOAD;
 * does nothing until torture_arm() is called.
 *
 * What is written through a mapping (SQLite's -shm) is not seen: nothing that must last is in there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum action { COUNT, KILL_BEFORE, KILL_AFTER, FAIL_ONCE, FAIL_ON, SHORT };
enum kind { OPEN = 1, WRITE = 2, SYNC = 4, TRUNCATE = 8, LINK = 16, RENAME = 32, REMOVE = 64, SEND = 128 };

static struct {
    char folder[PATH_MAX];
    size_t length;
    int sockets, action, error, report;
    long nth;
} told;
static atomic_int armed, fired;
static atomic_long counted;
static _Thread_local long current;

void torture_arm(const char *folder, int sockets, long nth, int action, int error, int report) {
    atomic_store(&armed, 0);
    told.length = strlen(folder);
    memcpy(told.folder, folder, told.length + 1);
    told.sockets = sockets, told.nth = nth, told.action = action, told.error = error, told.report = report;
    atomic_store(&counted, 0);
    atomic_store(&fired, 0);
    atomic_store(&armed, 1);
}

void torture_disarm(void) { atomic_store(&armed, 0); }

long torture_count(void) { return atomic_load(&counted); }

/* Which calls are watched */

static int below(const char *path) {
    if (!strncmp(path, told.folder, told.length) && (path[told.length] == '/' || !path[told.length])) return 1;
    return 0;
}

static int handle_path(int handle, char *path) { /* 0: it has none */
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(name, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    return length > 0;
}

static int watched_handle(int handle) {
    char path[PATH_MAX];
    return atomic_load(&armed) && handle_path(handle, path) && below(path);
}

static int watched_path(int at, const char *path) {
    char full[2 * PATH_MAX], start[PATH_MAX];
    if (!atomic_load(&armed)) return 0;
    if (path[0] == '/') return below(path);
    if (at == AT_FDCWD ? !getcwd(start, sizeof start) : !handle_path(at, start)) return 0;
    snprintf(full, sizeof full, "%s/%s", start, path);
    return below(full);
}

static int watched_socket(int handle) {
    struct stat found;
    return atomic_load(&armed) && told.sockets && !fstat(handle, &found) && S_ISSOCK(found.st_mode);
}

/* What happens to them */

static void say(const char *call, const char *path) {
    dprintf(told.report, "{\"fired\": \"%s\", \"path\": \"%s\"}\n", call, path);
}

static int suits(enum kind kind) { /* may such a call fail with this error? */
    if (told.action == SHORT) return kind == WRITE;
    switch (told.error) {
    case ENOSPC: return kind & (told.action == FAIL_ON ? OPEN | WRITE | LINK : OPEN | WRITE | LINK | SYNC);
    case EINTR: return kind & (OPEN | WRITE | SYNC);
    case EACCES: return kind & (OPEN | LINK | RENAME | REMOVE);
    case EPIPE: return kind == SEND;
    default: return kind != SEND;
    }
}

static int before(enum kind kind, const char *call, const char *path) { /* 0: go on; -1: half of it; else: the error */
    current = atomic_fetch_add(&counted, 1) + 1;
    if (told.action == COUNT || current < told.nth) return 0;
    if (told.action == KILL_BEFORE || told.action == KILL_AFTER) {
        if (current != told.nth) return 0;
        say(call, path);
        if (told.action == KILL_BEFORE) kill(getpid(), SIGKILL);
        return 0;
    }
    if (!suits(kind) || (atomic_exchange(&fired, 1) && told.action != FAIL_ON)) return 0;
    say(call, path);
    return told.action == SHORT ? -1 : told.error;
}

static void after(void) {
    int kept = errno;
    if (told.action == KILL_AFTER && current == told.nth) kill(getpid(), SIGKILL);
    errno = kept;
}

static const char *path_of(int handle) {
    static _Thread_local char path[PATH_MAX];
    handle_path(handle, path);
    return path;
}

#define NEXT(type, name, ...)                                                                                          \
    static type (*next)(__VA_ARGS__);                                                                                  \
    if (!next) next = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define GUARDED(type, watched, kind, name, path, call)                                                                 \
    do {                                                                                                               \
        if (!(watched)) return (call);                                                                                 \
        int fault = before(kind, name, path);                                                                          \
        if (fault > 0) return errno = fault, -1;                                                                       \
        type result = (call);                                                                                          \
        after();                                                                                                       \
        return result;                                                                                                 \
    } while (0)

#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }

#define CHANGES(flags) ((flags) & (O_CREAT | O_TRUNC))

#define OPENS(name)                                                                                                    \
    int name(const char *path, int flags, ...) {                                                                       \
        NEXT(int, name, const char *, int, ...);                                                                       \
        MODE(flags);                                                                                                   \
        GUARDED(int, CHANGES(flags) && watched_path(AT_FDCWD, path), OPEN, #name, path, next(path, flags, mode));      \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                                                 \
    int name(int at, const char *path, int flags, ...) {                                                               \
        NEXT(int, name, int, const char *, int, ...);                                                                  \
        MODE(flags);                                                                                                   \
        GUARDED(int, CHANGES(flags) && watched_path(at, path), OPEN, #name, path, next(at, path, flags, mode));        \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

static int sending(int handle, const char *name) { /* to a server: a lost connection stays lost */
    int fault = before(SEND, name, "server");
    if (fault > 0) shutdown(handle, SHUT_RDWR);
    return fault;
}

ssize_t write(int handle, const void *bytes, size_t size) {
    NEXT(ssize_t, write, int, const void *, size_t);
    if (!watched_handle(handle)) return next(handle, bytes, size);
    int fault = before(WRITE, "write", path_of(handle));
    if (fault > 0) return errno = fault, -1;
    ssize_t result = next(handle, bytes, fault && size > 1 ? size / 2 : size);
    after();
    return result;
}

#define WRITES_AT(name, type)                                                                                          \
    ssize_t name(int handle, const void *bytes, size_t size, type where) {                                             \
        NEXT(ssize_t, name, int, const void *, size_t, type);                                                          \
        if (!watched_handle(handle)) return next(handle, bytes, size, where);                                          \
        int fault = before(WRITE, #name, path_of(handle));                                                             \
        if (fault > 0) return errno = fault, -1;                                                                       \
        ssize_t result = next(handle, bytes, fault && size > 1 ? size / 2 : size, where);                              \
        after();                                                                                                       \
        return result;                                                                                                 \
    }
WRITES_AT(pwrite, off_t)
WRITES_AT(pwrite64, off64_t)

ssize_t writev(int handle, const struct iovec *parts, int several) {
    NEXT(ssize_t, writev, int, const struct iovec *, int);
    GUARDED(ssize_t, watched_handle(handle), WRITE, "writev", path_of(handle), next(handle, parts, several));
}

#define SENDS(name, parameters, arguments, ...)                                                                        \
    ssize_t name parameters {                                                                                          \
        NEXT(ssize_t, name, __VA_ARGS__);                                                                              \
        if (!watched_socket(handle)) return next arguments;                                                            \
        int fault = sending(handle, #name);                                                                            \
        if (fault > 0) return errno = fault, -1;                                                                       \
        ssize_t result = next arguments;                                                                               \
        after();                                                                                                       \
        return result;                                                                                                 \
    }
SENDS(send, (int handle, const void *bytes, size_t size, int flags), (handle, bytes, size, flags), int, const void *,
      size_t, int)
SENDS(sendto, (int handle, const void *bytes, size_t size, int flags, const struct sockaddr *to, socklen_t length),
      (handle, bytes, size, flags, to, length), int, const void *, size_t, int, const struct sockaddr *, socklen_t)
SENDS(sendmsg, (int handle, const struct msghdr *message, int flags), (handle, message, flags), int,
      const struct msghdr *, int)

#define ON_HANDLE(name, kind, parameters, arguments, ...)                                                              \
    int name parameters {                                                                                              \
        NEXT(int, name, __VA_ARGS__);                                                                                  \
        GUARDED(int, watched_handle(handle), kind, #name, path_of(handle), next arguments);                            \
    }
ON_HANDLE(fsync, SYNC, (int handle), (handle), int)
ON_HANDLE(fdatasync, SYNC, (int handle), (handle), int)
ON_HANDLE(ftruncate, TRUNCATE, (int handle, off_t size), (handle, size), int, off_t)
ON_HANDLE(ftruncate64, TRUNCATE, (int handle, off64_t size), (handle, size), int, off64_t)
ON_HANDLE(fallocate, WRITE, (int handle, int mode, off_t where, off_t size), (handle, mode, where, size), int, int,
          off_t, off_t)

#define ON_PATH(name, kind, at, path, parameters, arguments, ...)                                                      \
    int name parameters {                                                                                              \
        NEXT(int, name, __VA_ARGS__);                                                                                  \
        GUARDED(int, watched_path(at, path), kind, #name, path, next arguments);                                       \
    }
ON_PATH(rename, RENAME, AT_FDCWD, to, (const char *from, const char *to), (from, to), const char *, const char *)
ON_PATH(renameat, RENAME, there, to, (int here, const char *from, int there, const char *to), (here, from, there, to),
        int, const char *, int, const char *)
ON_PATH(renameat2, RENAME, there, to, (int here, const char *from, int there, const char *to, unsigned flags),
        (here, from, there, to, flags), int, const char *, int, const char *, unsigned)
ON_PATH(link, LINK, AT_FDCWD, to, (const char *from, const char *to), (from, to), const char *, const char *)
ON_PATH(linkat, LINK, there, to, (int here, const char *from, int there, const char *to, int flags),
        (here, from, there, to, flags), int, const char *, int, const char *, int)
ON_PATH(symlink, LINK, AT_FDCWD, to, (const char *from, const char *to), (from, to), const char *, const char *)
ON_PATH(unlink, REMOVE, AT_FDCWD, path, (const char *path), (path), const char *)
ON_PATH(unlinkat, REMOVE, at, path, (int at, const char *path, int flags), (at, path, flags), int, const char *, int)

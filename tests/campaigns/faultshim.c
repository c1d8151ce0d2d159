/* Counts the changes that this process makes to files below one directory, and stops it at one of
 * them: killed before, amidst or after it, or with an error or a short write in place of it. It
 * can also record every change with its data, so that a power cut can be played afterwards.
 *
 *     cc -shared -fPIC -O2 -o faultshim.so faultshim.c -ldl      and      LD_PRELOAD=faultshim.so
 *
 * Nothing happens until faultshim_arm is called (by ctypes). Changes of mapped memory are not
 * seen; only SQLite's wal-index is written like that, and it is rebuilt at the first open. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 'c', WRITE = 'w', TRUNCATE = 't', SYNC = 's', RENAME = 'r', LINK = 'l',
       UNLINK = 'u', MKDIR = 'm', RMDIR = 'd' };
enum { COUNT, KILL_BEFORE, KILL_AMIDST, KILL_AFTER, FAIL, SHORT };

static char root[4096];
static size_t root_length;
static long seen, first, last;
static int action, number, needs_room, recorder = -1;
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* Watch what lies below *directory*. *what* happens at the changes *from* to *to* (from 1);
 * *error* is the errno of FAIL; with *room* only changes that need room fail. */
void faultshim_arm(const char *directory, int what, long from, long to, int error, int room) {
    pthread_mutex_lock(&mutex);
    snprintf(root, sizeof root, "%s", directory);
    root_length = strlen(root);
    action = what, first = from, last = to, number = error, needs_room = room, seen = 0;
    pthread_mutex_unlock(&mutex);
}

void faultshim_record(int file) { recorder = file; }

long faultshim_seen(void) { return seen; }

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int below(const char *path) {
    return root_length && !strncmp(path, root, root_length) &&
           (path[root_length] == '/' || path[root_length] == 0);
}

static int path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, 4095);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static int path_at(int directory, const char *name, char *path) {
    if (!root_length) return 0;
    if (name[0] == '/') snprintf(path, 4096, "%s", name);
    else if (directory == AT_FDCWD) {
        char here[2048];
        if (!getcwd(here, sizeof here)) return 0;
        snprintf(path, 4096, "%s/%s", here, name);
    } else {
        if (!path_of(directory, path)) return 0;
        size_t length = strlen(path);
        snprintf(path + length, 4096 - length, "/%s", name);
    }
    return below(path);
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

static void whole(int file, const void *data, size_t length) {
    while (length) {
        ssize_t done = syscall(SYS_write, file, data, length);
        if (done <= 0) abort();
        data = (const char *)data + done, length -= done;
    }
}

static void note(int kind, const char *path, const char *other, int64_t offset, const void *data,
                 int64_t length) {
    if (recorder < 0) return;
    struct { uint32_t kind, path, other, filler; int64_t offset, length; } head = {
        kind, strlen(path), other ? strlen(other) : 0, 0, offset, data ? length : 0};
    if (!data && kind == TRUNCATE) head.offset = length;
    whole(recorder, &head, sizeof head);
    whole(recorder, path, head.path);
    if (other) whole(recorder, other, head.other);
    if (data) whole(recorder, data, length);
}

/* Put a line of the process itself among the recorded changes. */
void faultshim_mark(const char *line, long length) {
    pthread_mutex_lock(&mutex);
    note('#', "", 0, 0, line, length);
    pthread_mutex_unlock(&mutex);
}

/* What is to become of the next change: COUNT means that it goes ahead. */
static int next(int kind) {
    seen++;
    if (action == COUNT || seen < first || seen > last) return COUNT;
    if (action == KILL_BEFORE) die();
    if (action == KILL_AMIDST && kind != WRITE) die();
    if (action == SHORT && kind != WRITE) return COUNT;
    if (action == FAIL && needs_room &&
        (kind == UNLINK || kind == RMDIR || kind == RENAME || kind == TRUNCATE)) return COUNT;
    return action;
}

#define GUARDED(kind, call, ...) \
    pthread_mutex_lock(&mutex); \
    int what = next(kind); \
    if (what == FAIL) { pthread_mutex_unlock(&mutex); errno = number; return -1; } \
    __typeof__(call) result = call; \
    int problem = errno; \
    if (result >= 0) note(kind, __VA_ARGS__); \
    if (what == KILL_AFTER) die(); \
    pthread_mutex_unlock(&mutex); \
    errno = problem; \
    return result

static int opening(int directory, const char *name, int flags, int mode) {
    char path[4096];
    struct stat status;
    int makes = 0, empties = 0;
    if (root_length && (flags & (O_CREAT | O_TRUNC)) && (flags & O_TMPFILE) != O_TMPFILE &&
        path_at(directory, name, path)) {
        int there = !syscall(SYS_newfstatat, directory, name, &status, 0);
        makes = !there && (flags & O_CREAT);
        empties = there && (flags & O_TRUNC) && status.st_size;
    }
    if (makes) { GUARDED(CREATE, (int)syscall(SYS_openat, directory, name, flags, mode), path, 0, 0, 0, 0); }
    if (empties) { GUARDED(TRUNCATE, (int)syscall(SYS_openat, directory, name, flags, mode), path, 0, 0, 0, 0); }
    return (int)syscall(SYS_openat, directory, name, flags, mode);
}

#define MODE_OF(flags) \
    int mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, int); va_end(list); }

int open(const char *name, int flags, ...) { MODE_OF(flags) return opening(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE_OF(flags) return opening(AT_FDCWD, name, flags | O_LARGEFILE, mode); }
int openat(int at, const char *name, int flags, ...) { MODE_OF(flags) return opening(at, name, flags, mode); }
int openat64(int at, const char *name, int flags, ...) { MODE_OF(flags) return opening(at, name, flags | O_LARGEFILE, mode); }

static ssize_t writing(int file, const void *data, size_t length, int64_t offset, int placed) {
    char path[4096];
    if (!root_length || file == recorder || !path_of(file, path))
        return placed ? syscall(SYS_pwrite64, file, data, length, offset)
                      : syscall(SYS_write, file, data, length);
    pthread_mutex_lock(&mutex);
    int what = next(WRITE);
    if (what == FAIL) { pthread_mutex_unlock(&mutex); errno = number; return -1; }
    size_t most = (what == SHORT || what == KILL_AMIDST) && length > 1 ? length / 2 : length;
    int64_t place = offset;
    if (!placed)
        place = fcntl(file, F_GETFL) & O_APPEND ? lseek(file, 0, SEEK_END) : lseek(file, 0, SEEK_CUR);
    ssize_t result = placed ? syscall(SYS_pwrite64, file, data, most, offset)
                            : syscall(SYS_write, file, data, most);
    int problem = errno;
    if (result > 0) note(WRITE, path, 0, place, data, result);
    if (what == KILL_AMIDST || what == KILL_AFTER) die();
    pthread_mutex_unlock(&mutex);
    errno = problem;
    return result;
}

ssize_t write(int file, const void *data, size_t length) { return writing(file, data, length, 0, 0); }
ssize_t pwrite(int file, const void *data, size_t length, off_t offset) { return writing(file, data, length, offset, 1); }
ssize_t pwrite64(int file, const void *data, size_t length, off64_t offset) { return writing(file, data, length, offset, 1); }
ssize_t writev(int file, const struct iovec *parts, int count) {
    ssize_t total = 0;
    for (int each = 0; each < count; each++) {
        if (!parts[each].iov_len) continue;
        ssize_t done = writing(file, parts[each].iov_base, parts[each].iov_len, 0, 0);
        if (done < 0) return total ? total : done;
        total += done;
        if ((size_t)done < parts[each].iov_len) break;
    }
    return total;
}

size_t fwrite(const void *data, size_t size, size_t items, FILE *stream) {
    REAL(fwrite);
    char path[4096];
    if (!root_length || !path_of(fileno(stream), path)) return real(data, size, items, stream);
    pthread_mutex_lock(&mutex);
    int what = next(WRITE);
    if (what == FAIL) { pthread_mutex_unlock(&mutex); errno = number; return 0; }
    size_t most = (what == SHORT || what == KILL_AMIDST) && items > 1 ? items / 2 : items;
    int64_t place = recorder < 0 ? 0 : ftello(stream);
    size_t result = real(data, size, most, stream);
    note(WRITE, path, 0, place, data, size * result);
    if (what == KILL_AMIDST || what == KILL_AFTER) { fflush(stream); die(); }
    pthread_mutex_unlock(&mutex);
    return result;
}

static FILE *stream_of(const char *name, const char *mode) {
    int flags = mode[0] == 'r' ? O_RDONLY : mode[0] == 'w' ? O_CREAT | O_TRUNC : O_CREAT | O_APPEND;
    if (strchr(mode, '+')) flags |= O_RDWR;
    else if (mode[0] != 'r') flags |= O_WRONLY;
    if (strchr(mode, 'e')) flags |= O_CLOEXEC;
    int file = opening(AT_FDCWD, name, flags, 0666);
    return file < 0 ? 0 : fdopen(file, mode);
}

FILE *fopen(const char *name, const char *mode) {
    REAL(fopen);
    return root_length && mode[0] != 'r' ? stream_of(name, mode) : real(name, mode);
}
FILE *fopen64(const char *name, const char *mode) {
    REAL(fopen64);
    return root_length && mode[0] != 'r' ? stream_of(name, mode) : real(name, mode);
}

static int sizing(int file, off64_t length) {
    char path[4096];
    if (!root_length || !path_of(file, path)) return (int)syscall(SYS_ftruncate, file, length);
    GUARDED(TRUNCATE, (int)syscall(SYS_ftruncate, file, length), path, 0, 0, 0, length);
}

int ftruncate(int file, off_t length) { return sizing(file, length); }
int ftruncate64(int file, off64_t length) { return sizing(file, length); }

static int allocating(int file, int mode, off64_t offset, off64_t length) {
    char path[4096];
    if (!root_length || !path_of(file, path)) return (int)syscall(SYS_fallocate, file, mode, offset, length);
    GUARDED(WRITE, (int)syscall(SYS_fallocate, file, mode, offset, length), path, 0, offset, 0, 0);
}

int fallocate(int file, int mode, off_t offset, off_t length) { return allocating(file, mode, offset, length); }
int fallocate64(int file, int mode, off64_t offset, off64_t length) { return allocating(file, mode, offset, length); }
int posix_fallocate(int file, off_t offset, off_t length) { return allocating(file, 0, offset, length) ? errno : 0; }
int posix_fallocate64(int file, off64_t offset, off64_t length) { return allocating(file, 0, offset, length) ? errno : 0; }

static int syncing(int file, long call) {
    char path[4096];
    if (!root_length || !path_of(file, path)) return (int)syscall(call, file);
    GUARDED(SYNC, (int)syscall(call, file), path, 0, 0, 0, 0);
}

int fsync(int file) { return syncing(file, SYS_fsync); }
int fdatasync(int file) { return syncing(file, SYS_fdatasync); }

static int moving(int kind, int from_at, const char *from, int to_at, const char *to, int flags) {
    char old[4096], new[4096];
    int watched = path_at(from_at, from, old) && path_at(to_at, to, new);
    long call = kind == RENAME ? SYS_renameat2 : SYS_linkat;
    if (!watched) return (int)syscall(call, from_at, from, to_at, to, flags);
    GUARDED(kind, (int)syscall(call, from_at, from, to_at, to, flags), old, new, 0, 0, 0);
}

int rename(const char *from, const char *to) { return moving(RENAME, AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_at, const char *from, int to_at, const char *to) { return moving(RENAME, from_at, from, to_at, to, 0); }
int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags) { return moving(RENAME, from_at, from, to_at, to, flags); }
int link(const char *from, const char *to) { return moving(LINK, AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int from_at, const char *from, int to_at, const char *to, int flags) { return moving(LINK, from_at, from, to_at, to, flags); }

static int removing(int at, const char *name, int flags) {
    char path[4096];
    if (!path_at(at, name, path)) return (int)syscall(SYS_unlinkat, at, name, flags);
    GUARDED(flags & AT_REMOVEDIR ? RMDIR : UNLINK, (int)syscall(SYS_unlinkat, at, name, flags), path, 0, 0, 0, 0);
}

int unlink(const char *name) { return removing(AT_FDCWD, name, 0); }
int unlinkat(int at, const char *name, int flags) { return removing(at, name, flags); }
int rmdir(const char *name) { return removing(AT_FDCWD, name, AT_REMOVEDIR); }

static int making(int at, const char *name, mode_t mode) {
    char path[4096];
    if (!path_at(at, name, path)) return (int)syscall(SYS_mkdirat, at, name, mode);
    GUARDED(MKDIR, (int)syscall(SYS_mkdirat, at, name, mode), path, 0, 0, 0, 0);
}

int mkdir(const char *name, mode_t mode) { return making(AT_FDCWD, name, mode); }
int mkdirat(int at, const char *name, mode_t mode) { return making(at, name, mode); }

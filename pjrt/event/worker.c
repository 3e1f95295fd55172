/* The thread that does what callers of the interface do not wait for. */
#include "pjrt/event/worker.h"

#include "base/arena.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

struct task {
    void (*work)(void *arg);
    void *arg;
    struct task *next;
};

struct worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t came;
    struct task *first, **last;
    bool quits;
};

static struct task *next_task(struct worker *w)
{
    struct task *t;

    pthread_mutex_lock(&w->mutex);
    while (!w->first && !w->quits)
        pthread_cond_wait(&w->came, &w->mutex);
    t = w->first;
    if (t) {
        w->first = t->next;
        if (!w->first)
            w->last = &w->first;
    }
    pthread_mutex_unlock(&w->mutex);
    return t;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    struct task *t;

    while ((t = next_task(w))) {
        t->work(t->arg);
        mem_free(t);
    }
    return NULL;
}

struct worker *worker_create(void)
{
    struct worker *w = mem_alloc(sizeof(*w));
    sigset_t all, before;
    int status;

    w->last = &w->first;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->came, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status == 0)
        return w;
    mem_free(w);
    return NULL;
}

void worker_do(struct worker *w, void (*work)(void *arg), void *arg)
{
    struct task *t = mem_alloc(sizeof(*t));

    *t = (struct task){.work = work, .arg = arg};
    pthread_mutex_lock(&w->mutex);
    *w->last = t;
    w->last = &t->next;
    pthread_cond_signal(&w->came);
    pthread_mutex_unlock(&w->mutex);
}

void worker_destroy(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    w->quits = true;
    pthread_cond_signal(&w->came);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->came);
    mem_free(w);
}

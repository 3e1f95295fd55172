/*
 * Is this built with the address or the thread sanitizer? gcc and clang say it in two ways.
 *
 * Under the first, bytes that nobody has asked for are poisoned: a program that touches them ends
 * there. Without it, the calls are nothing.
 */
#ifndef BASE_SANITIZED_H
#define BASE_SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED_ADDRESS 1
#endif
#if __has_feature(thread_sanitizer)
#define SANITIZED_THREAD 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(SANITIZED_ADDRESS)
#define SANITIZED_ADDRESS 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(SANITIZED_THREAD)
#define SANITIZED_THREAD 1
#endif
#ifndef SANITIZED_ADDRESS
#define SANITIZED_ADDRESS 0
#endif
#ifndef SANITIZED_THREAD
#define SANITIZED_THREAD 0
#endif

#if SANITIZED_ADDRESS
#include <sanitizer/asan_interface.h>
#define POISON(from, bytes) __asan_poison_memory_region(from, bytes)
#define UNPOISON(from, bytes) __asan_unpoison_memory_region(from, bytes)
#else
#define POISON(from, bytes) ((void)(from), (void)(bytes))
#define UNPOISON(from, bytes) ((void)(from), (void)(bytes))
#endif
#endif

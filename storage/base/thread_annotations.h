// Lock contracts that clang checks (-Wthread-safety): which lock guards a member, and which lock a
// function needs, takes or gives up. For other compilers the macros are empty.
// tools/check_contracts runs the check.
//
// The analysis follows one function at a time and knows a lock by its expression. It cannot follow
// a lock behind a pointer that changes, or a lock that one function takes and another one gives up.
// Such a function says LATCHKEY_NO_THREAD_SAFETY_ANALYSIS, with the reason beside it.
#pragma once

#if defined(__clang__)
#define LATCHKEY_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define LATCHKEY_THREAD_ATTRIBUTE(x)
#endif

/// The class is a lock. Messages of the compiler call it `name`.
#define LATCHKEY_CAPABILITY(name) LATCHKEY_THREAD_ATTRIBUTE(capability(name))
/// The class holds a lock from its constructor to its destructor.
#define LATCHKEY_SCOPED_CAPABILITY LATCHKEY_THREAD_ATTRIBUTE(scoped_lockable)

/// The member is read and written only with this lock held.
#define LATCHKEY_GUARDED_BY(lock) LATCHKEY_THREAD_ATTRIBUTE(guarded_by(lock))
/// The object behind the pointer is read and written only with this lock held.
#define LATCHKEY_PT_GUARDED_BY(lock) LATCHKEY_THREAD_ATTRIBUTE(pt_guarded_by(lock))

/// The caller holds these locks.
#define LATCHKEY_REQUIRES(...) LATCHKEY_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// The caller does not hold these locks, because the function takes them.
#define LATCHKEY_EXCLUDES(...) LATCHKEY_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/// The function takes the lock (its own object's without an argument), or gives it up.
#define LATCHKEY_ACQUIRE(...) LATCHKEY_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define LATCHKEY_RELEASE(...) LATCHKEY_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
/// The function takes the lock when it returns the first argument.
#define LATCHKEY_TRY_ACQUIRE(...) LATCHKEY_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
/// The function returns a reference to this lock.
#define LATCHKEY_RETURN_CAPABILITY(lock) LATCHKEY_THREAD_ATTRIBUTE(lock_returned(lock))
/// The function is not checked; the comment beside it says why.
#define LATCHKEY_NO_THREAD_SAFETY_ANALYSIS LATCHKEY_THREAD_ATTRIBUTE(no_thread_safety_analysis)

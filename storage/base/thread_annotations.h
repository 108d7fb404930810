// Lock contracts that clang checks (-Wthread-safety): which lock guards a member, which lock a
// function needs, takes or gives up. Nothing in other compilers. tools/check_contracts runs the
// check.
//
// The analysis follows one function at a time and knows a lock by its expression. Where a lock's
// name says more than the analysis can follow (a lock behind a pointer that changes, one taken by
// one function and given up by another), the function says LATCHKEY_NO_THREAD_SAFETY_ANALYSIS with
// the reason.
#pragma once

#if defined(__clang__)
#define LATCHKEY_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define LATCHKEY_THREAD_ATTRIBUTE(x)
#endif

/// The class is a lock; `name` is what messages call it.
#define LATCHKEY_CAPABILITY(name) LATCHKEY_THREAD_ATTRIBUTE(capability(name))
/// The class holds a lock from its constructor to its destructor.
#define LATCHKEY_SCOPED_CAPABILITY LATCHKEY_THREAD_ATTRIBUTE(scoped_lockable)

/// The member is read and written only with this lock held.
#define LATCHKEY_GUARDED_BY(lock) LATCHKEY_THREAD_ATTRIBUTE(guarded_by(lock))
/// What the pointer points to is read and written only with this lock held.
#define LATCHKEY_PT_GUARDED_BY(lock) LATCHKEY_THREAD_ATTRIBUTE(pt_guarded_by(lock))

/// The caller holds these locks.
#define LATCHKEY_REQUIRES(...) LATCHKEY_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// The caller does not hold these locks: the function takes them.
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

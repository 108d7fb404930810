/* The states of frames and page words: pin, modify, evict, load, clean, read optimistically.
 *
 * A model of bufferpool/ for spin; tools/check_models runs it, and each of its MUTANTs, which must
 * fail. Every statement is one atomic access of the code. The arrows of a page word have the names of
 * the functions of PageWord.
 *
 *   model                     code
 *   frame_of/latch/version    the three fields of a PageWord (page_word.h); frame 0 = not resident
 *   TryBeginLoad ... ReleaseEvicted   the functions of PageWord
 *   page_in, dirty            BufferFrames::PageOf, BufferFrames::IsDirty; page 0 = kInvalidPageId
 *   free_frame, loaded        state of the fix policy: free frames, frames it may offer as victims
 *   Fix                       BufferPool::FixWith with the acquire of FixShared, FixExclusive
 *   ObtainFrame, Publish      Evictor::ObtainFrame, PageLoader::Publish
 *   Load                      PageLoader::Load with PageIn::kBlocking, PageLoader::LoadCopied
 *   RaceToLoad                PageLoader::Load with PageIn::kOptimistic
 *   Copy, Promote             BufferPool::FixCopy and PageLoader::ReadCopy, BufferPool::TryPromote
 *   TryClaimFrame, Evict      Evictor::TryClaimFrame, EvictBatch and Empty, WriteBack::WriteVictims
 *   Clean                     WriteBack::TryClean
 *   Optimistic                BufferPool::FixOptimistic and its slow path, OptimisticGuard::Validate
 *   giving up                 kMaxFrameWaits in Evictor::ObtainFrame: ResourceExhausted
 *   !Same(p)                  Backoff::Pause: waiting for the word to change
 *
 * A page is written to the disk in two steps. In between, a read of it fails its proof.
 *
 * data, disk and truth are what frames, the page store and the users hold to be a page's content;
 * pins counts the users inside a frame. They exist only to be asserted on.
 *
 * Left out: resizing (MissGate), freeing pages, the log, loading ahead, upgrades; a page store that
 * reorders.
 */

#ifndef ACTORS
#define ACTORS 3
#endif
#ifndef FRAMES
#define FRAMES 2
#endif
#ifndef PAGES
#define PAGES 3
#endif
#ifndef OPERATIONS
#define OPERATIONS 1
#endif
/* Whether optimistic readers load what is not resident; otherwise they pass over it, which makes the
 * state space several times smaller. */
#ifndef READERS_LOAD
#define READERS_LOAD 1
#endif

/* 1: several actors may read a page, and the version decides (PageIn::kOptimistic). */
#ifndef RACES
#define RACES 0
#endif
/* 1: each actor has one private frame (the scheme `separate`). */
#ifndef COPIES
#define COPIES 0
#endif

#define SHARED 1
#define EXCLUSIVE 15
#define GARBAGE 99

#define NO 0
#define YES 1
#define UNDECIDED 2
#define LOADING 3

#define PINNED_IS_EVICTED 1
#define CLEAN_AFTER_RELEASE 2
#define DIRTY_AFTER_RELEASE 3
#define EVICTION_KEEPS_VERSION 4
#define WAITS_FOR_FRAMES_FOR_EVER 5
#define LOADS_WITHOUT_LATCH 6
#define EVICTS_WITHOUT_WRITING 7
#define GUARD_OF_THE_NEXT_VERSION 8
#define RACE_IGNORES_VERSION 9
#define REPORTS_LOST_RACE 10
#define COPY_OF_ANY_VERSION 11
#define COPY_OF_THE_LATER_VERSION 12
#define PROMOTES_ANY_VERSION 13
#ifndef MUTANT
#define MUTANT 0
#endif

byte frame_of[PAGES + 1];
byte latch[PAGES + 1];
byte version[PAGES + 1];
byte page_in[FRAMES + 1];
bool dirty[FRAMES + 1];
bool free_frame[FRAMES + 1];
bool loaded[FRAMES + 1];

byte data[FRAMES + 1];
byte disk[PAGES + 1];
byte truth[PAGES + 1];
byte pins[FRAMES + 1];
byte done;

#define Same(p) (frame_of[p] == sf && latch[p] == sl && version[p] == sv)
#define Claimable(f) (loaded[f] && frame_of[page_in[f]] == f && latch[page_in[f]] == 0)
#if FRAMES == 1
#define AnyFree (free_frame[1])
#define AnyClaimable (Claimable(1))
#else
#define AnyFree (free_frame[1] || free_frame[2])
#define AnyClaimable (Claimable(1) || Claimable(2))
#endif

inline ReadWord(p) {
  d_step { sf = frame_of[p]; sl = latch[p]; sv = version[p] }
}

/* The arrows of a page word. Each is one atomic access: its caller puts it into a d_step or atomic
 * block. A Try arrow is a compare-and-swap of the word against (sf, sl, sv); taken says whether it
 * succeeded. */
inline TryChange(p, next) {
  taken = Same(p);
  if
  :: taken -> latch[p] = next
  :: else
  fi
}
#if MUTANT == LOADS_WITHOUT_LATCH
#define TryBeginLoad(p) TryChange(p, sl)
#else
#define TryBeginLoad(p) TryChange(p, EXCLUSIVE)
#endif
#define TryLatchShared(p) TryChange(p, sl + 1)
#define TryLatchExclusive(p) TryChange(p, EXCLUSIVE)
#define TryClaim(p) TryChange(p, EXCLUSIVE)
inline SetFrame(p, f) { frame_of[p] = f }
inline EndLoad(p, want) { latch[p] = want }
inline AbandonLoad(p) { latch[p] = 0 }
inline ReleaseShared(p) { latch[p]-- }
inline ReleaseUnmodified(p) { latch[p] = 0 }
inline ReleaseModified(p) { version[p]++; latch[p] = 0 }
inline ReleaseEvicted(p) {
  frame_of[p] = 0;
  latch[p] = 0;
#if MUTANT != EVICTION_KEEPS_VERSION
  version[p]++
#endif
}

inline ChooseFrame(f) {
  if
  :: f = 1
#if FRAMES > 1
  :: f = 2
#endif
  fi
}

inline ChoosePage(p) {
  if
  :: p = 1
  :: p = 2
#if PAGES > 2
  :: p = 3
#endif
  fi
}

/* The store accepts the page in frame c. Nobody reads the disk beside it, unless pages are raced for
 * or copied. */
inline WriteToDisk(q, c) {
#if RACES || COPIES
  disk[q] = GARBAGE;
#endif
  disk[q] = data[c]
}

/* The policy offers any frame that it knows as loaded; the claim decides. */
inline TryClaimFrame(c, q) {
  taken = NO;
  q = page_in[c];
  if
  :: q != 0 ->
     ReadWord(q);
     if
#if MUTANT == PINNED_IS_EVICTED
     :: sf == c && sl != EXCLUSIVE ->
#else
     :: sf == c && sl == 0 ->
#endif
        atomic {
          if
          :: loaded[c] ->
             TryClaim(q);
             if
             :: taken -> loaded[c] = false
             :: else
             fi
          :: else
          fi
        }
     :: else
     fi
  :: else
  fi
}

inline Evict(c, q) {
  TryClaimFrame(c, q);
  if
  :: taken && dirty[c] ->
     if
#if MUTANT != EVICTS_WITHOUT_WRITING
     :: WriteToDisk(q, c); dirty[c] = false
#else
     :: dirty[c] = false
#endif
     :: loaded[c] = true; ReleaseUnmodified(q); taken = NO   /* the write failed: reinstated, dirty */
     fi
  :: else
  fi;
  if
  :: taken ->
     page_in[c] = 0;
     d_step { ReleaseEvicted(q) }
  :: else
  fi
}

/* f = 0: the actor has given up. */
inline ObtainFrame(f) {
  f = 0;
  do
  :: f != 0 -> break
  :: f == 0 ->
     if
     :: atomic { free_frame[1] -> free_frame[1] = false; f = 1 }
#if FRAMES > 1
     :: atomic { free_frame[2] -> free_frame[2] = false; f = 2 }
#endif
     :: !AnyFree && AnyClaimable ->
        ChooseFrame(c);
        Evict(c, q);
        if
        :: taken -> f = c
        :: else
        fi
#if MUTANT != WAITS_FOR_FRAMES_FOR_EVER
     :: !AnyFree && !AnyClaimable -> break
#endif
     fi
  od;
  if
  :: f != 0 ->
     d_step {
       assert(pins[f] == 0);   /* a frame is reused only when no user has it pinned */
       i = 1;
       do
       :: i <= PAGES -> assert(frame_of[i] != f); i++
       :: i > PAGES -> break
       od;
       i = 0
     }
     data[f] = GARBAGE
  :: else
  fi
}

/* The word of p is latched exclusively and not resident, and the page is in frame f. */
inline Publish(p, want, ok, f) {
  assert(data[f] == truth[p]);   /* no change was lost together with its dirty mark */
  page_in[f] = p;
  SetFrame(p, f);
  loaded[f] = true;
  d_step {
    i = 1;
    do
    :: i <= FRAMES -> assert(i == f || page_in[i] != p); i++   /* one frame for one page */
    :: i > FRAMES -> break
    od;
    i = 0;
    EndLoad(p, want);
    if
    :: want != 0 -> pins[f]++
    :: else   /* for an optimistic reader: nobody holds it */
    fi;
    ok = YES
  }
}

/* The word of p is latched exclusively and not resident. bytes: the disk, or a private copy. */
inline Load(p, want, ok, f, bytes) {
  ObtainFrame(f);
  if
  :: f == 0 -> AbandonLoad(p); ok = NO
  :: else -> data[f] = bytes; Publish(p, want, ok, f)
  fi
}

/* The word of p was free, not resident and of version sv. ok is left UNDECIDED when another actor was
 * first. */
inline RaceToLoad(p, want, ok, f) {
  v = sv;
  ObtainFrame(f);
  if
  :: f == 0 ->
     d_step {
       sf = 0; sl = 0; sv = v;
       if
       :: Same(p) -> ok = NO
       :: else
       fi
     }
  :: else ->
     data[f] = disk[p];
     if
     :: data[f] == GARBAGE ->
        free_frame[f] = true;
#if MUTANT == REPORTS_LOST_RACE
        assert(false)
#else
        d_step { sf = 0; sl = 0; sv = v; assert(!Same(p)) }   /* no sound page is reported */
#endif
     :: else ->
        d_step {
          sf = 0; sl = 0; sv = v;
#if MUTANT == RACE_IGNORES_VERSION
          sv = version[p];
#endif
          TryBeginLoad(p)
        }
        if
        :: taken -> Publish(p, want, ok, f)
        :: else -> free_frame[f] = true
        fi
     fi
  fi;
  v = 0
}

/* Begins the load of p as the word was read, and makes it. */
inline PageIn(p, want, ok, f) {
#if RACES
  RaceToLoad(p, want, ok, f)
#else
  atomic {
    TryBeginLoad(p);
    if
    :: taken -> ok = LOADING
    :: else
    fi
  }
  if
  :: ok == LOADING -> Load(p, want, ok, f, disk[p])
  :: else
  fi
#endif
}

inline Fix(p, want, ok, f) {
  ok = UNDECIDED;
  do
  :: ok != UNDECIDED -> break
  :: ok == UNDECIDED ->
     ReadWord(p);
     if
     :: sf != 0 && want == SHARED && sl < EXCLUSIVE - 1 ->
        atomic {
          TryLatchShared(p);
          if
          :: taken -> f = sf; pins[f]++; ok = YES
          :: else
          fi
        }
     :: sf != 0 && want == EXCLUSIVE && sl == 0 ->
        atomic {
          TryLatchExclusive(p);
          if
          :: taken -> f = sf; pins[f]++; ok = YES
          :: else
          fi
        }
     :: sf == 0 && sl == 0 -> PageIn(p, want, ok, f)
     :: else -> !Same(p)
     fi
  od
}

/* The guarantees of a latched page, for as long as it is latched. */
inline CheckHeld(p, f) {
  d_step { assert(frame_of[p] == f); assert(page_in[f] == p); assert(data[f] == truth[p]) }
}

inline UnfixShared(p, f) {
  d_step { pins[f]--; ReleaseShared(p) }
}

inline Modify(p, f) {
  data[f] = GARBAGE;
  d_step { truth[p]++; data[f] = truth[p] }
}

inline UnfixModified(p, f) {
#if MUTANT == DIRTY_AFTER_RELEASE
  d_step { pins[f]--; ReleaseModified(p) }
  dirty[f] = true
#else
  dirty[f] = true;
  d_step { pins[f]--; ReleaseModified(p) }
#endif
}

inline Clean(c, q) {
  if
  :: dirty[c] ->
     q = page_in[c];
     if
     :: q != 0 ->
        ReadWord(q);
        if
        :: sf == c && sl == 0 ->
           d_step { TryLatchExclusive(q) }
           if
           :: taken && dirty[c] ->
              WriteToDisk(q, c);
#if MUTANT == CLEAN_AFTER_RELEASE
              ReleaseUnmodified(q);
              dirty[c] = false
#else
              dirty[c] = false;
              ReleaseUnmodified(q)
#endif
           :: taken && !dirty[c] -> ReleaseUnmodified(q)
           :: else
           fi
        :: else
        fi
     :: else
     fi
  :: else
  fi
}

/* (sf, sl, sv) is the state in the reader's guard of p. */
inline CheckRead(p) {
  d_step {
    if
    :: frame_of[p] == sf && version[p] == sv && latch[p] != EXCLUSIVE ->
       assert(seen == truth[p])   /* bytes that validate are the present page */
    :: else
    fi
  }
}

/* A page that is not resident is loaded, and is then free for all: the reader looks again. */
inline Optimistic(p, ok, f) {
  ok = UNDECIDED;
  do
  :: ok != UNDECIDED -> break
  :: ok == UNDECIDED ->
     ReadWord(p);
     if
     :: sf != 0 && sl != EXCLUSIVE -> seen = data[sf]; ok = YES
#if !READERS_LOAD
     :: else -> ok = NO
#else
     :: sf == 0 && sl == 0 ->
        PageIn(p, 0, ok, f);
        if
#if MUTANT == GUARD_OF_THE_NEXT_VERSION
        :: ok == YES ->
           ReadWord(p);
           if
           :: sf != 0 && sl != EXCLUSIVE -> seen = data[sf]
           :: else -> sv++; seen = GARBAGE   /* "fails to validate" */
           fi
#else
        :: ok == YES -> ok = UNDECIDED
#endif
        :: else
        fi
     :: else -> !Same(p)
#endif
     fi
  od;
  if
  :: ok == YES -> CheckRead(p)
  :: else
  fi
}

#if COPIES
/* A page in no shared frame is read from the private frame: page cp of version cv, content cd. ok says
 * whether p was read there. */
inline Copy(p, ok) {
  ok = NO;
  ReadWord(p);
  if
#if MUTANT == COPY_OF_ANY_VERSION
  :: sf == 0 && sl == 0 && cp != p ->
#else
  :: sf == 0 && sl == 0 && !(cp == p && cv == sv) ->
#endif
     v = sv;
     cp = 0;
     cd = disk[p];
     ReadWord(p);
     if
#if MUTANT == COPY_OF_THE_LATER_VERSION
     :: cd != GARBAGE -> cp = p; cv = sv
#endif
     :: sv == v -> assert(cd != GARBAGE); cp = p; cv = v   /* no sound page is reported */
     :: else
     fi;
     v = 0;
     ReadWord(p)
  :: else
  fi;
  if
#if MUTANT == COPY_OF_ANY_VERSION
  :: sf == 0 && sl == 0 && cp == p -> seen = cd; ok = YES; CheckRead(p)
#else
  :: sf == 0 && sl == 0 && cp == p && cv == sv -> seen = cd; ok = YES; CheckRead(p)
#endif
  :: else
  fi
}

/* (sf, sl, sv) is the word of p when it was read from the private frame. */
inline Promote(p, ok, f) {
  ok = UNDECIDED;
  atomic {
#if MUTANT == PROMOTES_ANY_VERSION
    sv = version[p];
#endif
    TryBeginLoad(p);
    if
    :: taken -> ok = LOADING
    :: else
    fi
  }
  if
  :: ok == LOADING -> Load(p, EXCLUSIVE, ok, f, cd)
  :: else
  fi
}
#endif

proctype User() {
  byte sf, sl, sv;           /* a page word as read */
  byte p, f, p2, f2, c, q;
  byte ok, ok2, taken, seen, i;
  byte v;                    /* the version of a page word before a read of the disk */
#if COPIES
  byte cp, cv, cd;           /* the private frame: page, version, content */
#endif
  byte left = OPERATIONS;
  do
  :: left == 0 -> break
  :: left > 0 ->
     left--;
     if
     :: ChoosePage(p);          /* read; perhaps, while holding it, a later page as well */
        Fix(p, SHARED, ok, f);
        if
        :: ok == YES ->
           CheckHeld(p, f);
           if
           :: p < PAGES ->
              p2 = p + 1;
              Fix(p2, SHARED, ok2, f2);
              if
              :: ok2 == YES -> CheckHeld(p2, f2); UnfixShared(p2, f2)
              :: else
              fi
           :: skip
           fi;
           CheckHeld(p, f);
           UnfixShared(p, f)
        :: else
        fi
     :: ChoosePage(p);          /* modify */
        Fix(p, EXCLUSIVE, ok, f);
        if
        :: ok == YES -> CheckHeld(p, f); Modify(p, f); CheckHeld(p, f); UnfixModified(p, f)
        :: else
        fi
     :: ChooseFrame(c); Clean(c, q)
     :: ChoosePage(p); Optimistic(p, ok, f)
#if COPIES
     :: ChoosePage(p);          /* read privately; perhaps modify then */
        Copy(p, ok);
        if
        :: ok == YES ->
           Promote(p, ok, f);
           if
           :: ok == YES -> CheckHeld(p, f); Modify(p, f); CheckHeld(p, f); UnfixModified(p, f)
           :: else
           fi
        :: skip
        fi
#endif
     fi;
     /* Unused locals are reset so that they do not multiply states. */
     d_step { sf = 0; sl = 0; sv = 0; p = 0; f = 0; p2 = 0; f2 = 0; c = 0; q = 0; ok = 0; ok2 = 0;
              taken = 0; seen = 0 }
  od;
  done++
}

init {
  byte n;
  atomic {
    latch[0] = EXCLUSIVE;   /* page 0 means "no page": no user can claim it */
    n = 1;
    do
    :: n <= FRAMES -> free_frame[n] = true; n++
    :: n > FRAMES -> break
    od;
    n = 0;
    do
    :: n < ACTORS -> run User(); n++
    :: n == ACTORS -> break
    od
  }
  done == ACTORS;
  /* At rest no page is latched, and every page that is not resident or is clean is on the disk. */
  d_step {
    n = 1;
    do
    :: n <= PAGES ->
       assert(latch[n] == 0);
       if
       :: frame_of[n] == 0 || !dirty[frame_of[n]] -> assert(disk[n] == truth[n])
       :: else -> assert(data[frame_of[n]] == truth[n])
       fi;
       n++
    :: n > PAGES -> break
    od;
    n = 1;
    do
    :: n <= FRAMES -> assert(pins[n] == 0 && (free_frame[n] != (page_in[n] != 0))); n++
    :: n > FRAMES -> break
    od
  }
}

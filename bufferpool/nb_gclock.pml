/* The states of a frame under Nb-GCLOCK: two evictors, a remover and a loader at one frame.
 *
 * A model of bufferpool/synchronization/nb_gclock_policy.* for spin; tools/check_models runs it, and
 * each of its MUTANTs, which must fail. Every statement is one atomic access of the code.
 *
 *   model                   code
 *   state                   NbGclockPolicy::states_ of the frame
 *   latched                 the exclusive latch of the page in the frame; `claim` only tries to take it
 *   resident                whether a page is in the frame; claim refuses an empty frame
 *   Evict                   NbGclockPolicy::TryTake, then what the pool does with a victim
 *   Remove                  a caller that latches the page and calls OnRemove
 *   owners                  callers that believe to own the empty frame
 *
 * Left out: weights and the hand, which choose frames and decide nothing about ownership.
 */

#define EMPTY 0
#define LOADED 1
#define EXAMINED 2
#define REMOVED 3

#ifndef OPERATIONS
#define OPERATIONS 2
#endif

#ifndef MUTANT
#define MUTANT 0
#endif

#define REMOVER_DOES_NOT_WAIT 1
#define EVICTOR_RESTORES_BLINDLY 2
#define CLAIMS_WITHOUT_EXAMINING 3

byte state = LOADED;
bool latched = false;
bool resident = true;
byte owners = 0;

/* The caller owns the frame: it may load a page into it. */
inline Own() {
  owners++;
  assert(owners == 1);
  assert(state == EMPTY);
  assert(!resident);
}

inline Load() {
  owners--;
  latched = true;      /* the loader publishes the page with a latch on it */
  resident = true;
  atomic { assert(state == EMPTY); state = LOADED }   /* OnLoad */
  latched = false;
}

/* claim(): compares the page and latches it in one compare-and-swap of the page word. */
inline Claim(claimed) {
  atomic {
    if
    :: resident && !latched -> latched = true; claimed = true
    :: else -> claimed = false
    fi
  }
}

inline Evict() {
  atomic {
    taken = (state == LOADED);
    if
    :: taken && MUTANT != CLAIMS_WITHOUT_EXAMINING -> state = EXAMINED
    :: else -> skip
    fi
  }
  if
  :: taken ->
    Claim(claimed);
    if
    :: claimed ->
      state = EMPTY;
      resident = false;   /* the pool empties the frame and releases the page */
      latched = false;
      Own();
      Load()
    :: else ->
      atomic {
        if
        :: state == EXAMINED || MUTANT == EVICTOR_RESTORES_BLINDLY -> state = LOADED
        :: else -> state = EMPTY
        fi
      }
    fi
  :: else -> skip
  fi
}

inline Remove() {
  Claim(claimed);   /* the remover has latched the page exclusively */
  if
  :: claimed ->
    if
    :: atomic { state == LOADED -> state = EMPTY }
    :: atomic { state == EXAMINED -> state = REMOVED };
      if
      :: MUTANT == REMOVER_DOES_NOT_WAIT -> skip
      :: else -> state == EMPTY
      fi
    fi;
    resident = false;
    latched = false;
    Own();
    Load()
  :: else -> skip
  fi
}

active [2] proctype Evictor() {
  bool taken, claimed;
  byte round = 0;
  do
  :: round < OPERATIONS -> Evict(); round++
  :: else -> break
  od
}

active proctype Remover() {
  bool claimed;
  byte round = 0;
  do
  :: round < OPERATIONS -> Remove(); round++
  :: else -> break
  od
}

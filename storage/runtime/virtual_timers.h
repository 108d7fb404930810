// Events of virtual time, by which simulated devices complete their requests.
//
// A device keeps the requests of a queue and schedules an event for the time at which each is done.
// The queue's Wait sleeps in Runtime::WaitOnWord on a word that the event changes and wakes.
#pragma once

#include <functional>

#include "storage/runtime/runtime.h"

namespace latchkey {

class VirtualTimers {
 public:
  virtual ~VirtualTimers() = default;

  /// The virtual time, the same as Runtime::Now.
  virtual Nanos Now() = 0;

  /// Calls `event` once, when virtual time reaches `when`. If `when` has passed, calls it as soon
  /// as any actor gives up control, never inside this call. The seed decides the order of events of
  /// one instant; a device that needs an order schedules later times.
  ///
  /// `event` runs between two actors. It may change words and memory, and call Wake and ScheduleAt.
  /// It must not wait, back off or take a latch, because an actor may hold it. Objects that it
  /// captures must live until then: a device is destroyed only when nothing is in flight. Events
  /// still due at the end of the run are dropped.
  virtual void ScheduleAt(Nanos when, std::function<void()> event) = 0;
};

}  // namespace latchkey

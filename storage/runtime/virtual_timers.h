// Events of virtual time: how a simulated device completes its requests.
//
// A device keeps the requests of a queue, schedules an event for the moment each is done, and its
// queue's Wait sleeps in Runtime::WaitOnWord on a word that the event changes and wakes.
#pragma once

#include <functional>

#include "storage/runtime/runtime.h"

namespace latchkey {

class VirtualTimers {
 public:
  virtual ~VirtualTimers() = default;

  /// The virtual time: that of Runtime::Now.
  virtual Nanos Now() = 0;

  /// Calls `event` once, when virtual time reaches `when`; a time that has passed already means as
  /// soon as any actor gives up control, never inside this call. Events of one instant happen in an
  /// order that the seed chooses: schedule a later time where the order is part of the device.
  ///
  /// `event` runs between two actors. It may change words and memory, Wake, and ScheduleAt; it must
  /// not wait, back off or take a latch (an actor may hold it). What it captures stays alive until
  /// then: a device is destroyed with nothing in flight. Events that are still due when the run
  /// ends are dropped uncalled.
  virtual void ScheduleAt(Nanos when, std::function<void()> event) = 0;
};

}  // namespace latchkey

import { type Runtime, sleepBy, type Timer } from './clock.ts'

/** A runtime whose timers can be held back. Its clocks go on. */
export interface PausableRuntime extends Runtime {
  /** From now on no timer of this runtime does its work. */
  pause(): void
  /** Does at once what became due meanwhile: each timer once. */
  resume(): void
}

/** Pauses everything that waits by this runtime, and nothing that waits by `base`. */
export function pausable(base: Runtime): PausableRuntime {
  const held = new Map<Timer, () => void>()
  let isPaused = false

  function gated(set: (work: () => void) => Timer, work: () => void): Timer {
    const timer: Timer = set(() => {
      if (isPaused) held.set(timer, work)
      else work()
    })
    return timer
  }

  const runtime: PausableRuntime = {
    ...base,
    sleep: (ms, options) => sleepBy(runtime, ms, options),
    after: (ms, work) => gated((due) => base.after(ms, due), work),
    every: (ms, work) => gated((due) => base.every(ms, due), work),
    cancel(timer) {
      if (timer) held.delete(timer)
      base.cancel(timer)
    },
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
      const due = [...held]
      held.clear()
      for (const [, work] of due) work()
    },
  }
  return runtime
}

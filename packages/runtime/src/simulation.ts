import { type Runtime, sleepBy, systemRuntime, type Timer } from './clock.ts'

export interface Simulation extends Runtime {
  /** Advances the clock, timer by timer. After each one, the code that it resolved gets to run. */
  advance(ms: number): Promise<void>
  /** How many timers are set. */
  readonly timers: number
}

export type SimulationOptions = {
  /** Wall clock at the start, in milliseconds since 1970. */
  readonly now?: number | undefined
  /** The same value gives the same random numbers. */
  readonly seed?: number | undefined
}

type SimulatedTimer = Timer & { at: number; readonly work: () => void; readonly everyMs: number | undefined }

/**
 * A runtime whose time stands still until it is advanced. A turn of the event loop (`after(0, …)`) is not time and
 * happens by itself, so that work that never waits needs no `advance`.
 */
export function simulate({ now = Date.UTC(2026, 0, 1), seed = 1 }: SimulationOptions = {}): Simulation {
  /** In the order in which they were set, which decides between timers of the same time. */
  const timers = new Set<SimulatedTimer>()
  const random = randomFrom(seed)
  let elapsed = 0

  function set(ms: number, work: () => void, everyMs?: number): Timer {
    const timer: SimulatedTimer = { at: elapsed + ms, work, everyMs, ref: () => timer, unref: () => timer }
    timers.add(timer)
    return timer
  }

  function dueBy(end: number): SimulatedTimer | undefined {
    let first: SimulatedTimer | undefined
    for (const timer of timers) if (timer.at <= end && !(first && first.at <= timer.at)) first = timer
    return first
  }

  const simulation: Simulation = {
    now: () => now + elapsed,
    monotonic: () => elapsed,
    sleep: (ms, options) => sleepBy(simulation, ms, options),
    after: (ms, work) => (ms > 0 ? set(ms, work) : systemRuntime.after(0, work)),
    every: (ms, work) => set(ms, work, ms),
    cancel(timer) {
      if (!timers.delete(timer as SimulatedTimer)) systemRuntime.cancel(timer)
    },
    random,
    uuid: () => uuidFrom(simulation.bytes(16)),
    bytes: (count) => Uint8Array.from({ length: count }, () => Math.trunc(random() * 256)),
    thread() {
      throw new Error('A simulation has no threads: their clock would be the real one')
    },
    get timers() {
      return timers.size
    },
    async advance(ms) {
      const end = elapsed + ms
      await turns()
      for (let timer = dueBy(end); timer; timer = dueBy(end)) {
        elapsed = timer.at
        timers.delete(timer)
        if (timer.everyMs !== undefined) {
          timer.at += timer.everyMs
          timers.add(timer)
        }
        timer.work()
        await turns()
      }
      elapsed = end
    },
  }
  return simulation
}

/** Promises settle within a turn; work that they set for the next turn has run after two. */
async function turns(): Promise<void> {
  for (let n = 0; n < 2; n++) await systemRuntime.sleep(0)
}

/** A 32-bit xorshift, scrambled by a multiplication: for tests, not for secrets. */
function randomFrom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (Math.imul(state, 0x2c1b3c6d) >>> 0) / 2 ** 32
  }
}

function uuidFrom(bytes: Uint8Array): string {
  bytes[6] = 0x40 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

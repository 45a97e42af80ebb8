/** The source of time and random numbers. `Runtime` of `@oncue/runtime` fits, and so does a simulated one. */
export interface ClockAndChance {
  /** Milliseconds since 1970. */
  now(): number
  /** From 0 to 1, without 1. */
  random(): number
  bytes(count: number): Uint8Array
}

/** The default everywhere. The only place in this package that uses the platform's clock and random numbers. */
export const systemClock: ClockAndChance = {
  now: () => Date.now(),
  random: () => Math.random(),
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
}

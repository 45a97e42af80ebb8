import type { Runtime } from './clock.ts'
import { withTimeout } from './timeout.ts'

/** Something that runs until it is stopped. Starting or stopping it twice is harmless; it can be started again. */
export interface Service {
  start(): void
  /** Resolves when nothing of it is running any more. */
  stop(): Promise<void>
}

/** A service that takes time to start, and may fail to. It may be stopped while it starts, and without a start. */
export interface SlowService {
  start(): void | Promise<void>
  stop(): Promise<void>
}

/** Starts in this order and stops in the reverse one. A failed stop does not keep the others from being stopped. */
export function together(services: readonly Service[]): Service {
  return {
    start() {
      for (const service of services) service.start()
    },
    stop: () => stopAll(services),
  }
}

/**
 * A service from a function that opens something, and returns how to close it. A stop waits up to `waitMs` for an `open`
 * under way.
 */
export function toService(
  open: () => Promise<() => Promise<unknown>>,
  waitMs: number,
  runtime?: Runtime,
): SlowService {
  let opening: Promise<(() => Promise<unknown>) | undefined> = Promise.resolve(undefined)
  return {
    async start() {
      opening = open()
      await opening
    },
    async stop() {
      const close = await withTimeout(
        opening.catch(() => undefined),
        waitMs,
        () => undefined,
        runtime,
      )
      await close?.()
    },
  }
}

/**
 * Starts one after the other, and returns what stops them in the reverse order; a second call waits for the first. If one
 * fails to start, or the signal is aborted meanwhile, it and those before it are stopped, and the reason is thrown. An
 * abort does not wait for the start under way.
 */
export async function startAll(
  services: readonly SlowService[],
  signal?: AbortSignal,
): Promise<() => Promise<void>> {
  const started: SlowService[] = []
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  try {
    for (const service of services) {
      started.push(service)
      await Promise.race([service.start(), aborted])
      signal?.throwIfAborted()
    }
  } catch (error) {
    // The reason why it did not start matters more than an error while stopping.
    await stopAll(started).catch(() => {})
    throw error
  }
  let stopped: Promise<void> | undefined
  return () => {
    stopped ??= stopAll(started)
    return stopped
  }
}

/**
 * Runs `work` with a signal that follows `signal` until the work has ended: an abort then interrupts a start, but not
 * what has started. Work that fails after an abort fails with its reason.
 */
export async function abortable<T>(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController()
  const abort = () => inner.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await work(inner.signal)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function stopAll(services: readonly SlowService[]): Promise<void> {
  const errors: unknown[] = []
  for (const service of [...services].reverse()) await service.stop().catch((error) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}

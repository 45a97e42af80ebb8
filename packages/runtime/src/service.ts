/** Something that runs until it is stopped. To start or stop it twice does no harm; it can be started again. */
export interface Service {
  start(): void
  /** Resolves when nothing of it is under way any more. */
  stop(): Promise<void>
}

/** A service that takes time to start, and may fail to. To stop it without a start does no harm. */
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
 * Starts one after the other, and returns what stops them in the reverse order; a second call waits for the first. If one
 * fails to start, or the signal is aborted meanwhile, it and those before it are stopped, and the reason is thrown.
 */
export async function startAll(
  services: readonly SlowService[],
  signal?: AbortSignal,
): Promise<() => Promise<void>> {
  const started: SlowService[] = []
  try {
    for (const service of services) {
      started.push(service)
      await service.start()
      signal?.throwIfAborted()
    }
  } catch (error) {
    // Why it did not start matters more than what its end was like.
    await stopAll(started).catch(() => {})
    throw error
  }
  let stopped: Promise<void> | undefined
  return () => {
    stopped ??= stopAll(started)
    return stopped
  }
}

async function stopAll(services: readonly SlowService[]): Promise<void> {
  const errors: unknown[] = []
  for (const service of [...services].reverse()) await service.stop().catch((error) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}

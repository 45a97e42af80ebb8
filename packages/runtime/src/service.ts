/** Something that runs until it is stopped. To start or stop it twice does no harm; it can be started again. */
export interface Service {
  start(): void
  /** Resolves when nothing of it is under way any more. */
  stop(): Promise<void>
}

/** Starts in this order and stops in the reverse one. A failed stop does not keep the others from being stopped. */
export function together(services: readonly Service[]): Service {
  return {
    start() {
      for (const service of services) service.start()
    },
    async stop() {
      const errors: unknown[] = []
      for (const service of [...services].reverse()) await service.stop().catch((error) => errors.push(error))
      if (errors.length > 0) throw errors[0]
    },
  }
}

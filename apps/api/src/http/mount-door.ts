import type { Runtime, SlowService } from '@oncue/runtime'
import type { FastifyInstance } from 'fastify'

/** As for a server of its own: Docker kills a container 10 s after it asked it to stop. */
const GRACE_MS = 7_000

export interface MountDoor {
  over(app: FastifyInstance): { readonly connections: SlowService; readonly requests: SlowService }
  /** Counts a request as under way until its promise settles. */
  track<T>(work: () => Promise<T>): Promise<T>
}

/** The host application accepts the connections: only requests that are under way are waited for. */
export function createMountDoor(runtime: Runtime): MountDoor {
  const underWay = new Set<Promise<unknown>>()
  return {
    over: (app) => ({
      connections: {
        start: async () => void (await app.ready()),
        stop: async () => {},
      },
      requests: {
        start() {},
        async stop() {
          let timer: ReturnType<Runtime['after']> | undefined
          const cut = new Promise<void>((resolve) => {
            timer = runtime.after(GRACE_MS, resolve)
          })
          await Promise.race([Promise.allSettled(underWay), cut])
          runtime.cancel(timer)
          await app.close()
        },
      },
    }),
    track(work) {
      const done = work()
      underWay.add(done)
      const forget = () => void underWay.delete(done)
      done.then(forget, forget)
      return done
    },
  }
}

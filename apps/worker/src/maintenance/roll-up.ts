import type { Store } from '@oncue/db'
import { Loop } from '@oncue/runtime'
import type { Logger } from '../observability/log.ts'

/** So many notes in one go mean that more are waiting. */
const MANY = 1_000
/** Where nothing happens it is asked for more and more rarely, up to this many times `everyMs`. */
const RAREST = 6

/** Adds up what settles noted down. Reads are exact without it, and quick with it. */
export function createRollUp(options: { store: Store; log: Logger; everyMs: number }): Loop {
  const { store, log, everyMs } = options
  let waitMs = everyMs
  return new Loop({
    log,
    what: 'rolling up statistics',
    async work() {
      const notes = await store.rollUp()
      if (notes >= MANY) return 0
      waitMs = notes > 0 ? everyMs : Math.min(waitMs * 2, everyMs * RAREST)
      return waitMs
    },
  })
}

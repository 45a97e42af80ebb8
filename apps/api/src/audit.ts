import type { NewAuditEntry, Store } from '@oncue/db'
import type { ApiContext } from './context.ts'
import { Batcher } from './enqueue/batcher.ts'
import type { AuditDetails } from './procedures/procedure.ts'

/** Who did what, from where. Written before the caller has its answer; those of one moment in one insert. */
export class Audit {
  readonly #entries: Batcher<NewAuditEntry, void>

  constructor(store: Store) {
    this.#entries = new Batcher<NewAuditEntry, void>(
      async (entries) => {
        await store.audit.record(entries)
        return []
      },
      { maxItems: 500, maxAtOnce: 1 },
    )
  }

  /** What cannot be written is in the log at least. */
  async record(ctx: ApiContext, action: string, { target, count }: AuditDetails): Promise<void> {
    const { id, name, kind } = ctx.principal
    const { id: requestId, ip, userAgent } = ctx.request
    const entry = { actor: { id, name, kind }, action, target, count, ip, userAgent, requestId }
    try {
      await this.#entries.add(entry)
    } catch (error) {
      ctx.log.error({ err: error, ...entry }, 'a change is missing in the audit')
      throw error
    }
  }
}

import type { NewAuditEntry, Store } from '@oncue/db'
import { Batcher } from './batcher.ts'
import type { ApiContext } from './context.ts'
import type { Note } from './operation.ts'

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

  record({ principal, request }: ApiContext, action: string, { target, count }: Note): Promise<void> {
    const { id, name, kind } = principal
    return this.#entries.add({
      actor: { id, name, kind },
      action,
      target,
      count,
      ip: request.ip,
      userAgent: request.userAgent,
      requestId: request.id,
    })
  }
}

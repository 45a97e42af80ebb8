import type { NewAuditEntry, Store } from '@oncue/db'
import type { Runtime, Service } from '@oncue/runtime'
import type { ApiContext } from './context.ts'
import { Batcher } from './enqueue/batcher.ts'
import type { AuditDetails } from './procedures/procedure.ts'

/** Who did what, from where. Entries are written before their requests return; concurrent ones share an insert. */
export class Audit implements Service {
  readonly #entries: Batcher<NewAuditEntry, void>

  constructor(store: Pick<Store, 'audit'>, runtime?: Runtime) {
    this.#entries = new Batcher<NewAuditEntry, void>(
      async (entries) => {
        await store.audit.record(entries)
        return []
      },
      { maxItems: 500, maxAtOnce: 1, runtime },
    )
  }

  start(): void {}

  /** Writes the entries of requests whose connections were cut. */
  stop(): Promise<void> {
    return this.#entries.flush()
  }

  /** An entry that cannot be written is logged. */
  async record(ctx: ApiContext, action: string, { target, count }: AuditDetails): Promise<void> {
    const { id, name, kind } = ctx.principal
    const { id: requestId, ip, userAgent } = ctx.request
    const entry = { actor: { id, name, kind }, action, target, count, ip, userAgent, requestId }
    try {
      await this.#entries.add(entry)
    } catch (error) {
      ctx.log.error({ err: error, ...entry }, 'could not write an audit entry')
      throw error
    }
  }
}

import { OncueError } from '@oncue/core'
import { diagnose, type Finding, type Store } from '@oncue/db'
import { type Runtime, withTimeout } from '@oncue/runtime'

/** Many people look at once when something is slow: they share one look. */
const KEPT_MS = 15_000
/** No page waits longer. The look itself goes on, and the next page gets it. */
const BUDGET_MS = 10_000

export interface DatabaseLook {
  readonly dialect: Store['dialect']
  readonly checkedAt: Date
  readonly findings: readonly Finding[]
}

interface Options {
  readonly url: string
  readonly schema: string | undefined
  readonly store: Pick<Store, 'dialect'>
  readonly runtime: Runtime
}

/** What `oncue doctor` finds out about the database. */
export class DatabaseChecks {
  readonly #options: Options
  #kept: { readonly until: number; readonly look: DatabaseLook } | null = null
  #running: Promise<DatabaseLook> | null = null

  constructor(options: Options) {
    this.#options = options
  }

  async look(): Promise<DatabaseLook> {
    const { runtime } = this.#options
    if (this.#kept && this.#kept.until > runtime.monotonic()) return this.#kept.look
    // One at a time, however long it takes: a slow database is not asked again and again.
    this.#running ??= this.#look().finally(() => {
      this.#running = null
    })
    return withTimeout(
      this.#running,
      BUDGET_MS,
      () => {
        throw new OncueError('DATABASE_BUSY', `The checks have taken longer than ${BUDGET_MS / 1_000} s`)
      },
      runtime,
    )
  }

  /** Kept from its end on, also when it took longer than a page waits. */
  async #look(): Promise<DatabaseLook> {
    const { url, schema, store, runtime } = this.#options
    const findings = await diagnose(url, { schema, runtime })
    const look = { dialect: store.dialect, checkedAt: new Date(runtime.now()), findings }
    this.#kept = { until: runtime.monotonic() + KEPT_MS, look }
    return look
  }
}

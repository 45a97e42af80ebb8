import { OncueError } from '@oncue/core'
import { diagnose, type Finding, type Store } from '@oncue/db'
import { type Runtime, withTimeout } from '@oncue/runtime'
import { TtlCache } from '../ttl-cache.ts'

/** Many people look at once when something is slow: they share one look. */
const KEPT_MS = 15_000
/** No page waits longer. The look itself goes on, and the next one may find it done. */
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
  readonly #looks: TtlCache<DatabaseLook>
  #running: Promise<readonly Finding[]> | null = null

  constructor(options: Options) {
    this.#options = options
    this.#looks = new TtlCache(KEPT_MS, 1, options.runtime)
  }

  look(): Promise<DatabaseLook> {
    return this.#looks.get('', () => this.#look())
  }

  async #look(): Promise<DatabaseLook> {
    const { store, runtime } = this.#options
    const findings = await withTimeout(
      this.#diagnose(),
      BUDGET_MS,
      () => {
        throw new OncueError('DATABASE_BUSY', `The checks have taken longer than ${BUDGET_MS / 1_000} s`)
      },
      runtime,
    )
    return { dialect: store.dialect, checkedAt: new Date(runtime.now()), findings }
  }

  /** One at a time, however long it takes: a slow database is not asked again and again. */
  #diagnose(): Promise<readonly Finding[]> {
    const { url, schema, runtime } = this.#options
    this.#running ??= diagnose(url, { schema, runtime }).finally(() => {
      this.#running = null
    })
    return this.#running
  }
}

import type { Store } from '@oncue/db'
import type { Control } from '@oncue/db/control'
import type { Logger, Runtime } from '@oncue/runtime'
import type { Audit } from './audit.ts'
import type { FailedAttempts } from './auth/failed-attempts.ts'
import type { Auth, Principal } from './auth/principal.ts'
import type { LiveSettings } from './auth/settings.ts'
import type { BulkRunner } from './bulk/runner.ts'
import type { Delivery } from './delivery/delivery.ts'
import type { Enqueuer } from './enqueue/enqueuer.ts'
import type { PayloadValidation } from './enqueue/payload-validation.ts'
import type { RequestIds } from './enqueue/request-ids.ts'
import type { DatabaseChecks } from './health/database.ts'
import type { Live } from './live/live.ts'
import type { SearchBudget } from './procedures/search-budget.ts'

/** Shared by all requests of a process. */
export interface Services {
  /** What workers, producers and requests read and write. */
  readonly store: Store
  /** What people list and edit. */
  readonly control: Control
  readonly auth: Auth
  readonly settings: LiveSettings
  readonly audit: Audit
  readonly enqueuer: Enqueuer
  readonly requestIds: RequestIds
  readonly delivery: Delivery
  readonly live: Live
  readonly database: DatabaseChecks
  readonly bulk: BulkRunner
  readonly payloads: PayloadValidation
  readonly log: Logger
  /** Time and chance: the system's, or a simulation's. */
  readonly runtime: Runtime
  readonly failedAttempts: FailedAttempts
  readonly searches: SearchBudget
  /** Where people reach this server; null: where each request came in. */
  readonly publicUrl: string | null
}

/** What a procedure gets: the services, and the caller. */
export interface ApiContext extends Services {
  readonly principal: Principal
  /** Why the credentials were refused; every procedure throws it. */
  readonly denied?: unknown
  readonly request: {
    readonly id: string
    readonly ip: string
    readonly userAgent: string
    /** Where the caller reached us, as in `https://oncue.example`. */
    readonly origin: string
    /** Whether the caller has left: no answer reaches it. */
    readonly isGone?: () => boolean
    /** Aborted when the caller leaves, at the latest when its response has ended. */
    readonly gone?: () => AbortSignal
  }
}

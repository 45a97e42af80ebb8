import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { JobId } from '@oncue/core'
import { openStore, type Rescued, type WorkerInfo } from '@oncue/db'
import type { Logger } from '../observability/log.ts'
import { type Claim, type KeptRun, LeaseKeeper, type LedgerPosition } from './keeper.ts'
import { LeaseLedger } from './ledger.ts'
import { type RetryPolicies, settleBlocked, Watchdog } from './watchdog.ts'

export interface LeaseThreadData {
  readonly url: string
  readonly schema: string
  readonly ledger: SharedArrayBuffer
  readonly worker: WorkerInfo
  readonly leaseMs: number
  readonly abandonMs: number
  readonly policies: RetryPolicies
}

export type ToLeaseThread = { readonly keep: Claim } | { readonly stop: true }

export type FromLeaseThread =
  | { readonly ready: { readonly visible: boolean } }
  | { readonly failed: unknown }
  | { readonly lost: LedgerPosition[] }
  | { readonly cancelled: LedgerPosition[] }
  | { readonly rescued: Rescued[] }
  | {
      readonly log: {
        readonly level: keyof Logger & Level
        readonly fields: object
        readonly message: string
      }
    }

type Level = 'debug' | 'info' | 'warn' | 'error'

/** How long the last words to the database may take before the process ends without them. */
const LAST_WORDS_MS = 5_000

const { url, schema, ledger: memory, worker, leaseMs, abandonMs, policies } = workerData as LeaseThreadData
const post = (message: FromLeaseThread) => parentPort?.postMessage(message)

const line = (level: Level) => (fields: object, message: string) => post({ log: { level, fields, message } })
const log: Logger = {
  debug: line('debug'),
  info: line('info'),
  warn: line('warn'),
  error: line('error'),
  child: () => log,
}

try {
  const store = await openStore(url, { schema, poolSize: 2 })
  const ledger = new LeaseLedger(memory)
  const dog = new Watchdog(ledger, abandonMs)
  let isCondemned = false

  const keeper = new LeaseKeeper({
    store,
    worker,
    leaseMs,
    ledger,
    log,
    onLost: (lost) => post({ lost }),
    onCancelled: (cancelled) => post({ cancelled }),
    onRescued: (rescued) => post({ rescued }),
    watchdog: (runs) => {
      const overdue = dog.overdue(runs, performance.now())
      if (overdue.length === 0 || isCondemned) return
      isCondemned = true
      void condemn(overdue)
    },
  })

  /** The event loop of the process is blocked for good: nothing but its end helps. */
  async function condemn(overdue: readonly KeptRun[]): Promise<void> {
    const jobs: JobId[] = overdue.map(({ id }) => id)
    const message = 'a handler blocks the event loop past its timeout: this process ends itself'
    const end = () => {
      writeSync(
        2,
        `${JSON.stringify({ level: 'fatal', pid: process.pid, worker: worker.id, jobs, message })}\n`,
      )
      process.kill(process.pid, 'SIGKILL')
    }
    setTimeout(end, LAST_WORDS_MS)
    await keeper.pause()
    const late = new Set(jobs)
    const others = keeper.all().filter(({ id }) => !late.has(id))
    await settleBlocked(store, worker.id, overdue, others, policies).catch(() => {})
    end()
  }

  parentPort?.on('message', async (message: ToLeaseThread) => {
    if ('keep' in message) return keeper.keep(message.keep)
    await keeper.stop()
    await store.close()
    // With nobody to listen to, the thread ends.
    parentPort?.close()
  })
  post({ ready: await keeper.start() })
} catch (failed) {
  post({ failed })
  parentPort?.close()
}

import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { OncueError } from '@oncue/core'
import type { Registry } from '@oncue/core/internal'
import type { Rescued, Store, WorkerInfo } from '@oncue/db'
import { GOODBYE_MS } from '../goodbye.ts'
import type { Logger } from '../observability/log.ts'
import { LeaseKeeper, type LedgerPosition, toClaim } from './keeper.ts'
import type { LeaseLedger } from './ledger.ts'
import type { OwnedRun } from './owned-runs.ts'
import type { FromLeaseThread, LeaseThreadData, ToLeaseThread } from './thread.ts'
import { PULSE_MS, type RetryPolicies } from './watchdog.ts'

export interface LeaseOptions {
  readonly store: Store
  readonly worker: WorkerInfo
  readonly leaseMs: number
  readonly abandonMs: number
  readonly ledger: LeaseLedger
  readonly policies: RetryPolicies
  readonly log: Logger
  onLost(positions: LedgerPosition[]): void
  onCancelled(positions: LedgerPosition[]): void
  onRescued(rescued: Rescued[]): void
  /** All runs owned now: for a thread that replaces one that died. */
  owned(): OwnedRun[]
}

/** The lease as the main thread sees it. */
export interface Lease {
  /** False where others cannot see this worker die: then only the lease tells. */
  readonly visible: boolean
  /** To be told before any of them starts: a handler may block the main thread at once. */
  keep(owned: readonly OwnedRun[]): void
  stop(): Promise<void>
}

export async function startInlineLease(options: LeaseOptions): Promise<Lease> {
  const keeper = new LeaseKeeper(options)
  const { visible } = await keeper.start()
  return { visible, keep: (owned) => keeper.keep(toClaim(owned)), stop: () => keeper.stop() }
}

export async function startThreadLease(options: LeaseOptions): Promise<Lease> {
  const { ledger, log } = options
  let isStopping = false
  let restart: NodeJS.Timeout | undefined
  let thread = await startThread(options, () => replace())
  const pulse = setInterval(() => ledger.beatPulse(), PULSE_MS).unref()

  /** A thread that died, of memory perhaps, is replaced at once: its presence is gone, and others look. */
  function replace(waitMs = 0): void {
    if (isStopping) return
    log.error({}, 'the lease thread ended unexpectedly; starting another')
    restart = setTimeout(async () => {
      try {
        thread = await startThread(options, () => replace())
        thread.send({ keep: toClaim(options.owned()) })
        // It may have become ready while all was being stopped.
        if (isStopping) thread.send({ stop: true })
      } catch (err) {
        log.error({ err }, 'the lease thread could not be started again')
        replace(RESTART_MS)
      }
    }, waitMs)
  }

  return {
    visible: thread.visible,
    keep: (owned) => thread.send({ keep: toClaim(owned) }),
    async stop() {
      isStopping = true
      clearTimeout(restart)
      clearInterval(pulse)
      thread.send({ stop: true })
      await thread.ended
    },
  }
}

const RESTART_MS = 1_000

interface Thread {
  readonly visible: boolean
  send(message: ToLeaseThread): void
  readonly ended: Promise<void>
}

async function startThread(options: LeaseOptions, onDeath: () => void): Promise<Thread> {
  const { store, ledger, worker, leaseMs, abandonMs, policies, log } = options
  const workerData: LeaseThreadData = {
    url: store.url,
    schema: store.schema,
    ledger: ledger.buffer,
    worker,
    leaseMs,
    abandonMs,
    policies,
  }
  // The extension of this file: the thread runs from the sources and from the build alike.
  const file = new URL(`./thread${extname(import.meta.url)}`, import.meta.url)
  const thread = new Worker(file, { workerData, execArgv: [], name: 'oncue lease' })
  let endThread = () => {}
  const ended = new Promise<void>((resolve) => {
    endThread = resolve
  })
  const visible = await new Promise<boolean>((resolve, reject) => {
    thread.on('message', (message: FromLeaseThread) => {
      if ('ready' in message) resolve(message.ready.visible)
      else if ('failed' in message) reject(message.failed)
      else if ('lost' in message) options.onLost(message.lost)
      else if ('cancelled' in message) options.onCancelled(message.cancelled)
      else if ('rescued' in message) options.onRescued(message.rescued)
      // Under `node --watch` Node sends messages of its own this way, too.
      else if ('log' in message) log[message.log.level](message.log.fields, message.log.message)
    })
    thread.on('error', (err) => {
      log.error({ err }, 'the lease thread failed')
      reject(err)
    })
    thread.on('exit', () => {
      reject(new OncueError('INTERNAL', 'The lease thread ended before it was ready'))
      endThread()
    })
  })
  thread.once('exit', onDeath)
  return {
    visible,
    ended,
    send(message) {
      thread.postMessage(message)
      if ('stop' in message) setTimeout(() => void thread.terminate(), GOODBYE_MS).unref()
    },
  }
}

export function policiesOf(registry: Registry, fallback: RetryPolicies['fallback']): RetryPolicies {
  const byTopic: Record<string, NonNullable<RetryPolicies['fallback']>> = {}
  for (const { topic, retry } of registry.describe()) if (retry) byTopic[topic] = retry
  return { byTopic, fallback }
}

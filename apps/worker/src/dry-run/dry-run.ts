import type { Worker } from '@oncue/core'
import { parsePayload, type Registry, signalOf } from '@oncue/core/internal'
import type { ClaimedJob, DurableStore, Outcome, Store } from '@oncue/db'
import { type Runtime, silentLogger } from '@oncue/runtime'
import { RunContext, type RunView } from '../run/context.ts'
import type { DryRun } from '../run/durable/calls.ts'
import { JobEvents } from '../run/job-events.ts'
import { compose, type Middleware } from '../run/middleware.ts'
import { OutcomeRecorder } from '../run/outcome-recorder.ts'

/** What a handler may still read; the rest of the store is not there. */
export interface Reads {
  results: DurableStore['results']
  waitedFor: Store['waitedFor']
}

export interface DryRunOptions {
  readonly registry: Registry
  readonly middleware: readonly Middleware[]
  readonly reads: Reads
  readonly runtime: Runtime
}

/** How the handler ended before it came to anything new; `stopped`: it came to something new, or to what the job waits for. */
type HandlerEnd =
  | { readonly how: 'stopped' | 'returned' }
  | { readonly how: 'threw'; readonly error: unknown }

export type DryRunEnd = HandlerEnd & {
  /** The keys that are recorded, or for which the job waits, and to which the handler did not come. */
  readonly missing: readonly string[]
  /** The keys of the calls at which it stopped. */
  readonly stopsAt: readonly string[]
}

/**
 * Repeats the handler of a job up to its first call that is not recorded, as the next run would. It is like a job that is
 * being undone: nothing begins, and nothing is told. Nothing is undone either, because the run ends there.
 */
export async function dryRun(
  job: ClaimedJob,
  outcomes: readonly Outcome[],
  worker: Worker,
  { registry, middleware, reads, runtime }: DryRunOptions,
): Promise<DryRunEnd> {
  const expected = expectedKeys(job, outcomes)
  const came = new Set<string>()
  const stopsAt: string[] = []
  const missing = () => expected.filter((key) => !came.has(key))
  const witness: DryRun = {
    cameTo: (key) => void came.add(key),
    stoppedAt: (key) => {
      stopsAt.push(key)
      came.add(key).add(openWaitOf(key))
    },
    get isCaughtUp() {
      return missing().length === 0
    },
  }

  let end: (how: HandlerEnd) => void = () => {}
  const ended = new Promise<HandlerEnd>((resolve) => {
    end = resolve
  })
  let isOver = false
  const view: RunView = {
    job: { ...job, run: job.run + 1, ending: { status: 'cancelled' } },
    signal: new AbortController().signal,
    get isOver() {
      return isOver
    },
    aborted: null,
    isIsolated: false,
    dryRun: witness,
    lose() {},
    refuseRepeat() {},
    suspend() {},
    stop: () => end({ how: 'stopped' }),
  }
  const store = readOnly(outcomes, reads)
  const shared = { store, worker: undefined, log: silentLogger, runtime }
  const around = { ...shared, registry, events: new JobEvents(shared), recorder: new OutcomeRecorder(shared) }
  const running = { ...view.job, payload: parsePayload(worker.definition.input, job.payload, job.topic) }
  const context = new RunContext(running, view, around, worker)
  compose(middleware)(running, context, () => worker.handler(running, context)).then(
    () => end({ how: 'returned' }),
    // What only says that nothing new begins: `ctx.complete` throws it.
    (error) => end(signalOf(error)?.kind === 'suspend' ? { how: 'stopped' } : { how: 'threw', error }),
  )
  try {
    return { ...(await ended), missing: missing(), stopsAt }
  } finally {
    isOver = true
    context.closeWaits()
  }
}

/** What a later run asks for: all that was recorded and counts, and the waits that are open. */
function expectedKeys({ waits, ending }: ClaimedJob, outcomes: readonly Outcome[]): string[] {
  const recorded = outcomes.flatMap(({ key, kind, data }): string[] => {
    switch (kind) {
      // A signal may come early, and a change may have become the only way.
      case 'signal':
      case 'since':
      case 'refused':
      case 'undone':
        return []
      case 'spawn':
        return Object.keys(data as object)
      case 'wait':
        return callOf(key.slice('wait:'.length))
      default:
        return callOf(key)
    }
  })
  // A job that is being undone waits for its undos only.
  const open = ending?.status ? [] : (waits?.for ?? []).map(({ kind, name }) => `${WAITS[kind]}${name}`)
  return [...new Set([...recorded, ...open])]
}

/** How the keys of calls begin that wait so. */
const WAITS = { timer: 'sleep:', retry: 'step:', signal: 'receive:', ask: 'ask:', children: '' } as const

/** A waiting job does not tell the number of its receive, nor which children it waits for. */
function openWaitOf(key: string): string {
  if (key.startsWith('receive:')) return withoutNumber(key)
  return /^all#\d+(?=:)/.exec(key)?.[0] ?? key
}

/** The pause of a step belongs to the step; that of an undo to no call of the handler. */
function callOf(key: string): string[] {
  if (key.startsWith('undo_retry:')) return []
  return [key.startsWith('retry:') ? withoutNumber(key).replace('retry:', 'step:') : key]
}

/** `receive:bank` of `receive:bank#2`. */
const withoutNumber = (key: string) => key.replace(/#\d+$/, '')

function readOnly(outcomes: readonly Outcome[], { results, waitedFor }: Reads) {
  const refuse = () => Promise.reject(new Error('a dry run writes nothing'))
  return {
    dialect: 'sqlite' as const,
    waitedFor,
    recordProgress: refuse,
    durable: {
      outcomes: async () => [...outcomes],
      results,
      // A run also asks what is new, with nothing to record.
      record: async (runs: Parameters<DurableStore['record']>[0]) =>
        runs.some((run) => run.outcomes.length > 0) ? refuse() : { stale: [], recorded: new Map() },
      live: refuse,
      spawn: refuse,
      signal: refuse,
      answer: refuse,
      openCommit: refuse,
      commit: refuse,
      complete: refuse,
      hasCompleted: refuse,
      aheadMs: () => null,
    },
  }
}

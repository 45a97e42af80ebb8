import { newJobId, OncueError } from '@oncue/core'
import { type BulkAction, type BulkOperation, bulkOperationSchema } from '@oncue/core/wire'
import type { BulkOperationRow, JobFilter, Store } from '@oncue/db'
import { refuse, toDurationUpTo, toWhole } from '@oncue/db/cli'
import type { Control } from '@oncue/db/control'
import { systemRuntime } from '@oncue/runtime'
import type { Command } from 'commander'
import type { Call } from './command.ts'

export interface BulkOptions {
  readonly spread?: number
  readonly canary?: number
  readonly maxFailed?: number
  readonly stopWhenFailing?: number
}

/** As the API limits them. */
const MAX_SPREAD_MS = 86_400_000
const MAX_CANARY = 500

/** For actions whose jobs run again, and so have an outcome. */
export function addBulkOptions(command: Command): Command {
  return command
    .option('--spread <time>', 'with a filter: spread the jobs over this time, at most a day: 10m', toSpread)
    .option(
      '--canary <number>',
      'with a filter: do this many first, and the others only when those complete',
      toWhole(1, MAX_CANARY),
    )
    .option(
      '--max-failed <number>',
      'with --canary: how many of them may fail again; default: 0',
      toMaxFailed,
    )
    .option(
      '--stop-when-failing <percent>',
      'with a filter: stop when more than this share of the jobs fails again, of at least ten: 20%',
      toShare,
    )
}

const toMaxFailed = toWhole(0, MAX_CANARY - 1)

function toSpread(text: string): number {
  const ms = toDurationUpTo(MAX_SPREAD_MS)(text)
  return ms % 1_000 === 0 ? ms : refuse('Use whole seconds.')
}

function toShare(text: string): number {
  const [, percent] = /^(\d+(?:\.\d+)?)%$/.exec(text) ?? []
  return percent !== undefined && Number(percent) <= 100
    ? Number(percent) / 100
    : refuse('Use a share from 0% to 100%, such as 20%.')
}

/** Whether the caller wants a bulk operation, instead of all jobs at once. */
export function wantsBulk({ spread, canary, maxFailed, stopWhenFailing }: BulkOptions): boolean {
  if (maxFailed !== undefined && canary === undefined)
    throw new OncueError('INVALID_INPUT', '--max-failed needs --canary')
  if (canary !== undefined && maxFailed !== undefined && maxFailed >= canary)
    throw new OncueError('INVALID_INPUT', '--max-failed must be less than --canary')
  return (spread ?? canary ?? stopWhenFailing) !== undefined
}

interface Asked {
  readonly action: BulkAction
  readonly filter: JobFilter
  readonly say: (progress: string) => void
}

/** How often progress is read. */
const LOOK_MS = 500
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Begins a bulk operation, and runs it to its end as an API would. A signal stops the operation. */
export async function runBulk(
  store: Store,
  call: Call<BulkOptions & { readonly by: string }>,
  { action, filter, say }: Asked,
): Promise<BulkOperationRow> {
  const {
    note,
    options: { by, spread = 0, canary, maxFailed = 0, stopWhenFailing },
  } = call
  const { BulkRunner } = await import('@oncue/api/bulk')
  const { bulkOperations } = await openBulk(store)
  const asOf = await store.now()
  const matched = await store.bulkOperations.count(filter, asOf, spread > 0 ? 'all' : 'enough')
  const id = newJobId(asOf.getTime())
  const request = {
    action,
    filter,
    asOf,
    spreadMs: spread,
    canary: canary === undefined ? undefined : { count: canary, maxFailed },
    stopWhenFailing,
  }
  const actor = actorOf(by)
  const { filterError } = matched
  await bulkOperations.create({ ...request, ...matched, actor, idempotencyKey: id }, id)
  await store.audit.record([
    {
      actor,
      action: 'bulkOperations.run',
      target: { id, ...request, ...(filterError && { filterError }) },
      count: matched.total,
    },
  ])
  const log = {
    info: (_: object, message: string) => note(`note: ${message}`),
    warn: (fields: object, message: string) => note(`note: ${message}${reasonOf(fields)}`),
    error: (fields: object, message: string) => note(`note: ${message}${reasonOf(fields)}`),
  }
  const runner = new BulkRunner({ store, control: { bulkOperations }, log, only: id })
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  for (const signal of SIGNALS) process.once(signal, stop)
  note(`bulk operation ${id} has begun; Ctrl-C stops it`)
  runner.start()
  try {
    for (;;) {
      if (stopping.signal.aborted) return await stopBulk(store, id, by)
      const operation = await bulkOperations.get(id)
      if (!operation) throw notFound(id)
      if (operation.finishedAt) return operation
      say(progressOf(operation))
      await systemRuntime.sleep(LOOK_MS, { signal: stopping.signal })
    }
  } catch (error) {
    note(`bulk operation ${id} has not ended: an API continues it, and oncue bulk stop ${id} stops it`)
    throw error
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop)
    await runner.stop()
  }
}

/** What was done stays done. One that has ended stays as it is. */
export async function stopBulk(store: Store, id: string, by: string): Promise<BulkOperationRow> {
  const { bulkOperations } = await openBulk(store)
  const wasEnded = (await bulkOperations.get(id))?.finishedAt
  const stopped = await bulkOperations.stop(id, by)
  const { action, status, skipped, done } = stopped
  if (!wasEnded)
    await store.audit.record([
      {
        ...{ actor: actorOf(by), action: 'bulkOperations.stop' },
        ...{ target: { id, action, status, skipped }, count: done },
      },
    ])
  return stopped
}

/** Control needs Prisma, which other commands do without. */
export async function openBulk(store: Store): Promise<Control> {
  const { openControl } = await import('@oncue/api/bulk')
  return openControl(store)
}

export const notFound = (id: string) =>
  new OncueError('BULK_OPERATION_NOT_FOUND', `There is no bulk operation ${id}`)

const actorOf = (by: string) => ({ id: '', name: by, kind: 'command' })

function reasonOf(fields: object): string {
  return 'err' in fields && fields.err instanceof Error ? `: ${fields.err.message}` : ''
}

/** As the API returns it. */
export function toJson({ spreadMs, actor: { id, name }, ...row }: BulkOperationRow): BulkOperation {
  return bulkOperationSchema.parse({ ...row, spreadSeconds: spreadMs / 1_000, by: { id, name } })
}

/** `120 of 312, canary; 3 failed again`. */
export function progressOf({ status, done, total, totalIsExact, outcomes }: BulkOperationRow): string {
  const canary = status === 'canary' ? ', canary' : ''
  const failed = outcomes?.failedAgain ? `; ${number(outcomes.failedAgain)} failed again` : ''
  return `${number(done)} of ${totalIsExact ? '' : 'at least '}${number(total)}${canary}${failed}`
}

/** `3 completed, 2 failed again`. */
export function outcomesOf({ outcomes }: BulkOperationRow): string {
  if (!outcomes) return ''
  const { completed, failedAgain, cancelled, running, waiting } = outcomes
  const named = { completed, 'failed again': failedAgain, cancelled, running, waiting }
  return Object.entries(named)
    .flatMap(([word, jobs]) => (jobs > 0 ? [`${number(jobs)} ${word}`] : []))
    .join(', ')
}

/** `stopped by ada@web-1`, `stopped: 2 of 5 failed again`. */
export function endOf({ status, error, stoppedBy }: BulkOperationRow): string {
  if (error) return `${status}: ${error.message}`
  return stoppedBy === null ? status : `${status} by ${stoppedBy}`
}

const number = (value: number) => value.toLocaleString('en-US')

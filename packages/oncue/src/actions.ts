import { isJobId, type JobId, type JobStatus, OncueError, stateOf } from '@oncue/core'
import { canAct } from '@oncue/core/internal'
import { type BulkAction, isPendingKind, wantedStates } from '@oncue/core/wire'
import { ACTION_METHODS, type ActionReport, type BulkOperationRow, type Store, toTarget } from '@oncue/db'
import { count, EXIT, type Output, plain } from '@oncue/db/cli'
import type { Command } from 'commander'
import { addFilters, EVERY_STATUS, type FilterOptions, toFilter } from './arguments.ts'
import {
  addBulkOptions,
  type BulkOptions,
  endOf,
  outcomesOf,
  runBulk,
  toJson,
  wantsBulk,
} from './bulk-operation.ts'
import { implement, whoami, withStore } from './command.ts'
import { requeueWithPayload } from './requeue-with-payload.ts'

interface Options extends FilterOptions, BulkOptions {
  readonly yes?: true
  readonly by: string
  readonly payload?: string
  readonly fromStep?: string
  readonly fromStart?: true
}

interface Action {
  readonly name: string
  readonly action: BulkAction
  readonly done: string
  readonly description: string
  /** The statuses that a filter without one means. */
  readonly status: JobStatus
  readonly examples: readonly string[]
}

const ACTIONS: readonly Action[] = [
  {
    name: 'requeue',
    action: 'requeue',
    done: 'requeued',
    description: 'requeue finished jobs, with all their retries',
    status: 'failed',
    examples: [
      '01a2b3c4-…',
      '--topic mail_digest --since 2h --yes',
      '--topic mail_digest --canary 5 --spread 10m --yes',
      '01a2b3c4-… --from-step charge',
      `01a2b3c4-… --payload '{"userId":"123"}'`,
    ],
  },
  {
    name: 'run-now',
    action: 'run_now',
    done: 'set to run now',
    description: 'run retrying and scheduled jobs now, instead of at their time',
    status: 'pending',
    examples: ['01a2b3c4-…', '--topic mail_digest --yes', '--topic mail_digest --canary 5 --yes'],
  },
  {
    name: 'cancel',
    action: 'cancel',
    done: 'cancelled',
    description: 'cancel waiting and suspended jobs, and ask running ones to stop',
    status: 'pending',
    examples: ['01a2b3c4-…', '--queue imports --status processing --yes'],
  },
  {
    name: 'delete',
    action: 'delete',
    done: 'deleted',
    description: 'permanently delete pending or failed jobs',
    status: 'failed',
    examples: ['01a2b3c4-…', '--status failed --until 30d --yes'],
  },
]

export function addActions(program: Command): void {
  for (const action of ACTIONS) addAction(program, action)
}

function addAction(program: Command, asked: Action): void {
  const { name, action, done, description, status, examples } = asked
  const method = ACTION_METHODS[action]
  const command = program
    .command(name)
    .summary(description)
    .description(`${description}: by their ids, or by a filter (default status: ${status})`)
    .argument('[ids...]', 'job ids; omit them with a filter')
  addFilters(
    command,
    EVERY_STATUS.filter((each) => canAct(action, each)),
  )
    .option('--yes', 'with a filter: do it; without --yes, only count the matching jobs')
    .option('--by <name>', "your name, for the job's events", whoami())
  if (action === 'requeue' || action === 'run_now') addBulkOptions(command)
  if (action === 'requeue')
    command
      .option(
        '--payload <json>',
        'requeue one finished or retrying job with another payload: JSON, @file, or - for standard input; shows the changes, and asks unless --yes',
      )
      .option('--from-step <name>', 'requeue one job that repeats this step and all after it')
      .option('--from-start', 'requeue one job that repeats all of its steps')
  implement<Options>(
    command,
    examples,
    withStore(name, async (store, call, say) => {
      const {
        options,
        args: [given],
      } = call
      const ids = readIds(given as string[])
      const filter = toFilter(options)
      const isFilter = Object.values(filter).some((value) => value !== undefined)
      if (ids.length > 0 === isFilter) {
        throw new OncueError('INVALID_INPUT', 'Give either job ids or a filter', {
          hint: `See oncue ${name} --help.`,
        })
      }
      if (options.fromStep !== undefined || options.fromStart) return requeueFrom(store, options, ids)
      if (options.payload !== undefined) return requeueWithPayload(store, call, ids)
      const isBulk = wantsBulk(options)
      if (!isFilter) {
        if (isBulk)
          throw new OncueError('INVALID_INPUT', 'A bulk operation needs a filter, not job ids', {
            hint: `See oncue ${name} --help.`,
          })
        const report = await store[method](ids, { by: options.by })
        if (action === 'requeue' && report.skipped.INVALID_STATE) await suggestRunNow(store, ids, call.note)
        return answer(report, asked, Object.keys(report.skipped).length > 0 ? EXIT.failed : EXIT.done)
      }
      const meant = wantedStates(filter) ?? [status]
      if (!meant.some((each) => canAct(action, isPendingKind(each) ? 'pending' : each))) {
        throw new OncueError('INVALID_INPUT', `${meant.join(' and ')} jobs cannot be ${done}`, {
          hint: `See oncue ${name} --help.`,
        })
      }
      const target = toTarget({ ...filter, status: [...meant] })
      if (options.yes && isBulk)
        return ended(await runBulk(store, call, { action, filter: target, say }), asked)
      if (options.yes) {
        const report = await store[method](target, { by: options.by })
        return answer(report, asked, isInVain(report) ? EXIT.failed : EXIT.done)
      }
      const { total, totalIsExact } = await store.list(target, { limit: 1 })
      const matching = `${totalIsExact ? '' : 'at least '}${count(total, 'job')}`
      return {
        text: `${matching} would be ${done}; add --yes to do it`,
        json: { matching: total, isExact: totalIsExact, done: 0, skipped: {} },
        exit: EXIT.usage,
      }
    }),
  )
}

/** One job, because the steps of another are others. */
async function requeueFrom(
  store: Store,
  { fromStep, fromStart, payload, by }: Options,
  ids: readonly JobId[],
): Promise<Output> {
  const [id] = ids
  const isAlone = payload === undefined && (fromStep === undefined || !fromStart)
  if (id === undefined || ids.length > 1 || !isAlone)
    throw new OncueError(
      'INVALID_INPUT',
      'Give exactly one job id, and only one of --from-step, --from-start and --payload',
      { hint: 'See oncue requeue --help.' },
    )
  const step = fromStep ?? null
  await store.requeueFrom({ id, step, by })
  const from = step === null ? 'the start' : `step ${plain(step)}`
  return { text: `1 job requeued from ${from}`, json: { id, step, done: 1 } }
}

/** How many of the given jobs are looked at. */
const SUGGESTED = 20

/** A retrying job is not finished, so it cannot be requeued; but it need not wait for its time. */
async function suggestRunNow(
  store: Store,
  ids: readonly JobId[],
  note: (text: string) => void,
): Promise<void> {
  const [now, ...jobs] = await Promise.all([
    store.now(),
    ...ids.slice(0, SUGGESTED).map((id) => store.get(id)),
  ])
  const retrying = jobs.flatMap((job) => (job && stateOf(job, now) === 'retrying' ? [job.id] : []))
  if (retrying.length > 0)
    note(
      `note: ${count(retrying.length, 'job waits', 'jobs wait')} for a retry; to run now: oncue run-now ${retrying.join(' ')}`,
    )
}

function readIds(given: readonly string[]): JobId[] {
  return given.map((id) => {
    if (isJobId(id)) return id
    throw new OncueError('INVALID_INPUT', `${JSON.stringify(id)} is not a job id`)
  })
}

/** Why a job was left alone, in the words of the app. */
const REASONS: Readonly<Record<string, string>> = {
  ALREADY_DUE: 'already due',
  BLOCKED: 'waiting for other jobs',
  BUSY: 'being claimed by a worker',
  CHANGED: 'changed in the meantime',
  FINISHED: 'already finished',
  HAS_DEPENDANTS: 'other jobs wait for them',
  JOB_NOT_FOUND: 'no longer there',
  PARENT_LIVE: 'their parent is live and uses their results',
  RUNNING: 'already running',
  SUSPENDED: 'suspended until a signal, a timer or their children',
  THROTTLED: 'waiting for a slot of their concurrency key',
  UNDOING: 'being undone',
  UNIQUE_KEY_LIVE: 'another job holds the same unique key',
}

/** What the status of a job did not allow. */
const WRONG_STATUS: Readonly<Record<BulkAction, string>> = {
  requeue: 'already waiting or running',
  run_now: 'not waiting for their time',
  cancel: 'already finished',
  delete: 'only waiting and failed jobs can be deleted',
}

function reasonInWords(reason: string, action: BulkAction): string {
  if (reason === 'INVALID_STATE') return WRONG_STATUS[action]
  return REASONS[reason] ?? reason
}

export const skippedInWords = (skipped: ActionReport['skipped'], action: BulkAction): string[] =>
  Object.entries(skipped).map(
    ([reason, jobs]) => `${jobs.toLocaleString('en-US')} skipped: ${reasonInWords(reason, action)}`,
  )

const reportInWords = (report: ActionReport, { done, action }: Action): string[] => [
  `${count(report.done, 'job')} ${done}`,
  ...skippedInWords(report.skipped, action),
]

/** All that matched was skipped. */
const isInVain = ({ done, skipped }: ActionReport) => done === 0 && Object.keys(skipped).length > 0

function answer(report: ActionReport, asked: Action, exit: number): Output {
  return { text: reportInWords(report, asked).join('\n'), json: report, exit }
}

/** Of a bulk operation that has ended. */
function ended(operation: BulkOperationRow, asked: Action): Output {
  const { id, status } = operation
  const outcomes = outcomesOf(operation)
  const lines = [
    ...reportInWords(operation, asked),
    ...(outcomes ? [`so far: ${outcomes}; see oncue bulk show ${id}`] : []),
    ...(status === 'completed' ? [] : [plain(endOf(operation))]),
  ]
  return {
    text: lines.join('\n'),
    json: toJson(operation),
    exit: status === 'completed' && !isInVain(operation) ? EXIT.done : EXIT.failed,
  }
}

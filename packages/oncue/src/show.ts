import { isJobId, type JobError, type JobId, type JobSummary, type JobWaits, OncueError } from '@oncue/core'
import { isIdSuffix, type Timeline } from '@oncue/core/wire'
import type { Explanation, JobDetails, Store } from '@oncue/db'
import { count, plain } from '@oncue/db/cli'
import { formatDuration } from '@oncue/runtime'
import type { Command } from 'commander'
import { implement, withStore } from './command.ts'
import { errorInWords, fields, formatTime, fromNow, plainLines, styled, table, terse } from './format.ts'
import { describeEvent } from './job-event.ts'
import { colouredStatus, statusOf } from './list.ts'
import { describeTimeline } from './timeline.ts'
import { retryInWords, waitInWords } from './waits.ts'

export function addShow(program: Command): void {
  implement<object>(
    program
      .command('show')
      .description('show one job: why it waits, payload, result, error, events')
      .argument('<id>', 'job id, or the beginning or the end of one'),
    ['01a2b3c4-…', '5d6e7f80 --json'],
    withStore('reading', async (store, { args: [id] }) => {
      const job = await store.get(await fullId(store, String(id)))
      if (!job) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
      const [now, waiting, story] = await Promise.all([
        store.now(),
        store.explain(job.id),
        store.timeline(job.id),
      ])
      return { text: describe(job, waiting, story, now), json: { ...job, waiting: waiting?.reasons ?? [] } }
    }),
  )
}

export async function fullId(store: Store, id: string): Promise<JobId> {
  const wanted = id.replace(/^…/, '').toLowerCase()
  if (isJobId(wanted)) return wanted
  const begin = await candidates(store, { idPrefix: wanted })
  // The beginning of an id is looked up, the end is searched for, which is slower: so it comes second.
  const found =
    begin.length > 0 || !isIdSuffix(wanted) ? begin : await candidates(store, { idSuffix: wanted })
  const [first, second] = found
  if (!first) throw new OncueError('JOB_NOT_FOUND', `There is no job whose id begins or ends with ${id}`)
  if (!second) return first.id
  const now = await store.now()
  const listed = found
    .slice(0, SHOWN)
    .map((job) => `${job.id} ${plain(job.topic, 40)}, ${statusOf(job, now)}`)
  const more = found.length > SHOWN ? ['and others'] : []
  throw new OncueError(
    'INVALID_INPUT',
    `Several ids begin or end with ${id}: ${[...listed, ...more].join('; ')}`,
    {
      hint: 'Give more digits, or one of these ids.',
      details: { ids: found.slice(0, SHOWN).map((job) => job.id) },
    },
  )
}

const SHOWN = 10

/** All matches, up to one more than are shown, however often the search is cut short. */
async function candidates(
  store: Store,
  filter: { idPrefix: string } | { idSuffix: string },
): Promise<JobSummary[]> {
  const found: JobSummary[] = []
  let cursor: string | undefined
  do {
    const page = await store.list(filter, { limit: SHOWN + 1, cursor })
    found.push(...page.items)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined && found.length <= SHOWN)
  return found
}

function describe(job: JobDetails, waiting: Explanation | null, story: Timeline | null, now: Date): string {
  const moment = (date: Date | null) => date && `${formatTime(date)} (${fromNow(date, now)})`
  const text = (value: unknown) =>
    value === null || value === undefined ? null : plain(JSON.stringify(value))
  const why = waiting ? whyItWaits(waiting, job.waits) : ''
  const took =
    job.startedAt && job.finishedAt && formatDuration(job.finishedAt.getTime() - job.startedAt.getTime())
  const parts = [
    fields([
      ['id', job.id],
      ['topic', plain(job.topic)],
      ['queue', `${plain(job.queue)}, priority ${job.priority}`],
      ['status', colouredStatus(job, now)],
      ['runs', `${job.run}; ${job.retries} of ${job.maxRetries} retries used, ${job.crashes} crashes`],
      ['created', moment(job.created)],
      // A suspended job says itself until when.
      ['due', job.waits ? null : moment(job.runAt)],
      ['started', moment(job.startedAt)],
      ['finished', moment(job.finishedAt)],
      ['took', took],
      ['worker', job.lockedBy],
      ['lease until', moment(job.lockedUntil)],
      ['asked to stop', moment(job.cancelAt)],
      ['undoing', job.ending && `since ${formatTime(new Date(job.ending.since))}, then ${job.ending.status}`],
      [
        'waits for',
        job.waits
          ? (retryInWords(job, now) ?? waitsInWords(job.waits, now))
          : job.depsLeft
            ? count(job.depsLeft, 'other job')
            : null,
      ],
      ['parent', job.parentId],
      ['unique key', job.uniqueKey && plain(job.uniqueKey)],
      ['concurrency', job.concurrencyKey && `${plain(job.concurrencyKey)}, at most ${job.concurrencyLimit}`],
      ['meta', text(job.meta)],
      ['progress', text(job.progress)],
      ['cursor', text(job.cursor)],
      ['trace', job.trace && plain(job.trace)],
    ]),
    ...(why === '' ? [] : [section('why it waits', why)]),
    section('payload', plainLines(JSON.stringify(job.payload, null, 2))),
  ]
  if (job.result !== null) parts.push(section('result', plainLines(JSON.stringify(job.result, null, 2))))
  const whose = job.status === 'completed' ? 'error of an earlier run' : 'error'
  if (job.lastError) parts.push(section(whose, describeError(job.lastError)))
  const told = story && describeTimeline(story)
  if (told) parts.push(section('timeline', told))
  else if (job.events.length) {
    const rows = job.events.map((event) => [
      String(event.version),
      formatTime(event.created),
      describeEvent(event),
    ])
    parts.push(section('events', table(['>#', 'WHEN', 'WHAT'], rows)))
  }
  return parts.join('\n\n')
}

/** "signal bank, until 2026-11-05 10:00 (in 5d); for 2d" */
function waitsInWords({ since, for: open }: JobWaits, now: Date): string {
  const waits = open.map((wait) => {
    const until = wait.until === null ? null : new Date(wait.until)
    return `${waitInWords(wait)}${until ? `, until ${formatTime(until)} (${fromNow(until, now)})` : ''}`
  })
  return `${waits.join('; or ')}; since ${formatTime(new Date(since))}`
}

/** Beside what a suspended job waits for, which stands above. */
function whyItWaits({ reasons, waitsFor }: Explanation, waits: JobWaits | null): string {
  const parents = waitsFor.map(
    ({ id, topic, status, isSuspended, ending }) =>
      `  ${id}  ${plain(topic)}  ${ending ? 'undoing' : isSuspended ? 'suspended' : status}`,
  )
  const others = reasons.filter(({ kind }) => kind !== 'suspended' || !waits)
  return [...others.map(({ text }) => terse(text)), ...parents].join('\n')
}

function describeError(error: JobError): string {
  const links = [error, ...(error.causes ?? [])]
  const texts = links.map(
    // A stack begins with the class and the message, and does not have the code.
    ({ stack, ...link }) =>
      stack?.replace(`${link.class}: ${link.message}`, () => errorInWords(link)) ?? errorInWords(link),
  )
  return `${texts.map(plainLines).join('\ncaused by ')}\n${styled('dim', `fingerprint ${error.fingerprint}`)}`
}

const section = (title: string, text: string) => `${styled('bold', title)}\n${text}`

import { type JobSummary, OncueError, stateOf } from '@oncue/core'
import { parseSearch, type SearchReading } from '@oncue/core/wire'
import type { JobFilter, JobPage, Store } from '@oncue/db'
import { count, plain, toWhole } from '@oncue/db/cli'
import type { Command } from 'commander'
import { addFilters, type FilterOptions, toFilter, toOptions } from './arguments.ts'
import { implement, withStore } from './command.ts'
import { errorInWords, fromNow, styled, table } from './format.ts'
import { retryInWords, waitsInWords } from './waits.ts'

interface Options extends FilterOptions {
  readonly limit: number
  readonly cursor?: string
  readonly search?: string
  readonly oldest?: boolean
}

export function addList(program: Command): void {
  const command = program.command('list').description('list jobs, newest first unless --oldest')
  addFilters(command)
    .option('--limit <number>', 'how many', toWhole(1, 1_000), 20)
    .option('--cursor <cursor>', 'continue after the page that returned it')
    .option('--oldest', 'oldest first')
    .option('--search <text>', 'by id, payload, topic, queue or error, as in the search of the app')
  implement<Options>(
    command,
    [
      '--status failed --since 1d',
      '--status pending,blocked --oldest',
      '--topic mail_digest --meta agent_id=7 --json',
      '--search "error:timeout after:2h"',
    ],
    withStore('listing', async (store, { options }) => {
      const { filter, search, ...page } = await pageOf(store, options)
      const now = await store.now()
      const rows = page.items.map((job) => toRow(job, now))
      const total = `${page.totalIsExact ? '' : 'at least '}${count(page.total, 'job')}`
      // The options stay what they are while "2h ago" moves on, and a cursor belongs to one filter.
      const again = search ? `${toOptions(filter)} ${options.oldest ? '--oldest ' : ''}` : ''
      const isCut = page.nextCursor !== null && rows.length < options.limit
      const next = isCut ? 'the search was cut short, continue with' : 'the next page:'
      const more = page.nextCursor ? `; ${next} ${again}--cursor ${page.nextCursor}` : ''
      const found = rows.length ? `${table(TITLES, rows)}\n${styled('dim', total + more)}` : `no jobs${more}`
      const text = search ? `${found}\n${styled('dim', plain(saidOf(search)))}` : found
      return { text, json: search ? { ...page, filter, search } : page }
    }),
  )
}

/** What was searched, in words; the page shows the results of the last of `searched`. */
type Search = { readonly searched: readonly string[]; readonly notSearched: readonly string[] }

async function pageOf(
  store: Store,
  options: Options,
): Promise<JobPage & { readonly filter: JobFilter; readonly search: Search | null }> {
  const { limit, cursor, search: text } = options
  const order = options.oldest ? 'oldest' : 'newest'
  const given = toFilter(options)
  if (text === undefined)
    return { ...(await store.list(given, { limit, cursor, order })), filter: given, search: null }
  if (cursor !== undefined)
    throw new OncueError('INVALID_INPUT', '--search cannot be combined with --cursor', {
      hint: 'Use the options that the search printed for its next page.',
    })
  const readings = parseSearch(text, { now: await store.now(), maySearchPayloads: true })
  const [first, ...others] = readings
  if (!first) throw new OncueError('INVALID_INPUT', '--search is empty')
  const filterOf = (reading: SearchReading) => ({ ...given, ...reading.filter })
  let filter = filterOf(first)
  let page = await store.list(filter, { limit, order })
  let read = 1
  for (const reading of others) {
    // A search that was cut short may still find something: people decide whether to continue.
    if (page.items.length > 0 || page.nextCursor) break
    filter = filterOf(reading)
    page = await store.list(filter, { limit, order })
    read++
  }
  const words = readings.map((reading) => reading.words)
  return { ...page, filter, search: { searched: words.slice(0, read), notSearched: words.slice(read) } }
}

function saidOf({ searched, notSearched }: Search): string {
  const others = notSearched.length ? `; not searched: ${notSearched.join('; ')}` : ''
  return `searched: ${searched.join('; ')}${others}`
}

const TITLES = ['ID', 'STATUS', 'TOPIC', 'QUEUE', 'CREATED', '>RUNS', 'NOTE']

function toRow(job: JobSummary, now: Date): string[] {
  return [
    job.id,
    colouredStatus(job, now),
    plain(job.topic, 40),
    plain(job.queue, 24),
    fromNow(job.created, now),
    // A suspended job is within a try.
    String(job.retries + job.crashes + (job.startedAt || job.waits ? 1 : 0)),
    noteOf(job, now),
  ]
}

export function colouredStatus(job: JobSummary, now: Date): string {
  const style = { failed: 'red', completed: 'green', processing: 'cyan' } as const
  return styled(style[job.status as keyof typeof style] ?? 'reset', statusOf(job, now))
}

export const statusOf = (job: JobSummary, now: Date): string => (job.ending ? 'undoing' : stateOf(job, now))

function noteOf(job: JobSummary, now: Date): string {
  if (job.lastError && job.status !== 'completed') {
    const next = job.status === 'pending' && job.runAt > now ? `again ${fromNow(job.runAt, now)}: ` : ''
    return plain(`${next}${errorInWords(job.lastError)}`, 80)
  }
  if (job.status === 'processing' && job.progress !== null) return plain(JSON.stringify(job.progress), 80)
  const due = job.status === 'pending' && job.runAt > now ? `due ${fromNow(job.runAt, now)}` : ''
  if (!job.waits) return due
  return retryInWords(job, now) ?? [`waits for ${waitsInWords(job.waits)}`, due].filter(Boolean).join(', ')
}

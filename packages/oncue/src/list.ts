import type { JobSummary } from '@oncue/core'
import { count, plain, toWhole } from '@oncue/db/cli'
import type { Command } from 'commander'
import { addFilters, type FilterOptions, toFilter } from './arguments.ts'
import { implement, withStore } from './command.ts'
import { fromNow, styled, table } from './format.ts'

interface Options extends FilterOptions {
  readonly limit: number
  readonly cursor?: string
}

export function addList(program: Command): void {
  const command = program.command('list').description('list jobs, newest first')
  addFilters(command)
    .option('--limit <number>', 'how many', toWhole(1, 1_000), 20)
    .option('--cursor <cursor>', 'continue after the page that returned it')
  implement<Options>(
    command,
    ['--status failed --since 1d', '--topic mail_digest --meta agent_id=7 --json'],
    withStore('listing', async (store, { options }) => {
      const page = await store.list(toFilter(options), { limit: options.limit, cursor: options.cursor })
      const now = await store.now()
      const rows = page.items.map((job) => toRow(job, now))
      const total = `${page.totalIsExact ? '' : 'at least '}${count(page.total, 'job')}`
      const more = page.nextCursor ? `; the next page: --cursor ${page.nextCursor}` : ''
      const text = rows.length ? `${table(TITLES, rows)}\n${styled('dim', total + more)}` : `no jobs${more}`
      return { text, json: page }
    }),
  )
}

const TITLES = ['ID', 'STATUS', 'TOPIC', 'QUEUE', 'CREATED', '>TRIES', 'NOTE']

function toRow(job: JobSummary, now: Date): string[] {
  return [
    job.id,
    colouredStatus(job, now),
    plain(job.topic, 40),
    plain(job.queue, 24),
    fromNow(job.created, now),
    String(job.retries + job.crashes + (job.startedAt ? 1 : 0)),
    noteOf(job, now),
  ]
}

export function colouredStatus(job: JobSummary, now: Date): string {
  const isScheduled = job.status === 'pending' && job.runAt > now
  const style = { failed: 'red', completed: 'green', processing: 'cyan' } as const
  return styled(style[job.status as keyof typeof style] ?? 'reset', isScheduled ? 'scheduled' : job.status)
}

function noteOf(job: JobSummary, now: Date): string {
  if (job.lastError && job.status !== 'completed') {
    const next = job.status === 'pending' && job.runAt > now ? `again ${fromNow(job.runAt, now)}: ` : ''
    return plain(`${next}${job.lastError.class}: ${job.lastError.message}`, 80)
  }
  if (job.status === 'processing' && job.progress !== null) return plain(JSON.stringify(job.progress), 80)
  return job.status === 'pending' && job.runAt > now ? `due ${fromNow(job.runAt, now)}` : ''
}

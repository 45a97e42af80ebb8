import { bulkOperationSchema } from '@oncue/core/wire'
import type { BulkOperationRow, BulkOperationStatus } from '@oncue/db'
import { addExamples, plain, toWhole } from '@oncue/db/cli'
import { formatDuration } from '@oncue/runtime'
import { type Command, Option } from 'commander'
import { skippedInWords } from './actions.ts'
import { toOptions } from './arguments.ts'
import { endOf, notFound, openBulk, outcomesOf, progressOf, stopBulk, toJson } from './bulk-operation.ts'
import { implement, whoami, withStore } from './command.ts'
import { errorInWords, fields, formatTime, fromNow, table } from './format.ts'

interface ListOptions {
  readonly status?: BulkOperationStatus
  readonly limit: number
  readonly cursor?: string
}

export function addBulk(program: Command): void {
  const bulk = program
    .command('bulk')
    .description('list, show and stop bulk operations: of this command, the API and the app')
  addExamples(bulk, ['', 'show 01a2b3c4-…', 'stop 01a2b3c4-…'])

  implement<ListOptions>(
    bulk
      .command('list', { isDefault: true })
      .description('list bulk operations, newest first')
      .addOption(
        new Option('--status <status>', 'only these').choices(bulkOperationSchema.shape.status.options),
      )
      .option('--limit <number>', 'how many', toWhole(1, 200), 20)
      .option('--cursor <cursor>', 'continue after the page that returned it'),
    ['', '--status running', '--json'],
    withStore('reading', async (store, { options: { status, limit, cursor } }) => {
      const { bulkOperations } = await openBulk(store)
      const [page, now] = await Promise.all([bulkOperations.list({ status }, { limit, cursor }), store.now()])
      const rows = page.items.map((row) => toRow(row, now))
      const more = page.nextCursor ? `\nthe next page: --cursor ${page.nextCursor}` : ''
      return {
        text: rows.length ? `${table(TITLES, rows)}${more}` : 'no bulk operations',
        json: { items: page.items.map(toJson), nextCursor: page.nextCursor },
      }
    }),
  )

  implement<object>(
    bulk
      .command('show')
      .description('show a bulk operation: its progress, and what became of its jobs')
      .argument('<id>', 'id of the bulk operation'),
    ['01a2b3c4-…', '01a2b3c4-… --json'],
    withStore('reading', async (store, { args }) => {
      const id = String(args[0])
      const { bulkOperations } = await openBulk(store)
      const [row, now] = await Promise.all([bulkOperations.get(id), store.now()])
      if (!row) throw notFound(id)
      return { text: describe(row, now), json: toJson(row) }
    }),
  )

  implement<{ readonly by: string }>(
    bulk
      .command('stop')
      .description('stop a bulk operation after its current batch; jobs that are done stay done')
      .argument('<id>', 'id of the bulk operation')
      .option('--by <name>', 'your name, for the audit', whoami()),
    ['01a2b3c4-…'],
    withStore('stopping', async (store, { args, options: { by } }) => {
      const row = await stopBulk(store, String(args[0]), by)
      return { text: `${plain(endOf(row))}; ${progressOf(row)} done`, json: toJson(row) }
    }),
  )
}

const TITLES = ['ID', 'STATUS', 'ACTION', '>DONE', '>SKIPPED', '>FAILED AGAIN', 'BEGAN', 'BY']

function toRow(row: BulkOperationRow, now: Date): string[] {
  const skipped = Object.values(row.skipped).reduce((sum, jobs) => sum + jobs, 0)
  return [
    row.id,
    row.status,
    row.action,
    progressOf({ ...row, status: 'running', outcomes: null }),
    skipped.toLocaleString('en-US'),
    row.outcomes ? row.outcomes.failedAgain.toLocaleString('en-US') : '',
    fromNow(row.created, now),
    plain(row.actor.name, 40),
  ]
}

function describe(row: BulkOperationRow, now: Date): string {
  const moment = (date: Date | null) => date && `${formatTime(date)} (${fromNow(date, now)})`
  const { canary, stopWhenFailing, spreadMs } = row
  return fields([
    ['id', row.id],
    ['action', row.action],
    ['filter', plain(toOptions(row.filter))],
    ['error', row.filterError && plain(errorInWords(row.filterError))],
    ['as of', moment(row.asOf)],
    ['status', plain(endOf(row))],
    ['done', progressOf({ ...row, status: 'running', outcomes: null })],
    ['skipped', skippedInWords(row.skipped, row.action).join('\n')],
    ['outcomes', outcomesOf(row)],
    ['spread', spreadMs > 0 ? formatDuration(spreadMs) : null],
    ['canary', canary && `${canary.count} first; at most ${canary.maxFailed} may fail again`],
    ['stops when', stopWhenFailing === null ? null : `more than ${stopWhenFailing * 100}% fail again`],
    ['by', plain(row.actor.name)],
    ['began', moment(row.created)],
    ['updated', moment(row.updated)],
    ['ended', moment(row.finishedAt)],
  ])
}

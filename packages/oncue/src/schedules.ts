import { isOncueError, OncueError, prepareJob } from '@oncue/core'
import { previewRuns, type ScheduleRow } from '@oncue/db'
import { addExamples, plain, toWhole } from '@oncue/db/cli'
import { type Command, Option } from 'commander'
import { toJson } from './arguments.ts'
import { checkPayload } from './check-payload.ts'
import { implement, whoami, withStore } from './command.ts'
import { formatTime, fromNow, styled, table } from './format.ts'

interface AddOptions {
  readonly timezone: string
  readonly missed: 'skip' | 'one' | 'all'
  readonly queue?: string
  readonly priority?: number
  readonly takeOver?: true
}

const IN_CODE = 'Change it in the code that declares it, choose another name, or add --take-over.'

export function addSchedules(program: Command): void {
  const schedules = program
    .command('schedules')
    .description('list, add, preview, remove, pause, resume and run cron schedules')
  addExamples(schedules, ['', `add digest '0 9 * * 1-5' mail_digest`, 'pause digest'])

  implement<object>(
    schedules.command('list', { isDefault: true }).description('list schedules with their next run'),
    ['', '--json'],
    withStore('reading', async (store) => {
      const [rows, now] = await Promise.all([store.schedules.list(), store.now()])
      const text = rows.length
        ? table(
            TITLES,
            rows.map((row) => toRow(row, now)),
          )
        : 'no schedules yet'
      return { text, json: rows }
    }),
  )

  implement<AddOptions>(
    schedules
      .command('add')
      .description('create a schedule, or change the one of that name')
      .argument('<name>', 'name of the schedule')
      .argument('<cron>', 'five fields, or six with seconds')
      .argument('<topic>', 'topic of its jobs')
      .argument('[payload]', 'JSON  (default: {})', toJson)
      .option('--tz, --timezone <zone>', 'IANA time zone, such as Asia/Shanghai', 'UTC')
      .addOption(
        new Option('--missed <policy>', 'which missed runs to make up for: none, the last, or all')
          .choices(['skip', 'one', 'all'])
          .default('skip'),
      )
      .option('--queue <queue>', 'queue of its jobs')
      .option('--priority <number>', 'higher runs first', toWhole(-32_768, 32_767))
      .option('--take-over', 'also change one in code, until a worker that declares it starts'),
    [
      `digest '0 9 * * 1-5' mail_digest '{"all":true}' --timezone Asia/Shanghai`,
      `sweep '*/10 * * * *' sweep --missed one`,
    ],
    withStore('saving', async (store, { args, options, note }) => {
      const [name, cron, topic, payload = {}] = args as [string, string, string, unknown?]
      const { timezone, missed, queue, priority, takeOver } = options
      const jobOptions = { ...(queue && { queue }), ...(priority !== undefined && { priority }) }
      // A job that no tick could enqueue is refused now, while the caller sees the error.
      prepareJob(topic, payload, jobOptions)
      await checkPayload(store, note, topic, payload)
      const schedule = { name, cron, timezone, topic, payload, options: jobOptions, missed }
      const row = await store.schedules
        .save({ ...schedule, source: 'database' }, { takeOver })
        .catch((error: unknown) => {
          throw isOncueError(error, 'SCHEDULE_IN_CODE')
            ? new OncueError(error.code, error.message, { hint: IN_CODE, cause: error })
            : error
        })
      const next = row.paused ? 'it is paused' : `the next run is at ${formatTime(row.nextAt)}`
      return { text: `${name} is saved; ${next}`, json: row }
    }),
  )

  implement<{ readonly timezone: string; readonly count: number }>(
    schedules
      .command('preview')
      .description('print the next runs of a cron pattern, without saving it')
      .argument('<cron>', 'five fields, or six with seconds')
      .option('--tz, --timezone <zone>', 'IANA time zone, such as Asia/Shanghai', 'UTC')
      .option('--count <number>', 'how many runs, at most 10', toWhole(1, 10), 5),
    [`'0 9 * * 1-5' --tz Europe/Berlin`, `'*/10 * * * *' --count 3 --json`],
    withStore('reading', async (store, { args, options: { timezone, count } }) => {
      const now = await store.now()
      const runs = previewRuns(String(args[0]), timezone, now, count)
      const local = timezone === 'UTC' ? () => '' : (run: Date) => `${inZone(run, timezone)} = `
      const text = runs.map((run) => `${local(run)}${formatTime(run)} (${fromNow(run, now)})`).join('\n')
      return { text, json: { runs } }
    }),
  )

  for (const [verb, done] of [
    ['remove', 'removed'],
    ['pause', 'paused'],
    ['resume', 'resumed; runs missed while it was paused are skipped'],
  ] as const) {
    implement<object>(
      schedules.command(verb).description(`${verb} a schedule`).argument('<name>', 'name of the schedule'),
      ['digest'],
      withStore(verb, async (store, call) => {
        const { args } = call
        const name = String(args[0])
        const found = (await store.schedules.list()).find((row) => row.name === name)
        await store.schedules[verb](name, whoami())
        if (verb === 'remove' && found?.source === 'code') {
          call.note(
            `note: it is declared in code: the next worker that declares it brings it back; pause it instead`,
          )
        }
        return { text: `${name} is ${done}`, json: { name, [verb]: true } }
      }),
    )
  }

  implement<object>(
    schedules
      .command('run')
      .description('enqueue an extra job now')
      .argument('<name>', 'name of the schedule'),
    ['digest'],
    withStore('enqueueing', async (store, { args }) => {
      const id = await store.schedules.runNow(String(args[0]))
      return { text: id, json: { id } }
    }),
  )
}

/** `2026-01-31 09:00:00 Europe/Berlin`. */
function inZone(date: Date, timeZone: string): string {
  // Swedish dates are written as ISO 8601 does.
  const local = date.toLocaleString('sv-SE', { timeZone })
  return `${local} ${timeZone}`
}

const TITLES = ['NAME', 'CRON', 'ZONE', 'TOPIC', 'NEXT', 'LAST', 'MISSED', 'SOURCE']

function toRow(row: ScheduleRow, now: Date): string[] {
  const next = row.nextAt ? `${formatTime(row.nextAt)} (${fromNow(row.nextAt, now)})` : 'no next run'
  return [
    plain(row.name),
    row.cron,
    row.timezone,
    plain(row.topic),
    row.paused ? styled('yellow', `paused by ${plain(row.paused.by ?? 'unknown')}`) : next,
    formatTime(row.lastAt),
    row.missed,
    row.service === null ? row.source : `${row.source} (${plain(row.service)})`,
  ]
}

import { parseArgs } from 'node:util'
import { OncueError } from '@oncue/core'

export const COMMAND = 'npx -y pnpm@12.18.0 start'

export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const

export const HELP = `Usage: ${COMMAND} [options]

Runs all of Oncue in one process, until Ctrl-C: the API, the app, and a worker with the example jobs.

  --demo         lifelike traffic to look at, in a database of its own (.data/demo.db)
  --port <port>  where to listen (ONCUE_PORT, 4400; 0 takes any that is free)
  --new-token    replaces the admin's token, and shows the new one
  --no-app       does not build the app
  --logs         the log goes to the terminal, not to .data/start.log
  -h, --help     shows this

Everything else is set by the environment:

  DATABASE_URL          postgres://…, file:./path.db or :memory: (file:./.data/oncue.db)
  ONCUE_SCHEMA          which of several installations in the database (oncue)
  ONCUE_HOST            which address to listen on (127.0.0.1)
  ONCUE_ADMIN_TOKEN     the admin's token (made and shown at the first start)
  ONCUE_APP_DIR         a web build of the app, instead of building it
  ONCUE_CONCURRENCY, ONCUE_QUEUES, ONCUE_GRACE and more: docs/guides/worker.md, docs/guides/api.md
`

export interface Options {
  readonly help: boolean
  readonly demo: boolean
  readonly port: string | undefined
  readonly newToken: boolean
  readonly app: boolean
  readonly logs: boolean
}

export function readOptions(args: readonly string[]): Options {
  const options = parse(args)
  const { port } = options
  if (port === undefined || (/^\d+$/.test(port) && Number(port) <= 65_535)) return options
  throw new OncueError(
    'INVALID_INPUT',
    `--port: must be a number from 0 to 65535, got ${JSON.stringify(port)}`,
  )
}

function parse(args: readonly string[]): Options {
  const flag = { type: 'boolean', default: false } as const
  try {
    const { values } = parseArgs({
      // npm passes options on behind a `--`, pnpm without, and hands it on.
      args: args.filter((arg) => arg !== '--'),
      options: {
        help: { ...flag, short: 'h' },
        demo: flag,
        port: { type: 'string' },
        'new-token': flag,
        'no-app': flag,
        logs: flag,
      },
    })
    const { help, demo, port, logs } = values
    return { help, demo, port, logs, newToken: values['new-token'], app: !values['no-app'] }
  } catch (cause) {
    const hint = `${COMMAND} --help shows what there is.`
    throw new OncueError('INVALID_INPUT', (cause as Error).message, { cause, hint })
  }
}

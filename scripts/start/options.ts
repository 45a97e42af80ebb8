import { parseArgs } from 'node:util'
import { OncueError } from '@oncue/core'

export const COMMAND = 'npx -y pnpm@12.18.0 start'

export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const

export const HELP = `Usage: ${COMMAND} [options]

Runs all of Oncue in one process until Ctrl-C: the API, the app, and a worker with the example jobs.

  --demo         run with demo traffic, in its own database (.data/demo.db)
  --port <port>  port to listen on (default: ONCUE_PORT, or 4400; 0: any free port)
  --new-token    replace the admin token and show the new one
  --no-app       do not build the app
  --logs         log to the terminal instead of .data/start.log
  -h, --help     show this help

Environment variables:

  DATABASE_URL          postgres://…, file:./path.db or :memory: (file:./.data/oncue.db)
  ONCUE_SCHEMA          which of several installations in the database (oncue)
  ONCUE_HOST            address to listen on (127.0.0.1)
  ONCUE_ADMIN_TOKEN     the admin token (created and shown at the first start)
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
      // npm forwards options after a `--`; pnpm needs none, and forwards one literally.
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
    const hint = `${COMMAND} --help lists the options.`
    throw new OncueError('INVALID_INPUT', (cause as Error).message, { cause, hint })
  }
}

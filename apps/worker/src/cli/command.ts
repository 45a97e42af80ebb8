import { hostname, userInfo } from 'node:os'
import { inspect } from 'node:util'
import { ERRORS, isOncueError, OncueError } from '@oncue/core'
import { chooseDatabase, openStore, type Store } from '@oncue/db'
import { type Command, CommanderError } from 'commander'
import { type Config, readConfig } from '../config.ts'
import { plain } from './format.ts'
import { withProgress } from './progress.ts'

export const EXIT = { done: 0, failed: 1, usage: 2, someFailed: 3 } as const

/** What a command has to say, to people and to programs. */
export interface Answer {
  readonly text: string
  readonly json: unknown
  readonly exit?: number
}

interface CommonOptions {
  readonly url?: string
  readonly schema?: string
  readonly json?: true
}

export interface Call<Options> {
  readonly config: Config
  readonly options: Options & CommonOptions
  /** As commander parsed them: in the order in which the command names them. */
  readonly args: readonly unknown[]
  readonly url: string
  /** Which installation in that database. */
  readonly schema: string
  /** Which database that is, for people. */
  readonly database: string
  /** A line for people, beside the answer. */
  note(text: string): void
}

/** Thrown by a command that is done, and not with 0. */
class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit code ${code}`)
    this.code = code
  }
}

/** What the process ends with, of whatever `parseAsync` threw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Exit) return error.code
  // Commander has printed the help, or what is wrong with the arguments.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  throw error
}

/** Gives a command its common options, its examples, and what it does. */
export function implement<Options>(
  command: Command,
  examples: readonly string[],
  perform: (call: Call<Options>) => Promise<Answer | undefined>,
  { saysDatabase = true }: { readonly saysDatabase?: boolean } = {},
): Command {
  return command
    .option(
      '--url <url>',
      'postgres://… or file:…  (default: DATABASE_URL, or file:./.data/oncue.db outside production)',
    )
    .option(
      '--schema <name>',
      'which of several installations in the database  (default: ONCUE_SCHEMA, or oncue)',
    )
    .option('--json', 'answer in JSON, errors too')
    .addHelpText('after', `\nExamples:\n${examples.map((line) => `  $ oncue-worker ${line}`).join('\n')}`)
    .action(async () => {
      const { writeOut = () => {}, writeErr = () => {} } = command.configureOutput()
      const options = command.optsWithGlobals<Options & CommonOptions>()
      const note = (text: string) => writeErr(`${text}\n`)
      const code = await answer(options, writeOut, writeErr, (config) => {
        const { databaseUrl: configured, nodeEnv, callerFolder } = config
        const { url, schema, shown } = chooseDatabase({
          typed: options.url,
          configured,
          nodeEnv,
          callerFolder,
          schema: options.schema ?? config.schema,
        })
        // Before anything is done: an unset variable must not act on another database unseen.
        if (saysDatabase) note(`database: ${plain(shown)}`)
        return perform({ config, options, args: command.processedArgs, url, schema, database: shown, note })
      })
      if (code !== EXIT.done) throw new Exit(code)
    })
}

/** For all commands but those that open the store in their own way. */
export function withStore<Options>(
  label: string,
  perform: (store: Store, call: Call<Options>) => Promise<Answer>,
): (call: Call<Options>) => Promise<Answer> {
  return (call) =>
    withProgress(label, async () => {
      const store = await openStore(call.url, { schema: call.schema, poolSize: 2 })
      try {
        return await perform(store, call)
      } finally {
        await store.close()
      }
    })
}

type Write = (text: string) => void

async function answer(
  { json }: CommonOptions,
  writeOut: Write,
  writeErr: Write,
  perform: (config: Config) => Promise<Answer | undefined>,
): Promise<number> {
  let config: Config | undefined
  try {
    config = readConfig()
    const said = await perform(config)
    if (said) writeOut(`${json ? JSON.stringify(said.json) : said.text}\n`)
    return said?.exit ?? EXIT.done
  } catch (cause) {
    const error = isOncueError(cause) ? cause : new OncueError('INTERNAL', String(cause), { cause })
    if (json) writeOut(`${JSON.stringify({ error })}\n`)
    else writeErr(`error ${error.code}: ${error.message}\n${error.hint}\n`)
    if (config?.debug) writeErr(`${inspect(error)}\n`)
    return isOfTheCaller(error) ? EXIT.usage : EXIT.failed
  }
}

/** Whatever was typed, or lies in the environment or in a module: the same call never succeeds. */
function isOfTheCaller({ code }: OncueError): boolean {
  const { http } = ERRORS[code]
  return http === 400 || http === 413
}

/** Who acts, for the events of a job. */
export function whoami(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    // A container may run as a user that has no name.
    return `${process.getuid?.() ?? 'somebody'}@${hostname()}`
  }
}

import { inspect, stripVTControlCharacters } from 'node:util'
import { ERRORS, isOncueError, OncueError } from '@oncue/core'
import { systemRuntime } from '@oncue/runtime'
import { Command, CommanderError } from 'commander'
import type { CommonConfig } from '../config.ts'
import { chooseDatabase } from '../url.ts'

/** What every command of Oncue has in common: options, settings, output, errors, exit codes. */

export const EXIT = {
  done: 0,
  failed: 1,
  /** Wrong usage or a wrong setting: the same call never succeeds. */
  usage: 2,
  /** Some runs failed; the database is not up to date. */
  incomplete: 3,
} as const

/** What a command returns, for people and for programs. */
export interface Output {
  readonly text: string
  readonly json: unknown
  readonly exit?: number
}

interface CommonOptions {
  readonly url?: string
  readonly schema?: string
  readonly json?: true
}

/** One call of a command. */
export interface Call<Options = object, Config = CommonConfig> {
  readonly options: Options & CommonOptions
  /** As commander parsed them: in the order in which the command declares them. */
  readonly args: readonly unknown[]
  readonly config: Config
  readonly url: string
  /** Which installation in that database. */
  readonly schema: string
  /** Which database it is, for people: without its password. */
  readonly database: string
  /** Writes a line for people to standard error. */
  note(text: string): void
}

export interface Implementation<Options, Config extends CommonConfig> {
  /** What is typed after the name of the command. */
  readonly examples: readonly string[]
  readonly readConfig: () => Config
  readonly run: (call: Call<Options, Config>) => Promise<Output | undefined>
  /** Used if neither --url nor DATABASE_URL names a database, outside production. */
  readonly defaultUrl?: string
  /** False: its log says which database it uses. */
  readonly saysDatabase?: boolean
}

/** A program, or the only command of one. */
export function createProgram(name: string): Command {
  const program = new Program(name)
  return program
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => process.stdout.write(text),
      writeErr: (text) => process.stderr.write(text),
      // As all other errors of a command are written.
      outputError(text, writeErr) {
        const said = text.replace(/^error: (.)/, (_, first) => first.toUpperCase())
        if (!program.wantsJson) return writeErr(`error INVALID_INPUT: ${said}(see --help)\n`)
        const [message = '', ...suggestions] = said.trim().split('\n')
        const hint = [...suggestions.map((line) => line.replace(/^\((.*)\)$/, '$1')), 'See --help.'].join(' ')
        const error = new OncueError('INVALID_INPUT', message, { hint })
        program.configureOutput().writeOut?.(`${JSON.stringify({ error })}\n`)
      },
    })
}

/** Remembers its arguments: an error in one of them is printed before the others are parsed. */
class Program extends Command {
  #given: readonly string[] = []

  override parseAsync(...[argv, options]: Parameters<Command['parseAsync']>): Promise<this> {
    this.#given = argv ?? process.argv
    return super.parseAsync(argv, options)
  }

  get wantsJson(): boolean {
    const end = this.#given.indexOf('--')
    return (end < 0 ? this.#given : this.#given.slice(0, end)).includes('--json')
  }
}

/** The options of every command. */
export function addCommonOptions(command: Command, defaultUrl?: string): Command {
  return command
    .option(
      '--url <url>',
      `postgres://… or file:…  (default: DATABASE_URL, or ${defaultUrl ?? 'file:./.data/oncue.db'} outside production)`,
    )
    .option(
      '--schema <name>',
      'which of several installations in the database: a schema on Postgres, a prefix on SQLite  (default: ONCUE_SCHEMA, or oncue)',
    )
    .option(...JSON_OPTION)
}

const JSON_OPTION = ['--json', 'print JSON, including errors'] as const

/** Shows how a command is typed, by the name of the program that it is part of. */
export function addExamples(command: Command, examples: readonly string[]): Command {
  return command.addHelpText('after', () => {
    const lines = examples.map((line) => `  $ ${pathOf(command)} ${line}`.trimEnd())
    return `\nExamples:\n${lines.join('\n')}`
  })
}

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

/** Gives a command its common options, its examples, and what it does. */
export function implement<Options, Config extends CommonConfig>(
  command: Command,
  implementation: Implementation<Options, Config>,
): Command {
  const { examples, readConfig, run, defaultUrl, saysDatabase = true } = implementation
  addExamples(addCommonOptions(command, defaultUrl), examples)
  return perform<Options & CommonOptions, Config>(command, readConfig, (call) => {
    const { options, config, note } = call
    const { url, schema, shown } = chooseDatabase({
      typed: options.url,
      configured: config.databaseUrl,
      nodeEnv: config.nodeEnv,
      callerFolder: config.callerFolder,
      schema: options.schema ?? config.schema,
      defaultUrl,
    })
    // Before anything is done, so that an unset variable does not silently act on another database.
    if (saysDatabase) note(`database: ${plain(shown)}`)
    return run({ ...call, url, schema, database: shown })
  })
}

/** A call of a command that opens no database. */
export type RemoteCall<Options = object, Config = CommonConfig> = Omit<
  Call<Options, Config>,
  'url' | 'schema' | 'database'
>

/** The same for a command that opens no database. */
export function implementRemote<Options, Config extends CommonConfig>(
  command: Command,
  {
    examples,
    readConfig,
    run,
  }: Pick<Implementation<Options, Config>, 'examples' | 'readConfig'> & {
    readonly run: (call: RemoteCall<Options, Config>) => Promise<Output | undefined>
  },
): Command {
  addExamples(command.option(...JSON_OPTION), examples)
  return perform<Options & CommonOptions, Config>(command, readConfig, run)
}

function perform<Options extends { readonly json?: true }, Config extends CommonConfig>(
  command: Command,
  readConfig: () => Config,
  run: (call: RemoteCall<Options, Config>) => Promise<Output | undefined>,
): Command {
  return command.action(async () => {
    const { writeOut = () => {}, writeErr = () => {} } = command.configureOutput()
    const options = command.optsWithGlobals<Options>()
    let config: Config | undefined
    try {
      config = readConfig()
      const note = (text: string) => writeErr(`${text}\n`)
      const { processedArgs: args } = command
      const output = await run({ config, options, args, note })
      if (output) writeOut(`${options.json ? JSON.stringify(output.json) : output.text}\n`)
      if (output?.exit) throw new Exit(output.exit)
    } catch (cause) {
      if (cause instanceof Exit || cause instanceof CommanderError) throw cause
      const error = isOncueError(cause) ? cause : new OncueError('INTERNAL', String(cause), { cause })
      if (options.json) writeOut(`${JSON.stringify({ error })}\n`)
      else writeErr(`error ${error.code}: ${error.message}\n${error.hint}\n`)
      if (config?.debug) writeErr(`${inspect(error)}\n`)
      throw new Exit(isUsage(error) ? EXIT.usage : EXIT.failed)
    }
  })
}

/** The arguments, the environment or a module are wrong. A port in use is not among these: it may be free later. */
function isUsage({ code, cause }: OncueError): boolean {
  const { http } = ERRORS[code]
  return (http === 400 || http === 413) && (cause as NodeJS.ErrnoException | undefined)?.code !== 'EADDRINUSE'
}

/** Thrown by a command that ends with another code than 0. */
class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit code ${code}`)
    this.code = code
  }
}

/** The exit code for whatever `parseAsync` threw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Exit) return error.code
  // Commander has printed the help, or what is wrong with the arguments.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  throw error
}

/** What the file of a program calls. */
export async function runProgram(program: Command): Promise<void> {
  // The reader may have read enough: `oncue list | head`.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit()
      throw error
    })
  }
  try {
    await program.parseAsync()
  } catch (error) {
    process.exitCode = exitCodeOf(error)
    // A module that was loaded before another failed may have left something open.
    systemRuntime.after(1_000, () => process.exit()).unref()
  }
}

const CONTROL = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu

/** One line of what users wrote: nothing in it moves the cursor or colours the rest. */
export function plain(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = stripVTControlCharacters(text).replace(CONTROL, ' ').trim()
  const characters = [...line]
  return characters.length <= width ? line : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`
}

import { playThePast } from '../../examples/demo/demo.ts'
import { assertPortIsFree, assertWritable, migrateDatabase } from './check.ts'
import { hasOwnApp, readSettings, type Settings } from './config.ts'
import { aborted, type End } from './end.ts'
import { greeting } from './greeting.ts'
import { type Log, openLog } from './log.ts'
import { EXIT, type Options } from './options.ts'
import { buildApp } from './prepare.ts'
import { say, step } from './progress.ts'
import { type Oncue, serve } from './serve.ts'

/** How long the end may take after a second signal. */
const LAST_MS = 3_000

/** The whole run, from the first check to the last message. Returns the exit code. */
export async function run(options: Options, end: End): Promise<number> {
  const settings = readSettings(options)
  const { databaseUrl, appDir, adminToken } = settings.api
  const log = await Promise.race([prepare(settings, options, end), interrupted(end.asked)])
  if (options.demo) await preparePast(settings, end)

  end.asked.throwIfAborted()
  const oncue = await serve(settings, log, options.demo)
  const newToken = settings.newToken ?? oncue.api.adminToken
  const { url } = oncue.api
  const shown = { url, databaseUrl, appDir, logFile: log.file, newToken, isBrief: options.logs }
  say(greeting({ ...shown, givenToken: adminToken }))
  await aborted(end.asked)
  return stop(oncue, log, end)
}

/** First what may be wrong, then what takes long. */
async function prepare({ api, folder }: Settings, options: Options, { asked }: End): Promise<Log> {
  await assertPortIsFree(api)
  await assertWritable(api.databaseUrl)
  const log = openLog(folder, api.logLevel, options.logs)
  await step('Migrating the database', () => migrateDatabase(api.databaseUrl, api.schema))
  if (options.app && !hasOwnApp()) await buildApp(asked)
  return log
}

/** A user who quits does not wait for a server that does not reply, or for a lock that is held. */
async function interrupted(asked: AbortSignal): Promise<never> {
  await aborted(asked)
  throw asked.reason
}

async function preparePast({ api: { databaseUrl, schema } }: Settings, { asked }: End): Promise<void> {
  // Each store on `:memory:` has a file of its own.
  if (databaseUrl === ':memory:') return
  await step('Playing half an hour of traffic', () => playThePast(databaseUrl, asked, { schema }))
}

async function stop(oncue: Oncue, log: Log, end: End): Promise<number> {
  if (end.error !== undefined) {
    log.error({ err: end.error }, 'uncaught exception; stopping')
    say(`\nStopping because of an error: ${end.error}`)
  } else {
    say('\nStopping. Ctrl-C again stops at once.')
  }
  const insisted = aborted(end.insisted).then(() => {
    setTimeout(() => process.exit(EXIT.interrupted), LAST_MS).unref()
    return oncue.stop({ graceMs: 0 })
  })
  try {
    await Promise.race([oncue.stop(), insisted])
  } catch (error) {
    log.error({ err: error }, 'did not stop cleanly')
    say(`Oncue did not stop cleanly: ${error}`)
    return EXIT.failed
  }
  say('Stopped.')
  return end.error === undefined ? EXIT.done : EXIT.failed
}

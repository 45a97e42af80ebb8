import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join, relative } from 'node:path'
import { type Api, readConfig as readApiConfig, startApi } from '@oncue/api'
import { OncueError } from '@oncue/core'
import { migrate, sqliteFile, withoutPassword } from '@oncue/db'
import { EXIT, onStopSignals } from '@oncue/db/cli'
import { abortable, formatDuration } from '@oncue/runtime'
import { createLogger } from '@oncue/worker'
import { type Call, whoami } from './command.ts'
import type { DevOptions } from './dev.ts'
import { Handlers } from './dev-handlers.ts'
import { findModule, MINIMAL_MODULE } from './find-module.ts'
import { isCommonJs, runnerOf } from './project.ts'

/** How long the link that signs in is valid, once. */
const LINK_MS = 3_600_000

/**
 * The API in this process, the handlers in another, which is replaced when a file of theirs changes. Neither is left
 * behind: the handlers also end when this process is killed.
 */
export async function runDev(call: Call<DevOptions>, devFolder: string): Promise<undefined> {
  const { config, options, url, schema, database } = call
  const modules = modulesOf(call)
  const apiConfig = readApiConfig(undefined, undefined, { url, schema, shown: database })
  const log = createLogger({ level: config.logLevel, ...(options.json && { pretty: false }) })
  const handlers = new Handlers({ args: toArgs(call, modules), folder: config.folder, log })
  const stopping = new AbortController()
  let code: number = EXIT.done
  onStopSignals((signal) => {
    if (stopping.signal.aborted) {
      code = 128 + constants.signals[signal]
      return handlers.hurry()
    }
    stopping.abort()
    void handlers.stop()
  })
  const ended = await handlers.load()
  if (ended !== undefined) process.exit(ended)

  const start = async (signal: AbortSignal): Promise<Api> => {
    if (options.url === undefined && config.databaseUrl === undefined)
      await makeFolder(join(config.folder, devFolder))
    if (url !== ':memory:') await migrate(url, { schema, signal })
    const port = options.port ?? apiConfig.port
    return startApi({ ...apiConfig, port }, log, { signal, signInLinks: true })
  }
  const api = await abortable(stopping.signal, start).catch(async (error: unknown) => {
    const codes = await handlers.stop()
    if (error !== stopping.signal.reason) throw error
    process.exit(code || codes)
  })
  const link = await createLink(api)
  const hasApp = existsSync(join(apiConfig.appDir, 'index.html'))
  process.stdout.write(
    `${options.json ? toJson(api, call, link) : greeting(api, call, { modules, link: hasApp ? link : null })}\n`,
  )
  handlers.open(api.services.store.url)

  if (!stopping.signal.aborted) await once(stopping.signal, 'abort')
  const worst = await handlers.stop()
  await api.close()
  // Resources that something keeps open must not keep the process alive.
  process.exit(code || worst)
}

/** The modules that were named, or the one that the project has. */
function modulesOf({ options, config }: Call<DevOptions>): readonly string[] {
  if (options.import) return options.import
  if (config.imports.length > 0) return config.imports
  const found = findModule(config.folder)
  if (found !== null) return [found]
  // Node 22.13 to 22.17 run no TypeScript. What is pasted has imports, which CommonJS has not.
  const file = process.features.typescript ? `jobs.${isCommonJs(config.folder) ? 'mts' : 'ts'}` : 'jobs.mjs'
  throw new OncueError('NO_MODULE', `There is no ${file} in ${config.folder}, nor in src/`, {
    hint: `Write ${file}, and run \`npx oncue dev\` again (\`npx oncue init\` sets up more):\n\n${MINIMAL_MODULE}`,
  })
}

/** Of the process that runs the handlers. It reads the same environment. */
function toArgs({ options, config, url, schema }: Call<DevOptions>, modules: readonly string[]): string[] {
  // Typed paths start at the folder of the caller, all others at that of the process.
  const typed = options.import ? modules : modules.map((module) => fromCaller(module, config))
  const shown = url.startsWith('file:') ? `file:${sqliteFile(url)}` : url
  return [
    ...typed.flatMap((module) => ['--import', module]),
    ...['--url', shown, '--schema', schema],
    ...(options.json ? ['--json'] : []),
  ]
}

function fromCaller(module: string, { folder, callerFolder }: Call<DevOptions>['config']): string {
  const file = join(folder, module)
  return folder !== callerFolder && existsSync(file) ? relative(callerFolder, file) : module
}

/** Keeps the folder out of repositories. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, '.gitignore'), '*\n')
}

/** A link that signs in once; the API accepts it from this machine alone. */
async function createLink({ url, services }: Api): Promise<string> {
  const { code } = await services.store.pairings.create({
    ...{ role: 'admin', createdBy: whoami(), validMs: LINK_MS },
  })
  return `${url}/open/${code}`
}

const toJson = ({ url, adminToken }: Api, { database }: Call, signIn: string) =>
  JSON.stringify({ msg: 'Oncue is running', url, database, adminToken, signIn })

function greeting(
  { url, adminToken }: Api,
  { config, options, ...call }: Call,
  { modules, link }: { readonly modules: readonly string[]; readonly link: string | null },
): string {
  // With DATABASE_URL set, other commands find the database without options.
  const from = config.databaseUrl === call.url ? '' : ` --url ${withoutPassword(call.url)}`
  const schema = options.schema === undefined ? '' : ` --schema ${options.schema}`
  const lines = [
    'Oncue is running. Ctrl-C stops it.',
    '',
    ...(link === null
      ? []
      : [`  app       ${link}`, `            signs in this browser once, within ${formatDuration(LINK_MS)}`]),
    `  API       ${url}/docs`,
    `  handlers  ${modules.join(', ')}, started again when a file changes`,
    `  database  ${call.database}`,
    `  commands  ${runnerOf(config.folder)} oncue top${from}${schema}`,
    '',
  ]
  if (adminToken) lines.push('Admin token (shown once):', '', `  ${adminToken}`, '')
  else lines.push('The admin token was shown at the first start. To set another: ONCUE_ADMIN_TOKEN=…', '')
  return lines.join('\n')
}

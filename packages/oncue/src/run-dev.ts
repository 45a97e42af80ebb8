import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Api, readConfig as readApiConfig, startApi } from '@oncue/api'
import { migrate, withoutPassword } from '@oncue/db'
import { createLogger } from '@oncue/worker'
import { importRunner } from '@oncue/worker/command'
import type { Call } from './command.ts'
import type { DevOptions } from './dev.ts'

/**
 * API and worker in one process, on one store: neither continues without the other, nothing is left behind when it is
 * killed, and `:memory:` works. In production they are processes of their own.
 */
export async function runDev(call: Call<DevOptions>, devFolder: string): Promise<undefined> {
  const { config, options, url, schema, database } = call
  const { runModules } = await importRunner()
  const apiConfig = readApiConfig(undefined, undefined, { url, schema, shown: database })
  const log = createLogger({ level: config.logLevel, ...(options.json && { pretty: false }) })
  const code = await runModules(call, log, async (signal) => {
    if (options.url === undefined && config.databaseUrl === undefined)
      await makeFolder(join(config.folder, devFolder))
    if (url !== ':memory:') await migrate(url, { schema, signal })
    const api = await startApi({ ...apiConfig, port: options.port ?? apiConfig.port }, log, { signal })
    const hasApp = existsSync(join(apiConfig.appDir, 'index.html'))
    process.stdout.write(`${options.json ? toJson(api, call) : greeting(api, call, hasApp)}\n`)
    return { store: api.services.store, close: () => api.close() }
  })
  // Resources that the modules keep open must not keep the process alive.
  process.exit(code)
}

/** Keeps the folder out of repositories. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, '.gitignore'), '*\n')
}

const toJson = ({ url, adminToken }: Api, { database }: Call) =>
  JSON.stringify({ msg: 'Oncue is running', url, database, adminToken })

function greeting({ url, adminToken }: Api, { config, options, ...call }: Call, hasApp: boolean): string {
  // With DATABASE_URL set, other commands find the database without options.
  const from = config.databaseUrl === call.url ? '' : ` --url ${withoutPassword(call.url)}`
  const schema = options.schema === undefined ? '' : ` --schema ${options.schema}`
  const lines = [
    'Oncue is running. Ctrl-C stops it.',
    '',
    ...(hasApp ? [`  app       ${url}`] : []),
    `  API       ${url}/docs`,
    `  database  ${call.database}`,
    `  commands  oncue top${from}${schema}`,
    '',
  ]
  if (adminToken) lines.push('Admin token (shown once):', '', `  ${adminToken}`, '')
  else lines.push('The admin token was shown at the first start. To set another: ONCUE_ADMIN_TOKEN=…', '')
  return lines.join('\n')
}

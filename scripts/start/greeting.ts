import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { dialectOf, sqliteFile, withoutPassword } from '@oncue/db'
import { COMMAND } from './options.ts'

export interface Facts {
  readonly url: string
  readonly databaseUrl: string
  readonly appDir: string
  readonly logFile: string | null
  /** Created at this start, and shown only once. */
  readonly newToken: string | null
  /** From the environment. */
  readonly givenToken: string | undefined
  /** A short form for people who start it often. */
  readonly isBrief: boolean
}

/** What a user needs after the start. */
export function greeting(facts: Facts): string {
  const parts = [places(facts), token(facts), ...(facts.isBrief ? [] : [shell(facts), program(facts)])]
  if (!facts.isBrief && !isPostgres(facts.databaseUrl)) parts.push(POSTGRES)
  return `\n${parts.join('\n\n')}\n`
}

function places({ url, databaseUrl, appDir, logFile }: Facts): string {
  const rows = [
    existsSync(join(appDir, 'index.html')) ? `  app       ${url}` : [],
    `  API       ${url}/docs`,
    `  database  ${placeOf(databaseUrl)}`,
    logFile ? `  log       ${shorten(logFile)}` : [],
  ]
  return `Oncue is running. Ctrl-C stops it.\n\n${rows.flat().join('\n')}`
}

function token({ newToken, givenToken }: Facts): string {
  if (newToken) return `Admin token (shown once):\n\n  ${newToken}`
  if (givenToken) return 'The admin token is in ONCUE_ADMIN_TOKEN.'
  return `The admin token was shown at the first start. To replace it: ${COMMAND} --new-token`
}

const shell = ({ url, newToken }: Facts) => `Enqueue from a shell:

${newToken ? `  export ONCUE_TOKEN=${newToken}\n` : ''}  curl ${url}/api/jobs/enqueue \\
    -H "authorization: Bearer $ONCUE_TOKEN" -H 'content-type: application/json' \\
    -d '{"topic":"mail_digest","payload":{"userId":"123"}}'`

const program = ({ url }: Facts) => `or from TypeScript, in a file below examples/:

  import { createClient } from 'oncue/client'

  const oncue = createClient({ url: '${url}', token: process.env.ONCUE_TOKEN })
  const id = await oncue.jobs.enqueue('mail_digest', { userId: '123' })
  console.log(await oncue.jobs.wait(id)) // { sent: 3 }`

const POSTGRES = `On Postgres: DATABASE_URL=postgres://user:password@host/database ${COMMAND}`

const isPostgres = (url: string) => url !== ':memory:' && dialectOf(url) === 'postgres'

function placeOf(url: string): string {
  if (url === ':memory:') return 'a temporary file, deleted on exit'
  return isPostgres(url) ? withoutPassword(url) : shorten(sqliteFile(url))
}

function shorten(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}

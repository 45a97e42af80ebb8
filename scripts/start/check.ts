import { access, constants, mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { isOncueError, OncueError } from '@oncue/core'
import { dialectOf, migrate, sqliteFile, withoutPassword } from '@oncue/db'

/** Finds problems before the user waits for a build. */

export async function assertPortIsFree({ host, port }: { host: string; port: number }): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host, port, exclusive: true }, resolve)
  }).catch((cause: NodeJS.ErrnoException) => {
    const used = cause.code === 'EADDRINUSE'
    const reason = used ? 'the address is already in use' : cause.message
    throw new OncueError('INVALID_INPUT', `Cannot listen on ${host}:${port}: ${reason}`, {
      cause,
      hint: used
        ? 'Is Oncue already running? Otherwise use another port: --port 4401'
        : 'Set ONCUE_HOST and ONCUE_PORT to an address of this machine.',
    })
  })
  await new Promise((resolve) => server.close(resolve))
}

export async function assertWritable(url: string): Promise<void> {
  if (url === ':memory:' || dialectOf(url) === 'postgres') return
  const folder = dirname(sqliteFile(url))
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await access(folder, constants.W_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OncueError('DATABASE_READ_ONLY', `Cannot write in ${folder}: ${code}`, {
      cause,
      hint: 'Make that folder writable, or keep the database elsewhere: DATABASE_URL=file:/some/folder/oncue.db',
    })
  }
}

/** Any problem with the database shows here; the error then names the database. */
export async function migrateDatabase(url: string, schema: string): Promise<void> {
  if (url === ':memory:') return
  try {
    await migrate(url, { schema })
  } catch (cause) {
    if (!isOncueError(cause)) throw cause
    const { code, message, hint } = cause
    throw new OncueError(code, `${message}\nFrom DATABASE_URL=${withoutPassword(url)}`, {
      cause,
      hint,
    })
  }
}

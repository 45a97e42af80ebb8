import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '@oncue/testing'
import { unprivilegedAccount } from './postgres-binaries.ts'
import { withClient } from './postgres-transactions.ts'

/** Where packages install it; /usr/sbin is often not in the PATH of users. */
export const PGBOUNCER = ['/usr/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', '/usr/local/sbin']
  .map((folder) => join(folder, 'pgbouncer'))
  .find((program) => existsSync(program))

const START_TIMEOUT_MS = 20_000
const CLOSING_MS = 2_000

export type PgBouncer = {
  /** The same database through the pooler. */
  through(url: string): string
  /** Ends its connections to a database. Fails when a client is still connected. */
  forget(url: string): Promise<void>
  stop(): Promise<void>
}

/** A pooler in transaction mode in front of a server, which ends with this process. */
export async function startPgBouncer(serverUrl: string): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'oncue-pgbouncer-'))
  const port = await freePort()
  const ini = join(folder, 'pgbouncer.ini')
  await writeFile(ini, settings(new URL(serverUrl), port, join(folder, 'users.txt')))
  await writeFile(join(folder, 'users.txt'), `"${decodeURIComponent(new URL(serverUrl).username)}" ""\n`)
  await chmod(folder, 0o755)
  // The shell ends it when its own input ends: on stop, or when this process is gone for any reason.
  const script = '"$0" -q "$1" & pid=$!; read -r word; kill "$pid"; wait "$pid"'
  const child = spawn('/bin/sh', ['-c', script, PGBOUNCER ?? 'pgbouncer', ini], {
    ...(await unprivilegedAccount()),
    cwd: folder,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const exited = once(child, 'exit')
  const through = (url: string) => Object.assign(new URL(url), { hostname: '127.0.0.1', port }).href
  const console = Object.assign(new URL(through(serverUrl)), { pathname: '/pgbouncer' }).href
  const stop = async () => {
    child.stdin.end()
    await exited
    await rm(folder, { recursive: true, force: true })
  }

  const asked = () => withClient(console, (client) => client.query('show version'))
  await eventually(asked, START_TIMEOUT_MS).catch(async (cause) => {
    await stop()
    throw new Error('pgbouncer did not start', { cause })
  })

  return {
    through,
    stop,
    async forget(url) {
      const database = new URL(url).pathname.slice(1)
      await withClient(console, async (client) => {
        await eventually(async () => {
          const { rows } = await client.query('show clients')
          const open = rows.filter((row) => row.database === database)
          if (open.length > 0) throw new Error(`The test left ${open.length} connections open`)
        }, CLOSING_MS)
        await client.query(`kill ${database}`)
      })
    },
  }
}

function settings(server: URL, port: number, users: string): string {
  const password = server.password ? ` password=${decodeURIComponent(server.password)}` : ''
  return `
[databases]
* = host=${server.hostname} port=${server.port || 5432}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
admin_users = ${decodeURIComponent(server.username)}
pool_mode = transaction
; Fewer than the clients of one test, so that connections really change hands.
default_pool_size = 5
max_client_conn = 1000
ignore_startup_parameters = extra_float_digits
`
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

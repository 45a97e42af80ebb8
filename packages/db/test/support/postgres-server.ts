import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { nap, until } from '@oncue/testing'
import { type Account, findBinaries, initdb, unprivilegedAccount } from './postgres-binaries.ts'

export interface PostgresOptions {
  /** Server settings, as in postgresql.conf. Without any, durability is the server's default. */
  settings?: Record<string, string>
  /** Kept at stop when given; otherwise a temporary folder that is deleted. */
  dataDir?: string
  port?: number
  /** Begins as a standby, with a copy of this data folder, whose server must not run. */
  copyOf?: string
}

/** A real Postgres that ends with this process, however this process ends. */
export interface PostgresServer {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  readonly logFile: string
  readonly pid: number
  /** Shuts down and deletes temporary files. May be called twice. */
  stop(): Promise<void>
  /** SIGKILL for the postmaster and all its children, as a power cut would do it. */
  kill(): Promise<void>
  /** Runs again on the same data and port, after kill(). */
  start(): Promise<void>
}

const START_TIMEOUT_MS = 60_000

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const account = await unprivilegedAccount()
  const binaries = await findBinaries()
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'oncue-pg-')))
  const port = options.port ?? (await freePort())
  const server = new Server(binaries.postgres, dataDir, port, options, account)
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    if (account) await chown(dataDir, account.uid, account.gid)
    if (options.copyOf) await copyCluster(options.copyOf, dataDir, account)
    if (!existsSync(join(dataDir, 'PG_VERSION'))) await initdb(binaries.initdb, dataDir, account)
    await server.start()
  } catch (error) {
    await server.stop()
    // Another process took the port since we found it free.
    if (options.port === undefined && String(error).includes('Address already in use'))
      return startPostgres(options)
    throw error
  }
  return server
}

/** Runs as the account that owns both folders, so that it owns the copy, too. */
async function copyCluster(from: string, to: string, account?: Account): Promise<void> {
  const script = 'cp -R "$0/." "$1" && rm -f "$1/postmaster.pid" && touch "$1/standby.signal"'
  await promisify(execFile)('/bin/sh', ['-c', script, from, to], { ...account })
}

class Server implements PostgresServer {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  readonly logFile: string
  readonly #program: string
  readonly #args: string[]
  readonly #account: Account | undefined
  readonly #temporary: boolean
  #postmaster: ChildProcess | undefined
  #guard: ChildProcess | undefined

  constructor(program: string, dataDir: string, port: number, options: PostgresOptions, account?: Account) {
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`
    this.port = port
    this.dataDir = dataDir
    this.logFile = join(dataDir, 'server.log')
    this.#program = program
    this.#account = account
    this.#temporary = options.dataDir === undefined
    const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...options.settings }
    this.#args = ['-D', dataDir, '-p', String(port)]
    for (const [name, value] of Object.entries(settings)) this.#args.push('-c', `${name}=${value}`)
  }

  get pid(): number {
    const pid = this.#postmaster?.pid
    if (pid === undefined) throw new Error('This Postgres is not running.')
    return pid
  }

  async start(): Promise<void> {
    if (this.#postmaster) return
    const deadline = Date.now() + START_TIMEOUT_MS
    for (;;) {
      const complaint = await this.#launch(deadline)
      if (complaint === undefined) return
      // The kernel may take a moment to free what killed processes held.
      if (!complaint.includes('is still in use') || Date.now() > deadline) {
        throw new Error(`Postgres did not start: ${complaint.trim()}`)
      }
      await nap(50)
    }
  }

  async stop(): Promise<void> {
    if (this.#postmaster) {
      signal(this.pid, 'SIGINT')
      await this.#ended()
    }
    if (this.#temporary) await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5 })
  }

  async kill(): Promise<void> {
    if (!this.#postmaster) return
    // Stopped first, so that it starts no child between the listing and the kill.
    signal(this.pid, 'SIGSTOP')
    for (const child of await childrenOf(this.pid)) signal(child, 'SIGKILL')
    signal(this.pid, 'SIGKILL')
    await this.#ended()
  }

  /** Returns undefined when the server accepts connections, or what it logged before it exited. */
  async #launch(deadline: number): Promise<string | undefined> {
    const log = await open(this.logFile, 'a')
    const before = (await stat(this.logFile)).size
    // A group of its own: Ctrl-C in a terminal is for us to handle, not for the server.
    const postmaster = spawn(this.#program, this.#args, {
      ...this.#account,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    })
    await Promise.all([once(postmaster, 'spawn'), log.close()])
    postmaster.unref()
    this.#postmaster = postmaster
    this.#guard = guard(this.pid, this.dataDir, this.#temporary)
    const isOver = () => postmaster.exitCode !== null || postmaster.signalCode !== null
    const isDecided = async () => isOver() || (await this.#isReady(postmaster))
    await until(isDecided, deadline - Date.now()).catch(() => this.kill())
    if (!isOver()) return undefined
    await this.#ended()
    return (await readFile(this.logFile, 'utf8')).slice(before)
  }

  /** Reads its lock file: whatever replies on the port may be another server. */
  async #isReady(postmaster: ChildProcess): Promise<boolean> {
    const lines = (await readFile(join(this.dataDir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    return Number(lines[0]) === postmaster.pid && lines[7]?.trim() === 'ready'
  }

  async #ended(): Promise<void> {
    const postmaster = this.#postmaster
    if (!postmaster) return
    postmaster.ref()
    if (postmaster.exitCode === null && postmaster.signalCode === null) await once(postmaster, 'exit')
    this.#postmaster = undefined
    this.#guard?.stdin?.end('done\n')
    this.#guard = undefined
  }
}

/**
 * A shell that waits for the end of its input, which comes when this process ends in whatever way,
 * a SIGKILL included; then it stops the server and deletes its folder. No handler in this process
 * could do that, and none has to: exit codes and signals stay what they were.
 *
 * It watches the server's lock file and not its pid, because without a process that reaps orphans
 * (in most containers) the pid never goes away.
 */
function guard(pid: number, dataDir: string, temporary: boolean): ChildProcess {
  const script = `
    read -r word; [ "$word" = done ] && exit
    kill -QUIT "$1"; tries=50
    while [ -e "$2/postmaster.pid" ] && [ $tries -gt 0 ]; do sleep 0.1; tries=$((tries - 1)); done
    [ $tries -gt 0 ] || kill -KILL "$1"
    [ "$3" = true ] && rm -rf "$2"`
  const args = ['-c', script, 'oncue-pg-guard', String(pid), dataDir, String(temporary)]
  const child = spawn('/bin/sh', args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  child.unref()
  // The pipe must not keep this process alive; its type does not say that it is a socket.
  ;(child.stdin as unknown as { unref(): void }).unref()
  return child
}

async function childrenOf(parent: number): Promise<number[]> {
  const pairs = process.platform === 'linux' ? await pidsFromProc() : await pidsFromPs()
  return pairs.flatMap(([pid, ppid]) => (ppid === parent ? [pid] : []))
}

/** Slim images of Linux have no `ps`. */
async function pidsFromProc(): Promise<[pid: number, ppid: number][]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  return Promise.all(
    pids.map(async (pid): Promise<[number, number]> => {
      const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
      // pid (name, which may hold spaces and parentheses) state ppid …
      return [Number(pid), Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1])]
    }),
  )
}

async function pidsFromPs(): Promise<[pid: number, ppid: number][]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  return stdout.split('\n').map((line) => {
    const [pid, ppid] = line.trim().split(/\s+/)
    return [Number(pid), Number(ppid)]
  })
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('No free port was found.')
  return address.port
}

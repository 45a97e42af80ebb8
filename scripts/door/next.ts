import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Place } from './place.ts'
import {
  completes,
  endsWithStream,
  freePort,
  type Mounted,
  postJob,
  Running,
  refuses,
  running,
  runsJob,
  showsApp,
} from './running.ts'

export const name = 'next'
export const summary =
  'npm create oncue, template next: dev, build and start; oncue init in a project of create-next-app'

const execute = promisify(execFile)
const PASSWORD = 'a long password'
const BASIC = { authorization: `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}` }
const JOB = ['send_welcome', { email: 'grace@example.com' }] as const

export async function run(place: Place): Promise<void> {
  const { folder, npm, done } = place
  const env = { ...place.env, NEXT_TELEMETRY_DISABLED: '1' }
  await npm(folder, 'create', '--yes', 'oncue@latest', 'site', '--', '--yes', '--template', 'next')
  const home = join(folder, 'site')
  done('created, installed')
  await npm(home, 'run', 'typecheck')
  await npm(home, 'test')
  done('compiles strictly, tests pass')

  const port = await freePort()
  const origin = `http://localhost:${port}`
  const dev = new Running('npm', ['run', 'dev'], home, { ...env, PORT: port })
  await running(dev, async () => {
    await dev.says(/worker started[\s\S]*Ready in|Ready in[\s\S]*worker started/)
    const mounted = { url: `${origin}/admin/jobs`, headers: {} }
    await completes(mounted, await postJob(`${origin}/api/users`, { email: 'ada@example.com' }))
    await showsApp(mounted)
    await runsJob(mounted, ...JOB)
    await endsWithStream(dev, mounted, 'SIGINT')
  })
  done('next dev and worker: a job over HTTP completed, app and streams mounted, Ctrl-C ends both')

  await npm(home, 'run', 'build')
  done('next build')
  const production = { ...env, PORT: port, DATABASE_URL: await place.postgresUrl(), ADMIN_PASSWORD: PASSWORD }
  const site = new Running('npm', ['start'], home, production)
  await running(site, async () => {
    await site.says(/Ready in/)
    const mounted: Mounted = { url: `${origin}/admin/jobs`, headers: BASIC }
    await refuses(mounted)
    const worker = new Running('npm', ['run', 'start:worker'], home, production)
    await running(worker, async () => {
      await worker.says(/worker started/)
      await completes(mounted, await postJob(`${origin}/api/users`, { email: 'ada@example.com' }))
      await runsJob(mounted, ...JOB)
      await worker.end('SIGINT')
    })
    await showsApp(mounted)
    await endsWithStream(site, mounted, 'SIGTERM')
  })
  done('next start and worker on Postgres: the same, strangers refused, SIGTERM ends')

  const fresh = await createNext(folder, env)
  await rename(join(home, 'node_modules'), join(fresh, 'node_modules'))
  await npm(fresh, 'exec', 'oncue', '--', 'init', '--yes')
  await addRoutes(fresh)
  const own = { ...env, PORT: port, DATABASE_URL: `file:${join(folder, 'fresh.db')}` }
  await execute('npm', ['run', 'build'], { cwd: fresh, env: own })
  await cp(join(fresh, '.next/standalone'), join(folder, 'standalone'), { recursive: true })
  await execute('npm', ['run', 'jobs:migrate'], { cwd: fresh, env: own })
  const standalone = new Running(process.execPath, ['server.js'], join(folder, 'standalone'), own)
  const worker = new Running('npm', ['run', 'jobs:worker'], fresh, own)
  await running(standalone, () =>
    running(worker, async () => {
      await standalone.says(/Ready in/)
      await worker.says(/worker started/)
      const mounted = { url: `${origin}/admin/jobs`, headers: {} }
      await completes(mounted, await postJob(`${origin}/greet`, { name: 'Ada' }))
      await showsApp(mounted)
      await worker.end('SIGINT')
      await standalone.end('SIGTERM')
    }),
  )
  done('oncue init in a new project of Next.js, standalone: a job completed, the app is mounted')
}

/** A project as Next.js makes it, before Oncue. */
async function createNext(folder: string, env: Readonly<Record<string, string>>): Promise<string> {
  const options = [
    '--empty',
    '--no-tailwind',
    '--no-eslint',
    '--no-src-dir',
    '--skip-install',
    '--disable-git',
  ]
  const command = ['exec', '--yes', '--', 'create-next-app@16', 'fresh', '--yes', ...options]
  await execute('npm', command, { cwd: folder, env })
  return join(folder, 'fresh')
}

/** What docs/guides/mounting.md says of Next.js, and a route that enqueues what `oncue init` has defined. */
async function addRoutes(home: string): Promise<void> {
  const guide = await readFile(join(import.meta.dirname, '../../docs/guides/mounting.md'), 'utf8')
  const blocks = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  const blockWith = (text: string) => {
    const block = blocks.find((each) => each.includes(text))
    if (block === undefined) throw new Error(`docs/guides/mounting.md has no block with ${text}`)
    return block
  }
  await writeFile(join(home, 'next.config.ts'), blockWith("output: 'standalone'"))
  const routes = join(home, 'app/admin/jobs/[[...path]]')
  await mkdir(routes, { recursive: true })
  const route = blockWith('kept.oncue ??=').replace('() => null', "() => ({ id: 'ada', role: 'admin' })")
  await writeFile(join(routes, 'route.ts'), route)
  await mkdir(join(home, 'app/greet'))
  await writeFile(join(home, 'app/greet/route.ts'), GREET)
}

const GREET = `import { createQueue, openStore } from 'oncue'
import { jobs } from '../../jobs.ts'

export async function POST(request: Request) {
  const store = await openStore(process.env.DATABASE_URL ?? '')
  const jobId = await createQueue({ store, jobs }).enqueue('greet', await request.json())
  await store.close()
  return Response.json({ jobId }, { status: 202 })
}
`

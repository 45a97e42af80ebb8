import { execFile } from 'node:child_process'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openStore } from '@oncue/db'
import { eventually } from '@oncue/testing'
import type { Place } from './place.ts'
import {
  completes,
  endsWithStream,
  freePort,
  postJob,
  Running,
  refuses,
  running,
  runsJob,
  showsApp,
} from './running.ts'

export const name = 'nest'
export const summary =
  'npm create oncue, template nest: dev, build and start; oncue init in a project of nest new'

const execute = promisify(execFile)
const PASSWORD = 'a long password'
const BASIC = { authorization: `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}` }
const JOB = ['send_welcome', { email: 'grace@example.com' }] as const

export async function run({ folder, env, npm, postgresUrl, done }: Place): Promise<void> {
  await npm(folder, 'create', '--yes', 'oncue@latest', 'service', '--', '--yes', '--template', 'nest')
  const home = join(folder, 'service')
  done('created, installed')
  await npm(home, 'run', 'typecheck')
  await npm(home, 'test')
  done('compiles strictly, tests pass')

  const port = await freePort()
  const origin = `http://localhost:${port}`
  const dev = new Running('npm', ['run', 'dev'], home, { ...env, PORT: port })
  await running(dev, async () => {
    await dev.says(/its jobs/)
    const mounted = { url: `${origin}/admin/jobs`, headers: {} }
    await completes(mounted, await postJob(`${origin}/users`, { email: 'ada@example.com' }))
    await showsApp(mounted)
    await runsJob(mounted, ...JOB)
    await endsWithStream(dev, mounted, 'SIGINT')
  })
  done('nest start --watch: a job over HTTP completed, app and streams mounted, Ctrl-C ends')

  await npm(home, 'run', 'build')
  const production = { ...env, PORT: port, DATABASE_URL: await postgresUrl(), ADMIN_PASSWORD: PASSWORD }
  const mounted = { url: `${origin}/admin/jobs`, headers: BASIC }
  const server = new Running('npm', ['start'], home, production)
  await running(server, async () => {
    await server.says(/its jobs/)
    await refuses(mounted)
    await completes(mounted, await postJob(`${origin}/users`, { email: 'ada@example.com' }))
    await showsApp(mounted)
    await endsWithStream(server, mounted, 'SIGTERM')
  })
  const worker = new Running('npm', ['run', 'start:worker'], home, production)
  await running(worker, async () => {
    await worker.says(/worker started/)
    await worker.end('SIGTERM')
  })
  done('built, on Postgres: the same, strangers refused, SIGTERM ends; worker as a process of its own')

  // With the packages that are there.
  const options = ['--skip-install', '--skip-git', '--package-manager', 'npm', '--directory', 'fresh']
  await execute('npx', ['nest', 'new', 'fresh', ...options], { cwd: home, env })
  const fresh = join(folder, 'fresh')
  await rename(join(home, 'fresh'), fresh)
  await rename(join(home, 'node_modules'), join(fresh, 'node_modules'))
  await npm(fresh, 'exec', 'oncue', '--', 'init', '--yes')
  await addRoute(fresh)
  await npm(fresh, 'run', 'build')
  const databaseUrl = `file:${join(folder, 'fresh.db')}`
  await tryFresh(fresh, { ...env, PORT: port, DATABASE_URL: databaseUrl }, origin)
  done('oncue init in a new project of NestJS: compiles, a job of its server completed')
}

/** Enqueues in the one service that the new project has. */
async function addRoute(home: string): Promise<void> {
  await writeFile(join(home, 'src/app.service.ts'), SERVICE)
  const replace = async (path: string, from: string, to: string) => {
    const text = await readFile(join(home, path), 'utf8')
    if (!text.includes(from)) throw new Error(`${path} has no ${from}`)
    await writeFile(join(home, path), text.replace(from, to))
  }
  await replace('src/app.controller.ts', 'getHello(): string', 'getHello(): Promise<string>')
  // Its test runner is not installed here.
  await replace('tsconfig.json', '"vitest/globals", ', '')
}

const SERVICE = `import { Injectable } from '@nestjs/common'
import { createQueue, openStore } from 'oncue'
import { jobs } from './jobs.js'

@Injectable()
export class AppService {
  async getHello(): Promise<string> {
    const store = await openStore(process.env.DATABASE_URL ?? '')
    const id = await createQueue({ store, jobs }).enqueue('greet', { name: 'Ada' })
    await store.close()
    return id
  }
}
`

async function tryFresh(home: string, env: Place['env'], origin: string): Promise<void> {
  await execute('npm', ['run', 'jobs:migrate'], { cwd: home, env })
  const server = new Running('npm', ['run', 'start:prod'], home, env)
  const worker = new Running('npm', ['run', 'jobs:worker'], home, env)
  await running(server, () =>
    running(worker, async () => {
      await server.says(/successfully started/)
      // It says so just before it listens.
      const id = await eventually(async () => (await fetch(origin)).text())
      const store = await openStore(env.DATABASE_URL)
      await eventually(async () => {
        if ((await store.get(id))?.status !== 'completed') throw new Error(`job ${id} has not completed`)
      })
      await store.close()
      await worker.end('SIGINT')
      await server.end('SIGINT')
    }),
  )
}

import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '@oncue/sdk'
import type { Place } from './place.ts'
import { freePort, Running, running } from './running.ts'

export const name = 'hono-drizzle'
export const summary = 'npm create oncue, template hono-drizzle: types, tests, a row and its job, on Postgres'

export async function run({ folder, env, npm, postgresUrl, done }: Place): Promise<void> {
  await npm(folder, 'create', '--yes', 'oncue@latest', 'shop', '--', '--yes', '--template', 'hono-drizzle')
  const home = join(folder, 'shop')
  done('created, installed')
  const [port, apiPort] = [await freePort(), await freePort()]
  const token = `oncue_${randomBytes(32).toString('base64url')}`
  const settings = {
    DATABASE_URL: await postgresUrl(),
    ONCUE_ADMIN_TOKEN: token,
    ONCUE_PORT: apiPort,
    PORT: port,
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`)
  await writeFile(join(home, '.env'), lines.join(''))
  for (const script of ['typecheck', 'migrate', 'test']) await npm(home, 'run', script)
  done('compiles strictly, migrated, tests pass')

  const server = new Running('npm', ['run', 'dev'], home, env)
  const jobs = new Running('npm', ['run', 'jobs'], home, env)
  await running(server, () =>
    running(jobs, async () => {
      await server.says(/http:\/\/localhost:/)
      await jobs.says(/worker started/)
      const email = `${randomBytes(8).toString('hex')}@example.com`
      const body = JSON.stringify({ email })
      const response = await fetch(`http://localhost:${port}/users`, { method: 'POST', body })
      if (response.status !== 201) throw new Error(`POST /users: ${response.status} ${await response.text()}`)
      const oncue = createClient({ url: `http://127.0.0.1:${apiPort}`, token })
      const { items } = await oncue.jobs.list({ topic: 'send_welcome' })
      const result = await oncue.jobs.wait(items[0]?.id ?? '')
      if (JSON.stringify(result) !== JSON.stringify({ sentTo: email }))
        throw new Error(`the job returned ${JSON.stringify(result)}`)
      await jobs.end('SIGINT')
      await server.end('SIGINT')
    }),
  )
  done('server and worker run, the job of a new row completed, Ctrl-C ends both')
}

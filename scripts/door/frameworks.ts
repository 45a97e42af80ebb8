import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Place } from './place.ts'
import {
  completes,
  endsWithStream,
  postJob,
  Running,
  refuses,
  running,
  runsJob,
  showsApp,
} from './running.ts'

export const name = 'frameworks'
export const summary = 'Oncue below a path of Hono, Fastify and Express, behind their sign-in, with streams'

const FRAMEWORKS = ['hono', 'fastify', 'express']
/** Less than a body may have in Express. */
const LONG_TEXT = 'x'.repeat(90_000)

export async function run({ folder, env, npm, done }: Place): Promise<void> {
  const project = join(folder, 'project')
  await cp(join(import.meta.dirname, 'frameworks'), project, { recursive: true })
  await npm(project, 'init', '--yes')
  await npm(project, 'pkg', 'set', 'type=module')
  await npm(project, 'install', 'oncue', 'zod', ...FRAMEWORKS, '@hono/node-server')
  done('installed')
  for (const framework of FRAMEWORKS) {
    const args = [`${framework}.js`, `file:./${framework}.db`]
    const server = new Running(process.execPath, args, project, env)
    await running(server, async () => {
      await server.says(/^http:\S+$/m)
      const [origin = ''] = /^http:\S+$/m.exec(server.output) ?? []
      const mounted = { url: `${origin}/admin/jobs`, headers: { cookie: 'session=ada' } }
      await refuses(mounted)
      await showsApp(mounted)
      await completes(mounted, await postJob(`${origin}/count`, { text: 'abc' }))
      await runsJob(mounted, 'count', { text: LONG_TEXT })
      await endsWithStream(server, mounted, 'SIGTERM')
    })
    done(`${framework}: app, jobs and streams below a path; strangers refused; ended`)
  }
}

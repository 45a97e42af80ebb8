import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ADMIN_TOKEN, startServer, TestServer } from '@oncue/api/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Block, blocksOf, DOCUMENTS, ROOT } from './markdown.ts'

const run = promisify(execFile)

interface Manifest {
  readonly name: string
  readonly packageManager?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
}
const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Manifest

const root = read('package.json')
const manifests = globSync('{packages,apps}/*/package.json', { cwd: ROOT }).map((path) => ({
  folder: join(ROOT, path, '..'),
  ...read(path),
}))
const bins = new Map(
  manifests.flatMap(({ folder, bin = {} }) =>
    Object.entries(bin).map(([name, file]) => [name, join(folder, file)] as const),
  ),
)

/** The commands of a block: continued lines, pipes, comments and quotes as in a shell. */
function commandsOf({ code }: Pick<Block, 'code'>): string[][] {
  return code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .flatMap((line) => {
      const commands: string[][] = [[]]
      for (const [word] of line.matchAll(/"[^"]*"|'[^']*'|&&|\||#.*|[^\s|]+/g)) {
        if (word.startsWith('#')) break
        if (word === '|' || word === '&&') commands.push([])
        else if (commands.at(-1)?.length || !/^[A-Z_]+=/.test(word))
          commands.at(-1)?.push(word.replace(/^(["'])(.*)\1$/, '$2'))
      }
      return commands.filter(({ length }) => length > 0)
    })
}

const blocks = DOCUMENTS.flatMap(blocksOf).filter(({ info }) => info === 'sh')
const commands = blocks.flatMap((block) =>
  commandsOf(block).map((words) => ({
    place: `${block.document}:${block.line}`,
    words,
    text: words.join(' '),
  })),
)
const callsOf = (program: string) => commands.filter(({ words }) => words[0] === program)

/** The arguments after `npx`: of pnpm, or of a program of ours. */
function unwrap([program = '', ...words]: readonly string[]): readonly string[] {
  if (program !== 'npx') return [program, ...words]
  return words[0] === '-y' ? words.slice(1) : words
}

test('call only programs that a reader has', () => {
  const known = new Set([
    'npm',
    'pnpm',
    root.packageManager,
    'git',
    'curl',
    'cat',
    'cd',
    'export',
    ...bins.keys(),
  ])
  expect(commands.filter(({ words }) => !known.has(unwrap(words)[0] ?? '')).map(({ text }) => text)).toEqual(
    [],
  )
})

test.each(commands.filter(({ words }) => unwrap(words)[0]?.startsWith('pnpm')))(
  '$place: $text names what the repository has',
  ({ words }) => {
    const [, verb = '', ...rest] = unwrap(words)
    expect([...Object.keys(root.scripts ?? {}), 'install', 'exec']).toContain(verb)
    const files = rest.filter((word) => /^[\w.-]+\/[\w./-]+\.ts$/.test(word))
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
  },
)

test.each(callsOf('npm'))('$place: $text installs packages that exist', ({ words }) => {
  const names = manifests.map(({ name }) => name)
  expect(words.filter((word) => word.startsWith('@oncue/') && !names.includes(word))).toEqual([])
})

describe('the programs of Oncue', () => {
  const asked = new Map<string, Promise<string>>()
  /** The help of the program for these arguments. */
  function helpOf(bin: string, ...words: string[]): Promise<string> {
    const question = [bins.get(bin) ?? '', ...words, '--help']
    const key = question.join(' ')
    const help = asked.get(key) ?? run(process.execPath, question).then(({ stdout }) => stdout)
    asked.set(key, help)
    return help
  }
  const calls = commands.filter(({ words }) => bins.has(unwrap(words)[0] ?? ''))

  test.each(calls)('$place: $text', async ({ words }) => {
    const [bin = '', ...args] = unwrap(words)
    const help = await helpOf(bin, ...args.filter((word) => /^[a-z][a-z-]*$/.test(word)).slice(0, 2))
    const [, usage = ''] = /^Usage: (.*)$/m.exec(help) ?? []
    const path = usage
      .split(' ')
      .filter((word) => /^[\w-]+$/.test(word))
      .slice(1)
    expect(args.slice(0, path.length)).toEqual(path)
    if (usage.includes('[command]')) expect(args[path.length] ?? '-').toMatch(/^-/)
    const options = args.filter((word) => /^--[a-z]/.test(word))
    expect(options.filter((option) => !new RegExp(`${option}\\b`).test(help))).toEqual([])
  })
})

describe('requests', () => {
  let server: TestServer
  beforeAll(async () => {
    server = new TestServer(await startServer({ database: 'sqlite' }))
  })
  afterAll(() => server.close())

  test.each(callsOf('curl'))('$place: $text', async ({ words }) => {
    const [, address = ''] = words
    const valuesOf = (flag: string) => words.filter((_, n) => words[n - 1] === flag)
    const headers = valuesOf('-H').map((header) => header.replace('$ONCUE_TOKEN', ADMIN_TOKEN).split(': '))
    const { pathname } = new URL(address)
    const answer = await fetch(new URL(pathname, server.url), {
      method: 'POST',
      headers: Object.fromEntries(headers),
      body: valuesOf('-d').join('&'),
    })
    expect(answer.ok, await answer.text()).toBe(true)
  })
})

describe('the reader of commands', () => {
  test.each([
    ['a b \\\n  -H "x: y z" # why', [['a', 'b', '-H', 'x: y z']]],
    [
      'A=1 npx tool \'{"a":1}\' | cat && git tag v1',
      [['npx', 'tool', '{"a":1}'], ['cat'], ['git', 'tag', 'v1']],
    ],
  ])('%s', (code, expected) => expect(commandsOf({ code })).toEqual(expected))
})

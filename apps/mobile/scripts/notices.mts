import { glob, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/**
 * Whose code is in the web build, and under which licence: those who are in it want to be named. What is in it is
 * known from the source maps, which are taken away afterwards.
 */
const HOME = join(import.meta.dirname, '..')
const ROOT = join(HOME, '../..')
const DIST = join(HOME, 'dist')
const SDK = join(HOME, 'node_modules/.cache/oncue')

/** Metro counts from the root of the repository, rolldown from where the map is. */
const folders = new Set<string>()
for (const source of await sourcesOf(join(SDK, 'sdk.js.map'))) add(resolve(SDK, source))
for await (const name of glob('**/*.js.map', { cwd: DIST })) {
  const map = join(DIST, name)
  for (const source of await sourcesOf(map)) add(join(ROOT, source))
  await rm(map)
  const script = map.replace(/\.map$/, '')
  const code = await readFile(script, 'utf8')
  await writeFile(script, code.replace(/^\/\/# (sourceMappingURL|debugId)=.*\n?/gm, ''))
}

const notices = new Map<string, string>()
for (const folder of folders) {
  const { name, version, license, author, repository } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  )
  if (typeof license !== 'string') throw new Error(`${name} names no licence: may it be bundled?`)
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice)/i.test(file)).sort()
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  const said = [author?.name ?? author, repository?.url ?? repository].filter(Boolean).join(', ')
  if (texts.length === 0) texts.push(`The package has no text of it. ${said}`)
  notices.set(`${name} ${version}`, `${license}\n\n${texts.map((text) => text.trim()).join('\n\n')}`)
}

const RULE = '-'.repeat(78)
const parts = [...notices].sort(([a], [b]) => (a < b ? -1 : 1)).map(([who, text]) => `${who}, ${text}\n`)
const intro = 'The app of Oncue contains code of others, under these licences.\n'
await writeFile(join(DIST, 'THIRD-PARTY-NOTICES.txt'), [intro, ...parts].join(`\n${RULE}\n\n`))

async function sourcesOf(map: string): Promise<string[]> {
  return JSON.parse(await readFile(map, 'utf8')).sources
}

function add(file: string): void {
  const [folder] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/.][^/]*(?=\/)/.exec(file) ?? []
  if (folder !== undefined) folders.add(folder)
}

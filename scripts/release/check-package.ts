import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../start/root.ts'
import { type Manifest, type Packed, SDK, unpack } from './packages.ts'

const run = promisify(execFile)

/** Files that no package may contain. Projects that start from a template have tests of their own. */
const OURS_ALONE = /^src\/|^(?!templates\/).*\.test\.|\.test-d\.|^dist\/(testing|conformance)\/|tsbuildinfo$/

/** The problems of a packed package: none, if it may be published. Needs no network. */
export async function findProblems(packed: Packed): Promise<string[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'oncue-check-'))
  try {
    await unpack(packed.tarball, scratch)
    return [
      ...checkManifest(packed.manifest),
      ...checkFiles(packed),
      ...(await checkCommands(packed, scratch)),
      ...(await checkImports(packed, scratch)),
      ...(await checkMigrations(packed, scratch)),
      ...(await checkByTools(packed)),
    ]
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

function checkManifest({
  engines,
  dependencies,
  peerDependencies,
  optionalDependencies,
}: Manifest): string[] {
  const versions = Object.entries({ ...dependencies, ...peerDependencies, ...optionalDependencies })
  return [
    ...versions.flatMap(([name, version]) =>
      /^(workspace|catalog|file|link):/.test(version) ? [`${name} is asked for as ${version}`] : [],
    ),
    ...(engines?.node ? [] : ['it does not say which Node it needs']),
  ]
}

function checkFiles({ home, files, manifest }: Packed): string[] {
  // The SDK is a bundle, and its build begins with an empty folder.
  const isLeftOver = (file: string) => {
    const [, name] = /^dist\/(.+)\.js$/.exec(file) ?? []
    return manifest.name !== SDK && name !== undefined && !existsSync(join(home, 'src', `${name}.ts`))
  }
  const wanted = ['README.md', 'LICENSE', ...targetsOf(manifest.exports), ...targetsOf(manifest.bin ?? {})]
  return [
    ...wanted.flatMap((file) => (files.includes(file) ? [] : [`${file} is missing: is it built?`])),
    ...files.flatMap((file) => (OURS_ALONE.test(file) ? [`${file} is nothing for others`] : [])),
    ...files.flatMap((file) => (isLeftOver(file) ? [`${file} has no source: remove dist, and build`] : [])),
  ]
}

/** The files that `exports` or `bin` name, at any depth. */
function targetsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value.replace(/^\.\//, '')]
  return Object.values(value as object).flatMap(targetsOf)
}

async function checkCommands({ manifest }: Packed, folder: string): Promise<string[]> {
  const texts = Object.entries(manifest.bin ?? {}).map(async ([name, file]) => {
    const text = await readFile(join(folder, file), 'utf8').catch(() => '')
    return text.startsWith('#!/usr/bin/env node\n') ? [] : [`${name} is no program`]
  })
  return (await Promise.all(texts)).flat()
}

/** Every package that the code imports must be installed with it. */
async function checkImports({ manifest, files }: Packed, folder: string): Promise<string[]> {
  const { name, dependencies, peerDependencies, optionalDependencies } = manifest
  const known = new Set([
    name,
    ...Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies }),
  ])
  const problems: string[] = []
  for (const file of files.filter((path) => /^dist\/.*\.[cm]?js$/.test(path))) {
    const text = await readFile(join(folder, file), 'utf8')
    for (const specifier of specifiersIn(text)) {
      const [owner = ''] = /^(@[^/]+\/)?[^/]+/.exec(specifier) ?? []
      if (!known.has(owner) && !isBuiltin(specifier)) problems.push(`${file} imports ${specifier}`)
    }
  }
  return problems
}

/** Imports of packages: import statements begin a line, as compilers and bundlers write them. */
function specifiersIn(text: string): string[] {
  const patterns = [
    /^(?:import|export)\b[^'"\n;]*?from\s*['"]([^'"\n]+)['"]/gm,
    /^\} from ['"]([^'"\n]+)['"]/gm,
    /^import\s*['"]([^'"\n]+)['"]/gm,
    /\b(?:import|require)\(\s*['"]([^'"\n]+)['"]\s*\)/g,
  ]
  return patterns
    .flatMap((pattern) => [...text.matchAll(pattern)].map(([, specifier = '']) => specifier))
    .filter((specifier) => !/^[./]/.test(specifier))
}

/** The package has their texts, which must be up to date. */
async function checkMigrations({ home }: Packed, folder: string): Promise<string[]> {
  if (!home.endsWith('packages/db')) return []
  const text = await readFile(join(folder, 'dist/migrate/sources.js'), 'utf8').catch(() => '')
  const files = globSync('prisma/{postgres,sqlite}/{migrations/*/*,functions}.sql', { cwd: ROOT })
  const isPacked = (file: string) => text.includes(JSON.stringify(readFileSync(join(ROOT, file), 'utf8')))
  return files.flatMap((file) => (isPacked(file) ? [] : [`${file} is not in the package: build it again`]))
}

/** The SDK runs everywhere; all others are modules for Node. */
async function checkByTools({ manifest: { name }, tarball }: Packed): Promise<string[]> {
  const profile = name === SDK ? 'node16' : 'esm-only'
  const tools = [
    ['publint', 'run', tarball, '--strict'],
    ['attw', tarball, '--profile', profile],
  ]
  const failures = tools.map(async ([tool = '', ...args]) => {
    try {
      await run('pnpm', ['exec', tool, ...args], { cwd: join(ROOT, 'scripts') })
      return []
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      return [`${tool}: ${stdout}${stderr}`]
    }
  })
  return (await Promise.all(failures)).flat()
}
